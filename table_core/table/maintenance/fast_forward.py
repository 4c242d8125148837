"""Main goes on as a branch has (format 11.7).

What both have stays where it is.  What main has done since the branch began goes: of its history
only what the branch's history follows may stay, because expiry concludes from one snapshot's changes
that nothing later needs a file, and from one tag that no earlier one does.  Where the branch began is
written nowhere: it is the newest state that both name, as a snapshot or as a tag.

All that the branch brings is read first, so nobody who deletes or expires the branch meanwhile leaves main without it.
The hint goes first, so that no reader trusts it meanwhile; then what is lost, newest first; then the
branch's documents come, and the hint last.  What is committed to main meanwhile is lost too, which is the order "commit,
then fast-forward"; a turn excludes others who delete snapshots (docs/adr/0026).  A run cut short is finished by asking
again: what tells where the branch began stays.  Apache Paimon keeps what main did before the earliest snapshot of the branch, and main's floor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, CommitConflictError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.ondisk.snapshot import FIRST_ID, Snapshot
from table_core.options.branch_name import require_branch_name
from table_core.table.maintenance.after_commit import follow_publishing
from table_core.table.maintenance.kept_changelogs import changelog_ids, forget_changelogs
from table_core.table.metadata.describing import FilesOf, between
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_access, is_to_be_published
from table_core.table.metadata.refs.consumers import held
from table_core.table.metadata.refs.tags import tag_names, tagged
from table_core.table.metadata.refs.turns import (
    HeldTurn,
    clean_after_end,
    require_no_expiry,
    snapshots_after,
    take_back,
    turning,
)
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
    bodies: Mapping[int, bytes]
    """Their documents."""
    tags: Mapping[str, bytes]
    """The tags of the branch."""
    schemas: Mapping[int, bytes]
    """The schemas of the branch."""
    new_schemas: list[int]
    """Those that main has not."""
    began_with: frozenset[int]
    """Snapshots of the branch that have a tag."""
    to_publish: bool
    """Whether the branch was made for main to take it over."""
    kept_states: frozenset[str]
    """What ``kept`` and ``ids`` stand for, as ``Snapshot.state``: main ends with nothing else."""
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
            NotFoundError: no such branch, or it has no snapshot; or it was deleted or renamed meanwhile.
            UnsupportedFeatureError: one of the two asks for what this release does not do.
            ArgumentError: ``main``, or another name that no branch may have; or main has tags of which
                nobody can tell whether the branch follows them; or the branch is of another table.
        """
        main, branch = _main_and_branch(access, name)
        storage = access.storage
        floor = branch.metadata.floor()
        ids = [id for id in branch.snapshot_ids() if id >= floor]
        if not ids:
            raise NotFoundError(f"branch {name!r} has no snapshot", name=name, available=[])
        ours, bodies = _snapshots(main), {id: branch.metadata.snapshot_body(id) for id in ids}
        theirs = {
            id: Snapshot.from_json(body, path=layout.snapshot_path(id, name))
            for id, body in bodies.items()
        }
        tags = {tag: tagged(main, tag).snapshot for tag in tag_names(main)}
        branch_tags = _tagged(branch)
        known = {_state(s) for s in (*theirs.values(), *branch_tags)}
        both = {_state(s) for s in (*ours.values(), *tags.values())} & known
        began = max((state[0] for state in both), default=0)
        if not began:
            _refuse_unplaced(access, name, tags, ids[0])
        goes_on = ids[0] <= began + 1
        kept = [id for id in ours if ours[id] == theirs.get(id) or (goes_on and id < ids[0])]
        floor = main.metadata.floor()
        new_schemas = _unlike(branch.metadata, main.metadata)
        plan = cls(
            main=main,
            branch=branch,
            began=began,
            ids=ids,
            bodies=bodies,
            tags={t: storage.read(layout.tag_path(t, name)) for t in tag_names(branch)},
            schemas=_schema_bodies(branch),
            new_schemas=new_schemas,
            began_with=frozenset(snapshot.id for snapshot in branch_tags),
            to_publish=is_to_be_published(branch),
            kept_states=frozenset(
                [*(ours[id].state for id in kept), *(s.state for s in theirs.values())]
            ),
            kept=kept,
            lost=[id for id in ours if id not in kept],
            lost_tags=[tag for tag, state in tags.items() if state.id > began],
            lost_schemas=[
                id
                for id in _unlike(main.metadata, branch.metadata)
                if id >= theirs[ids[0]].schema_id
            ],
            head_id=main.metadata.head_id(),
            floor=min(id for id in (*kept, *ids) if id >= min(floor, ids[0])),
            before=FilesOf.of(main, main.metadata.head()),
        )
        branch.require_there()  # who deletes or renames it takes first what makes it a branch
        return plan

    @property
    def state(self) -> str:
        """What main would be: the newest state of the branch."""
        return self._brought(self.ids[-1]).state

    def brought(self, ids: Iterable[int]) -> Iterator[Snapshot]:
        """Those snapshots of the branch, as main has them."""
        return map(self._brought, ids)

    def _brought(self, id: int) -> Snapshot:
        path = layout.snapshot_path(id, self.branch.branch)
        return Snapshot.from_json(self.bodies[id], path=path)

    @property
    def new_ids(self) -> list[int]:
        """Snapshots of the branch that main has not."""
        return [id for id in self.ids if id not in self.kept]

    @property
    def own_ids(self) -> list[int]:
        """Snapshots that were made on the branch: all but the one that it began with, which has a tag."""
        return self.ids[1:] if self.ids[0] in self.began_with else self.ids

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
        after = FilesOf.of(self.main, self._brought(self.ids[-1]))
        return between(
            self.main, "fast-forward", self.before, after, told, started_ms=None, dry_run=dry_run
        )

    @classmethod
    def perform(
        cls, access: TableAccess, name: str, *, force: bool = True
    ) -> tuple[FastForward, list[int]]:
        """Take over the branch ``name``; what was done, and the snapshots of which nobody was told yet.

        Raises:
            CommitConflictError: another change of direction is under way, or an expiry, and main would begin
                below its floor; or main has gone on by now, and ``force`` is off.
            OutcomeUnknownError: the table was dropped or renamed meanwhile.
        """
        main = replace(access, metadata=Metadata(access.storage))
        branch = branch_access(access, name)
        # Whoever expires one of the two from now on stops at once; who did before has raised its floor.
        with main.staying("it was fast-forwarded"), held(main, FIRST_ID), held(branch, FIRST_ID):
            target = main.metadata.head_id() or 0
            with turning(main, "fast-forward", by=f"branch {name}", target=target) as turn:
                plan = cls.of(access, name)
                untold = plan.untold_ids
                if plan.floor < main.metadata.floor():
                    require_no_expiry(main, plan.floor)
                if plan.lost and not force:
                    raise plan.gone_on(plan.lost[0])
                newest = plan.carry_out(turn, force=force)
            clean_after_end(turn, newest, turn.taken)
        return plan, untold

    def follow(self, ids: Iterable[int]) -> None:
        """Do what writing the snapshots ``ids`` to the branch has left to the moment when main has them."""
        if self.to_publish:
            main = replace(self.main, schema=self.branch.schema)
            follow_publishing(main, list(self.brought(ids)))

    def carry_out(self, turn: HeldTurn, *, force: bool) -> Snapshot:
        """Do it within ``turn``; the newest snapshot of main from then on.

        Raises:
            CommitConflictError: somebody has committed to main meanwhile, and ``force`` is off.
        """
        storage = self.main.storage
        storage.delete([layout.hint_path("snapshot", LATEST)])
        storage.delete([layout.tag_path(name) for name in self.lost_tags])
        self._take_away(turn)
        self._forget_changelogs()
        turn.require()
        self._take_schemas(turn)
        turn.require()
        while taken := next((id for id in self.new_ids if not self._bring(turn, id)), None):
            if not force:
                raise self.gone_on(taken)
            self._take_away(turn)  # somebody has committed to main meanwhile
        newest = self._brought(self.ids[-1])
        take_back(turn, newest)
        turn.require()
        lost = {snapshot.state for snapshot in turn.taken}
        gone = [n for n in tag_names(self.main) if tagged(self.main, n).snapshot.state in lost]
        storage.delete([layout.tag_path(name) for name in gone])
        turn.write(layout.hint_path("snapshot", EARLIEST), encode_hint(self.floor))
        for name, body in self.tags.items():
            turn.write(layout.tag_path(name), body)
        turn.write(layout.hint_path("snapshot", LATEST), encode_hint(self.ids[-1]))
        return newest

    def _take_away(self, turn: HeldTurn) -> None:
        """Delete what main has and is not to have, newest first."""
        there = snapshots_after(self.main, 0)
        going = [snapshot for snapshot in there if snapshot.state not in self.kept_states]
        turn.take(going)
        for snapshot in reversed(going):
            turn.delete(snapshot.id)

    def gone_on(self, id: int) -> CommitConflictError:
        """The error that says that main has got snapshot ``id``, which nobody looked at."""
        return CommitConflictError(
            f"{self.main.name}: somebody has committed snapshot {id} while main was to take over branch "
            f"{self.branch.branch!r}; that commit stays. Create the branch again",
            table=self.main.name,
            head_id=id,
            conflicts=[f"snapshot {id}"],
        )

    def _bring(self, turn: HeldTurn, id: int) -> bool:
        """Make snapshot ``id`` of the branch main's; False: somebody has committed another one of that number."""
        path, body = layout.snapshot_path(id), self.bodies[id]
        return turn.create(path, body) or self.main.storage.read(path) == body

    def _take_schemas(self, turn: HeldTurn) -> None:
        """The table is one at every moment: what both number is written over, if it differs.

        Raises:
            NotFoundError: the table was dropped; the one at its place keeps its schemas.
        """
        storage = self.main.storage
        ours = set(self.main.metadata.schema_ids())
        for id in self.new_schemas:
            path, body = layout.schema_path(id), self.schemas[id]
            if id in ours or not turn.create(path, body):
                turn.require()  # somebody has changed the schema of main since, or it is another table
                turn.write(path, body)
        gone = [id for id in self.lost_schemas if id not in self.schemas]
        storage.delete([layout.schema_path(id) for id in gone])

    def _forget_changelogs(self) -> None:
        """Changes that main made since are no part of its history any more."""
        ids = changelog_ids(self.main)
        gone = [id for id in ids if id > self.began]
        forget_changelogs(self.main, gone, keeps_earlier=len(gone) < len(ids))


