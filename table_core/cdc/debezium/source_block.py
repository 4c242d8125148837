"""Cuts the ``source`` block out of events before they are parsed.

It is half of an event, and one after the other differs in few digits; of its dozen members only the
table and one time are wanted.  So the block of one line becomes a pattern, with the names of its table
as they stand there, and the lines that match it need no parser to tell whose they are.

The first line has ``,"source":{"db":"shop","ts_ms":1700000000123,"table":"orders","pos":81}``.  Its pattern::

    ,"source":{"db":"shop","ts_ms":  a time of 13 digits  ,"table":"orders","pos":  any value  }

The next line with ``…124,"table":"orders","pos":97`` matches: it is cut, and 1700000000124 kept beside it.
One of another table, or with a member more, does not, and is parsed as a whole.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.envelope import source_table
from table_core.cdc.model.json_lines import ends_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.cdc.model.record import SourceTable

__all__ = ["CutSource", "cut_source"]

_START: Final = b',"source":{'
_END: Final = ord("}")
_STRING: Final = rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_NUMBER: Final = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_VALUE: Final = rb"(?:" + _STRING + rb"|" + _NUMBER + rb"|null|true|false)"
_MEMBER: Final = re.compile(rb"(" + _STRING + rb"):(" + _VALUE + rb")(?:,|$)")
_MILLIS: Final = re.compile(rb"[1-9][0-9]{12}")
_TIME: Final = b'"ts_ms"'
_OF_TABLE: Final = frozenset({b'"db"', b'"schema"', b'"table"'})


@dataclass(frozen=True, slots=True)
class CutSource:
    """Lines without their ``source`` blocks.

    Shape: all ``[n]``.
    """

    lines: pa.LargeBinaryArray
    """Those whose block is of another table, or looks otherwise, have it still."""
    is_cut: pa.BooleanArray
    times_ms: pa.Int64Array
    """``source.ts_ms`` of those that were cut."""


def cut_source(lines: pa.LargeBinaryArray, table: SourceTable) -> CutSource | None:
    """Cut the blocks out that say ``table``; None if the first block that there is does not."""
    begins = np.asarray(pc.find_substring(lines, _START))
    has_block = begins >= 0
    if not has_block.any():
        return None
    offsets = ends_of(lines)
    body = lines.buffers()[2]
    starts = np.where(has_block, offsets[:-1] + begins, offsets[1:])
    stops = _first_brace(body, offsets, starts)
    blocks = _pieces(body, offsets, starts, stops).take(_every_second(1, len(lines)))
    pattern = _pattern(blocks[int(np.argmax(has_block))].as_py(), table)
    if pattern is None:
        return None
    text, (first, last) = pattern
    is_cut = pc.match_substring_regex(blocks, text)
    digits = pc.if_else(is_cut, pc.binary_slice(blocks, first, last), None)
    hit = np.asarray(is_cut)
    if not hit.all():
        starts, stops = np.where(hit, starts, offsets[1:]), np.where(hit, stops, offsets[1:])
    kept = _pieces(body, offsets, starts, stops).take(_every_second(0, len(lines) + 1))
    ends = np.concatenate([[0], np.cumsum(np.diff(offsets) - (stops - starts))])
    buffers = [None, pa.py_buffer(ends), kept.buffers()[2]]
    return CutSource(
        pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(lines), buffers),
        is_cut,
        digits.cast(pa.large_string()).cast(pa.int64()),
    )


def _first_brace(
    body: pa.Buffer, offsets: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The place behind the first closing brace after each of ``starts``, or the end of its line."""
    first, end = int(offsets[0]), int(offsets[-1])
    braces = np.flatnonzero(np.frombuffer(body, np.uint8)[first:end] == _END) + first
    stops = np.append(braces + 1, end)[np.searchsorted(braces, starts)]
    places: npt.NDArray[np.int64] = np.minimum(stops, offsets[1:])
    return places


def _pieces(
    body: pa.Buffer,
    offsets: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
) -> pa.LargeBinaryArray:
    """By turns what lies before a start, and what lies from there to its stop; last the rest.

    ``ab[SRC]cd`` and ``ef[SRC]gh`` are the pieces ab, [SRC], cdef, [SRC], gh, of the same bytes: every
    second one is a block, and the others joined are the lines without them.
    """
    places = np.empty(2 * len(starts) + 2, np.int64)
    places[0], places[-1] = offsets[0], offsets[-1]
    places[1:-1:2], places[2:-1:2] = starts, stops
    buffers = [None, pa.py_buffer(places), body]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(places) - 1, buffers)


def _every_second(first: int, count: int) -> pa.Array:
    return pa.array(np.arange(first, first + 2 * count, 2))


def _pattern(block: bytes, table: SourceTable) -> tuple[bytes, tuple[int, int]] | None:
    """What matches blocks like this one, and between which bytes their time stands.

    All is as in ``block`` up to the time, and the names of the table behind it.
    """
    inside = block[len(_START) : -1]
    members = _MEMBER.findall(inside)
    if b",".join(name + b":" + value for name, value in members) != inside:
        return None
    if source_table(json.loads(block[len(_START) - 1 :])) != table:
        return None
    names = [name for name, _ in members]
    if _TIME not in names or len(set(names)) < len(names):
        return None
    at = names.index(_TIME)
    before = _START + b"".join(name + b":" + value + b"," for name, value in members[:at])
    first = len(before) + len(_TIME) + 1
    time = members[at][1]
    if not _MILLIS.fullmatch(time):
        return None
    later = b"".join(
        b"," + re.escape(name) + b":" + (re.escape(value) if name in _OF_TABLE else _VALUE)
        for name, value in members[at + 1 :]
    )
    text = b"^" + re.escape(before + _TIME + b":") + _MILLIS.pattern + later + rb"\}$"
    return text, (first, first + len(time))
