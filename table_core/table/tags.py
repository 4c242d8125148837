"""The tags of a branch: names for snapshots, which live as long as they do (spec 11.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import AlreadyExistsError, ArgumentError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.tag import Tag
from table_core.options import parse
from table_core.table.times import PointInTime, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.access import TableAccess

__all__ = ["Tags", "tag_names", "tagged"]

_PREFIX: Final = "tag-"
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


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of one table handle."""

    access: TableAccess

    def list(self) -> list[str]:
        """Names of all tags, sorted."""
        return tag_names(self.access)

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def __contains__(self, name: object) -> bool:
        return name in self.list()

    def get(self, name: str) -> Tag:
        """The tag ``name``; ``NotFoundError`` lists those there are."""
        return tagged(self.access, name)

    def create(
        self,
        name: str,
        snapshot: int | None = None,
        timestamp: PointInTime | None = None,
        time_retained: str | None = None,
        if_not_exists: bool = False,
    ) -> Tag:
        """Tag ``snapshot``, or the newest one at or before ``timestamp``; by default the newest.

        ``time_retained``, e.g. ``"7 d"``, lets the tag expire.

        Raises:
            AlreadyExistsError: the name is taken, and ``if_not_exists`` is off.
            NotFoundError: no such snapshot.
            ArgumentError: a blank name, or both ``snapshot`` and ``timestamp``.
        """
        access = self.access
        _check_name(name)
        if name in self.list():
            if if_not_exists:
                return self.get(name)
            raise AlreadyExistsError(f"{access.name} has a tag {name!r} already", name=name)
        now_ms = access.clock.now_ms()
        retained = None if time_retained is None else _duration_ms(time_retained) * _NANOS_PER_MS
        local_ns = (now_ms + access.clock.local_offset_ms(now_ms)) * _NANOS_PER_MS
        tag = Tag(
            snapshot=self._chosen(snapshot, timestamp),
            created_ns=None if retained is None else local_ns,
            retained_ns=retained,
        )
        access.storage.write(layout.tag_path(name, access.branch), tag.to_json())
        return tag

    def rename(self, name: str, to: str) -> None:
        """Give the tag ``name`` the free name ``to``."""
        access = self.access
        _check_name(to)
        tag = self.get(name)
        if to in self.list():
            raise AlreadyExistsError(f"{access.name} has a tag {to!r} already", name=to)
        access.storage.write(layout.tag_path(to, access.branch), tag.to_json())
        access.storage.delete([layout.tag_path(name, access.branch)])

    def delete(self, name: str, if_exists: bool = False) -> bool:
        """Forget the tag ``name``; whether it was there.

        Files that only an expired snapshot of this tag needed stay until
        ``remove_orphan_files``.

        Raises:
            NotFoundError: there is none, and ``if_exists`` is off.
        """
        if not if_exists:
            self.get(name)
        return self.access.storage.delete([layout.tag_path(name, self.access.branch)]) == 1

    def _chosen(self, snapshot: int | None, timestamp: PointInTime | None) -> Snapshot:
        from table_core.scan.time_travel import resolve
        from table_core.table.timeline import TableTimeline

        found = resolve(
            # Options of the handle choose what it reads, not what is tagged.
            type(self.access.options).parse({}),
            TableTimeline(self.access),
            snapshot=snapshot,
            timestamp_ms=None if timestamp is None else epoch_ms("timestamp", timestamp),
        ).snapshot
        if found is None:
            raise NotFoundError(
                f"{self.access.name} has no snapshot to tag", name=self.access.name, available=[]
            )
        return found


def _duration_ms(text: str) -> int:
    try:
        return parse.duration_ms(text)
    except ValueError as error:
        raise ArgumentError(
            f"time_retained={text!r}: {error}", argument="time_retained", value=text
        ) from error


def _check_name(name: str) -> None:
    if not name.strip() or "/" in name or "\\" in name:
        raise ArgumentError(f"{name!r} cannot name a tag", argument="name", value=name)
