"""What a sensor waits for: looked at by sensors and triggers alike, so that they cannot disagree.

Each has the fields that templates may give as text; ``look`` checks them, then asks the warehouse.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from paimon_provider.arguments.timestamps import epoch_ms, seconds_of, snapshot_id
from paimon_provider.watching.conditions import (
    BRING_ROWS,
    NewSnapshots,
    Seen,
    SnapshotFacts,
    counts,
    event_document,
    require_known,
    rows_of,
)
from paimon_provider.watching.seen import since
from table_core.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.watching.seen import Since

__all__ = [
    "MISSING",
    "FreshnessWait",
    "NotYet",
    "PartitionWait",
    "SnapshotWait",
    "TagWait",
    "Wait",
    "WatermarkWait",
    "field_names",
    "not_yet",
    "say_not_yet",
]

MISSING = ("wait", "fail")
"""What a sensor does where there is no table."""


_RESET = {
    "made-anew": "dropped and made anew",
    "rolled-back": "rolled back",
    "unknown": "rolled back, or dropped and made anew",
}


class Wait(Protocol):
    """Something that is so, or not yet."""

    def look(self, hook: PaimonHook) -> dict[str, Any] | None:
        """What was found, JSON-safe; None while it is not so, e.g. because there is no table.

        Raises:
            ArgumentError: it can never be so: a field makes no sense.
        """
        ...


def field_names(wait: type[Wait]) -> tuple[str, ...]:
    """The fields of a kind of wait."""
    return tuple(f.name for f in fields(wait))  # type: ignore[arg-type]  # all are dataclasses


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWait:
    """New snapshots after ``after`` that ``on`` names, with ``min_rows`` together."""

    table: str
    after: int | str = 0
    on: str = "changes"
    min_rows: int | str = 0
    place: Mapping[str, Any] | None = None
    """The snapshot ``after``, as an earlier look found it (``watching.seen.Seen``): not another one of its number."""

    def look(self, hook: PaimonHook) -> dict[str, Any] | None:
        """The event document of the new snapshots."""
        after = snapshot_id(self.after, "after")
        if after is None:
            raise ArgumentError(
                f"after={self.after!r} is no snapshot id", argument="after", value=self.after
            )
        condition = NewSnapshots(after=after, on=self.on, min_rows=int(self.min_rows))
        if self.place is not None:
            step, producer = self.since_place(hook, self.place)
            if step.reset is not None:
                return self._after_reset(hook, step, producer)
            if not step.new:
                return None
        matches = hook.new_snapshots(self.table, condition)
        if matches is None:
            return None
        return event_document(self.table, *matches)

    def placed(self, hook: PaimonHook) -> SnapshotWait:
        """This, with the ``place`` of ``after``, if it is there to be looked at."""
        after = snapshot_id(self.after, "after")
        if self.place is not None or not after:
            return self
        try:
            handle = hook.table(self.table)
            at = Seen.up_to(SnapshotFacts.of(handle.snapshot(after)))
            return replace(self, place=replace(at, birth=str(handle.birth)).to_json())
        except NotFoundError:  # expired, or not there yet
            return self

    def since_place(self, hook: PaimonHook, place: Mapping[str, Any]) -> tuple[Since, str]:
        """What is new since ``place``, and the changelog producer."""
        seen = Seen.from_json(place)
        unseen_now = hook.unseen_snapshots(self.table, seen)
        return since(unseen_now.snapshots, seen, unseen_now.birth), unseen_now.producer

    def _after_reset(self, hook: PaimonHook, step: Since, producer: str) -> dict[str, Any] | None:
        """The snapshots of what stands in the place of the table; none of the old ones counts."""
        new = list(step.new)
        if self.on == "delete":
            new = hook.completed(self.table, new)
        new = [s for s in new if counts(s, producer, self.on)]
        if not new or sum(map(rows_of, new)) < int(self.min_rows):
            return None
        return {**event_document(self.table, new, producer), "reset": step.reset}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionWait:
    """A partition with ``min_rows``; ``done`` asks for the mark that it is complete."""

    table: str
    partition: Mapping[str, Any]
    done: bool = False
    min_rows: int | str = 1

    def look(self, hook: PaimonHook) -> dict[str, Any] | None:
        """The partition's files, rows, bytes, and when it was updated and marked done."""
        try:
            state = hook.table(self.table).partition(dict(self.partition), with_done=self.done)
        except NotFoundError:
            return None
        if (
            state is None
            or state.rows < int(self.min_rows)
            or (self.done and state.done_ms is None)
        ):
            return None
        return {
            "table": self.table,
            "partition": dict(self.partition),
            "snapshot_id": state.snapshot,
            **{name: getattr(state, name) for name in ("partitions", "files", "rows", "bytes")},
            "updated_ms": state.updated_ms,
            "done_ms": state.done_ms,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessWait:
    """A snapshot that ``on`` names and that is at most ``within`` old."""

    table: str
    within: str | float
    on: str = "changes"

    def look(self, hook: PaimonHook) -> dict[str, Any] | None:
        """The newest such snapshot and its age.

        If what brought the rows has expired, and a compaction is what is left of it, then that one, and the age
        of the rows.  Rows of the future, by a clock that was ahead, are not fresh, which the log says.
        """
        from table_core.table.metadata.clocks import AHEAD_MS  # Arrow stays out of Dag parsing

        within = seconds_of(self.within, "within")
        require_known(self.on)
        now_ms = int(time.time() * 1000)
        head = hook.head(self.table)
        if head is None or now_ms - head.time_millis > within * 1000:
            return None
        snapshots, producer = hook.snapshots(self.table)
        newest = next((s for s in reversed(snapshots) if counts(s, producer, self.on)), None)
        at_ms = None if newest is None else newest.time_millis
        if newest is None and snapshots and snapshots[0].id > 1 and self.on in BRING_ROWS:
            newest, at_ms = snapshots[0], hook.table(self.table).rows_came_ms()
        if newest is None or at_ms is None or now_ms - at_ms > within * 1000:
            return None
        age = (now_ms - at_ms) / 1000
        if at_ms - now_ms > AHEAD_MS:
            _log.warning(
                "%s: the newest rows are %.0f seconds ahead of this machine's clock, so that nobody can say how old "
                "they are: set the clock of that writer",
                self.table,
                -age,
            )
            return None
        return {**event_document(self.table, [newest], producer), "age_seconds": age}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkWait:
    """An event-time watermark at or past ``at``."""

    table: str
    at: str | int

    def look(self, hook: PaimonHook) -> dict[str, Any] | None:
        """The watermark and the snapshot that has it."""
        at_ms = epoch_ms(self.at, "at")
        if at_ms is None:
            raise ArgumentError("at: no point in time", argument="at", value=self.at)
        head = hook.head(self.table)
        if head is None or head.watermark is None or head.watermark < at_ms:
            return None
        return {"table": self.table, "snapshot_id": head.id, "watermark_ms": head.watermark}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagWait:
    """A tag of that name."""

    table: str
    tag: str

    def look(self, hook: PaimonHook) -> dict[str, Any] | None:
        """The tag's snapshot."""
        try:
            tag = hook.table(self.table).tags.get(self.tag)
        except NotFoundError:
            return None
        snapshot = SnapshotFacts.of(tag.snapshot)
        return {
            "table": self.table,
            "tag": self.tag,
            "snapshot_id": snapshot.id,
            "committed_at_ms": snapshot.time_millis,
            "total_rows": snapshot.total_rows,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """What is there instead."""

    why: str
    missing: NotFoundError | None = None
    """There is no such table."""


def not_yet(wait: Wait, hook: PaimonHook) -> NotYet:
    """What a sensor says after a look that found nothing: how far it is, or that there is no table."""
    name = str(getattr(wait, "table", ""))
    try:
        handle = hook.table(name)
        head = handle.latest_snapshot()
    except NotFoundError as error:
        return NotYet(why=f"there is no table {name}", missing=error)
    if head is None:
        return NotYet(why=f"{name} has no snapshot")
    at = f"the newest snapshot of {name} is {head.id}"
    match wait:
        case SnapshotWait():
            return NotYet(why=_snapshots_so_far(wait, hook, head.id, at))
        case PartitionWait():
            return NotYet(why=_partition_so_far(wait, handle))
        case WatermarkWait():
            return NotYet(why=f"the watermark of {name} is {head.watermark}, before {wait.at}")
        case TagWait():
            return NotYet(why=f"{name} has no tag {wait.tag}; {at}")
    return NotYet(why=f"{at}, committed at {head.time_millis} ms since 1970")


def say_not_yet(wait: Wait, hook: PaimonHook, missing: str, log: Any) -> Mapping[str, Any] | None:
    """Write into ``log`` what is there after a look that found nothing; returns the place for later looks, if any.

    Raises:
        NotFoundError: there is no such table, and ``missing`` is ``fail``.
    """
    state = not_yet(wait, hook)
    if state.missing is not None and missing == "fail":
        raise state.missing
    log.info("Still waiting: %s", state.why)
    return wait.placed(hook).place if isinstance(wait, SnapshotWait) else None


def _snapshots_so_far(wait: SnapshotWait, hook: PaimonHook, head: int, at: str) -> str:
    after = snapshot_id(wait.after, "after") or 0
    if wait.place is not None:
        step, producer = wait.since_place(hook, wait.place)
        if step.reset is not None:
            new = [s for s in step.new if counts(s, producer, wait.on)]
            return (
                f"{at}. Since the first look the table was {_RESET[step.reset]}: of what stands in its place "
                f"{len(new)} count for on={wait.on!r}, with {sum(map(rows_of, new))} of {wait.min_rows} rows"
            )
    if head < after:
        return (
            f"{at}, before after={after}: the table was rolled back, or dropped and made anew. What is counted "
            "now are snapshots of another history: clear the task with after=0, or with an id of this table"
        )
    if head == after:  # as most looks find it: no other snapshot is read
        return f"{at}, and none came after it"
    snapshots, producer = hook.snapshots(wait.table)
    new = [s for s in snapshots if s.id > after and counts(s, producer, wait.on)]
    rows = sum(map(rows_of, new))
    return f"{at}; {len(new)} after {after} count for on={wait.on!r}, with {rows} of {wait.min_rows} rows"


def _partition_so_far(wait: PartitionWait, handle: Any) -> str:
    state = handle.partition(dict(wait.partition), with_done=wait.done)
    if state is None:
        return f"{wait.table} has no partition {dict(wait.partition)}"
    marked = ", and it is not marked done" if wait.done and state.done_ms is None else ""
    return f"partition {dict(wait.partition)} has {state.rows} of {wait.min_rows} rows{marked}"
