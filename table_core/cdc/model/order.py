"""The order in which the source made its changes, for records that come from several partitions.

A consumer sees each topic-partition in order, and all of them in any interleaving.  The position in
the source's log, which every event carries, puts them together again: MySQL's file, position and
row, PostgreSQL's commit and change number.

Lines as consumed, with partition and (file, pos, row)::

    0  p0  (3, 100, 0)      1  p0  (3, 300, 0)      2  p1  (3, 200, 0)      3  p1  no source block

They come to be 0, 2, 3, 1: line 3 tells no place, so it stays behind line 2 of its partition.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.json_lines import read_lines

__all__ = ["places_in_log", "source_order"]

_SOURCE: Final = pa.struct(
    [
        ("table", pa.string()),
        ("file", pa.string()),
        ("pos", pa.int64()),
        ("row", pa.int64()),
        ("lsn", pa.int64()),
        ("sequence", pa.string()),
    ]
)
_RECORD: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int64()),
        (
            "value",
            pa.struct(
                [("source", _SOURCE), ("payload", pa.struct([("source", _SOURCE)]))],
            ),
        ),
    ]
)
_LOOKED_AT: Final = 100
_SEQUENCE: Final = re.compile(r'\[(?:"(\d+)"|null),(?:"(\d+)"|null)\]')

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def source_order(lines: pa.LargeBinaryArray) -> Ints | None:
    """The permutation that puts ``lines`` into the order of the source; None to leave them.

    They are left as they are if they are no records of several partitions, do not tell their
    position in the log, or if the log's order contradicts that of a partition (several servers
    in one topic, say).
    """
    sample = range(min(len(lines), _LOOKED_AT))
    if len(lines) < 2 or not any(b'"partition"' in lines[n].as_py() for n in sample):
        return None
    table = _records(lines)
    partition = pc.binary_join_element_wise(
        table["topic"], table["partition"].cast(pa.string()), "\0", null_handling="replace"
    )
    codes = np.asarray(partition.combine_chunks().dictionary_encode().indices)
    if codes.max() == 0:
        return None
    keys, is_change = _keys(table["value"].combine_chunks())
    if keys is None:
        return None
    keys = _behind(keys, is_change, codes)
    order: Ints = np.lexsort((np.arange(len(lines)), *reversed(keys)))
    kept = order[is_change[order]]
    by_partition = np.argsort(codes[kept], kind="stable")
    ordinal, code = kept[by_partition], codes[kept][by_partition]
    # A partition is in order by itself: where the log says otherwise, its numbers are not of one log.
    if np.any((np.diff(ordinal) < 0) & (np.diff(code) == 0)):
        return None
    return None if np.array_equal(order, np.arange(len(lines))) else order


def places_in_log(lines: pa.LargeBinaryArray) -> list[tuple[int, int, int] | None]:
    """The place of each of ``lines`` in the source's log; None of one that tells none."""
    if not len(lines):
        return []
    keys, known = _keys(_records(lines)["value"].combine_chunks())
    if keys is None:
        return [None] * len(lines)
    places = zip(*(key.tolist() for key in keys), strict=True)
    return [place if is_known else None for place, is_known in zip(places, known, strict=True)]


def _behind(keys: list[Ints], known: Flags, codes: Ints) -> list[Ints]:
    """With the keys of the line before in its partition, for lines that tell none.

    >>> known = np.array([True, False, True, False, True])
    >>> keys = _behind([np.array([5, 0, 3, 0, 9])], known, np.array([0, 0, 1, 1, 0]))
    >>> keys[0].tolist()
    [5, 5, 3, 3, 9]
    """
    by_partition = np.argsort(codes, kind="stable")
    first = np.r_[True, np.diff(codes[by_partition]) != 0]
    place = np.arange(len(codes))
    latest = np.maximum.accumulate(np.where(known[by_partition] | first, place, 0))
    source = np.empty_like(place)
    source[by_partition] = by_partition[latest]
    return [np.where(known, key, key[source]) for key in keys]


def _records(lines: pa.LargeBinaryArray) -> pa.Table:
    try:
        records = read_lines(lines, _RECORD, "ignore")
    except pa.ArrowInvalid:
        records = None
    return _records_by_line(lines) if records is None else records


def _records_by_line(lines: pa.LargeBinaryArray) -> pa.Table:
    """The same for lines that Arrow cannot read at once; nothing of one that cannot be read."""
    rows = [_record(line.as_py()) for line in lines]
    return pa.Table.from_pylist(rows, schema=_RECORD)


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
        value = record.get("value")
        value = json.loads(value) if isinstance(value, str) else value
        inner = value.get("payload", value) if isinstance(value, dict) else None
        source = inner.get("source") if isinstance(inner, dict) else None
        known = {n: source.get(n) for n in _NAMES} if isinstance(source, dict) else {}
        return {
            "topic": _text(record.get("topic")),
            "partition": _whole(record.get("partition")),
            "value": {
                "source": {n: (_whole if n in _NUMBERS else _text)(v) for n, v in known.items()}
            },
        }
    except (ValueError, AttributeError, RecursionError):
        return {}


def _text(value: Any) -> str | None:
    try:
        return value if isinstance(value, str) and value.encode() is not None else None
    except UnicodeEncodeError:
        return None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


_NAMES: Final = frozenset(member.name for member in _SOURCE)
_NUMBERS: Final = frozenset(m.name for m in _SOURCE if pa.types.is_integer(m.type))


def _keys(value: pa.StructArray) -> tuple[list[Ints] | None, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Three sort keys, first the one that counts most, and which lines speak of a table."""
    outer, inner = value.field("source"), value.field("payload").field("source")
    parts = {
        name: pc.coalesce(pc.struct_field(outer, name), pc.struct_field(inner, name))
        for name in sorted(_NAMES)
    }
    is_change = np.asarray(pc.is_valid(parts["table"]))
    file = pc.replace_substring_regex(pc.fill_null(parts["file"], "0"), r"^.*\.", "")
    numbered = pc.match_substring_regex(file, r"^\d{1,18}$")
    file = pc.if_else(numbered, file, "0").cast(pa.int64())
    by_lsn = pc.is_valid(parts["lsn"])
    sequence = pc.extract_regex(
        pc.fill_null(pc.replace_substring(parts["sequence"], " ", ""), ""),
        r'^\["?(?P<commit>\d{1,18}|null)"?,',
    )
    commit = pc.fill_null(pc.struct_field(sequence, "commit"), "0")
    commit = pc.if_else(pc.equal(commit, "null"), "0", commit).cast(pa.int64())
    known = np.asarray(pc.or_(by_lsn, pc.is_valid(parts["pos"])))
    if not np.any(is_change & known):
        return None, is_change
    is_change &= known
    first = pc.if_else(by_lsn, commit, file)
    second = pc.if_else(by_lsn, parts["lsn"], parts["pos"])
    third = pc.if_else(by_lsn, 0, parts["row"])
    return [np.asarray(pc.fill_null(key, 0)) for key in (first, second, third)], is_change
