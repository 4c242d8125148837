"""A reader that follows a table: where it starts, and what it does with each next snapshot.

A pure state machine.  The caller shows it the snapshot that comes next, or that there is none yet,
and does what it answers:

    start ──► Start(full read of S?, next id) ──► step(snapshot) ──► Deliver | Skip | Wait | Ended

Nothing is delivered twice: where a producer writes changes at compaction, the full read leaves out the
levels whose changes are still to come (format T56).

Source: ``org.apache.paimon.table.source.DataTableStreamScan``; format 9.2 and 9.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.errors import NotFoundError, OptionError
from table_core.ondisk.snapshot import FIRST_ID, CommitKind, Snapshot
from table_core.options import keys_merge, keys_scan
from table_core.scan.time_travel import compacted_full, first_from, resolve, timestamp_option

if TYPE_CHECKING:
    from table_core.options.table import TableOptions
    from table_core.scan.time_travel import Timeline

__all__ = [
    "Deliver",
    "Ended",
    "Follower",
    "Levels",
    "Skip",
    "Start",
    "Step",
    "Wait",
    "levels_of",
    "require_changes",
    "start",
]

_FULL: Final = frozenset({"default", "full", "latest-full"})
_AT_COMPACTION: Final = frozenset({"lookup", "full-compaction"})
"""Producers that find changes by comparing with what was there."""
_MERGING: Final = frozenset({"partial-update", "aggregation", "first-row"})
"""Merge engines with which the rows of a commit are not what the table shows afterwards."""
_NO_STREAM: Final = frozenset({"latest-delta", "incremental"})


class Levels(StrEnum):
    """Which levels the first, full read sees."""

    ALL = "all"
    ABOVE_ZERO = "above-zero"
    TOP = "top"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a stream begins."""

    next_id: int
    """The first snapshot whose changes are read."""
    full: Snapshot | None = None
    """The state that is read in full before, as ``+I``."""
    levels: Levels = Levels.ALL
    created_after_ms: int | None = None
    """The full read takes only files created at this time or later."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """Read the ADD entries of ``manifest_list``; with ``with_deleted`` its DELETE entries as -D."""

    manifest_list: str
    size: int | None = None
    """Bytes of the list, None where the snapshot does not say."""
    with_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """The snapshot delivers nothing to a stream."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again after this many milliseconds."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The bound is reached: the stream is over."""


Step: TypeAlias = Deliver | Skip | Wait | Ended


def start(
    options: TableOptions,
    timeline: Timeline,
    *,
    after: int | None = None,
    consumer_next: int | None = None,
) -> Start:
    """Where a stream begins: the consumer's position, ``after``, or as ``scan.mode`` says.

    Raises:
        OptionError: the mode cannot be streamed, or lacks what it needs.
        NotFoundError: the state to start from does not exist.
    """
    ignores = options.get(keys_scan.CONSUMER_IGNORE_PROGRESS)
    if consumer_next is not None and not ignores:
        return Start(next_id=consumer_next)
    if after is not None:
        return Start(next_id=after + 1)
    mode = _mode(options)
    if mode in _NO_STREAM:
        raise OptionError(
            f"scan.mode {mode} reads once and cannot be followed", option="scan.mode", value=mode
        )
    ids = timeline.ids()
    if mode == "latest":
        return Start(next_id=ids[-1] + 1 if ids else FIRST_ID)
    if mode in {"from-snapshot", "from-snapshot-full"}:
        return _from_snapshot(options, timeline, full=mode == "from-snapshot-full")
    if mode == "from-timestamp":
        return _from_timestamp(options, timeline)
    created_ms = options.get(keys_scan.SCAN_CREATION_TIME_MILLIS)
    if mode == "from-creation-timestamp" and created_ms is not None:
        first = first_from(timeline, created_ms)
        if first is not None:
            return Start(next_id=first)
    if not ids:
        return Start(next_id=FIRST_ID)
    latest = timeline.snapshot(ids[-1])
    full = (compacted_full(options, timeline) or latest) if mode == "compacted-full" else latest
    created = None
    if mode not in _FULL and mode != "compacted-full":
        created = resolve(options, timeline).created_after_ms
    return Start(next_id=full.id + 1, full=full, levels=_levels(options), created_after_ms=created)


def require_changes(
    options: TableOptions,
    table: str,
    *,
    is_key_table: bool,
    producer: str | None = None,
    of: str = "",
) -> None:
    """Refuse a stream of a key table whose commits hold parts of rows, and whose producer tells no changes.

    ``producer`` is the one that ``of``, a snapshot, was written under; None: that of the options.

    Raises:
        OptionError: the table merges rows of several commits, and has no changelog producer.

    Source: ``org.apache.paimon.flink.utils.TableScanUtils#streamingReadingValidate``.
    """
    engine = options.get(keys_merge.MERGE_ENGINE)
    asked = options.get(keys_scan.CHANGELOG_PRODUCER)
    if not is_key_table or engine not in _MERGING or (producer or asked) != "none":
        return
    help = (
        "set changelog-producer=lookup (with first-row, only lookup) or full-compaction; "
        "input gives the rows as they were written"
        if asked == "none"
        else "run a full compaction, and begin the stream without a position: it starts with the whole table"
    )
    raise OptionError(
        f"{of}{table}: merge-engine={engine} cannot be streamed without a changelog-producer, because a commit "
        f"holds rows that are still to be merged; {help}",
        option="changelog-producer",
        value="none",
    )


def _mode(options: TableOptions) -> str:
    """``scan.mode``, with ``default`` decided by the other options."""
    mode = options.get(keys_scan.SCAN_MODE)
    if mode != "default":
        return mode
    for chosen, deciding in (
        ("from-timestamp", (keys_scan.SCAN_TIMESTAMP, keys_scan.SCAN_TIMESTAMP_MILLIS)),
        (
            "from-snapshot",
            (
                keys_scan.SCAN_SNAPSHOT_ID,
                keys_scan.SCAN_TAG_NAME,
                keys_scan.SCAN_WATERMARK,
                keys_scan.SCAN_VERSION,
            ),
        ),
        ("from-file-creation-time", (keys_scan.SCAN_FILE_CREATION_TIME_MILLIS,)),
        ("from-creation-timestamp", (keys_scan.SCAN_CREATION_TIME_MILLIS,)),
        (
            "incremental",
            (keys_scan.INCREMENTAL_BETWEEN, keys_scan.INCREMENTAL_BETWEEN_TIMESTAMP),
        ),
    ):
        if any(options.is_set(option) for option in deciding):
            return chosen
    return mode


def _levels(options: TableOptions) -> Levels:
    return levels_of(options.get(keys_scan.CHANGELOG_PRODUCER))


def levels_of(producer: str) -> Levels:
    """Which levels a first, full read sees: the changes of the others are still to come."""
    return {"lookup": Levels.ABOVE_ZERO, "full-compaction": Levels.TOP}.get(producer, Levels.ALL)


def _from_snapshot(options: TableOptions, timeline: Timeline, *, full: bool) -> Start:
    """From a snapshot, inclusive; one that has expired means the earliest that is there."""
    ids = timeline.ids()
    id = options.get(keys_scan.SCAN_SNAPSHOT_ID)
    if id is None:
        state = resolve(options, timeline)
        if not state.explicit or state.snapshot is None:
            raise OptionError(
                "scan.mode from-snapshot needs scan.snapshot-id",
                option="scan.mode",
                value="from-snapshot",
            )
        id = state.snapshot.id
    first = max(id, ids[0]) if ids else id
    if not full:
        return Start(next_id=first)
    return Start(next_id=first + 1, full=timeline.snapshot(first), levels=_levels(options))


def _from_timestamp(options: TableOptions, timeline: Timeline) -> Start:
    """From the snapshot after the last one before the time."""
    time_ms = options.get(keys_scan.SCAN_TIMESTAMP_MILLIS)
    text = options.get(keys_scan.SCAN_TIMESTAMP)
    if time_ms is None and text is not None:
        time_ms = timestamp_option(text)
    if time_ms is None:
        raise OptionError(
            "scan.mode from-timestamp needs scan.timestamp or scan.timestamp-millis",
            option="scan.mode",
            value="from-timestamp",
        )
    ids = timeline.ids()
    for id in reversed(ids):
        if timeline.snapshot(id).time_millis < time_ms:
            return Start(next_id=id + 1)
    return Start(next_id=ids[0] if ids else FIRST_ID)


@dataclass(frozen=True, slots=True)
class Follower:
    """Decides about one snapshot after the other."""

    options: TableOptions
    is_key_table: bool
    table: str = "the table"
    as_written: bool = False
    """Whether rows that are still to be merged are delivered too, by who shows commits and no changes."""

    def ends_after_full(self, begin: Start) -> bool:
        """Whether the full read already passes the bound."""
        return begin.full is not None and self._is_past(begin.full)

    def step(
        self,
        next_id: int,
        snapshot: Snapshot | None,
        *,
        earliest: int | None,
        now_ms: int,
        producer: str | None = None,
    ) -> Step:
        """What to do about snapshot ``next_id``; ``snapshot`` is None if it is not there.

        ``earliest`` is the oldest snapshot, or kept changelog, that is there; ``producer`` that of the
        snapshot.  After ``Deliver`` and ``Skip`` the next id follows.

        Raises:
            NotFoundError: ``next_id`` has expired.
        """
        if snapshot is None:
            if earliest is not None and next_id < earliest:
                raise NotFoundError(
                    f"snapshot {next_id} has expired, the oldest is {earliest}: this reader has "
                    "lost changes. Start it again (a Spark stream with a new checkpoint). Keep "
                    "snapshots longer (snapshot.time-retained), or set consumer-id, so that expiry "
                    "waits for it",
                    name=str(next_id),
                    available=[earliest],
                )
            return Wait(self.options.get(keys_scan.CONTINUOUS_DISCOVERY_INTERVAL))
        if self._is_past(snapshot):
            return Ended()
        delay = self.options.get(keys_scan.STREAMING_READ_SNAPSHOT_DELAY)
        if delay is not None and now_ms < snapshot.time_millis + delay:
            return Wait(snapshot.time_millis + delay - now_ms)
        return self.reads(snapshot, producer)

    def _is_past(self, snapshot: Snapshot) -> bool:
        bound = self.options.get(keys_scan.SCAN_BOUNDED_WATERMARK)
        return bound is not None and snapshot.watermark is not None and snapshot.watermark > bound

    def reads(self, snapshot: Snapshot, producer: str | None = None) -> Deliver | Skip:
        """What of ``snapshot`` a stream reads, whenever it does.

        ``producer`` is the changelog producer that it was written under; None: that of the options.

        Raises:
            OptionError: the table's options cannot be streamed together.
        """
        if not self.as_written and snapshot.commit_kind is CommitKind.APPEND:
            require_changes(
                self.options,
                self.table,
                is_key_table=self.is_key_table,
                producer=producer,
                of=f"snapshot {snapshot.id} of ",
            )
        producer = producer or self.options.get(keys_scan.CHANGELOG_PRODUCER)
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            option = (
                keys_scan.STREAMING_READ_OVERWRITE
                if self.is_key_table
                else keys_scan.STREAMING_READ_APPEND_OVERWRITE
            )
            if not self.options.get(option):
                return Skip()
            if producer in _AT_COMPACTION:
                raise OptionError(
                    f"{option.key} cannot be set with changelog-producer={producer}: what was "
                    "overwritten would be delivered twice",
                    option=option.key,
                    value="true",
                )
            name, size = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
            return Deliver(name, size, with_deleted=self.is_key_table)
        if producer != "none":
            changelog, size = (
                snapshot.changelog_manifest_list,
                snapshot.changelog_manifest_list_size,
            )
            return Skip() if changelog is None else Deliver(changelog, size)
        if snapshot.commit_kind is CommitKind.APPEND:
            return Deliver(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        return Skip()
