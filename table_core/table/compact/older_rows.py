"""Which files a compaction of newer ones must not leave out, because their rows have to be met first.

See ``merge.engines.parts``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from table_core.lsm.triggers import needs_lookup
from table_core.merge.engines.engine import order_of
from table_core.merge.engines.parts import deciding_sequences, takes_back_in_parts
from table_core.scan.prune import value_ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.datatypes.kinds import DataType, Field
    from table_core.datatypes.range import Range
    from table_core.ondisk.data_file import DataFile
    from table_core.table.metadata.access import TableAccess

__all__ = ["MustMeet", "column_range", "must_meet"]

MustMeet: TypeAlias = "Callable[[DataFile, DataFile], bool]"
"""Whether rows of a file (first) have to meet those of an older one before they are merged otherwise."""


def must_meet(access: TableAccess) -> MustMeet | None:
    """The rule for the files of a table, for those whose keys overlap; None: any may be left out."""
    schema = access.schema
    takes_back, sequences = takes_back_in_parts(schema), deciding_sequences(schema)
    if needs_lookup(access.options) or (takes_back and not sequences):
        return None  # who looks up meets them anyway
    of_rows = order_of(schema)
    orders = [
        _Sequence(
            access=access,
            fields=fields,
            descending=of_rows.descending and fields == of_rows.sequence_fields,
            of_group=fields != of_rows.sequence_fields,
        )
        for fields in sequences
    ]

    def meets(newer: DataFile, older: DataFile) -> bool:
        retracts = newer.delete_row_count != 0  # None: it may have some
        if retracts and not takes_back:
            return True
        return not all(sequence.follows(newer, older) for sequence in orders)

    return meets


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sequence:
    """Fields that order rows, and what the files say of the first of them."""

    access: TableAccess
    fields: tuple[str, ...]
    descending: bool
    of_group: bool
    _known: dict[str, tuple[DataType, Range] | None] = field(default_factory=dict)
    """By file: each is compared with many."""

    def follows(self, newer: DataFile, older: DataFile) -> bool:
        """Whether every row of ``newer`` comes after those of ``older``."""
        known, known_older = self._range(newer), self._range(older)
        only = len(self.fields) == 1  # else the next field decides
        if self.of_group and only and known is not None and known[1].only_null:
            return True  # rows that leave the group alone
        if known is None or known_older is None or known[0] != known_older[0]:
            return False
        ours, theirs = known[1], known_older[1]
        if ours.null_count != 0 or theirs.null_count != 0:
            return False
        before, after = (ours, theirs) if self.descending else (theirs, ours)
        if before.max is None or after.min is None:
            return False
        return bool(before.max < after.min or (only and before.max == after.min))

    def _range(self, file: DataFile) -> tuple[DataType, Range] | None:
        if file.file_name not in self._known:
            first = self.access.schema.field(self.fields[0])
            self._known[file.file_name] = column_range(self.access, file, first)
        return self._known[file.file_name]


def column_range(
    access: TableAccess, file: DataFile, column: Field
) -> tuple[DataType, Range] | None:
    """The type of ``column`` in ``file``, and its values; None if it is not there, or no statistics are."""
    written = access.metadata.schema(file.schema_id)
    stored = next((field for field in written.fields if field.id == column.id), None)
    known = None if stored is None else value_ranges(file, written).get(stored.name)
    return None if stored is None or known is None else (stored.type, known)
