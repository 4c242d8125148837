"""What the other branches of a table still need of the files that all branches share.

Branches have their own snapshots and share data files and manifests (format 1.1).  Where a branch
began is written nowhere, and after a fast-forward two branches have the same history; so nothing is
concluded from numbers.  A file is needed if the earliest state, a tag or a kept changelog of another
branch has it, or any later snapshot brought it in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from table_core.errors import FilesExpiredError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.tag import Tag
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_names
from table_core.table.metadata.refs.needed_files import NeededFiles, changelogs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from table_core.expire.plan import FileKey
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["OtherBranches", "tag_documents"]

T = TypeVar("T")
_ATTEMPTS: Final = 20


def tag_documents(access: TableAccess, branch: str) -> list[Snapshot]:
    """The snapshots that the tags of ``branch`` hold.

    A tag that is renamed meanwhile may be in no listing, or under a name that is gone when it is read: so
    the tags were read when a listing after it shows the same ones.

    Raises:
        FilesExpiredError: they changed all the time.
    """

    def paths() -> list[str]:
        infos = access.storage.list(layout.tag_folder(branch))
        files = (info.path for info in infos if not info.is_dir)
        return sorted(path for path in files if path.rpartition("/")[2].startswith("tag-"))

    def read(listed: list[str]) -> list[Snapshot]:
        return [Tag.from_json(access.storage.read(p), path=p).snapshot for p in listed]

    return _settled(f"{access.name}: tags", paths, read)


def _settled(what: str, listed: Callable[[], list[str]], read: Callable[[list[str]], T]) -> T:
    """What ``read`` gives of what is ``listed``, once that is the same before and after."""
    before, missing = listed(), None
    for _ in range(_ATTEMPTS):
        content = None
        try:
            content = read(before)
        except NotFoundError as error:
            missing = error
        after = listed()
        if after == before and content is not None:
            return content
        before = after
    raise FilesExpiredError(f"{what} changed {_ATTEMPTS} times while they were read") from missing


@dataclass(slots=True)
class OtherBranches:
    """Reads, once, what every branch but that of ``access`` needs."""

    access: TableAccess
    _needed: NeededFiles | None = field(init=False, default=None)

    def names(self) -> list[str]:
        """Which there are."""
        everyone = [layout.MAIN, *branch_names(self.access)]
        return [name for name in everyone if name != self.access.branch]

    def need(self, keys: Iterable[FileKey]) -> frozenset[FileKey]:
        """Those of ``keys`` that another branch needs.

        Raises:
            FilesExpiredError, CorruptFileError: a document of another branch cannot be read.
        """
        return self._known().files.among(keys)

    def paths(self) -> frozenset[str]:
        """The metadata files that other branches name."""
        return frozenset(self._known().paths)

    def _known(self) -> NeededFiles:
        if self._needed is None:
            what = f"{self.access.name}: branches"
            self._needed = _settled(what, self.names, self._all_of)
        return self._needed

    def _all_of(self, names: list[str]) -> NeededFiles:
        needed = NeededFiles(self.access)
        for name in names:
            metadata = Metadata(self.access.storage, name)
            ids = metadata.snapshot_ids()
            tags = tag_documents(self.access, name)
            needed.take(metadata, tags, ids, changelogs_of(self.access, name))
        return needed
