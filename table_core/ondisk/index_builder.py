"""File indexes of the columns of one data file, while it is written.

Bloom filters grow with the rows; the others keep the indexed columns until the file is done.

Source: ``org.apache.paimon.io.DataFileIndexWriter``, ``org.apache.paimon.fileindex``; format 5.4.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Atomic, Root
from table_core.datatypes.text import type_to_json
from table_core.errors import OptionError, UnsupportedFeatureError
from table_core.ondisk.file_index import encode_file_index
from table_core.ondisk.roaring import encode32
from table_core.ondisk.value_hashes import hashes_of
from table_core.ondisk.value_index import STORED_NUMBERS, sliced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["IndexBuilder"]

_ITEMS: Final = 1_000_000
_FALSE_POSITIVES: Final = 0.1
_INDEXES: Final = ("bloom-filter", "bitmap", "bsi")
_LATER: Final = ("range-bitmap",)


class _Body(Protocol):
    """One index of one column."""

    def add(self, column: pa.Array) -> None: ...

    def body(self) -> bytes: ...


@dataclass(slots=True)
class IndexBuilder:
    """Takes the rows of one file and gives the container of its indexes."""

    _bodies: dict[str, dict[str, _Body]]
    """By column and type of index."""

    @classmethod
    def of(cls, options: Mapping[str, str], fields: Sequence[Field]) -> IndexBuilder | None:
        """What ``options`` ask for; None if they ask for no index.

        Raises:
            OptionError: no such column, or a bad value.
            UnsupportedFeatureError: an index that this release does not write, or not of the type.
        """
        types = {field.name: field.type for field in fields}
        bodies: dict[str, dict[str, _Body]] = {}
        for kind in (*_INDEXES, *_LATER):
            key = f"file-index.{kind}.columns"
            for name in _names(options.get(key, "")):
                if name not in types:
                    raise OptionError(
                        f"{key!r} names {name!r}, and there is no such column; there are "
                        f"{list(types)} (single entries of a MAP are not indexed)",
                        option=key,
                        value=options[key],
                    )
                index = _body(kind, name, types[name], options)
                bodies.setdefault(name, {})[kind] = index
        return cls(bodies) if bodies else None

    def add(self, rows: pa.Table) -> None:
        """The next rows of the file."""
        for name, indexes in self._bodies.items():
            for chunk in rows[name].chunks:
                for index in indexes.values():
                    index.add(chunk)

    def container(self) -> bytes:
        """The container of all indexes."""
        return encode_file_index(
            {
                name: {kind: index.body() for kind, index in indexes.items()}
                for name, indexes in self._bodies.items()
            }
        )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _body(kind: str, name: str, type_: DataType, options: Mapping[str, str]) -> _Body:
    prefix = f"file-index.{kind}.{name}"
    if kind == "bloom-filter" and hashes_of(pa.array([], arrow_type(type_)), type_) is not None:
        items = _number(options, f"{prefix}.items", _ITEMS)
        return _Bloom.sized(type_, items, _number(options, f"{prefix}.fpp", _FALSE_POSITIVES))
    if kind == "bitmap" and isinstance(type_, Atomic) and type_.root in _LISTED:
        return _Bitmap(type_)
    if kind == "bsi" and isinstance(type_, Atomic) and _is_sliced(type_):
        return _BitSlices(type_)
    of = type_to_json(type_)
    raise UnsupportedFeatureError(
        f"this release writes no file index {kind!r} of {name!r}, which is {of}; take another "
        f"of {list(_INDEXES)}, or leave the column out of 'file-index.{kind}.columns'",
        feature=f"file-index.{kind} of {of}",
    )


def _number(options: Mapping[str, str], key: str, default: float) -> float:
    try:
        return float(options.get(key, default))
    except ValueError as error:
        raise OptionError(
            f"option {key!r} cannot be {options[key]!r}: it is a number",
            option=key,
            value=options[key],
        ) from error


@dataclass(slots=True)
class _Bloom:
    type: DataType
    hashes: int
    bits: np.ndarray[Any, np.dtype[np.bool_]]

    @classmethod
    def sized(cls, type_: DataType, items: float, false_positives: float) -> _Bloom:
        need = int(-items * math.log(false_positives) / math.log(2) ** 2)
        count = need + 8 - need % 8
        hashes = max(1, math.floor(count / items * math.log(2) + 0.5))
        return cls(type_, hashes, np.zeros(count, np.bool_))

    def add(self, column: pa.Array) -> None:
        hashes = hashes_of(column, self.type)
        assert hashes is not None
        low = (hashes & np.uint64(0xFFFF_FFFF)).astype(np.uint32)
        high = (hashes >> np.uint64(32)).astype(np.uint32)
        for turn in range(1, self.hashes + 1):
            mixed = (low + np.uint32(turn) * high).view(np.int32)
            # A negative number is turned over, as in Java: ~x, not -x, which has no place for the least one.
            self.bits[np.where(mixed < 0, ~mixed, mixed) % len(self.bits)] = True

    def body(self) -> bytes:
        return struct.pack(">i", self.hashes) + np.packbits(self.bits, bitorder="little").tobytes()


_SLICED: Final = frozenset(
    {
        Root.TINYINT,
        Root.SMALLINT,
        Root.INT,
        Root.DATE,
        Root.TIME,
        Root.BIGINT,
        Root.TIMESTAMP,
        Root.TIMESTAMP_LTZ,
    }
)
_LONGEST_SLICED_DECIMAL: Final = 18
_LISTED: Final = frozenset({Root.CHAR, Root.VARCHAR, *STORED_NUMBERS})


def _is_sliced(type_: Atomic) -> bool:
    if type_.root is Root.DECIMAL:
        return type_.precision <= _LONGEST_SLICED_DECIMAL
    return type_.root in _SLICED


@dataclass(slots=True)
class _Bitmap:
    """Version 1: every value with the rows that have it; one row stands in place of a bitmap.

    INT 7, NULL, 7, 9: ``01``, 4 rows, 2 values, ``01`` (there are nulls), null's place -2, which is -1 less
    row 1; then 7 with place 0, which is the first bitmap, and 9 with place -4, which is row 3; then the bitmap of
    rows 0 and 2.
    """

    type: Atomic
    chunks: list[pa.Array] = field(default_factory=list)

    def add(self, column: pa.Array) -> None:
        self.chunks.append(column)

    def body(self) -> bytes:
        column = pa.chunked_array(self.chunks).combine_chunks()
        encoded = column.dictionary_encode()
        codes = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy()
        order = np.argsort(codes, kind="stable")
        # The rows of each code one after the other, and those of null, which has the greatest code, last.
        rows = np.split(
            order, np.searchsorted(codes[order], np.arange(len(encoded.dictionary)) + 1)
        )
        *of_values, of_null = rows
        parts: list[bytes] = []
        at = 0

        def place(numbers: np.ndarray[Any, Any]) -> int:
            nonlocal at
            if len(numbers) == 1:
                return -1 - int(numbers[0])
            parts.append(encode32(numbers))
            at += len(parts[-1])
            return at - len(parts[-1])

        head = struct.pack(">biib", 1, len(column), len(of_values), bool(len(of_null)))
        if len(of_null):
            head += struct.pack(">i", place(of_null))
        places = [struct.pack(">i", place(numbers)) for numbers in of_values]
        pairs = zip(self._stored(encoded.dictionary), places, strict=True)
        return head + b"".join(value + place for value, place in pairs) + b"".join(parts)

    def _stored(self, values: pa.Array) -> list[bytes]:
        form = STORED_NUMBERS.get(self.type.root)
        if form is None:
            texts = [value.encode("utf-8", "surrogatepass") for value in values.to_pylist()]
            return [struct.pack(">i", len(text)) + text for text in texts]
        plain = sliced(values, self.type) if self.type.root in _SLICED else values
        return [struct.pack(form, value) for value in plain.to_pylist()]


@dataclass(slots=True)
class _BitSlices:
    """Version 1: the rows of values from 0 on, and of those below by their absolute value.

    3, 5, -2, NULL: the first part has rows 0 and 1 with values 3 and 5, the second row 2 with 2.
    """

    type: Atomic
    chunks: list[pa.Array] = field(default_factory=list)

    def add(self, column: pa.Array) -> None:
        self.chunks.append(sliced(column, self.type))

    def body(self) -> bytes:
        column = pa.chunked_array(self.chunks).combine_chunks()
        rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        values = column.drop_null().to_numpy()
        parts = [struct.pack(">bi", 1, len(column))]
        for those, sign in ((values >= 0, 1), (values < 0, -1)):
            parts.append(struct.pack(">?", bool(those.any())))
            if those.any():
                parts.append(_slices(rows[those], sign * values[those]))
        return b"".join(parts)


def _slices(rows: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> bytes:
    """Which rows have a value, and for each bit of what is above the least one, which have it set.

    Rows 0, 1, 2 with 3, 5, 6: the least is 3, above it are 0, 2, 3: bit 0 has row 2, bit 1 has rows 1 and 2.
    """
    least, greatest = int(values.min()), int(values.max())
    count = (greatest - least).bit_length()
    above = (values - least).astype(np.uint64)
    slices = [encode32(rows[(above >> np.uint64(bit)) & np.uint64(1) > 0]) for bit in range(count)]
    head = struct.pack(">bqq", 1, least, greatest)
    return b"".join([head, encode32(rows), struct.pack(">i", count), *slices])
