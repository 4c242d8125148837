"""The verbs on the tags of a branch (format 11.6)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.errors import AlreadyExistsError, NotFoundError
from table_core.ondisk import layout
from table_core.scan.time_travel import resolve
from table_core.table.maintenance.auto_tags import refuse_second
from table_core.table.maintenance.tag_deletion import delete_tags, forget_state
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.refs.tags import (
    add_tag,
    check_tag_name,
    is_taken_back,
    keeper_of,
    mark_made,
    new_tag,
    require_tagged,
    tag_names,
    tagged,
    write_tag,
)
from table_core.table.metadata.refs.turns import between_turns, target_of
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.timestamps import epoch_ms, length_ms
from table_core.table.metadata.unsupported import refuse_commits, refuse_tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.ondisk.tag import Tag
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument
    from table_core.table.metadata.timestamps import PointInTime

__all__ = ["Tags"]

_HOLD_MS: Final = 3_600_000
"""How long a tag is there at most that a killed ``replace`` has left behind."""


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

        A snapshot that is expired can be tagged as long as another tag keeps it.

        ``time_retained``, e.g. ``"7 d"``, lets the tag expire; without it
        ``tag.default-time-retained`` does, if the table sets that.

        Raises:
            AlreadyExistsError: the name is taken, and ``if_not_exists`` is off; or the snapshot has an
                automatic tag, and this name would be another.
            NotFoundError: no such snapshot.
            ArgumentError: a blank name, or both ``snapshot`` and ``timestamp``.
        """
        access = self.access
        refuse_tags(access)
        check_tag_name(name)
        if name in self.list():
            if if_not_exists:
                return self.get(name)
            raise AlreadyExistsError(f"{access.name} has a tag {name!r} already", name=name)
        chosen, keeper = self._chosen(snapshot, timestamp)
        refuse_second(access, name, chosen.id)
        try:
            return write_tag(access, name, chosen, _retained_ms(time_retained), keeper)
        except AlreadyExistsError:
            if if_not_exists:
                return self.get(name)
            raise

    def replace(
        self,
        name: str,
        snapshot: int | None = None,
        timestamp: PointInTime | None = None,
        time_retained: str | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Move the tag ``name`` to another snapshot, chosen as in ``create``.

        Files that only the old state needed are deleted.

        Raises:
            NotFoundError: no such tag, or no such snapshot.
            CommitConflictError: a rollback took that snapshot back meanwhile; the tag is as it was.
            OutcomeUnknownError: the table was dropped or renamed meanwhile, and the tag went along.
        """
        self.access.require_same()
        access, old = self.access, self.get(name)
        refuse_commits(access)  # it deletes files
        retained_ms = _retained_ms(time_retained)
        chosen, keeper = self._chosen(snapshot, timestamp)
        refuse_second(access, name, chosen.id)
        if dry_run:
            return forget_state(access, name, old.snapshot, chosen, dry_run=True)
        # Whatever expires now, one of the two tags holds each state until files may go.
        hold = f"{name}-{access.ids.uuid()}"
        write_tag(access, hold, chosen, _HOLD_MS, keeper)
        tag, path = new_tag(access, chosen, retained_ms), layout.tag_path(name, access.branch)
        access.storage.write(path, tag.to_json())
        if is_taken_back(access, chosen):  # a rollback lists tags once its snapshots are gone
            if not access.metadata.schema_ids():  # where the table was, nothing is left
                access.storage.delete([path])
            access.require_stayed(f"tag {name!r} was replaced")
            access.storage.write(path, old.to_json())
            require_tagged(access, hold, chosen)
        mark_made(access, name)
        with access.staying(f"tag {name!r} was replaced"):
            done = forget_state(access, name, old.snapshot, chosen, dry_run=False)
        access.storage.delete(
            [layout.tag_path(hold, access.branch), layout.tag_success_path(hold, access.branch)]
        )
        return done

    def rename(self, name: str, to: str, dry_run: bool = False) -> ResultDocument:
        """Rename the tag ``name`` to ``to``, which must be free.

        Raises:
            NotFoundError: no such tag.
            AlreadyExistsError: ``to`` is taken.
            CommitConflictError: a rollback took its snapshot back meanwhile; the tag is gone.
            OutcomeUnknownError: the table was dropped or renamed meanwhile; both tags may have gone along.
        """
        access = self.access
        refuse_tags(access)
        check_tag_name(to)
        tag = self.get(name)
        if to in self.list():
            raise AlreadyExistsError(f"{access.name} has a tag {to!r} already", name=to)
        refuse_second(access, to, tag.snapshot.id, but=name)
        if not dry_run:
            self._move(name, to, tag)
            if is_taken_back(access, tag.snapshot):
                access.require_stayed(f"tag {name!r} was renamed to {to!r}")
                if target_of(access, tag.snapshot.state) is not None:  # that has listed tags before
                    require_tagged(access, to, tag.snapshot)
        return unchanged(access, "rename-tag", {"tag": name, "to": to}, dry_run=dry_run)

    def _move(self, name: str, to: str, tag: Tag) -> None:
        """Let ``tag`` stand under ``to``, and no more under ``name``.

        Who deletes a tag looks for others of its state once it is gone: one of the two sees the other.

        Raises:
            AlreadyExistsError: ``to`` is taken by now.
            NotFoundError: ``tag`` was deleted or replaced meanwhile; there is no tag ``to``.
            OutcomeUnknownError: the table was dropped or renamed meanwhile.
        """
        access = self.access
        add_tag(access, to, tag)
        old, new = (layout.tag_path(one, access.branch) for one in (name, to))
        is_there = False
        with suppress(NotFoundError):
            is_there = self.get(name) == tag
        if not is_there or not access.storage.delete([old]):
            access.storage.delete([new])
            access.require_stayed(f"tag {name!r} was renamed to {to!r}")
            raise NotFoundError(
                f"{access.name}: somebody has deleted, renamed or replaced the tag {name!r} meanwhile; there is "
                f"no tag {to!r}",
                name=name,
                available=self.list(),
            )

    def delete(self, name: str, if_exists: bool = False, dry_run: bool = False) -> ResultDocument:
        """Delete the tag ``name``; ``details["tags"]`` says whether it was there.

        If its snapshot has expired, files that only the tag needed are deleted.

        Raises:
            NotFoundError: there is none, and ``if_exists`` is off.
            OutcomeUnknownError: the table was dropped or renamed meanwhile, and the tag may have gone along.
            ArgumentError: a name that no tag can have.
        """
        there = name in self.list()
        if not there:
            check_tag_name(name)
        names = [] if if_exists and not there else [name]
        return delete_tags(self.access, names, action="delete-tag", dry_run=dry_run)

    def _chosen(
        self, snapshot: int | None, timestamp: PointInTime | None
    ) -> tuple[Snapshot, str | None]:
        """The snapshot to tag, and the tag that keeps it if it is expired."""
        if snapshot is None:  # what is the newest while a rollback goes down is in between
            return between_turns(self.access, partial(self._resolved, None, timestamp)), None
        keeper = None if timestamp is not None else keeper_of(self.access, snapshot)
        if keeper is not None:
            return self.get(keeper).snapshot, keeper
        return self._resolved(snapshot, timestamp), None

    def _resolved(self, snapshot: int | None, timestamp: PointInTime | None) -> Snapshot:
        chosen = resolve(
            # Options of the handle choose what it reads, not what is tagged.
            type(self.access.options).parse({}),
            TableTimeline(self.access),
            snapshot=snapshot,
            timestamp_ms=None if timestamp is None else epoch_ms("timestamp", timestamp),
        ).snapshot
        if chosen is None:
            raise NotFoundError(
                f"{self.access.name} has no snapshot to tag", name=self.access.name, available=[]
            )
        return chosen


def _retained_ms(text: str | None) -> int | None:
    return None if text is None else length_ms("time_retained", text)
