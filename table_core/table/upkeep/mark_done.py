"""Marks partitions as complete (spec 11.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError, UnsupportedFeatureError
from table_core.ondisk.success_file import SuccessFile
from table_core.options import keys_retention
from table_core.table.partition_spec import encoded_partition
from table_core.table.results import ResultDocument
from table_core.table.upkeep.partition_state import success_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.table.access import TableAccess

__all__ = ["mark_done"]

_SUCCESS_FILE = "success-file"


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
        UnsupportedFeatureError: ``partition.mark-done-action`` asks for more than success files.
    """
    started_ms = access.clock.now_ms()
    _refuse_other_actions(access)
    if not partitions and not none_is_fine:
        raise ArgumentError("name at least one partition", argument="partitions", value=[])
    rows = [encoded_partition(access, spec) for spec in partitions]
    marked = []
    for row in rows:
        path = success_path(access, row)
        marked.append({"path": path, "again": _mark(access, path, dry_run=dry_run)})
    head = access.metadata.head_id()
    return ResultDocument(
        action="mark-done",
        table=access.name,
        snapshot_before=head,
        snapshot_after=head,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        dry_run=dry_run,
        details={"marked": marked},
    )


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


def _refuse_other_actions(access: TableAccess) -> None:
    text = access.options.get(keys_retention.PARTITION_MARK_DONE_ACTION)
    actions = [action.strip() for action in text.split(",")]
    other = [action for action in actions if action != _SUCCESS_FILE]
    if other:
        raise UnsupportedFeatureError(
            f"partition.mark-done-action {', '.join(other)} needs a catalog service; set it to "
            f"'{_SUCCESS_FILE}'",
            feature=f"partition.mark-done-action {other[0]}",
        )