def _snapshots(access: TableAccess) -> dict[int, Snapshot]:
    return {id: access.metadata.snapshot(id) for id in access.metadata.snapshot_ids()}


def _refuse_unplaced(
    access: TableAccess, name: str, tags: Mapping[str, Snapshot], first: int
) -> None:
    """Refuse ``tags`` of main of which nobody can tell whether the branch, from snapshot ``first`` on, follows them."""
    unplaced = sorted(tag for tag, state in tags.items() if state.id < first)
    if unplaced and first > FIRST_ID:
        raise ArgumentError(
            f"{access.name} has the tags {unplaced}, and branch {name!r} has no snapshot and no "
            "tag in common with main, so it cannot be known whether it follows them; delete these "
            "tags, or create a tag in the branch at its start",
            argument="name",
            value=name,
        )


def _main_and_branch(access: TableAccess, name: str) -> tuple[TableAccess, TableAccess]:
    """Both lines, of one table and such as this release writes.

    Raises:
        NotFoundError, UnsupportedFeatureError, ArgumentError: as ``FastForward.of``.
    """
    if name == layout.MAIN:
        require_branch_name(name)
    access.require_same()
    branch = branch_access(access, name)
    main = replace(access, metadata=Metadata(access.storage))
    refuse_commits(main)
    refuse_commits(branch)
    _refuse_another_birth(main, branch)
    return main, branch


