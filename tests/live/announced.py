"""What a table's own snapshots and rows say of an event: nothing of what its writer has counted is looked at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.table.api.catalog import Catalog
from table_core.table.api.table import Table
from tests.live.forty_dags import LATER, TABLES

__all__ = ["Event", "compared"]

Row = tuple[Any, ...]
LATE = ("vectors", "first")
"""Kinds of tables whose new rows are seen by readers once they are compacted."""


class Event(NamedTuple):
    """What was announced, and by which task; a watcher has none."""

    uri: str
    source: tuple[Any, ...]
    extra: dict[str, Any]

    @property
    def by_task(self) -> bool:
        return self.source[0] is not None

    @property
    def told(self) -> dict[str, Any]:
        """The event document, whoever tells it."""
        return self.extra if self.by_task else self.extra["payload"]

    @property
    def table(self) -> str:
        """The table, without its database."""
        return str(self.told["table"]).rpartition(".")[2]


class Told(NamedTuple):
    """What an event says in numbers."""

    added: int = 0
    updated: int = 0
    deleted: int = 0

    @classmethod
    def by(cls, event: Mapping[str, Any]) -> Told:
        return cls(*(event["rows"][name] for name in cls._fields))


class History:
    """A table from its first snapshot on: all that was read in it, looked at once."""

    def __init__(self, table: Table, kind: str) -> None:
        self.table = table
        self.kind = kind
        self.snapshots: dict[int, Snapshot] = {s.id: s for s in table.snapshots()}
        self._states: dict[int, Counter[Row]] = {}

    @cached_property
    def _identity(self) -> Any:
        """Of a row: its key; in a table without one who it is (``u``)."""
        return (lambda row: row[:2]) if self.table.primary_key else (lambda row: row[2])

    def of_event(self, event: Mapping[str, Any], *, every: bool) -> list[Snapshot]:
        """The snapshots of its writer that an event tells of: ``every`` one, or those with changes for readers."""
        last = self.snapshots[event["snapshot_id"]]
        span = range(event["snapshots"]["first"], event["snapshots"]["last"] + 1)
        own = [self.snapshots[n] for n in span if self.snapshots[n].commit_user == last.commit_user]
        return [s for s in own if every or self.delivers(s)]

    def delivers(self, snapshot: Snapshot) -> bool:
        """Whether readers of changes find rows in it."""
        return bool(snapshot.changelog_record_count)

    def wrong(self, event: Mapping[str, Any], told_of: Iterable[Snapshot]) -> list[str]:
        """Each number of the event that is not what the table says."""
        told_of = list(told_of)
        parts = [self._told(s) for s in told_of]
        want = {
            "numbers": Told(*(sum(numbers) for numbers in zip(*parts, strict=True))),
            "count": len(told_of),
            "kinds": Counter(str(s.commit_kind) for s in told_of),
            "operations": Counter(str(s.operation) for s in told_of if s.operation),
            "changelog": sum(s.changelog_record_count or 0 for s in told_of),
            "committed": told_of[-1].time_millis,
            **{
                kind: sum(s.delta_record_count for s in told_of if str(s.commit_kind) == kind)
                for kind in {str(s.commit_kind) for s in told_of}
            },
        }
        said = {
            "numbers": Told.by(event),
            "count": event["snapshots"]["count"],
            "kinds": Counter(event["kinds"]),
            "operations": Counter(event.get("operations", {})),
            "changelog": event["rows"]["changelog"],
            "committed": event["committed_at_ms"],
            **{kind: event["rows"].get(kind.lower()) for kind in event["kinds"]},
        }
        wrong = [f"{k}: {said.get(k)}, not {want[k]}" for k in want if said.get(k) != want[k]]
        return wrong + self._wrong_partitions(event, told_of)

    def _wrong_partitions(self, event: Mapping[str, Any], told_of: list[Snapshot]) -> list[str]:
        if any(self._only_rewrites(s) for s in told_of):
            return []  # those it rewrote are told, too
        days = {row[0] for s in told_of for row in self._went_and_came(s)}
        want = [{"dt": day} for day in sorted(days)] if self.table.partition_by else []
        said = sorted(event["partitions"], key=lambda one: one.get("dt", ""))
        return [] if said == want else [f"partitions: {said}, not {want}"]

    def _only_rewrites(self, snapshot: Snapshot) -> bool:
        return snapshot.commit_kind is CommitKind.COMPACT and not self.delivers(snapshot)

    def _told(self, snapshot: Snapshot) -> Told:
        if self._only_rewrites(snapshot):
            return Told()
        if self._by_rows(snapshot):
            kinds = Counter(kind for kind, _ in self._changes(snapshot))
            return Told(kinds["+I"], kinds["+U"], kinds["-D"])
        before, after = self._state(snapshot.id - 1), self._state(snapshot.id)
        went = Counter(map(self._identity, (before - after).elements()))
        came = Counter(map(self._identity, (after - before).elements()))
        changed = (went & came).total()
        new, gone = came.total() - changed, went.total() - changed
        match snapshot.operation:
            case "OVERWRITE":
                return Told(new + changed, 0, gone + changed)
            case "UPDATE" | "MERGE":
                return Told(new, changed, gone)
            case _:
                return Told(new + changed, 0, gone)

    def _by_rows(self, snapshot: Snapshot) -> bool:
        """Whether its change is in rows of its own: a changelog of a compaction, or rows not yet seen by readers."""
        if snapshot.commit_kind is CommitKind.COMPACT:
            return True
        return self.kind in LATE and snapshot.commit_kind is CommitKind.APPEND

    def _went_and_came(self, snapshot: Snapshot) -> Iterable[Row]:
        if self._by_rows(snapshot):
            return [row for _, row in self._changes(snapshot)]
        before, after = self._state(snapshot.id - 1), self._state(snapshot.id)
        return [*(before - after), *(after - before)]

    def _changes(self, snapshot: Snapshot) -> list[tuple[str, Row]]:
        mode = "changelog" if snapshot.commit_kind is CommitKind.COMPACT else "delta"
        rows = self.table.changes(after=snapshot.id - 1, to=snapshot.id, mode=mode).to_arrow()
        kinds = rows["_ROW_KIND"].to_pylist()
        values = rows.drop_columns(["_ROW_KIND"]).to_pylist()
        return [(kind, tuple(row.values())) for kind, row in zip(kinds, values, strict=True)]

    def _state(self, snapshot: int) -> Counter[Row]:
        if snapshot not in self._states:
            rows = self.table.read(snapshot=snapshot).to_arrow().to_pylist() if snapshot else []
            self._states[snapshot] = Counter(tuple(row.values()) for row in rows)
        return self._states[snapshot]


def compared(
    catalog: Catalog,
    begun: Mapping[str, int],
    events: Sequence[Event],
    values: Mapping[tuple[Any, ...], Any],
) -> list[str]:
    """All that is not as the tables and the tasks say; ``begun``: the tables, and what they had before."""
    histories = {name: History(catalog.table(f"f.{name}"), TABLES[name]) for name in begun}
    silent = [event for event in events if "snapshot_id" not in event.told]
    events = [event for event in events if event not in silent]
    return [
        *(f"{event.uri} {event.source} tells of no commit: {event.extra}" for event in silent),
        *differ(events),
        *numbers(events, histories),
        *missing(events, histories, begun),
        *results(events, values),
    ]


def differ(events: Sequence[Event]) -> list[str]:
    """Events of one snapshot that are not equal: whoever counts would count them twice."""
    first: dict[Any, dict[str, Any]] = {}
    wrong = []
    for event in events:
        told = event.told
        before = first.setdefault((event.uri, told["snapshot_id"]), told)
        if before != told:
            wrong.append(f"{event.uri} {event.source}: {told}, and before {before}")
    return wrong


def numbers(events: Sequence[Event], histories: Mapping[str, History]) -> list[str]:
    wrong = []
    for event in events:
        history = histories[event.table]
        of = history.of_event(event.told, every=not event.by_task or history.kind not in LATER)
        who = f"{event.table} {event.source} #{event.told['snapshot_id']}"
        wrong += [f"{who}: {one}" for one in history.wrong(event.told, of)]
    return wrong


def missing(
    events: Sequence[Event], histories: Mapping[str, History], begun: Mapping[str, int]
) -> list[str]:
    """Snapshots of tasks of which no task has told."""
    told: dict[str, set[int]] = defaultdict(set)
    for event in filter(lambda one: one.by_task, events):
        history = histories[event.table]
        every = history.kind not in LATER
        told[event.table] |= {s.id for s in history.of_event(event.told, every=every)}
    wrong = []
    for name, history in histories.items():
        later = [s for s in history.snapshots.values() if s.id > begun[name]]
        due = {s.id for s in later if history.kind not in LATER or history.delivers(s)}
        wrong += [f"{name}: nobody has told of {n}" for n in sorted(due ^ told[name])]
    return wrong


def _has_committed(result: Mapping[str, Any]) -> bool:
    return bool(result["snapshot_before"] != result["snapshot_after"])


def results(events: Sequence[Event], values: Mapping[tuple[Any, ...], Any]) -> list[str]:
    """Where the newest event of a task says its result, it is what the task has returned.

    A run that was cleared and found nothing more to do has committed nothing, and tells nothing.
    """
    newest = {event.source: event.extra for event in events if event.by_task}
    both = {
        source: (event["result"], {k: v for k, v in values[source].items() if k != "commits"})
        for source, event in newest.items()
        if "result" in event and source in values and _has_committed(values[source])
    }
    return [
        f"{source}: {said}, returned {did}" for source, (said, did) in both.items() if said != did
    ]
