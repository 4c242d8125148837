"""Main goes on as a branch has (format 11.7).

What both have stays where it is.  What main has done since the branch began goes: of its history
only what the branch's history follows may stay, because expiry concludes from one snapshot's changes
that nothing later needs a file, and from one tag that no earlier one does.  Where the branch began is
written nowhere: it is the newest state that both name, as a snapshot or as a tag.

The hint goes first, so that no reader trusts it meanwhile; then what is lost, newest first; then the
branch's documents come, and the hint last.  A run cut short is finished by asking again: what tells where the branch began
stays.  Apache Paimon keeps what main did before the earliest snapshot of the branch, and main's floor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, CommitConflictError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.ondisk.snapshot import FIRST_ID
from table_core.options.branch_name import require_branch_name
from table_core.table.maintenance.after_commit import follow_publishing
from table_core.table.metadata.describing import FilesOf, between
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_access, is_to_be_published
from table_core.table.metadata.refs.consumers import held
from table_core.table.metadata.refs.tags import tag_names, tagged
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = ["FastForward"]


@dataclass(frozen=True, slots=True)
class FastForward:
    """What letting main go on as a branch has means."""

    main: TableAccess
    branch: TableAccess
    began: int
    """The newest snapshot that both know; 0: there is none, or nobody can tell."""
    ids: list[int]
    """Snapshots of the branch that are promised."""
    kept: list[int]
    """Snapshots of main that the branch's follow, or that both have."""
    lost: list[int]
    """Snapshots of main that go."""
    lost_tags: list[str]
    """Tags of main on what goes."""
    lost_schemas: list[int]
    """Schemas of main that go, or that make room for another one of their number."""
    head_id: int | None
    """The newest snapshot of main before."""
    floor: int
    """The oldest snapshot that main has from then on."""
    before: FilesOf
    """The files of main before."""

    @classmethod
    def of(cls, access: TableAccess, name: str) -> FastForward:
        """What taking over the branch ``name`` would do.

        Raises:
            NotFoundError: no such branch, or it has no snapshot.
            UnsupportedFeatureError: one of the two asks for what this release does not do.
            ArgumentError: ``main``, or another name that no branch may have; or main has tags of which
                nobody can tell whether the branch follows them.
        """
        if name == layout.MAIN:
            require_branch_name(name)
        access.require_same()
        branch = branch_access(access, name)
        main = replace(access, metadata=Metadata(access.storage))
        refuse_commits(main)
        refuse_commits(branch)
        floor = branch.metadata.floor()
        ids = [id for id in branch.metadata.snapshot_ids() if id >= floor]
        if not ids:
            raise NotFoundError(f"branch {name!r} has no snapshot", name=name, available=[])
        ours, theirs = _snapshots(main), _snapshots(branch)
        tags = {tag: tagged(main, tag).snapshot for tag in tag_names(main)}
        known = {_state(s) for s in (*theirs.values(), *_tagged(branch))}
        both = {_state(s) for s in (*ours.values(), *tags.values())} & known
        began = max((state[0] for state in both), default=0)
        unplaced = sorted(n for n, s in tags.items() if not began and s.id < ids[0])
        if unplaced and ids[0] > FIRST_ID:
            raise ArgumentError(
                f"{access.name} has the tags {unplaced}, and branch {name!r} has no snapshot and no "
                "tag in common with main, so it cannot be known whether it follows them; delete these "
                "tags, or create a tag in the branch at its start",
                argument="name",
                value=name,
            )
        goes_on = ids[0] <= began + 1
        kept = [id for id in ours if ours[id] == theirs.get(id) or (goes_on and id < ids[0])]
        floor = main.metadata.floor()
        return cls(
            main=main,
            branch=branch,
            began=began,
            ids=ids,
            kept=kept,
            lost=[id for id in ours if id not in kept],
            lost_tags=[tag for tag, state in tags.items() if state.id > began],
            lost_schemas=_lost_schemas(main.metadata, branch.metadata, ids[0]),
            head_id=main.metadata.head_id(),
            floor=min(id for id in (*kept, *ids) if id >= min(floor, ids[0])),
            before=FilesOf.of(main, main.metadata.head()),
        )

    @property
    def state(self) -> str:
        """What main would be: the newest state of the branch."""
        return self.branch.metadata.snapshot(self.ids[-1]).state

    def brought(self, ids: Iterable[int]) -> Iterator[Snapshot]:
        """Those snapshots of the branch, as main has them."""
        return (self.branch.metadata.snapshot(id) for id in ids)

    @property
    def new_ids(self) -> list[int]:
        """Snapshots of the branch that main has not."""
        return [id for id in self.ids if id not in self.kept]

    @property
    def own_ids(self) -> list[int]:
        """Snapshots that were made on the branch: all but the one that it began with, which has a tag."""
        began_with = {snapshot.id for snapshot in _tagged(self.branch)}
        return self.ids[1:] if self.ids[0] in began_with else self.ids

    @property
    def untold_ids(self) -> list[int]:
        """Those that nobody has told yet: also what a run that was cut short has taken over."""
        return self.own_ids if self.is_cut_short else self.new_ids

    @property
    def is_cut_short(self) -> bool:
        """Whether a run before this one did not come to its end: the hint goes first, and comes back late."""
        hint = layout.hint_path("snapshot", LATEST)
        return bool(self.kept) and not self.main.storage.exists(hint)

    @property
    def is_taken(self) -> bool:
        """Whether main has all of the branch, whatever it has done since."""
        has_all = self.ids[-1] in self.kept and not self.new_schemas
        return has_all and (bool(self.lost) or not self.is_cut_short)

    @property
    def new_schemas(self) -> list[int]:
        """Schemas of the branch that main has not."""
        return _unlike(self.branch.metadata, self.main.metadata)

    def result(self, *, dry_run: bool, **details: object) -> ResultDocument:
        """What it does, or did; ``details`` come on top."""
        told = {
            "branch": self.branch.branch,
            "snapshots": self.new_ids,
            "lost": self.lost,
            "tags_lost": sorted(self.lost_tags),
            "schemas_lost": self.lost_schemas,
            **details,
        }
        after = FilesOf.of(self.branch, self.branch.metadata.snapshot(self.ids[-1]))
        return between(
            self.main, "fast-forward", self.before, after, told, started_ms=None, dry_run=dry_run
        )

    def perform(self) -> None:
        """Do it.

        Raises:
            CommitConflictError: somebody has committed to main since this was planned.
        """
        with held(self.main, self.floor):
            self._perform()

    def follow(self, ids: Iterable[int]) -> None:
        """Do what writing the snapshots ``ids`` to the branch has left to the moment when main has them."""
        if is_to_be_published(self.branch):
            main = replace(self.main, schema=self.branch.schema)
            follow_publishing(main, list(self.brought(ids)))

    def _perform(self) -> None:
        storage, branch = self.main.storage, self.branch.branch
        storage.delete([layout.hint_path("snapshot", LATEST)])
        storage.delete([layout.tag_path(name) for name in self.lost_tags])
        for id in reversed(self.lost):
            storage.delete([layout.snapshot_path(id)])
        self._forget_changelogs()
        self._take_schemas()
        for id in self.new_ids:
            self._bring(id)
        storage.write(layout.hint_path("snapshot", EARLIEST), encode_hint(self.floor))
        for name in tag_names(self.branch):
            storage.write(layout.tag_path(name), storage.read(layout.tag_path(name, branch)))
        storage.write(layout.hint_path("snapshot", LATEST), encode_hint(self.ids[-1]))

    def _bring(self, id: int) -> None:
        """Make snapshot ``id`` of the branch main's.

        Raises:
            CommitConflictError: main has got another one of that number since this was planned.
        """
        storage, path = self.main.storage, layout.snapshot_path(id)
        body = self.branch.metadata.snapshot_body(id)
        if storage.create(path, body) or storage.read(path) == body:  # a run was cut short
            return
        raise CommitConflictError(
            f"{self.main.name}: somebody has committed snapshot {id} while main was to take over branch "
            f"{self.branch.branch!r}; that commit stays. Create the branch again",
            table=self.main.name,
            head_id=id,
            conflicts=[f"snapshot {id}"],
        )

    def _take_schemas(self) -> None:
        """The table is one at every moment: what both number is written over."""
        storage, branch, main = self.main.storage, self.branch.metadata, self.main.metadata
        theirs = branch.schema_ids()
        for id in theirs:
            body = storage.read(layout.schema_path(id, branch.branch))
            storage.write(layout.schema_path(id), body)
        gone = [id for id in _lost_schemas(main, branch, self.ids[0]) if id not in theirs]
        storage.delete([layout.schema_path(id) for id in gone])

    def _forget_changelogs(self) -> None:
        """Changes that main made since are no part of its history any more."""
        storage = self.main.storage
        names = (info.path.rpartition("/")[2] for info in storage.list(layout.changelog_folder()))
        ids = (layout.numbered(name, "changelog-") for name in names)
        gone = [id for id in ids if id is not None and id > self.began]
        storage.delete([layout.changelog_path(id) for id in gone])
        if gone:  # hints point past the end; readers list the folder without them
            storage.delete([layout.hint_path("changelog", which) for which in (LATEST, EARLIEST)])


def _snapshots(access: TableAccess) -> dict[int, Snapshot]:
    return {id: access.metadata.snapshot(id) for id in access.metadata.snapshot_ids()}


def _lost_schemas(main: Metadata, branch: Metadata, first_snapshot: int) -> list[int]:
    """Schemas of main that are not the branch's, from that of the branch's first snapshot on."""
    first = branch.snapshot(first_snapshot).schema_id
    return [id for id in _unlike(main, branch) if id >= first]


def _unlike(one: Metadata, other: Metadata) -> list[int]:
    """Schemas of ``one`` that ``other`` has not, or has another one of that number."""
    theirs = set(other.schema_ids())
    return [id for id in one.schema_ids() if id not in theirs or one.schema(id) != other.schema(id)]


def _tagged(access: TableAccess) -> list[Snapshot]:
    return [tagged(access, name).snapshot for name in tag_names(access)]


def _state(snapshot: Snapshot) -> tuple[int, str, str]:
    """A number is used again after a rollback, and on each branch; the names of lists are not."""
    return snapshot.id, snapshot.base_manifest_list, snapshot.delta_manifest_list
