"""The snapshots, tags and kept changelogs of one branch, as scans ask for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.errors import NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, decode_hint
from table_core.ondisk.snapshot import Snapshot
from table_core.table.metadata.refs.tags import tag_names, tagged

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess

__all__ = ["TableTimeline", "find_snapshot"]

_CHANGELOG = "changelog-"


@dataclass(frozen=True, slots=True)
class TableTimeline:
    """What ``scan.time_travel.Timeline`` asks for.  Remembers what it has read: use it once."""

    access: TableAccess
    _read: dict[int, Snapshot] = field(default_factory=dict)
    _ids: list[int] = field(default_factory=list)

    def ids(self) -> list[int]:
        """Ids of the snapshots that are there, ascending."""
        if not self._ids:
            self._ids.extend(self.access.snapshot_ids())
        return self._ids

    def head(self) -> Snapshot | None:
        """The newest snapshot, found by its hint."""
        return self.access.head()

    def snapshot(self, id: int) -> Snapshot:
        """The snapshot ``id``."""
        if id not in self._read:
            self._read[id] = self.access.metadata.snapshot(id)
        return self._read[id]

    def tag(self, name: str) -> Snapshot:
        """The snapshot of tag ``name``, which may have expired."""
        return tagged(self.access, name).snapshot

    def has_tag(self, name: str) -> bool:
        """Whether there is a tag ``name``."""
        return name in tag_names(self.access)

    def delivered(self, id: int) -> Snapshot:
        """Snapshot ``id``, or what is kept of it for its changes (format 11.3).

        Raises:
            NotFoundError: both have expired.
        """
        snapshot = find_snapshot(self.access, id)
        return self.access.metadata.snapshot(id) if snapshot is None else snapshot

    def earliest_delivered(self) -> int | None:
        """Id of the oldest snapshot, or kept changelog, that is there."""
        access = self.access
        earliest = access.metadata.earliest_id()
        try:
            hint = layout.hint_path("changelog", EARLIEST, access.branch)
            hinted = decode_hint(access.storage.read(hint))
        except NotFoundError:
            hinted = None
        if hinted is not None and access.storage.exists(
            layout.changelog_path(hinted, access.branch)
        ):
            kept = hinted
        else:
            folder = access.storage.list(layout.changelog_folder(access.branch))
            names = (info.path.rpartition("/")[2] for info in folder)
            ids = [id for n in names if (id := layout.numbered(n, _CHANGELOG)) is not None]
            if not ids:
                return earliest
            kept = min(ids)
        return kept if earliest is None else min(kept, earliest)


def find_snapshot(access: TableAccess, id: int) -> Snapshot | None:
    """Snapshot ``id``, or what is kept of it for its changes; None: neither is there."""
    pinned = access.metadata.pinned.get(id)
    if pinned is not None:
        return pinned
    for path in (
        layout.snapshot_path(id, access.branch),
        layout.changelog_path(id, access.branch),
    ):
        try:
            return Snapshot.from_json(access.storage.read(path), path=path)
        except NotFoundError:
            continue
    return None
