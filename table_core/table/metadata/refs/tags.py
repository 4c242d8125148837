"""The tags of a branch: names for snapshots, which live as long as they do (format 11.6)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    CommitConflictError,
    NotFoundError,
)
from table_core.ondisk import layout
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.success_file import SuccessFile
from table_core.ondisk.tag import Tag
from table_core.options import keys_retention
from table_core.options.argument_kinds import require_whole
from table_core.options.spark_settings import require_printable
from table_core.table.metadata.documents import is_same_file
from table_core.table.metadata.refs.new_document import is_ours

if TYPE_CHECKING:
    from table_core.ports import FileInfo
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "TagsRead",
    "add_tag",
    "check_tag_name",
    "is_taken_back",
    "keeper_of",
    "mark_made",
    "new_tag",
    "require_tagged",
    "state_of",
    "tag_names",
    "tagged",
    "without_changelog",
    "write_tag",
]

_PREFIX: Final = "tag-"
Stamp: TypeAlias = "tuple[int, int, str]"
_NANOS_PER_MS: Final = 1_000_000


def tag_names(access: TableAccess) -> list[str]:
    """Names of all tags, sorted."""
    folder = access.storage.list(layout.tag_folder(access.branch))
    names = (info.path.rpartition("/")[2] for info in folder if not info.is_dir)
    return sorted(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


def tagged(access: TableAccess, name: str) -> Tag:
    """The tag ``name``.

    Raises:
        NotFoundError: there is none; facts list those there are.
    """
    path = layout.tag_path(name, access.branch)
    try:
        return Tag.from_json(access.storage.read(path), path=path)
    except NotFoundError as error:
        known = tag_names(access)
        raise NotFoundError(
            f"{access.name} has no tag {name!r}; there are {known}", name=name, available=known
        ) from error


@dataclass(slots=True)
class TagsRead:
    """The tags of a branch as they are now, of which those that have not changed since the last look are not read again."""

    access: TableAccess
    _read: dict[str, tuple[Stamp, Tag]] = field(default_factory=dict)
    """Of each path its stamp, and what was read."""

    def now(self) -> dict[str, Tag]:
        """Every tag by its name, ascending; none that goes while they are read."""
        tags, folder = {}, layout.tag_folder(self.access.branch)
        for info in sorted(self.access.storage.list(folder), key=lambda info: info.path):
            name = info.path.rpartition("/")[2]
            if not info.is_dir and name.startswith(_PREFIX):
                with suppress(NotFoundError):
                    tags[name.removeprefix(_PREFIX)] = self._tag(info)
        return tags

    def _tag(self, info: FileInfo) -> Tag:
        before = self._read.get(info.path)
        if before is not None and is_same_file(before[0], info.stamp):
            return before[1]
        tag = Tag.from_json(self.access.storage.read(info.path), path=info.path)
        self._read[info.path] = info.stamp, tag
        return tag


def state_of(access: TableAccess, snapshot: Snapshot) -> Snapshot:
    """What may be made a snapshot again of the ``snapshot`` of a tag.

    Its changelog went with the snapshot that has expired, unless it is one that outlives snapshots.
    """
    id, branch, exists = snapshot.id, access.branch, access.storage.exists
    if id >= access.metadata.floor() and exists(layout.snapshot_path(id, branch)):
        return snapshot
    is_kept = exists(layout.changelog_path(id, branch))
    return snapshot if is_kept else without_changelog(snapshot)


def keeper_of(access: TableAccess, id: int) -> str | None:
    """The tag that keeps the snapshot ``id``, which is expired; None: it is not, or no tag does.

    Raises:
        ArgumentError: ``id`` is no whole number.
    """
    require_whole("snapshot", id)
    if id >= access.metadata.floor() and access.metadata.has_snapshot(id):
        return None
    for name in tag_names(access):
        with suppress(NotFoundError):  # it goes just now
            if tagged(access, name).snapshot.id == id:
                return name
    return None


def without_changelog(snapshot: Snapshot) -> Snapshot:
    """``snapshot`` as a state, and no change."""
    return replace(
        snapshot,
        changelog_manifest_list=None,
        changelog_manifest_list_size=None,
        changelog_record_count=None,
    )


def new_tag(access: TableAccess, snapshot: Snapshot, retained_ms: int | None) -> Tag:
    """A tag of now, with the retention that the table gives by default."""
    if retained_ms is None:
        retained_ms = access.options.get(keys_retention.TAG_DEFAULT_TIME_RETAINED)
    now_ms = access.clock.now_ms()
    local_ns = (now_ms + access.clock.local_offset_ms(now_ms)) * _NANOS_PER_MS
    return Tag(
        snapshot=snapshot,
        created_ns=None if retained_ms is None else local_ns,
        retained_ns=None if retained_ms is None else retained_ms * _NANOS_PER_MS,
    )


def write_tag(
    access: TableAccess,
    name: str,
    snapshot: Snapshot,
    retained_ms: int | None = None,
    keeper: str | None = None,
) -> Tag:
    """Write the new tag ``name``, with the retention that the table gives by default.

    ``keeper`` is the tag that keeps ``snapshot``, where that is expired.

    The tag is written before the floor is read, and expiry reads tags after it raised the floor: one
    of the two sees the other.  So it is with a rollback, which deletes snapshots and then lists tags.

    Raises:
        AlreadyExistsError: somebody has made a tag of that name meanwhile.
        OutcomeUnknownError: the table was dropped or renamed meanwhile.
        NotFoundError: the snapshot expired meanwhile; there is no tag then.
        CommitConflictError: it was taken back meanwhile; there is no tag then.
    """
    tag = new_tag(access, snapshot, retained_ms)
    add_tag(access, name, tag)
    require_tagged(access, name, snapshot, keeper)
    mark_made(access, name)
    return tag


def add_tag(access: TableAccess, name: str, tag: Tag) -> None:
    """Give ``tag`` the free ``name``.

    Raises:
        AlreadyExistsError: it is not free any more.
    """
    if not is_ours(access.storage, layout.tag_path(name, access.branch), tag.to_json()):
        raise AlreadyExistsError(
            f"{access.name} has a tag {name!r} already, which somebody made meanwhile", name=name
        )


def require_tagged(
    access: TableAccess, name: str, snapshot: Snapshot, keeper: str | None = None
) -> None:
    """Require that ``snapshot`` is there, now that the tag ``name`` stands for it; else the tag goes again.

    With ``keeper`` that tag is to be there: who deletes it lists the tags that came since, once it is gone.

    Raises:
        NotFoundError: it expired meanwhile.
        CommitConflictError: it was taken back meanwhile.
        OutcomeUnknownError: the table was dropped or renamed meanwhile, and the tag may have gone along.
    """
    path = layout.tag_path(name, access.branch)
    if keeper is not None:
        with suppress(NotFoundError):
            if tagged(access, keeper).snapshot == snapshot:
                return
    if is_taken_back(access, snapshot):
        access.storage.delete([path])
        access.require_stayed(f"tag {name!r} was made")
        problem = f"snapshot {snapshot.id} was taken back by a rollback while it was tagged"
        raise CommitConflictError(
            f"{access.name}: {problem}; there is no tag {name!r}. Tag a snapshot that is there",
            table=access.name,
            head_id=None,
            conflicts=[problem],
        )
    if snapshot.id < access.metadata.floor():
        access.storage.delete([path])
        access.require_stayed(f"tag {name!r} was made")
        raise NotFoundError(
            f"{access.name}: snapshot {snapshot.id} expired while it was tagged; tag a newer one",
            name=str(snapshot.id),
            available=[],
        )


def is_taken_back(access: TableAccess, snapshot: Snapshot) -> bool:
    """Whether ``snapshot``, which was there, is gone and has not expired: a rollback took it."""
    path = layout.snapshot_path(snapshot.id, access.branch)
    try:
        body = access.metadata.snapshot_body(snapshot.id)
    except NotFoundError:
        pass
    else:
        if Snapshot.from_json(body, path=path).state == snapshot.state:
            return False
    return snapshot.id >= access.metadata.floor()


def mark_made(access: TableAccess, name: str) -> None:
    """Write the success file of the tag ``name``, where the table asks for one."""
    if access.options.get(keys_retention.TAG_CREATE_SUCCESS_FILE):
        now_ms = access.clock.now_ms()
        mark = SuccessFile(now_ms, now_ms).to_json()
        access.storage.write(layout.tag_success_path(name, access.branch), mark)


def check_tag_name(name: str) -> None:
    """Refuse what no file name can hold.

    Raises:
        ArgumentError: blank, or with a slash.
    """
    require_printable(name, "tag")
    if not name.strip() or "/" in name or "\\" in name:
        raise ArgumentError(f"{name!r} cannot name a tag", argument="name", value=name)
