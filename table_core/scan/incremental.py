"""What changed between two snapshots, and where it is written down.

    changelog   rows of the changelog files of each snapshot, whatever its kind; OVERWRITE gives none
    delta       rows of the files that APPEND snapshots added, as stored
    diff        the state at the end against the state at the start

Rows come by snapshot, then as written within the bucket; nothing is merged across snapshots.

Snapshots 1 APPEND (key 1, a), 2 COMPACT, 3 APPEND (1, b), 4 COMPACT with changelog -U (1, a), +U (1, b)::

    (1, 4]  changelog  -U (1, a)  +U (1, b)     of 4
            delta      +I (1, b)                the file of 3, as it was written
            diff       -U (1, a)  +U (1, b)     state 4 against state 1

Source: ``org.apache.paimon.table.source.snapshot.Incremental*StartingScanner``; format 9.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, OptionError, UnsupportedFeatureError
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.options import keys_scan, parse
from table_core.scan.split import by_bucket
from table_core.scan.time_travel import at_or_before

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.options.table import TableOptions
    from table_core.scan.time_travel import Timeline

__all__ = [
    "BucketDiff",
    "ChangeMode",
    "ChangeRange",
    "change_mode",
    "changed_buckets",
    "delivers_changes",
    "reads_of",
    "requested_range",
]


class ChangeMode(StrEnum):
    """Where changes are read from."""

    CHANGELOG = "changelog"
    DELTA = "delta"
    DIFF = "diff"


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """The snapshots in (``after``, ``to``]; ``after`` 0 is before the first."""

    after: int
    to: int
    mode: ChangeMode
    states: tuple[Snapshot, Snapshot] | None = None
    """Both ends, where they are known by tags: their snapshots may have expired."""


@dataclass(frozen=True, slots=True)
class BucketDiff:
    """One bucket whose files differ between two states."""

    before: tuple[ManifestEntry, ...]
    after: tuple[ManifestEntry, ...]


def delivers_changes(snapshot: Snapshot, producer: str) -> bool:
    """Whether ``snapshot`` delivers changes to readers.

    It does if it has changelog records, whatever its kind; without a producer, if it is an APPEND
    or OVERWRITE with rows.
    """
    if _has_changelog(snapshot):
        return True
    if producer != "none":
        return False
    if snapshot.commit_kind is CommitKind.APPEND:
        return snapshot.delta_record_count != 0
    if snapshot.commit_kind is CommitKind.OVERWRITE:
        return snapshot.delta_record_count != 0 or snapshot.total_record_count != 0
    return False


def _has_changelog(snapshot: Snapshot) -> bool:
    return snapshot.changelog_manifest_list is not None and snapshot.changelog_record_count != 0


def change_mode(mode: str, options: TableOptions) -> ChangeMode:
    """``mode`` with ``auto`` decided: changelog if the table has a producer, else delta.

    Raises:
        ArgumentError: no such mode.
    """
    if mode == "auto":
        has_producer = options.get(keys_scan.CHANGELOG_PRODUCER) != "none"
        return ChangeMode.CHANGELOG if has_producer else ChangeMode.DELTA
    try:
        return ChangeMode(mode)
    except ValueError as error:
        raise ArgumentError(
            f"mode must be auto, changelog, delta or diff, not {mode!r}",
            argument="mode",
            value=mode,
        ) from error


def reads_of(snapshot: Snapshot, mode: ChangeMode) -> tuple[str | None, int | None]:
    """The manifest list of ``snapshot`` whose ADD entries are its changes, and its bytes.

    None for the list if it has none, and for the bytes where the snapshot does not say.
    """
    if mode is ChangeMode.CHANGELOG:
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            return None, None
        return snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    if mode is ChangeMode.DELTA and snapshot.commit_kind is CommitKind.APPEND:
        return snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    return None, None


def changed_buckets(
    before: Sequence[ManifestEntry], after: Sequence[ManifestEntry]
) -> list[BucketDiff]:
    """The buckets in which two states differ, each with the files that only one of them has.

    Files of both are left out, and with them versions of keys that a merge would look at: so does
    Paimon, and its diff of a partial update is what the new files alone make of a key.

    Raises:
        UnsupportedFeatureError: a partition got another number of buckets meanwhile.
    """
    old, new = by_bucket(before), by_bucket(after)
    _refuse_rescaled(before, after)
    shared = {e.identity: e for e in before}
    diffs = []
    for key in dict.fromkeys([*new, *old]):
        here = new.get(key, [])
        common = {e.identity for e in here if shared.get(e.identity) == e}
        diff = BucketDiff(
            tuple(e for e in old.get(key, []) if e.identity not in common),
            tuple(e for e in here if e.identity not in common),
        )
        if diff.before or diff.after:
            diffs.append(diff)
    return diffs


def _refuse_rescaled(before: Sequence[ManifestEntry], after: Sequence[ManifestEntry]) -> None:
    were = {e.partition: e.total_buckets for e in before}
    for entry in after:
        total = were.get(entry.partition, entry.total_buckets)
        if total != entry.total_buckets and min(total, entry.total_buckets) > 0:
            raise UnsupportedFeatureError(
                f"a partition had {total} buckets at the start and has {entry.total_buckets} at the "
                "end: states cannot be compared bucket by bucket; ask for a range on one side of the "
                "rescale",
                feature="diff across a rescale",
            )


def requested_range(options: TableOptions, timeline: Timeline) -> ChangeRange | None:
    """What ``incremental-between`` or ``incremental-between-timestamp`` asks for, None if neither.

    Two tags mean ``diff`` unless ``incremental-between-tag-to-snapshot`` is set.  Digits are tags where
    both ends are, as automatic tags ``20241201`` are, and else ids of snapshots.

    Raises:
        OptionError: not two ends, or the start is after the end.
        NotFoundError: an end does not exist.
    """
    between = options.get(keys_scan.INCREMENTAL_BETWEEN)
    times = options.get(keys_scan.INCREMENTAL_BETWEEN_TIMESTAMP)
    if between is None and times is None:
        return None
    option = "incremental-between" if between is not None else "incremental-between-timestamp"
    text = between if between is not None else times
    ends = [part.strip() for part in (text or "").split(",")]
    if len(ends) != 2 or not all(ends):
        raise OptionError(
            f"option {option!r} takes two ends such as '3,7', not {text!r}",
            option=option,
            value=text,
        )
    scan_mode = options.get(keys_scan.INCREMENTAL_BETWEEN_SCAN_MODE)
    mode, states = change_mode(scan_mode, options), None
    if between is not None:
        tagged = all(timeline.has_tag(end) for end in ends)  # tags first: 20241201 may be one
        if not tagged and all(end.isdecimal() for end in ends):
            after, to = (int(end) for end in ends)
        else:
            states = _tag(timeline, ends[0], option), _tag(timeline, ends[1], option)
            after, to = (state.id for state in states)
            as_numbers = options.get(keys_scan.INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT)
            if scan_mode == "auto" and not as_numbers:
                mode = ChangeMode.DIFF
    else:
        after, to = (_at(timeline, end, option) for end in ends)
    if after > to:
        raise OptionError(
            f"option {option!r}: {ends[0]} comes after {ends[1]}", option=option, value=text
        )
    return ChangeRange(after, to, mode, states)


def _tag(timeline: Timeline, end: str, option: str) -> Snapshot:
    if end.isdecimal() and not timeline.has_tag(end):
        raise OptionError(
            f"option {option!r} takes two snapshot ids or two tags; {end} is no tag, and the other "
            "end is no id",
            option=option,
            value=end,
        )
    return timeline.tag(end)


def _at(timeline: Timeline, end: str, option: str) -> int:
    try:
        moment = parse.time_ms(end)
    except ValueError as error:
        raise OptionError(f"option {option!r}: {error}", option=option, value=end) from error
    snapshot = at_or_before(timeline, moment)
    if snapshot is not None:
        return snapshot.id
    ids = timeline.ids()
    return ids[0] - 1 if ids else 0
