"""Marks partitions as complete (spec 11.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError, NotFoundError, UnsupportedFeatureError
from table_core.ondisk.partition_text import partition_text
from table_core.ondisk.success_file import SuccessFile
from table_core.options import keys_retention
from table_core.table.partition_spec import encoded_partition
from table_core.table.results import ResultDocument
from table_core.table.upkeep.partition_state import success_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.table.access import TableAccess

__all__ = ["mark_done", "mark_paths"]

_SUCCESS_FILE: Final = "success-file"
_DONE_PARTITION: Final = "done-partition"
_MARK_EVENT: Final = "mark-event"


def mark_done(
    access: TableAccess,
    partitions: Sequence[Mapping[str, object]],
    *,
    none_is_fine: bool = False,
    dry_run: bool = False,
) -> ResultDocument:
    """See ``Table.mark_done``.

    Raises:
        ArgumentError: no partition, or one that does not name every partition column.
        UnsupportedFeatureError: ``partition.mark-done-action`` asks for a service or a Java class.
    """
    started_ms = access.clock.now_ms()
    actions = _actions(access)
    if not partitions and not none_is_fine:
        raise ArgumentError("name at least one partition", argument="partitions", value=[])
    rows = [encoded_partition(access, spec) for spec in partitions]
    paths = [path for row in rows for path in mark_paths(access, row)]
    marked = [{"path": p, "again": _mark(access, p, dry_run=dry_run)} for p in paths]
    told = rows if _MARK_EVENT in actions else []
    head = access.metadata.head_id()
    return ResultDocument(
        action="mark-done",
        table=access.name,
        snapshot_before=head,
        snapshot_after=head,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        dry_run=dry_run,
        details={
            "marked": marked,
            "events": [dict(partition_text(access.schema, row)) for row in told],
        },
    )


def mark_paths(access: TableAccess, row: bytes) -> list[str]:
    """The files that say that the serialized partition ``row`` is done.

    A catalog of files holds the partition ``<last value>.done`` as a folder with a mark in it.
    """
    actions, success = _actions(access), success_path(access, row)
    folder, _, name = success.rpartition("/")
    found = [success] if _SUCCESS_FILE in actions else []
    return [*found, f"{folder}.done/{name}"] if _DONE_PARTITION in actions else found


def _mark(access: TableAccess, path: str, *, dry_run: bool) -> bool:
    """Write the file, unless ``dry_run``; whether it was there before."""
    now_ms = access.clock.now_ms()
    try:
        found = SuccessFile.from_json(access.storage.read(path), path=path)
    except NotFoundError:
        found = None
    created_ms = found.created_ms if found else now_ms
    if not dry_run:
        access.storage.write(path, SuccessFile(created_ms, now_ms).to_json())
    return found is not None


def _actions(access: TableAccess) -> list[str]:
    text = access.options.get(keys_retention.PARTITION_MARK_DONE_ACTION)
    actions = [action.strip() for action in text.split(",")]
    known = (_SUCCESS_FILE, _DONE_PARTITION, _MARK_EVENT)
    other = [action for action in actions if action not in known]
    if other:
        raise UnsupportedFeatureError(
            f"partition.mark-done-action {', '.join(other)} calls a service or a Java class; "
            f"there are {', '.join(known)}",
            feature=f"partition.mark-done-action {other[0]}",
        )
    return actions
