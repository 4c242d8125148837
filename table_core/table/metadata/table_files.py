"""The files of a table as a whole: what is left of one, how they go, how they move.

A folder is a table as long as it has a schema file.  So the schema goes last when a table is dropped:
a drop that fails midway leaves a table that can be dropped again, and not rows without a table, which
the next table of that name would show as its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import AlreadyExistsError
from table_core.table.metadata.documents import Metadata

if TYPE_CHECKING:
    from table_core.ports import Storage

__all__ = ["delete_files", "is_table", "refuse_leftovers"]

_SCHEMA: Final = "schema"
_STATES: Final = ("snapshot", "changelog", "tag", "branch", "consumer")
"""Folders that a table of the same name would take for its own."""


def is_table(root: Storage) -> bool:
    """Whether ``root`` holds a table."""
    return bool(Metadata(root).schema_ids())


def refuse_leftovers(root: Storage, name: str) -> None:
    """Refuse to create a table over what is left of another.

    Raises:
        AlreadyExistsError: names the folders; nothing was changed.
    """
    names = {info.path for info in root.list("")}
    left = [f for f in _STATES if f in names and any(True for _ in root.walk(f))]
    if left and not is_table(root):
        raise AlreadyExistsError(
            f"{root.uri} still has {', '.join(left)} of a table that was dropped: {name!r} would "
            "show its rows; delete that folder first, or take another name",
            name=name,
        )


def delete_files(root: Storage) -> None:
    """Delete everything below ``root``: first what makes rows visible, the schema last."""
    root.delete_tree("snapshot")
    for info in list(root.list("")):
        if info.path == _SCHEMA:
            continue
        if info.is_dir:
            root.delete_tree(info.path)
        else:
            root.delete([info.path])
    root.delete_tree(_SCHEMA)
    root.delete_tree("")
