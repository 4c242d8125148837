"""Events that were delivered before: a connector that failed sends some of them again.

A table with a key takes an event twice without harm, one without a key has its row twice then.  Within one
partition of a topic, or one file, events of one connector go on in their source's log.  So an event that lies
before the furthest one came before.  Places in the log, and what is left out::

    1  2  3  2  3  4        2 and 3, the second time

It came before only if it is no younger either: a log that was begun anew has small places and new times.
Where several events have one place, e.g. the rows of one ``COPY``, as many as were there come again with it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.json_lines import read_lines
from table_core.position.packed import packed, unpacked
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DELIVERED_PROPERTY", "Delivered", "Deliveries", "content_of"]

DELIVERED_PROPERTY: Final = "tc.source.delivered"
"""Property of a table without a key: the furthest event of each partition or file."""
_STREAMS_MAX: Final = 1000
"""So many partitions or files are remembered, the newest ones."""
_SOURCE: Final = pa.struct(
    [
        *((name, pa.string()) for name in ("name", "file", "sequence", "snapshot")),
        *((name, pa.int64()) for name in ("server_id", "pos", "row", "lsn", "ts_ms")),
    ]
)
_EVENT: Final = [("source", _SOURCE), ("payload", pa.struct([("source", _SOURCE)]))]
_LINE: Final = pa.schema([*_EVENT, ("value", pa.struct(_EVENT))])

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Furthest:
    """The event of a stream that is furthest in the source's log, and those at its place."""

    first: int
    """Number of the log's file, or the commit before the event's transaction."""
    second: int
    """Position in the file, or the place in the log."""
    row: int
    """The last one at this place; -1 where the source does not count them."""
    time_ms: int
    """Of the youngest event so far."""
    line: int
    """Where the newest event of the stream was read."""
    count: int
    """Events at this place."""
    begins: int
    """The row of the first one."""
    content: str
    """What tells the first one from others."""
    left: int = 0
    """So many of them come again, as the stream has gone back."""


def _furthest(parts: list[Any]) -> Furthest:
    """As a snapshot keeps it, which anybody may have written."""
    first, second, row, time_ms, line, count, begins, content, left = parts
    n = [int(part) for part in (first, second, row, time_ms, line, count, begins)]
    return Furthest(n[0], n[1], n[2], n[3], n[4], n[5], n[6], str(content), int(left))


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Where events stand in their source's log, and where they were read.

    Shape: all ``[n]`` but ``streams``, which are named by number.
    """

    streams: tuple[str, ...]
    stream_of: Ints
    lines: Ints
    first: Ints
    second: Ints
    rows: Ints
    times_ms: Ints
    known: Flags
    """Which tell it; all else is not known of the others."""

    @classmethod
    def of(
        cls, lines: pa.LargeBinaryArray, files: tuple[str, ...], file_of: Ints, line_of: Ints
    ) -> Deliveries | None:
        """Of lines of files or partitions; None if Arrow cannot read what they say of their source."""
        if not len(lines):
            return None
        try:
            read = read_lines(lines, _LINE, "ignore")
        except pa.ArrowInvalid:
            return None
        if read is None:
            return None
        said = _members(read.combine_chunks())
        by_file, by_lsn, first = _places(said)
        origin = pc.binary_join_element_wise(
            pc.take(pa.array(files), pa.array(file_of)),
            said["name"],
            said["server_id"].cast(pa.string()),
            "\0",
            null_handling="replace",
        ).dictionary_encode()
        is_log = pc.fill_null(pc.equal(pc.fill_null(said["snapshot"], "false"), "false"), False)
        whole = pc.and_(pc.and_(is_log, pc.or_(by_file, by_lsn)), pc.is_valid(said["ts_ms"]))
        return cls(
            tuple(origin.dictionary.to_pylist()),
            np.asarray(origin.indices, np.int64),
            line_of,
            _ints(first),
            _ints(pc.if_else(by_lsn, said["lsn"], said["pos"])),
            _ints(pc.if_else(by_lsn, -1, said["row"])),
            _ints(said["ts_ms"]),
            np.asarray(whole),
        )

    def only(self, wanted: Flags) -> Deliveries:
        """The same, but for events that are not ``wanted``: nothing is known of those."""
        return replace(self, known=self.known & wanted)

    def at(self, n: int) -> tuple[int, int, int]:
        """The place of an event."""
        return int(self.first[n]), int(self.second[n]), int(self.rows[n])


def _members(read: pa.Table) -> dict[str, pa.Array]:
    """What each line says of its source, wherever the event stands in it."""
    value = read["value"].combine_chunks()
    events = [
        (read["source"].combine_chunks(), read["payload"].combine_chunks()),
        (pc.struct_field(value, "source"), pc.struct_field(value, "payload")),
    ]
    blocks = [b for source, payload in events for b in (source, pc.struct_field(payload, "source"))]
    return {m.name: pc.coalesce(*(pc.struct_field(b, m.name) for b in blocks)) for m in _SOURCE}


def _places(said: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Which events tell a place by file, which by LSN, and the first part of both."""
    number = pc.struct_field(pc.extract_regex(said["file"], r"^.*\.(?P<n>\d{1,18})$"), "n")
    by_file = pc.and_(pc.is_valid(number), pc.fill_null(pc.greater(said["pos"], 0), False))
    by_file = pc.and_(by_file, pc.is_valid(said["row"]))
    # alone an LSN has no order: transactions come by their commits, their changes lie among one another
    commit = pc.struct_field(
        pc.extract_regex(
            pc.replace_substring(said["sequence"], " ", ""), r'^\["?(?P<n>\d{1,18}|null)"?,'
        ),
        "n",
    )
    by_lsn = pc.and_(pc.is_valid(commit), pc.fill_null(pc.greater(said["lsn"], 0), False))
    number = pc.if_else(by_lsn, pc.if_else(pc.equal(commit, "null"), "0", commit), number)
    return pc.and_(by_file, pc.invert(by_lsn)), by_lsn, number.cast(pa.int64())


