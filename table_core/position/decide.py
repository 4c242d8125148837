"""What comes next for a reader: go on, start, or nothing before somebody has decided.

Pure.  The caller shows the position that is stored and what the source is *now*; who raises is
``Diverged.error``.  Nothing is guessed: where a source is not what was read, or nobody can tell, the
answer is ``Diverged``, with the facts and the ways out.

A reader of a table stands at snapshot 7, whose delta list is L7::

    what is there now           answer
    7 with L7, head 9           go on: 8 and 9 are new
    8 to 9                      go on: 7 expired, and was this table's
    7 with M7, head 9           rolled-back: another 7; the number alone would have said "go on"
    head 5                      rolled-back: what it has read is no longer in the table
    another table's birth       made-anew: its 7 is nobody's 7
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.errors import PositionDivergedError
from table_core.position.files import FilesTaken
from table_core.position.gtids import gtids_contain
from table_core.position.lines import OffsetsPlace
from table_core.position.log import LogPlace
from table_core.position.place import SnapshotPlace
from table_core.position.reader import ReaderKind
from table_core.position.source import MySqlId, PostgresId, TopicsId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.position.document import Position
    from table_core.position.files import FileFacts
    from table_core.position.place import Place
    from table_core.position.reader import Reader
    from table_core.position.source import FilesId, SourceId, TableId

__all__ = [
    "SYNC_WAYS",
    "Diverged",
    "FilesNow",
    "GoOn",
    "LogNow",
    "Next",
    "Now",
    "Start",
    "TableNow",
    "TopicsNow",
    "another_reader",
    "unreadable",
    "what_next",
]

_WAYS: Final = (
    "'table-core position set' to go on from a place that you name",
    "'table-core position reset' to read from the start again",
)


_CONSUMERS: Final = (
    "'table-core consumer reset' to go on at a snapshot that you name",
    "'table-core consumer delete' to begin as a new reader does",
)
SYNC_WAYS: Final = (
    "'table-core position reset TABLE tc.source.positions', for each of them, to read it again from the start",
    "'table-core position set TABLE tc.source.position --text …' to go on from a place that you name",
)
_STREAMS: Final = (
    "a new checkpoint (a drain: another name) to begin again, with 'scan.mode' and 'scan.snapshot-id' "
    "to say where",
    "the old checkpoint when the table is again the one that was read",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNow:
    """A table as it is."""

    source: TableId
    head: SnapshotPlace
    """The newest snapshot; ``id`` 0 where there is none."""
    at: SnapshotPlace | None = None
    """The snapshot, or kept changelog, that has the number of the stored place; None: not there."""
    earliest: SnapshotPlace | None = None
    """The oldest snapshot, or kept changelog, that is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesNow:
    """Files as they are listed."""

    source: FilesId
    listing: tuple[FileFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsNow:
    """Partitions of topics as they are: of each the first offset and the one after the last."""

    source: TopicsId
    ends: Mapping[tuple[str, int], tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNow:
    """A server's log as it is."""

    source: MySqlId | PostgresId
    first: tuple[int, int]
    """The earliest place from where it can be read."""
    end: tuple[int, int]
    """Where it ends."""
    gtids: str = ""
    """The transactions that the server has done, where it says so."""


Now: TypeAlias = TableNow | FilesNow | TopicsNow | LogNow


@dataclass(frozen=True, slots=True)
class GoOn:
    """Read what comes after ``place``."""

    place: Place
    added: tuple[str, ...] = ()
    """Parts of the source that were not there before: they start."""


@dataclass(frozen=True, slots=True)
class Start:
    """Read from the start: the reader was never here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged:
    """Read nothing: the source is not what was read, or nobody can tell."""

    reason: str
    why: str
    reader: str = ""
    stored: str = ""
    actual: str = ""
    source: str = ""
    ways_out: tuple[str, ...] = _WAYS

    def error(self) -> PositionDivergedError:
        """What to raise."""
        return PositionDivergedError(
            f"{self.reader}: {self.why}; nothing was read. Decide: {'; or '.join(self.ways_out)}",
            reader=self.reader,
            source=self.source,
            reason=self.reason,
            stored=self.stored,
            found=self.actual,
            ways_out=list(self.ways_out),
        )


Next: TypeAlias = GoOn | Start | Diverged


def what_next(stored: Position | None, now: Now) -> Next:
    """What a reader does whose ``stored`` position is this, if it has one, in a source that is so now."""
    if stored is None:
        return Start()
    place = stored.place
    match now, place:
        case TableNow(), SnapshotPlace():
            answer = _in_table(stored.source, place, now)
        case FilesNow(), FilesTaken():
            answer = _in_files(place, now)
        case TopicsNow(), OffsetsPlace():
            answer = _in_topics(stored.source, place, now)
        case LogNow(), LogPlace():
            answer = _in_log(stored.source, place, now)
        case _:
            answer = Diverged(
                reason="another-source",
                why=f"its position is of {stored.source}, and it is to read {now.source}",
            )
    if isinstance(answer, Diverged):
        ways = {
            ReaderKind.CONSUMER: _CONSUMERS,
            ReaderKind.STREAM: _STREAMS,
            ReaderKind.SYNC: SYNC_WAYS,
        }
        return replace(
            answer,
            ways_out=ways.get(stored.reader.kind, answer.ways_out),
            reader=str(stored.reader),
            source=str(now.source),
            stored=f"{place} of {stored.source}",
        )
    return answer


def another_reader(reader: Reader, other: Position) -> Diverged:
    """``reader``, whose name nobody gave, meets the position of another one in the same source."""
    return Diverged(
        reason="another-reader",
        why=f"{other.source} was read up to {other.place} by {other.reader}, and nobody can tell "
        "whether this is the same reader under another name, or a second one",
        reader=str(reader),
        source=str(other.source),
        stored=f"{other.place} by {other.reader}",
        ways_out=(
            "give it a name ('name=') of its own, and it starts; or the name of the other",
            *_WAYS[:1],
        ),
    )


def unreadable(reader: Reader, name: str, text: str) -> Diverged:
    """``reader`` looks for its position in the property ``name``, and somebody has put something else there."""
    return Diverged(
        reason="unreadable",
        why=f"property {name!r} holds {text!r:.80}, which is no document of positions",
        reader=str(reader),
        stored=text,
    )


def _in_table(stored: SourceId, place: SnapshotPlace, now: TableNow) -> Next:
    is_other = not (stored.is_same(now.source) or now.source.is_born_as(stored))
    if place.id == 0:  # nothing was read: whatever is there is new
        return GoOn(place)
    if now.at is not None and place.mark and now.at.mark and place.is_at(now.at):
        return GoOn(place)  # the very snapshot, wherever the table has gone
    if is_other:
        return Diverged(
            reason="made-anew",
            why=f"{now.source} is another table than the one that was read up to {place}: it was "
            "dropped and recreated, or renamed onto, or replaced by a copy",
            actual=f"{now.head} of {now.source}",
        )
    if now.at is not None:
        if place.is_at(now.at):
            return GoOn(place)  # set to a number, which has no mark
        return Diverged(
            reason="rolled-back",
            why=f"{place} of {now.source} is another snapshot than the one that was read: the "
            "table was rolled back or fast-forwarded, and has gone on",
            actual=f"{now.at.mark} of {now.at.time_ms}",
        )
    if now.head.id < place.id:
        return Diverged(
            reason="rolled-back",
            why=f"{now.source} was read up to {place}, and ends at {now.head}: it was rolled back "
            "or recreated",
            actual=str(now.head),
        )
    earliest = now.earliest
    if earliest is None or earliest.id < place.id or 0 < earliest.time_ms < place.time_ms:
        return Diverged(
            reason="rolled-back",
            why=f"{place} of {now.source} is gone though older ones are there: the table was "
            "rolled back",
            actual=str(earliest or now.head),
        )
    return GoOn(place)  # expired: what comes after it may still be there


def _in_files(place: FilesTaken, now: FilesNow) -> Next:
    look = place.look(now.listing)
    if look.changed:
        names = [file.path for file in look.changed]
        return Diverged(
            reason="changed",
            why=f"{len(names)} files were taken and have changed since: {_some(names)}",
            actual=_some(names),
            ways_out=("give what is new a name of its own, and put back what was taken", *_WAYS),
        )
    if look.unclear:
        names = [file.path for file in look.unclear]
        return Diverged(
            reason="unclear",
            why=f"{len(names)} files are as old as some that were taken too long ago to be known "
            f"one by one, so they may have been taken or not: {_some(names)}",
            actual=_some(names),
            ways_out=("write what was not taken anew, under names of its own", *_WAYS),
        )
    return GoOn(place)


def _in_topics(stored: SourceId, place: OffsetsPlace, now: TopicsNow) -> Next:
    ids = stored.topics if isinstance(stored, TopicsId) else {}
    if not stored.is_same(now.source):
        return Diverged(
            reason="made-anew",
            why=f"it read {stored}, and this is another cluster: {now.source}",
            actual=str(now.source),
        )
    for (topic, n), offset in sorted(place.offsets.items()):
        known, is_now = ids.get(topic, ""), now.source.topics.get(topic, "")
        if known and is_now and known != is_now:
            return Diverged(
                reason="made-anew",
                why=f"topic {topic!r} was deleted and recreated: its id was {known}, and is {is_now}",
                actual=is_now,
            )
        if (topic, n) not in now.ends:
            if offset and topic in now.source.topics:
                return Diverged(
                    reason="went-back",
                    why=f"partition {n} of topic {topic!r} was read up to {offset} and is gone",
                )
            continue
        first, end = now.ends[topic, n]
        if end < offset:
            return Diverged(
                reason="went-back",
                why=f"partition {n} of topic {topic!r} was read up to offset {offset} and ends at "
                f"{end}: the topic was recreated, or lost records",
                actual=str(end),
            )
        if offset < first:
            return Diverged(
                reason="expired",
                why=f"partition {n} of topic {topic!r} was read up to offset {offset} and begins "
                f"at {first}: what lies between was deleted before it was read",
                actual=str(first),
            )
    added = sorted({topic for topic, _ in now.ends} - {topic for topic, _ in place.offsets})
    return GoOn(place, tuple(added))


def _in_log(stored: SourceId, place: LogPlace, now: LogNow) -> Next:
    source = now.source
    follows = bool(place.gtid and now.gtids) and gtids_contain(now.gtids, place.gtid)
    if not stored.is_same(source) and not (isinstance(source, MySqlId) and follows):
        return Diverged(
            reason="made-anew",
            why=f"it read {stored}, and this is {source}: {_another_log(stored, source)}",
            actual=str(source),
        )
    if place.gtid and now.gtids and not follows:
        return Diverged(
            reason="went-back",
            why=f"{source} has not done all transactions that were read: {place.gtid} were, it "
            f"has {now.gtids}: its log was reset, or it is another server's copy",
            actual=now.gtids,
        )
    if now.end < place.order and stored.is_same(source):
        return Diverged(
            reason="went-back",
            why=f"the log of {source} was read up to {place} and ends before: it was reset, or "
            "restored from a backup",
            actual=str(now.end),
        )
    if place.order < now.first and stored.is_same(source):
        return Diverged(
            reason="expired",
            why=f"the log of {source} was read up to {place} and begins after it: what lies "
            "between was deleted, or the slot was dropped and recreated",
            actual=str(now.first),
        )
    return GoOn(place)


def _another_log(stored: SourceId, source: SourceId) -> str:
    """What happened to a server whose identity is another one."""
    if not isinstance(stored, PostgresId) or not isinstance(source, PostgresId):
        return "another server"
    if stored.system and source.system and stored.system != source.system:
        return "another server, or one that was recreated"
    if stored.slot and source.slot and stored.slot != source.slot:
        return "another replication slot, which does not know what was read"
    return (
        "its timeline is another one, so a standby was promoted or the server was restored from a "
        "backup, and what was read may not have happened there"
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
