"""The files of a table as a whole: what is left of one, how they go, how they move.

A folder is a table as long as it has a schema file.  So the schema goes last when a table is dropped:
a drop that fails midway leaves a table that can be dropped again, and not rows without a table, which
the next table of that name would show as its own.

A schema alone that is not the first one is no table: a change of a schema that landed beside the drop, and was
killed before it could look (``metadata.alter``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import AlreadyExistsError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST
from table_core.table.metadata.documents import Metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ports import Storage

__all__ = ["delete_files", "is_table", "refuse_leftovers"]

_FIRST: Final = 0
"""The number of the first schema."""
_SCHEMA: Final = "schema"
_ROUNDS: Final = 5
"""So often what others have written meanwhile is deleted too."""
_HINTS: Final = frozenset(
    layout.hint_path(folder, which)
    for folder in ("snapshot", "changelog")
    for which in (EARLIEST, LATEST)
)
_STATES: Final = ("snapshot", "changelog", "tag", "branch", "consumer")
"""Folders that a table of the same name would take for its own."""


def is_table(root: Storage) -> bool:
    """Whether ``root`` holds a table."""
    return is_table_of(root, Metadata(root).schema_ids())


def is_table_of(root: Storage, schemas: Sequence[int]) -> bool:
    """Whether ``root`` with these ``schemas`` holds a table."""
    if not schemas or schemas[0] == _FIRST:
        return bool(schemas)
    return any(info.path not in _HINTS for folder in _STATES for info in root.walk(folder))


def refuse_leftovers(root: Storage, name: str) -> None:
    """Refuse to create a table over what is left of another; a schema that is left alone is removed.

    Raises:
        AlreadyExistsError: names the folders; nothing was changed.
    """
    names = {info.path for info in root.list("")}
    in_folders = {f: [i.path for i in root.walk(f)] for f in _STATES if f in names}
    hints = {p for paths in in_folders.values() for p in paths if p in _HINTS}
    left = [f for f, paths in in_folders.items() if set(paths) - hints]
    schemas = Metadata(root).schema_ids() if _SCHEMA in names else []
    if schemas and not left and schemas[0] != _FIRST:
        root.delete([layout.schema_path(id) for id in schemas])
    if hints and not left and (not schemas or schemas[0] != _FIRST):
        root.delete(hints)  # of somebody who was late: they show no rows
    if left and not is_table_of(root, schemas):
        raise AlreadyExistsError(
            f"{root.uri} still has {', '.join(left)} of a table that was dropped: {name!r} would "
            "show its rows; delete that folder first, or take another name",
            name=name,
        )


def delete_files(root: Storage) -> None:
    """Delete everything below ``root``: first what makes rows visible, the schema last.

    The turn of who drops it (``refs.moves``) is there as long as the schema.  Then it is listed what a writer has created meanwhile, who saw the table while it was there; who comes after
    that sees that it is gone and takes away what it made (``commit.standing``).
    """
    for _ in range(_ROUNDS):
        _delete_all(root)
        if next(root.walk(""), None) is None:
            return


def _delete_all(root: Storage) -> None:
    root.delete_tree("snapshot")
    for info in list(root.list("")):
        if info.path in {_SCHEMA, layout.line_folder()}:
            continue
        if info.is_dir:
            root.delete_tree(info.path)
        else:
            root.delete([info.path])
    root.delete_tree(_SCHEMA)
    root.delete_tree("")