def _refuse_another_birth(main: TableAccess, branch: TableAccess) -> None:
    """Refuse a branch that was not made of this table: the earliest schema tells tables at one place apart, and stays.

    Raises:
        ArgumentError: it was not.
    """
    first = min(main.metadata.schema_ids(), default=0)
    ids = branch.metadata.schema_ids()
    if first in ids and branch.metadata.schema(first) != main.metadata.schema(first):
        raise ArgumentError(
            f"{main.name}: branch {branch.branch!r} has another schema {first} than the table, so it was made of "
            "another table: read it as it is, or write its rows to the table",
            argument="name",
            value=branch.branch,
        )


def _schema_bodies(access: TableAccess) -> dict[int, bytes]:
    read, branch = access.storage.read, access.branch
    return {id: read(layout.schema_path(id, branch)) for id in access.metadata.schema_ids()}


def _unlike(one: Metadata, other: Metadata) -> list[int]:
    """Schemas of ``one`` that ``other`` has not, or has another one of that number."""
    theirs = set(other.schema_ids())
    return [id for id in one.schema_ids() if id not in theirs or one.schema(id) != other.schema(id)]


def _tagged(access: TableAccess) -> list[Snapshot]:
    return [tagged(access, name).snapshot for name in tag_names(access)]


def _state(snapshot: Snapshot) -> tuple[int, str, str]:
    """A number is used again after a rollback, and on each branch; the names of lists are not."""
    return snapshot.id, snapshot.base_manifest_list, snapshot.delta_manifest_list
