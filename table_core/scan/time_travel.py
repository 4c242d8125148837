"""Which state of a table a batch read sees.

Arguments of the call and ``scan.*`` options say it; two that differ are refused, not ranked.  A state
that was asked for by name is read under its own schema.

Source: ``org.apache.paimon.table.source.snapshot.TimeTravelUtil`` and its neighbours; format 9.2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.datatypes.temporal_text import parse_timestamp, timestamp_text
from table_core.errors import ArgumentError, NotFoundError, OptionError
from table_core.ondisk.snapshot import BATCH_IDENTIFIER, CommitKind
from table_core.options import keys_scan, keys_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.options.table import TableOptions

__all__ = [
    "SnapshotRef",
    "Timeline",
    "at_or_before",
    "compacted_full",
    "first_from",
    "resolve",
    "timestamp_option",
]

_MODES: Final = frozenset({"default", "full", "latest-full", "latest"})
_NEEDS: Final = {
    "from-file-creation-time": keys_scan.SCAN_FILE_CREATION_TIME_MILLIS.key,
    "from-creation-timestamp": keys_scan.SCAN_CREATION_TIME_MILLIS.key,
}


class Timeline(Protocol):
    """The snapshots of one branch, as the caller reads them."""

    def ids(self) -> Sequence[int]:
        """Ids of the snapshots that are there, ascending."""

    def head(self) -> Snapshot | None:
        """The newest snapshot, None if there is none."""

    def snapshot(self, id: int) -> Snapshot:
        """The snapshot ``id``; ``NotFoundError`` if there is none."""

    def tag(self, name: str) -> Snapshot:
        """The snapshot of tag ``name``; ``NotFoundError`` if there is none."""

    def has_tag(self, name: str) -> bool:
        """Whether there is a tag ``name``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """The state to read."""

    snapshot: Snapshot | None
    """None: the table has no snapshot, so it has no rows."""
    explicit: bool
    """Whether the state was asked for: then its own schema applies."""
    delta_only: bool = False
    """Only the files that this snapshot added (``latest-delta``)."""
    created_after_ms: int | None = None
    """Only files created at this time or later (``from-file-creation-time``)."""
    committed: bool = False
    """Also rows that batch reads do not see before a compaction: a writer goes on from them."""


def resolve(
    options: TableOptions,
    timeline: Timeline,
    *,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp_ms: int | None = None,
    watermark: int | None = None,
) -> SnapshotRef:
    """The state that arguments and options ask for; the newest if they ask for none.

    Raises:
        ArgumentError: more than one state is asked for.
        NotFoundError: there is no such state.
        OptionError: ``scan.mode`` lacks what it needs.
    """
    wanted = _wanted(
        options,
        {"snapshot": snapshot, "tag": tag, "timestamp": timestamp_ms, "watermark": watermark},
    )
    mode = options.get(keys_scan.SCAN_MODE)
    if wanted is None:
        return _by_mode(options, timeline, mode)
    what, value = wanted
    state = _FINDERS[what](timeline, value)
    if mode == "from-timestamp" and what != "timestamp":
        raise OptionError(
            "scan.mode from-timestamp needs a timestamp", option="scan.mode", value=mode
        )
    return SnapshotRef(snapshot=state, explicit=True)


def _wanted(options: TableOptions, arguments: dict[str, Any]) -> tuple[str, Any] | None:
    """The one state that is asked for, as what and value."""
    text = options.get(keys_scan.SCAN_TIMESTAMP)
    points = [(k, v) for k, v in arguments.items() if v is not None] or [
        (k, v)
        for k, v in (
            ("snapshot", options.get(keys_scan.SCAN_SNAPSHOT_ID)),
            ("tag", options.get(keys_scan.SCAN_TAG_NAME)),
            ("timestamp", options.get(keys_scan.SCAN_TIMESTAMP_MILLIS)),
            ("timestamp", None if text is None else timestamp_option(text)),
            ("watermark", options.get(keys_scan.SCAN_WATERMARK)),
            ("version", options.get(keys_scan.SCAN_VERSION)),
        )
        if v is not None
    ]
    distinct = list(dict.fromkeys(points))
    if len(distinct) > 1:
        what = " and ".join(f"{k}={v!r}" for k, v in distinct)
        raise ArgumentError(
            f"one state can be read at a time, not {what}", argument=distinct[1][0], value=what
        )
    return distinct[0] if distinct else None


def timestamp_option(text: str) -> int:
    """``scan.timestamp`` as epoch milliseconds; text without a zone is UTC.

    Raises:
        OptionError: the text is no timestamp.
    """
    try:
        return parse_timestamp(text) // 1_000_000
    except ValueError as error:
        raise OptionError(
            f"option 'scan.timestamp' cannot be {text!r}: {error}",
            option="scan.timestamp",
            value=text,
        ) from error


