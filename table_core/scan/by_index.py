"""May a file hold a row that meets a condition?  Answered from its file index; never loses a row.

An index is believed only where it fits: its column must have the type now that it had in the file, and
it must speak of as many rows as the file has.  Everything else (unknown kinds, later versions, damage)
answers "maybe".

Source: ``org.apache.paimon.io.FileIndexEvaluator``; format 5.4.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.domain import domain_array
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import CorruptFileError, DataError, UnsupportedFeatureError
from table_core.ondisk.bloom_filter import decode_bloom_filter, hash_of
from table_core.ondisk.file_index import decode_file_index
from table_core.ondisk.value_index import HeldValues, decode_bit_slices, decode_bitmap_index
from table_core.predicate.bound import can_fail, conjuncts
from table_core.predicate.by_stats import equal_values
from table_core.predicate.to_arrow import mask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.file_index import StoredIndex
    from table_core.predicate.bound import Bound
    from table_core.schema.table_schema import TableSchema

__all__ = ["IndexTest"]

_DECODERS: Final = {"bitmap": decode_bitmap_index, "bsi": decode_bit_slices}
_DAMAGE: Final = (struct.error, ValueError, OverflowError, pa.ArrowException, DataError)


@dataclass(frozen=True, slots=True)
class IndexTest:
    """The parts of a condition that an index can answer, each over one column."""

    parts: Mapping[str, tuple[Bound, ...]]
    fields: Mapping[str, Field]

    @classmethod
    def of(cls, where: Bound, schema: TableSchema) -> IndexTest | None:
        """The test for ``where`` over ``schema``; None where no part is over one column."""
        by_column: dict[str, list[Bound]] = {}
        for part in conjuncts(where):
            if len(part.columns) == 1 and not can_fail(part):
                by_column.setdefault(next(iter(part.columns)), []).append(part)
        parts = {name: tuple(some) for name, some in by_column.items() if name in schema.by_name}
        return cls(parts, {name: schema.by_name[name] for name in parts}) if parts else None

    def may_match(self, container: bytes, written: TableSchema, rows: int) -> bool:
        """Whether the file of ``rows`` rows, written under ``written``, may have a match."""
        try:
            indexes = decode_file_index(container, path="file index")
        except (CorruptFileError, UnsupportedFeatureError):
            return True
        old = {f.id: f for f in written.fields}
        for name, parts in self.parts.items():
            now, then = self.fields[name], old.get(self.fields[name].id)
            if then is None or not _same_type(now, then):
                continue
            own = [index for index in indexes if index.column == then.name]
            if any(_rules_out(index, container, now, parts, rows) for index in own):
                return False
        return True


def _same_type(now: Field, then: Field) -> bool:
    """Whether indexed values mean what they meant; CHAR never: files may pad it, indexes do not."""
    if isinstance(now.type, Atomic) and now.type.root is Root.CHAR:
        return False
    return replace(now.type, nullable=True) == replace(then.type, nullable=True)


def _rules_out(
    index: StoredIndex, container: bytes, field: Field, parts: Sequence[Bound], rows: int
) -> bool:
    body = container[index.start : index.start + index.length]
    try:
        if index.index_type == "bloom-filter":
            return not index.is_empty and any(_is_absent(body, field, part) for part in parts)
        decode = _DECODERS.get(index.index_type)
        if decode is None or index.is_empty:
            return False
        held = decode(body, field.type)
        if held is None or held.rows != rows:
            return False
        return any(_none_match(held, field, part) for part in parts)
    except _DAMAGE:
        return False


def _is_absent(body: bytes, field: Field, part: Bound) -> bool:
    wanted = equal_values(part, (field.name,))
    if wanted is None:
        return False
    hashes = [hash_of(value, field.type) for (value,) in wanted]
    if None in hashes:
        return False
    bloom = decode_bloom_filter(body)
    return not any(bloom.may_hold(hash_) for hash_ in hashes if hash_ is not None)


def _none_match(held: HeldValues, field: Field, part: Bound) -> bool:
    values = [*held.values, *([None] if held.has_null else [])]
    if not values:
        return False
    matches = mask(part, pa.table({field.name: domain_array(values, field.type)}))
    return not pc.any(matches.fill_null(False)).as_py()
