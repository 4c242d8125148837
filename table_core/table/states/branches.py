"""The branches of a table: each has schemas, snapshots and tags of its own (spec 11.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import AlreadyExistsError, ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.table.metadata import Metadata
from table_core.table.states.tags import state_of, tagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.tag import Tag
    from table_core.table.access import TableAccess
    from table_core.table.results import ResultDocument

__all__ = ["Branches", "branch_access", "branch_names"]

_PREFIX: Final = "branch-"


def branch_names(access: TableAccess) -> list[str]:
    """Names of all branches but main, sorted; not of one whose making was cut short."""
    folder = access.storage.list(layout.BRANCH_FOLDER)
    names = (info.path.rpartition("/")[2] for info in folder)
    found = [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
    if not found:
        return []
    first = Metadata(access.storage).schema_ids()[0]
    return sorted(n for n in found if access.storage.exists(layout.schema_path(first, n)))


def branch_access(access: TableAccess, branch: str) -> TableAccess:
    """The table as its branch ``branch`` has it, with the options stored there.

    Raises:
        NotFoundError: there is no such branch; facts list those there are.
    """
    metadata = Metadata(access.storage, branch)
    if not metadata.schema_ids():
        known = branch_names(access)
        raise NotFoundError(
            f"{access.name} has no branch {branch!r}; there are {known}",
            name=branch,
            available=known,
        )
    return replace(access, metadata=metadata, schema=metadata.latest_schema())


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of one table.  ``main`` is always there and not among them."""

    access: TableAccess

    def list(self) -> list[str]:
        """Names of all branches, sorted."""
        return branch_names(self.access)

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def __contains__(self, name: object) -> bool:
        return name in self.list()

    def create(self, name: str, tag: str | None = None, if_not_exists: bool = False) -> None:
        """Make the branch ``name``: empty, or with the state of ``tag``, from which it goes on.

        Raises:
            AlreadyExistsError: the name is taken, and ``if_not_exists`` is off.
            NotFoundError: no such tag.
            ArgumentError: ``main``, a number, or another name that no branch may have.
        """
        access = self.access
        _check_name(name)
        if name in self.list():
            if if_not_exists:
                return
            raise AlreadyExistsError(f"{access.name} has a branch {name!r} already", name=name)
        storage, source = access.storage, access.branch
        schemas = access.metadata.schema_ids()
        found = None if tag is None else tagged(access, tag)
        if tag is not None and found is not None:
            schemas = [id for id in schemas if id <= found.snapshot.schema_id]
            storage.write(layout.tag_path(tag, name), found.to_json())
            state = state_of(access, found.snapshot)
            storage.write(layout.snapshot_path(state.id, name), state.to_json())
            for which in (EARLIEST, LATEST):
                hint = layout.hint_path("snapshot", which, name)
                storage.write(hint, encode_hint(found.snapshot.id))
        for id in reversed(schemas):  # the first schema makes the branch one, so it comes last
            storage.write(
                layout.schema_path(id, name), storage.read(layout.schema_path(id, source))
            )
        if tag is not None and found is not None:
            self._check_tag(name, tag, found)

    def _check_tag(self, name: str, tag: str, found: Tag) -> None:
        """Require that ``tag`` is what the branch was made of: else its files may be gone.

        Who deletes a tag does so before it looks for branches.
        """
        try:
            if tagged(self.access, tag).snapshot == found.snapshot:
                return
            reason = "stands for another snapshot by now"
        except NotFoundError:
            reason = "was deleted meanwhile"
        self.delete(name)
        raise NotFoundError(
            f"{self.access.name}: tag {tag!r} {reason}; there is no branch {name!r}",
            name=tag,
            available=[],
        )

    def delete(self, name: str, if_exists: bool = False) -> bool:
        """Forget the branch ``name``; whether it was there.

        Data files that only it needed stay until ``remove_orphan_files``.
        """
        there = name in self.list()
        if not there and not if_exists:
            branch_access(self.access, name)
        storage = self.access.storage
        if there:  # what makes it a branch goes first
            first = Metadata(storage).schema_ids()[0]
            storage.delete([layout.schema_path(first, name)])
        storage.delete_tree(layout.branch_folder(name))
        return there

    def rename(self, name: str, to: str) -> None:
        """Give the branch ``name`` the free name ``to``.  Not atomic on object stores."""
        _check_name(to)
        branch_access(self.access, name)
        if to in self.list():
            raise AlreadyExistsError(f"{self.access.name} has a branch {to!r} already", name=to)
        self.access.storage.move(layout.branch_folder(name), layout.branch_folder(to))

    def fast_forward(self, name: str, dry_run: bool = False) -> ResultDocument:
        """Let main continue as ``name`` has: what main has done since the branch began is gone.

        Raises:
            NotFoundError: no such branch, or it has no snapshot.
            ArgumentError: nobody can tell whether the branch follows a tag of main.
        """
        from table_core.table.states.fast_forward import FastForward

        found = FastForward.of(self.access, name)
        if not dry_run:
            found.perform()
        return found.result(dry_run=dry_run)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[^/\\\s$][^/\\$]*", name) or name == layout.MAIN or name.isdigit():
        raise ArgumentError(
            f"{name!r} cannot name a branch: not 'main', no number, no '/' or '$'",
            argument="name",
            value=name,
        )
