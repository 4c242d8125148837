"""A line whose folder moves or goes: who renames or drops a table or a branch holds a turn of it.

A rename takes along what it finds.  So nobody may be half-way then who changes the line's direction, or deletes it with
all else: a turn excludes them (docs/adr/0026).
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.errors import CommitConflictError, TableError
from table_core.ondisk import layout
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.late_documents import remove_late_documents
from table_core.table.metadata.refs.turns import MOVE, HeldTurn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ports import Storage
    from table_core.table.metadata.access import TableAccess

__all__ = ["dropping", "moving", "moving_all"]

_DROP: Final = "drop"
_TRIES: Final = 10
"""So often somebody else may begin a turn at the very moment."""


@contextmanager
def moving(line: TableAccess, to: TableAccess, *, must_be_there: bool = True) -> Iterator[None]:
    """Nobody turns ``line`` while its folder becomes that of ``to``.

    Raises:
        CommitConflictError: somebody does just now, or drops it.
        NotFoundError: it was dropped or renamed meanwhile.
    """
    held = HeldTurn.begin(line, MOVE, by=f"{line.name} to {to.name}", target=0)
    try:
        if held.is_of_another_table() or (must_be_there and not held.born):
            raise line.is_gone()
        yield
        remove_late_documents(to)
    finally:
        replace(held, access=to).forget()
        held.forget()


@contextmanager
def moving_all(table: TableAccess, to: Storage, name: str) -> Iterator[None]:
    """Nobody turns a line of ``table`` while its folder becomes ``to``, that of the table ``name``.

    Raises:
        CommitConflictError, NotFoundError: as ``moving``.
    """
    with ExitStack() as lines:
        for branch in (layout.MAIN, *_folders(table)):
            line = replace(table, metadata=Metadata(table.storage, branch))
            end = replace(line, name=name, storage=to, metadata=Metadata(to, branch))
            lines.enter_context(moving(line, end, must_be_there=branch == layout.MAIN))
        yield


def _folders(table: TableAccess) -> list[str]:
    """Names of all branches but main, also of what is left of one."""
    paths = (info.path for info in table.storage.list(layout.BRANCH_FOLDER))
    prefix = layout.branch_folder("")
    return [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]


@contextmanager
def dropping(line: TableAccess) -> Iterator[None]:
    """Nobody renames ``line`` while it is deleted with all else; who turns it otherwise stops.

    Raises:
        CommitConflictError: somebody renames it just now.
        NotFoundError: it was dropped or renamed meanwhile.
    """
    held, done = _turn_of_drop(line), False
    try:
        if not line.metadata.schema_ids():
            raise line.is_gone()
        yield
        done = True
    finally:
        held.let_go()
        if not done:
            with suppress(TableError):  # it says what went wrong itself
                held.forget()


def _turn_of_drop(line: TableAccess) -> HeldTurn:
    """A turn that ends all others but a rename.

    Raises:
        CommitConflictError: somebody renames the line just now.
    """
    for _ in range(_TRIES - 1):
        with suppress(CommitConflictError):
            return HeldTurn.begin(line, _DROP, by=line.name, target=0, over_all_but=MOVE)
    return HeldTurn.begin(line, _DROP, by=line.name, target=0, over_all_but=MOVE)