def _ints(values: pa.Array) -> Ints:
    return np.asarray(pc.fill_null(values, 0), np.int64)


def content_of(line: bytes) -> str:
    """What an event says of its row, as a digest; '' of a line that is none."""
    try:
        value = json.loads(line)
        value = value.get("value", value)
        event = value.get("payload", value)
        said = json.dumps([event.get(name) for name in ("op", "before", "after")], sort_keys=True)
    except UNFORESEEN:
        return ""
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Delivered:
    """The furthest events of streams, by name."""

    streams: Mapping[str, Furthest] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> Delivered:
        """Read what ``text`` wrote; nothing where it is something else, e.g. of a later release."""
        try:
            kept = {} if text is None else unpacked(text)
            return cls({str(name): _furthest(one) for name, one in kept.items()})
        except UNFORESEEN:
            return cls()

    @property
    def text(self) -> str | None:
        """As a snapshot keeps it; None for nothing."""
        return (
            packed({n: astuple(one) for n, one in self.streams.items()}) if self.streams else None
        )

    def after(self, told: Deliveries, content: Callable[[int], str]) -> tuple[Delivered, Flags]:
        """What is known behind some events, and which of them came before.

        ``content``: what tells an event, by its number in ``told``, from others at its place.
        """
        repeated = np.zeros(len(told.known), bool)
        streams = dict(self.streams)
        for number in np.unique(told.stream_of[told.known]).tolist():
            name = told.streams[number]
            at = np.flatnonzero(told.known & (told.stream_of == number))
            known, again = _through(streams.pop(name, None), told, at, content)
            repeated[again] = True
            streams[name] = replace(known, line=int(told.lines[at[-1]]))
        return Delivered(dict(list(streams.items())[-_STREAMS_MAX:])), repeated


def _through(
    known: Furthest | None, told: Deliveries, at: Ints, content: Callable[[int], str]
) -> tuple[Furthest, list[int]]:
    """What is the furthest event behind the events ``at``, all of one stream, and which came before."""
    if known is not None and told.lines[at[0]] <= known.line:
        known = None  # somebody reads the stream again from an earlier place
    usual = _in_order(known, told, at)
    if usual:
        known = _further(known, told, at[:usual], content)
    repeated = []
    for n in at[usual:].tolist():
        assert known is not None
        known, came_before = _next(known, told, n, content)
        if came_before:
            repeated.append(n)
    assert known is not None
    return known, repeated


def _in_order(known: Furthest | None, told: Deliveries, at: Ints) -> int:
    """How many of the events ``at`` lie behind one another, as nearly all do."""
    if known is not None and known.left:
        return 0
    first, second, row = told.first[at], told.second[at], told.rows[at]
    begin = (-1, -1, -1) if known is None else (known.first, known.second, known.row)
    before = [np.r_[b, column[:-1]] for b, column in zip(begin, (first, second, row), strict=True)]
    same = (first == before[0]) & (second == before[1])
    behind = (first > before[0]) | ((first == before[0]) & (second > before[1]))
    behind |= same & ((row > before[2]) | (row < 0))
    return len(at) if behind.all() else int(np.argmin(behind))


def _further(
    known: Furthest | None, told: Deliveries, at: Ints, content: Callable[[int], str]
) -> Furthest:
    """Behind events of which each lies behind the one before."""
    first, second, row = told.at(at[-1])
    here = (told.first[at] == first) & (told.second[at] == second)
    count, begin = int(here.sum()), int(at[np.argmax(here)])
    # the newest one: transactions that end at once are logged in any order of their times
    time_ms = max(int(told.times_ms[at].max()), known.time_ms if known is not None else 0)
    if known is not None and (known.first, known.second) == (first, second):
        return replace(known, row=row, time_ms=time_ms, count=known.count + count)
    begins = int(told.rows[begin])
    return Furthest(first, second, row, time_ms, 0, count, begins, content(begin))


def _next(
    known: Furthest, told: Deliveries, n: int, content: Callable[[int], str]
) -> tuple[Furthest, bool]:
    """What is the furthest event behind one more, and whether that one came before."""
    first, second, row = told.at(n)
    there = known.first, known.second
    if (first, second) < there:
        if told.times_ms[n] <= known.time_ms:
            return replace(known, left=known.count), True
        return _further(None, told, np.array([n]), content), False
    if (first, second) > there:
        return _further(known, told, np.array([n]), content), False
    if known.left:
        return replace(known, left=known.left - 1), True
    is_first = 0 <= row == known.begins and row <= known.row
    if is_first and content(n) == known.content:
        return replace(known, left=known.count - 1), True
    return replace(known, row=row, count=known.count + 1), False
