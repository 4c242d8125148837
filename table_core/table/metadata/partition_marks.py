"""The files that say that a partition is complete (format 11.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.success_file import SUCCESS_NAME, SuccessFile
from table_core.options import keys_files, keys_retention

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.table.metadata.access import TableAccess

__all__ = [
    "DONE_PARTITION",
    "SUCCESS_FILE",
    "done_ms",
    "mark_actions",
    "mark_paths",
    "marked_ms",
    "unmark",
]


SUCCESS_FILE: Final = "success-file"
DONE_PARTITION: Final = "done-partition"


def mark_paths(access: TableAccess, row: bytes) -> list[str]:
    """The files that say that the serialized partition ``row`` is done.

    A catalog of files holds the partition ``<last value>.done`` as a folder with a mark in it.
    """
    actions, success = mark_actions(access), _success_path(access, row)
    paths = [success] if SUCCESS_FILE in actions else []
    return (
        [*paths, f"{_done_folder(success)}/{SUCCESS_NAME}"] if DONE_PARTITION in actions else paths
    )


def mark_actions(access: TableAccess) -> list[str]:
    """What the table does to mark a partition, ours and those of others."""
    text = access.options.get(keys_retention.PARTITION_MARK_DONE_ACTION)
    return [action.strip() for action in text.split(",")]


def done_ms(access: TableAccess, row: bytes) -> int | None:
    """When ``row`` was marked, by the first kind of mark that is there."""
    for path in mark_paths(access, row) or [_success_path(access, row)]:
        at_ms = marked_ms(access, path)
        if at_ms is not None:
            return at_ms
    return None


def marked_ms(access: TableAccess, path: str) -> int | None:
    """When the mark at ``path`` was last written; None if it was not."""
    try:
        return SuccessFile.from_json(access.storage.read(path), path=path).modified_ms
    except NotFoundError:
        return None


def unmark(access: TableAccess, rows: Iterable[bytes]) -> None:
    """Take ``<last value>.done`` away for ``rows``, which are about to be dropped.

    Before the drop: what is cut short in between does it again.  Only of main, because a branch shares the
    folders of main, where the partition stays.

    Source: ``org.apache.paimon.operation.NormalPartitionExpire#doBatchExpire``.
    """
    if access.branch != layout.MAIN or DONE_PARTITION not in mark_actions(access):
        return
    for row in rows:
        folder = _done_folder(_success_path(access, row))
        access.storage.delete([f"{folder}/{SUCCESS_NAME}"])
        access.storage.delete_empty_folder(folder)


def _success_path(access: TableAccess, row: bytes) -> str:
    """Where the mark of the serialized partition ``row`` is."""
    above = (access.options.get(keys_files.DATA_FILE_PATH_DIRECTORY) or "").strip("/")
    folder = layout.partition_path(access.schema, row)
    return "/".join(part for part in (above, folder, SUCCESS_NAME) if part)


def _done_folder(success: str) -> str:
    return f"{success.rpartition('/')[0]}.done"
