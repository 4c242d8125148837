"""What one logical commit knows, and how it finds out what an earlier run of it has done.

Nothing is believed before the floor was read after it: history below the floor may be gone, and a number
there may have been used again (docs/adr/0002).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from table_core.commit import effects as fx
from table_core.commit.asked import ASKED_PROPERTY, differences
from table_core.commit.attempt import Attempt
from table_core.commit.outcome import Landed, Outcome
from table_core.commit.readback import verify
from table_core.errors import (
    ArgumentError,
    ForeignOverwriteError,
    NotFoundError,
    OutcomeUnknownError,
)
from table_core.ondisk.properties import has_landed
from table_core.ondisk.snapshot import FIRST_ID, CommitKind

if TYPE_CHECKING:
    from table_core.commit.conflicts import Bounds
    from table_core.commit.readback import Seen
    from table_core.commit.request import CommitRequest
    from table_core.errors import TableError
    from table_core.ondisk.snapshot import Snapshot

__all__ = ["Run", "check_floor", "find", "read_floor", "unchanged"]

T = TypeVar("T")
Steps: TypeAlias = Generator[fx.Effect, fx.Reply, T]


@dataclass(slots=True)
class Run:
    """What one logical commit knows so far.  Lives as long as its generator."""

    request: CommitRequest
    bounds: Bounds | None
    seen: tuple[Seen, ...]
    searched_to: int | None = None
    """History was searched for this commit up to here."""
    append: Landed | None = None
    compact: Landed | None = None
    superseded_by: int | None = None
    races_lost: int = 0
    renamed: frozenset[str] = frozenset()
    """Files that are not committed, because their rows were numbered anew and written to others."""
    warnings: list[TableError] = field(default_factory=list)

    def outcome(self, compact_error: TableError | None = None) -> Outcome:
        """What became of it, as far as is known."""
        return Outcome(
            append=self.append,
            compact=self.compact,
            superseded_by=self.superseded_by,
            compact_error=compact_error,
            warnings=tuple(self.warnings),
            races_lost=self.races_lost,
            seen=self.seen,
        )

    def half(self, kind: CommitKind) -> Landed | None:
        """The second half proves the first: it may be all that expiry has left."""
        if kind is not CommitKind.COMPACT and self.append is None and self.compact is not None:
            return self.compact if self.compact.replayed else None
        return self.compact if kind is CommitKind.COMPACT else self.append

    def land(self, landed: Landed) -> None:
        """Note a half that is in the table."""
        if landed.snapshot.commit_kind is CommitKind.COMPACT:
            self.compact = landed
        else:
            self.append = landed

    def turned(self, target: int) -> None:
        """Note that history goes on from ``target``: what came after it was not searched."""
        if self.searched_to is not None:
            self.searched_to = min(self.searched_to, target)

    def refuse_another(self, snapshot: Snapshot) -> None:
        """Require that ``snapshot`` was asked for as this commit is, where both say how.

        Raises:
            ArgumentError: the identifier stands for something else.
        """
        request = self.request
        stored = (snapshot.properties or {}).get(ASKED_PROPERTY)
        if stored is None or request.asked is None:
            return
        differs = differences(stored, request.asked)
        if differs:
            raise ArgumentError(
                f"{request.table}: commit {request.identifier} of {request.user!r} has landed in "
                f"snapshot {snapshot.id}, and what is asked for now differs in {', '.join(differs)}. "
                "Nothing was done: give another call another identifier, or ask for the same again",
                argument="commit",
                value=request.identifier,
                user=request.user,
                snapshot=snapshot.id,
                differs=differs,
            )

    def refuse_another_table(self, state: fx.TableState) -> None:
        """Require that the table is the one that was opened, by the writers too.

        Raises:
            NotFoundError: that one is gone, and another stands at its place.
        """
        request = self.request
        opened = {request.opened} - {None}
        for part in (request.append, request.compact):
            opened |= part.basis.opened if part is not None else frozenset()
        if opened <= state.schemas:
            return
        raise NotFoundError(
            f"{request.table}: the table that was opened is gone, and another one is in its place: it was "
            "dropped and recreated, or its schema was rolled back. Nothing was committed; open the table "
            "and write again",
            name=request.table,
            available=[],
            opened=sorted(
                schema.schema_id for schema in opened - state.schemas if schema is not None
            ),
        )

    def unknown(self, message: str, **facts: object) -> OutcomeUnknownError:
        """The error that says that nobody can tell."""
        who = f"{self.request.table}: commit {self.request.identifier} of {self.request.user}"
        return OutcomeUnknownError(f"{who}: {message}", user=self.request.user, **facts)


def find(run: Run, state: fx.TableState) -> Steps[None]:
    """Look for halves of this commit in history that was not searched yet, and in the head's list.

    Raises:
        OutcomeUnknownError: found below the floor, where a dead id may have been used again; or not
            found while history that could hold it is gone; and the head does not name it either.
    """
    if run.request.fresh_user:
        return  # what this process created itself, it reads back
    first = run.append is None and run.compact is None
    try:
        yield from _search(run, state.head)
    except OutcomeUnknownError:
        if not (first and (yield from _is_listed(run, state))):
            raise
        run.append = run.compact = None
    nothing = first and run.half(CommitKind.APPEND) is None and run.superseded_by is None
    if nothing and state.head is not None and (yield from _is_listed(run, state)):
        run.superseded_by = state.head.id


def _is_listed(run: Run, state: fx.TableState) -> Steps[bool]:
    """Whether the head says that this commit landed below it, however long ago."""
    known = yield from Attempt(run.request, state).carried()
    request = run.request
    return has_landed(known.properties, request.user, request.identifier, growing=request.growing)


def _search(run: Run, head: fx.Head | None) -> Steps[None]:
    request = run.request
    # How far down the search must reach to prove absence: to where an earlier run of this commit
    # began, or to what this one has searched.  Nothing known: a first run, nothing to find.
    proof_from = request.resume_from if run.searched_to is None else run.searched_to
    oldest = (proof_from or 0) + 1
    newest = head.id if head else 0
    result = fx.Search(snapshots=(), lowest=oldest)
    if newest >= oldest:
        reply = yield fx.FindMine(
            user=request.user,
            identifier=request.identifier,
            newest=newest,
            oldest=oldest,
            growing=request.growing,
            since_ms=request.since_ms if proof_from is None else None,
        )
        assert isinstance(reply, fx.Search)
        result = reply
    run.searched_to = max(newest, run.searched_to or 0)
    for snapshot in result.snapshots:  # newest first
        run.refuse_another(snapshot)
        proved = run.half(snapshot.commit_kind)
        if proved is None:
            yield from check_floor(run, snapshot.id)
        if proved is None or proved.snapshot.commit_kind is not snapshot.commit_kind:
            run.land(Landed(snapshot, replayed=True))
    if result.superseded_by is not None:
        run.superseded_by = result.superseded_by
    elif not result.snapshots and proof_from is not None:
        floor = yield from check_floor(run, oldest)
        if result.lowest > oldest:
            raise run.unknown(
                f"not found down to snapshot {result.lowest}, and what was between it and {oldest}, "
                "where it would be, is expired",
                id=oldest,
                floor=max(floor, result.lowest),
            )
    elif not result.snapshots and request.since_ms is not None and result.lowest > oldest:
        raise run.unknown(
            f"not found down to snapshot {result.lowest}, and an earlier attempt may have committed before "
            "that, in a snapshot that is expired since. Look whether its rows are there: if they are, mark "
            "the task as done; if not, clear it, and it is done under a new name. A table that keeps its "
            "snapshots ('snapshot.time-retained') for longer than attempts take knows the answer",
            id=oldest,
            floor=result.lowest,
            since_ms=request.since_ms,
        )


def unchanged(run: Run, seen: Seen, stored: fx.Head) -> Steps[None]:
    """Require that what was ``seen`` is what is ``stored``, unless it is expired or was taken back.

    Below the floor a writer that slept may have used the number again, which replaces nothing.

    Raises:
        ForeignOverwriteError: another writer replaced it.
        NotFoundError: the table was dropped, or another one with numbers of its own is in its place.
    """
    if stored.digest == seen.digest or seen.id < (yield from read_floor()):
        return
    target = yield fx.WasWithdrawn(seen.state)
    assert target is None or isinstance(target, int)
    if target is not None:
        run.turned(target)
        return
    try:
        verify(seen, stored)
    except ForeignOverwriteError:
        state = yield fx.ReadHead()
        assert isinstance(state, fx.TableState)
        run.refuse_another_table(state)
        raise


def read_floor() -> Steps[int]:
    """The smallest id that expiry has promised to keep, read now."""
    floor = yield fx.ReadFloor()
    assert isinstance(floor, int)
    return floor


def check_floor(run: Run, id: int) -> Steps[int]:
    """Require that expiry has not passed ``id``."""
    floor = yield from read_floor()
    if max(id, FIRST_ID) < floor:
        raise run.unknown(
            f"snapshot {id} is below the expiry floor {floor}, so what was there cannot be told",
            id=id,
            floor=floor,
        )
    return floor
