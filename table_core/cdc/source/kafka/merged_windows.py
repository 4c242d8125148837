"""Windows of records of several partitions, cut where the source has them in order.

A consumer gets a long partition first, and a short one late: without a look at the source's log, a change
of the short one that is newer would be overtaken by the older ones of the long one.  That happens to one row
when partitions are added to a topic, because its key goes into another one from then on.

Each partition gives the same share of a window.  One that has its share waits (it is paused) until all others
have theirs, or are at their end.  Of what is there, so much is given as is certain: nothing that is older can
come any more.  Places in the log, two partitions, shares of three::

    p0  1 2 3        p1  2 9 9        given: p0 1 2 3, p1 2    kept: p1 9 9
    p0  4 5 6        p1  9 9 (waits)  given: p0 4 5 6          kept: p1 9 9

Records that tell no place go with the one before them in their partition.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.cdc.model.order import places_in_log
from table_core.cdc.source.lines import window_is_full

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from table_core.cdc.source.kafka.records import RecordForm
    from table_core.cdc.source.kafka.source import KafkaConnection

    Partition: TypeAlias = tuple[str, int]
    Records: TypeAlias = tuple[list[tuple[str, int, int]], list[bytes]]

__all__ = ["merged_windows"]

_FIRST = (-1, -1, -1)
"""Of records before the first that tells its place: nothing is older."""


@dataclass(slots=True)
class _Share:
    """Records of one partition that were read and not given."""

    offsets: list[int] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    places: list[tuple[int, int, int]] = field(default_factory=list)
    """Of the same lines, in the source's log; of fewer, until ``locate``."""
    size: int = 0
    last: tuple[int, int, int] = _FIRST
    in_order: bool = True
    """Off once its places went back: they are not of one log, and tell nothing."""

    def put(self, offset: int, line: bytes) -> None:
        self.offsets.append(offset)
        self.lines.append(line)
        self.size += len(line)

    def locate(self) -> None:
        """Find the places of lines that came since."""
        for place in places_in_log(pa.array(self.lines[len(self.places) :], pa.large_binary())):
            if place is not None:
                self.in_order = self.in_order and place >= self.last
                self.last = place
            self.places.append(self.last)

    def taken(self, until: tuple[int, int, int] | None) -> tuple[list[int], list[bytes]]:
        """The records up to a place in the log, taken out; all where nothing tells the order."""
        end = len(self.lines)
        if until is not None and self.in_order:
            end = bisect_right(self.places, until)
        taken = self.offsets[:end], self.lines[:end]
        self.offsets, self.lines, self.places = (
            self.offsets[end:], self.lines[end:], self.places[end:],
        )  # fmt: skip
        self.size -= sum(map(len, taken[1]))
        return taken


def merged_windows(
    connection: KafkaConnection,
    begin: Mapping[Partition, int],
    last: Mapping[Partition, int],
    form: RecordForm,
) -> Iterator[Records]:
    """Windows of records from ``begin`` until ``last``: places (topic, partition, offset), and lines."""
    shares: dict[Partition, _Share] = {
        at: _Share() for at, end in last.items() if end > begin.get(at, 0)
    }
    waiting: set[Partition] = set()
    coming, ended = set(shares), -1
    for topic, number, offset, line in connection.lines(begin, last, form):
        at = topic, number
        share = shares[at]
        share.put(offset, line)
        if (
            len(connection.ends) != ended
        ):  # each that ends is one more; looked at for each record it would cost most
            coming, ended = shares.keys() - connection.ends.keys(), len(connection.ends)
        parts = len(coming)
        if window_is_full(share.size * parts, len(share.lines) * parts, line):
            waiting.add(at)
        if waiting and coming <= waiting:
            yield _window(shares, coming)
            ready = {one for one in waiting if not shares[one].lines}
            waiting -= ready
            connection.resume(ready)
        elif at in waiting:
            connection.pause(at)
    if any(share.lines for share in shares.values()):
        yield _gathered(shares, None)


def _window(shares: Mapping[Partition, _Share], coming: set[Partition]) -> Records:
    """What is certain of the shares, where more of the partitions ``coming`` is to come."""
    if len(shares) == 1:  # it waits for nobody
        return _gathered(shares, None)
    for share in shares.values():
        share.locate()
    bounds = [s.last for at in coming if (s := shares[at]).in_order and s.last != _FIRST]
    return _gathered(shares, min(bounds, default=None))


def _gathered(shares: Mapping[Partition, _Share], until: tuple[int, int, int] | None) -> Records:
    places, lines = list[tuple[str, int, int]](), list[bytes]()
    for (topic, number), share in shares.items():
        offsets, texts = share.taken(until)
        places += [(topic, number, offset) for offset in offsets]
        lines += texts
    return places, lines
