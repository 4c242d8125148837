"""Marks partitions as complete (format 11.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError, NotFoundError, UnsupportedFeatureError
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.partition_key import partition_key, partition_values
from table_core.ondisk.snapshot import CommitKind
from table_core.ondisk.success_file import SuccessFile
from table_core.options import keys_retention
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.partition_marks import (
    DONE_PARTITION,
    SUCCESS_FILE,
    done_ms,
    mark_actions,
    mark_paths,
)
from table_core.table.metadata.partition_spec import encoded_partition
from table_core.table.metadata.refs.branches import is_to_be_published

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = ["mark_done", "mark_published", "mark_written", "marked"]

_MARK_EVENT: Final = "mark-event"


def mark_done(
    access: TableAccess,
    partitions: Sequence[Mapping[str, object]],
    *,
    none_is_fine: bool = False,
    known: bool = False,
    dry_run: bool = False,
) -> ResultDocument:
    """See ``Table.mark_done``; with ``known`` the partitions are there for certain.

    Raises:
        ArgumentError: no partition, or one that does not name every partition column; or the table is a branch
            that main is to take over, whose rows nobody who waits for the mark can read yet.
        NotFoundError: one of them is not there: whoever waits for it would read nothing.
        UnsupportedFeatureError: ``partition.mark-done-action`` asks for a service or a Java class.
    """
    started_ms = access.clock.now_ms()
    actions = _actions(access)
    if is_to_be_published(access):
        raise ArgumentError(
            f"branch {access.branch} is not published yet: whoever waits for the mark would read main, "
            "which does not have its rows. Mark the partitions after publishing, or set "
            f"{keys_retention.PARTITION_END_INPUT_TO_DONE.key} on the table: then publishing marks what was written",
            argument="branch",
            value=access.branch,
        )
    if not partitions and not none_is_fine:
        raise ArgumentError("name at least one partition", argument="partitions", value=[])
    rows = [encoded_partition(access, spec) for spec in partitions]
    if not known:
        _require_there(access, rows)
    done = marked(access, rows, dry_run=dry_run)
    told = rows if _MARK_EVENT in actions else []
    details = {
        "marked": done,
        "events": [partition_values(access.schema, row) for row in told],
        "partitions": [partition_values(access.schema, row) for row in rows],
        "keys": [partition_key(access.schema, row) for row in rows],
    }
    return unchanged(access, "mark-done", details, dry_run=dry_run, started_ms=started_ms)


def marked(access: TableAccess, rows: Sequence[bytes], *, dry_run: bool) -> list[dict[str, object]]:
    """Mark the serialized partitions ``rows``, which are there; the files, and whether they were.

    Raises:
        UnsupportedFeatureError: ``partition.mark-done-action`` asks for a service or a Java class.
    """
    _actions(access)
    paths = [path for row in rows for path in mark_paths(access, row)]
    return [{"path": p, "again": _mark(access, p, dry_run=dry_run)} for p in paths]


def mark_written(access: TableAccess, rows: Iterable[bytes]) -> None:
    """Mark ``rows``, which a batch write has written to: that is the end of its input.

    Of a branch that main is to take over nothing is marked: nobody sees the rows before ``mark_published``.
    """
    wanted = access.options.get(keys_retention.PARTITION_END_INPUT_TO_DONE)
    if wanted and access.schema.partition_keys and not is_to_be_published(access):
        marked(access, sorted(rows), dry_run=False)


def mark_published(access: TableAccess, snapshots: Iterable[Snapshot]) -> None:
    """Mark what ``snapshots``, which main has taken over from a branch, have written to.

    What has a mark that is newer than its rows was marked before: by a run that was cut short.
    """
    if not access.options.get(keys_retention.PARTITION_END_INPUT_TO_DONE):
        return
    written: dict[bytes, int] = {}
    for snapshot in snapshots:
        if snapshot.commit_kind in {CommitKind.APPEND, CommitKind.OVERWRITE}:
            for entry in access.metadata.delta(snapshot):
                if entry.kind is EntryKind.ADD:
                    written[entry.partition] = snapshot.time_millis
    mark_written(access, (row for row, ms in written.items() if (done_ms(access, row) or 0) <= ms))


def _require_there(access: TableAccess, rows: Sequence[bytes]) -> None:
    wanted = set(rows)
    gone = wanted - {row for row, _ in access.files_of_partitions(access.head(), wanted)}
    if gone:
        keys = sorted(partition_key(access.schema, row) for row in gone)
        raise NotFoundError(
            f"{access.name} has no partition {', '.join(keys[:10])}, so that it cannot be marked "
            "done: nobody would find rows in it. Write it first, or name the partitions that "
            "are there",
            name=keys[0],
            available=(),
        )


def _mark(access: TableAccess, path: str, *, dry_run: bool) -> bool:
    """Write the file, unless ``dry_run``; whether it was there before."""
    now_ms = access.clock.now_ms()
    try:
        mark = SuccessFile.from_json(access.storage.read(path), path=path)
    except NotFoundError:
        mark = None
    created_ms = mark.created_ms if mark else now_ms
    if not dry_run:
        access.storage.write(path, SuccessFile(created_ms, now_ms).to_json())
    return mark is not None


def _actions(access: TableAccess) -> list[str]:
    actions = mark_actions(access)
    known = (SUCCESS_FILE, DONE_PARTITION, _MARK_EVENT)
    other = [action for action in actions if action not in known]
    if other:
        raise UnsupportedFeatureError(
            f"partition.mark-done-action {', '.join(other)} calls a service or a Java class; "
            f"there are {', '.join(known)}",
            feature=f"partition.mark-done-action {other[0]}",
        )
    return actions
