"""The branches of a table: each has schemas, snapshots and tags of its own (format 11.7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError
from table_core.ondisk import layout
from table_core.options.branch_name import require_branch_name
from table_core.table.metadata.documents import Metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.table.metadata.access import TableAccess

__all__ = [
    "base_of",
    "branch_access",
    "branch_names",
    "is_branch",
    "is_to_be_published",
    "publish_note",
]

_PREFIX: Final = "branch-"
_FIRST: Final = 0
"""The number of the first schema."""


def branch_names(access: TableAccess) -> list[str]:
    """Names of all branches but main, sorted; not of one whose making was cut short.

    Raises:
        NotFoundError: the table was dropped or renamed, and left folders of branches.
    """
    folder = access.storage.list(layout.BRANCH_FOLDER)
    names = (info.path.rpartition("/")[2] for info in folder)
    candidates = [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
    if not candidates:
        return []
    schemas = Metadata(access.storage).schema_ids()
    if not schemas:
        raise access.is_gone()
    return sorted(name for name in candidates if is_branch(access, name, schemas))


def is_branch(access: TableAccess, name: str, schemas: Sequence[int]) -> bool:
    """Whether the table of these ``schemas``, ascending, has a branch ``name``, whose making was not cut short."""
    try:
        return bool(schemas) and bool(access.storage.read(layout.schema_path(schemas[0], name)))
    except NotFoundError:
        return False


def branch_access(access: TableAccess, branch: str) -> TableAccess:
    """The table as its branch ``branch`` has it, with the options stored there.

    Raises:
        NotFoundError: there is no such branch; facts list those there are.
        ArgumentError: a name that no branch may have.
    """
    if "/" in branch:  # it would lead out of the branches
        require_branch_name(branch)
    metadata = Metadata(access.storage, branch)
    ids = metadata.schema_ids()
    is_odd = (
        bool(ids) and ids[0] != _FIRST
    )  # e.g. all that a writer who is late left of a deleted one
    if not ids or (is_odd and not is_branch(access, branch, Metadata(access.storage).schema_ids())):
        require_branch_name(branch)
        known = branch_names(access)
        raise NotFoundError(
            f"{access.name} has no branch {branch!r}; there are {known}",
            name=branch,
            available=known,
        )
    return replace(access, metadata=metadata, schema=metadata.latest_schema())


def base_of(branch: str) -> str:
    """The tag that holds the snapshot that ``branch`` was made of."""
    return f"{branch}-base"


def publish_note(branch: str) -> str:
    """Where it is noted that main is to take ``branch`` over."""
    return f"{layout.branch_folder(branch)}/to-publish"


def is_to_be_published(access: TableAccess) -> bool:
    """Whether ``access`` is a branch that was made for main to take it over."""
    return access.branch != layout.MAIN and access.storage.exists(publish_note(access.branch))
