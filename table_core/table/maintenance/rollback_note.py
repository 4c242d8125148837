"""What a rollback under a name takes back, noted before it does: so that a retry takes back nothing else.

A rollback makes no snapshot that could say so.  Its note lists the snapshots, tags and changelogs that go, each
with the name of its delta list.  Whoever asks again finishes those, and leaves alone what others have made since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from table_core.commit.asked import differences
from table_core.errors import ArgumentError, OutcomeUnknownError
from table_core.ondisk import layout
from table_core.options.stored_json import json_document
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import CommitAs

__all__ = ["RollbackNote"]

_State: TypeAlias = "tuple[int, str]"
"""Id and delta list of a snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackNote:
    """What the rollback of one name takes back."""

    asked: str
    target: int
    gone: frozenset[_State]
    """The snapshots after ``target``, as they were when it began."""
    tags: frozenset[_State] = field(default=frozenset())
    """What tags stood for after ``target``."""
    changelogs: frozenset[_State] = field(default=frozenset())
    """The changelogs after ``target``."""

    @classmethod
    def read(cls, access: TableAccess, commit: CommitAs) -> RollbackNote | None:
        """The note of ``commit``; None: it has not begun, or nobody can ask for it again.

        Raises:
            ArgumentError: something else was asked for under that name.
        """
        if not commit.is_named:
            return None
        path = _path(access, commit)
        if not access.storage.exists(path):
            return None
        note = cls._of(access.storage.read(path), path)
        differs = differences(note.asked, commit.asked or "")
        if differs:
            raise ArgumentError(
                f"{access.name}: rollback {commit.identifier} of {commit.user!r} has begun, and what is "
                f"asked for now differs in {', '.join(differs)}. Nothing was done",
                argument="commit",
                value=commit.identifier,
                user=commit.user,
                differs=differs,
            )
        return note

    @classmethod
    def _of(cls, body: bytes, path: str) -> RollbackNote:
        with stored("rollback note", path):
            document = json_document(body, path=path)
            return cls(
                asked=str(document["asked"]),
                target=int(document["target"]),
                gone=_states(document["gone"]),
                tags=_states(document.get("tags", [])),
                changelogs=_states(document.get("changelogs", [])),
            )

    @classmethod
    def write(
        cls,
        access: TableAccess,
        commit: CommitAs,
        target: int,
        *,
        gone: Iterable[Snapshot],
        tags: Iterable[Snapshot],
        changelogs: Iterable[Snapshot],
    ) -> None:
        """Note what goes; ``commit`` is one that can be asked for again."""
        document = {
            "asked": commit.asked,
            "target": target,
            "gone": [_state(snapshot) for snapshot in gone],
            "tags": [_state(snapshot) for snapshot in tags],
            "changelogs": [_state(snapshot) for snapshot in changelogs],
        }
        access.storage.write(_path(access, commit), json.dumps(document).encode())

    @classmethod
    def forget(cls, access: TableAccess, commit: CommitAs) -> None:
        """Nothing was taken back: what goes is to be noted anew."""
        if commit.is_named:
            access.storage.delete([_path(access, commit)])

    def is_done(self, access: TableAccess, later: Iterable[Snapshot]) -> bool:
        """Whether all is gone, with ``later`` the snapshots behind its target that are there now.

        Raises:
            OutcomeUnknownError: it was cut short, and others have committed on what was left.
        """
        here = {_state(snapshot) for snapshot in later}
        left, new = here & self.gone, here - self.gone
        if left and new:
            raise OutcomeUnknownError(
                f"{access.name}: a rollback to snapshot {self.target} was cut short, and others have "
                f"committed since on what was left: {sorted(id for id, _ in left)} should have gone, "
                f"{sorted(id for id, _ in new)} came. Look what the table is to hold, and roll it back "
                "under another name",
                user=None,
                id=self.target,
                floor=access.metadata.floor(),
            )
        return not left

    def has_tag_of(self, snapshot: Snapshot) -> bool:
        """Whether a tag of ``snapshot`` goes."""
        return _state(snapshot) in self.gone | self.tags

    def has_changelog(self, changelog: Snapshot) -> bool:
        """Whether ``changelog`` goes."""
        return _state(changelog) in self.changelogs


def _state(snapshot: Snapshot) -> _State:
    return snapshot.id, snapshot.delta_manifest_list


def _states(pairs: Iterable[Sequence[object]]) -> frozenset[_State]:
    return frozenset((int(str(id)), str(name)) for id, name in pairs)


def _path(access: TableAccess, commit: CommitAs) -> str:
    return layout.note_path(
        layout.ROLLBACK_NOTES, f"{commit.user}:{commit.identifier}", access.branch
    )