def _by_mode(options: TableOptions, timeline: Timeline, mode: str) -> SnapshotRef:
    latest = timeline.head()
    if mode == "latest-delta":
        return SnapshotRef(snapshot=latest, explicit=False, delta_only=True)
    if mode == "compacted-full":
        return SnapshotRef(snapshot=compacted_full(options, timeline) or latest, explicit=False)
    if mode == "incremental":
        raise OptionError(
            "scan.mode incremental needs incremental-between, incremental-between-timestamp or "
            "incremental-to-auto-tag",
            option="scan.mode",
            value=mode,
        )
    files = options.get(keys_scan.SCAN_FILE_CREATION_TIME_MILLIS)
    created = options.get(keys_scan.SCAN_CREATION_TIME_MILLIS)
    if mode == "from-creation-timestamp" or (mode == "default" and files is None):
        if created is not None:
            return _created_after(timeline, created)
        if mode == "default":
            return SnapshotRef(snapshot=latest, explicit=False)
    if mode in _MODES - {"default"}:
        return SnapshotRef(snapshot=latest, explicit=False)
    if files is not None and mode in {"default", "from-file-creation-time"}:
        return SnapshotRef(snapshot=latest, explicit=False, created_after_ms=files)
    needs = _NEEDS.get(mode, "a snapshot, tag or timestamp")
    raise OptionError(f"scan.mode {mode} needs {needs}", option="scan.mode", value=mode)


def _created_after(timeline: Timeline, time_ms: int) -> SnapshotRef:
    """The first snapshot from ``time_ms`` on; without one before it, or none since, by files."""
    id = first_from(timeline, time_ms)
    if id is not None:
        return SnapshotRef(snapshot=timeline.snapshot(id), explicit=True)
    return SnapshotRef(snapshot=timeline.head(), explicit=False, created_after_ms=time_ms)


def first_from(timeline: Timeline, time_ms: int) -> int | None:
    """The snapshot after the newest one before ``time_ms``, None if one of the two is not there.

    Made at 10, 20 and 30: 15 gives the second; 5 gives None, since what was before the first may have
    expired; 35 gives None, since nothing came after.
    """
    ids = timeline.ids()
    at = bisect_left(
        ids, time_ms, key=lambda snapshot_id: timeline.snapshot(snapshot_id).time_millis
    )
    return ids[at] if 0 < at < len(ids) else None


def compacted_full(options: TableOptions, timeline: Timeline) -> Snapshot | None:
    """The newest COMPACT snapshot; where full compactions are counted, the newest full one."""
    full_every = options.get(keys_write.FULL_COMPACTION_DELTA_COMMITS)
    if full_every is None and options.get(keys_scan.CHANGELOG_PRODUCER) == "full-compaction":
        full_every = 1
    for id in reversed(timeline.ids()):
        snapshot = timeline.snapshot(id)
        identifier = snapshot.commit_identifier
        if snapshot.commit_kind is CommitKind.COMPACT and (
            full_every is None or identifier == BATCH_IDENTIFIER or identifier % full_every == 0
        ):
            return snapshot
    return None


def at_or_before(timeline: Timeline, time_ms: int) -> Snapshot | None:
    """The newest snapshot at or before ``time_ms``, None if all are later."""
    ids = timeline.ids()
    at = bisect_right(
        ids, time_ms, key=lambda snapshot_id: timeline.snapshot(snapshot_id).time_millis
    )
    return timeline.snapshot(ids[at - 1]) if at else None


def _at_time(timeline: Timeline, time_ms: int) -> Snapshot:
    snapshot = at_or_before(timeline, time_ms)
    if snapshot is None:
        ids = timeline.ids()
        first = "none is there"
        if ids:
            first = f"the oldest is of {_utc(timeline.snapshot(ids[0]).time_millis)}"
        raise NotFoundError(
            f"no snapshot at or before {_utc(time_ms)} ({time_ms}): {first}",
            name=str(time_ms),
            available=[],
        )
    return snapshot


def _utc(time_ms: int) -> str:
    return f"{timestamp_text(time_ms * 1_000_000, 3)} UTC"


def _at_watermark(timeline: Timeline, watermark: int) -> Snapshot:
    """A snapshot with ``watermark``, else the first whose watermark is beyond.

    Of several with that very watermark it is the one that Paimon's search meets first.  A snapshot without
    one counts as having that of the newest before it.  Watermarks NULL 3 NULL 7: 3 gives the second
    snapshot, 5 the fourth, 9 is refused.
    """
    ids = timeline.ids()
    watermarks = [timeline.snapshot(id).watermark for id in ids]
    low, high = (
        next(
            (at for at, watermark_of in enumerate(watermarks) if watermark_of is not None), len(ids)
        ),
        len(ids),
    )
    if low < high and _known(watermarks[low]) >= watermark:
        return timeline.snapshot(ids[low])
    low, last, met_at = 0, high - 1, None
    while low <= last:
        middle = low + (last - low) // 2
        watermark_of = next((m for m in watermarks[middle::-1] if m is not None), None)
        if watermark_of is None or watermark_of < watermark:
            low = middle + 1
        else:
            last, met_at = middle - 1, middle
            if watermark_of == watermark:
                break
    if met_at is None:
        raise NotFoundError(
            f"no snapshot has reached watermark {watermark}", name=str(watermark), available=[]
        )
    return timeline.snapshot(ids[met_at])


def _known(watermark_of: int | None) -> int:
    return -(2**63) if watermark_of is None else watermark_of


def _at_version(timeline: Timeline, version: str) -> Snapshot:
    if timeline.has_tag(version):
        return timeline.tag(version)
    if version.isdecimal():
        return timeline.snapshot(int(version))
    return timeline.tag(version)


_FINDERS: Final[dict[str, Any]] = {
    "snapshot": lambda timeline, number: timeline.snapshot(number),
    "tag": lambda timeline, name: timeline.tag(name),
    "timestamp": _at_time,
    "watermark": _at_watermark,
    "version": _at_version,
}
