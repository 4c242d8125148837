"""Changes of direction of a branch's line of snapshots: who may delete snapshots, and what they took back.

Only who holds the newest turn deletes a snapshot at or above the floor (docs/adr/0026).  The deletes of a store
have no condition, and ids are used again: two who delete one id could meet a snapshot that was made since.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from table_core.commit import take_back as steps
from table_core.commit.protocol import drive
from table_core.errors import CommitConflictError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.line import ExpiryMark, Holder, Turn
from table_core.ondisk.snapshot import Snapshot
from table_core.storage.system import ProcessId
from table_core.table.metadata.refs.new_document import is_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from table_core.table.metadata.access import TableAccess

__all__ = [
    "MOVE",
    "HeldMark",
    "HeldTurn",
    "between_turns",
    "clean_after_end",
    "expiring",
    "founding",
    "newest_turn",
    "require_no_expiry",
    "require_no_turn",
    "set_aside",
    "snapshots_after",
    "take_back",
    "target_of",
    "turning",
]

T = TypeVar("T")
_SILENT_MAX_MS: Final = 120_000
"""Whose turn was not heard of for so long was killed, if nobody can ask for its process."""
_RUNNING_MAX_MS: Final = 3_600_000
"""Another process may have the number of one that was killed."""
_AT_WORK: Final[set[str]] = set()
"""Tokens of what this process does now."""
_SAY_MS: Final = 20_000
_EXPIRY_MAX_MS: Final = 3_600_000
"""A mark of an expiry that is older was left by a process that was killed."""
_LOOKS_MAX: Final = 10
MOVE: Final = "rename"
_REMOVAL: Final = "removal"
_REMOVALS_MAX: Final = 40
_REMOVAL_MS: Final = 50
_FIRST_SCHEMA: Final = 0
_KEPT: Final = 64
"""So many turns that have ended are kept for those who ask what became of a snapshot."""


def _numbers(access: TableAccess) -> list[int]:
    listed = access.storage.list(layout.line_folder(access.branch))
    return _numbers_of(info.path for info in listed)


def _numbers_of(paths: Iterable[str]) -> list[int]:
    names = (path.rpartition("/")[2] for path in paths)
    return sorted(n for name in names if (n := layout.numbered(name, "turn-")) is not None)


def _read(access: TableAccess, number: int) -> Turn | None:
    path = layout.turn_path(number, access.branch)
    try:
        return Turn.from_json(access.storage.read(path), path=path)
    except NotFoundError:
        return None


def newest_turn(access: TableAccess, mark: HeldMark | None = None) -> int | None:
    """The identity of the line: the number of its newest turn, 0: it has never turned; None: it turns just now.

    Raises:
        NotFoundError: ``mark``, which was there, is gone: so was the table, whatever is at its place now.
    """
    listed = {info.path for info in access.storage.list(layout.line_folder(access.branch))}
    if mark is not None and mark.path not in listed:
        raise access.is_gone()
    newest = max(_numbers_of(listed), default=0)
    turn = _read(access, newest) if newest else None
    is_under_way = turn is not None and not turn.ended and _lives(access, turn.holder)
    return None if is_under_way else newest


def _lives(access: TableAccess, holder: Holder, silent_max_ms: int = _SILENT_MAX_MS) -> bool:
    """Whether ``holder`` was not killed.

    A process of this machine is asked for; of another one it counts how long it was not heard of.
    """
    process = ProcessId(holder.machine, holder.process)
    if process == ProcessId.of_this():
        return holder.token in _AT_WORK
    runs = process.runs()
    silent_ms = access.clock.now_ms() - holder.at_ms
    return runs is not False and silent_ms < (_RUNNING_MAX_MS if runs else silent_max_ms)


def _holder(access: TableAccess) -> Holder:
    this = ProcessId.of_this()
    return Holder(
        token=access.ids.uuid(),
        machine=this.machine,
        process=this.number,
        at_ms=access.clock.now_ms(),
    )


def require_no_turn(access: TableAccess) -> int:
    """Require that the line does not turn just now: its newest snapshot may be one of those in between.

    Gives the identity of the line.

    Raises:
        CommitConflictError: it does.
    """
    newest = newest_turn(access)
    if newest is None:
        number = max(_numbers(access), default=0)
        raise _under_way(access, number, _read(access, number))
    return newest


def between_turns(access: TableAccess, look: Callable[[], T]) -> T:
    """What ``look`` sees of a line that does not turn meanwhile: for who makes something of a state that stays.

    Raises:
        CommitConflictError: the line turns just now, or did each time.
    """
    for _ in range(_LOOKS_MAX - 1):
        line = require_no_turn(access)
        seen = look()
        if newest_turn(access) == line:
            return seen
    require_no_turn(access)
    return look()


def target_of(access: TableAccess, state: str) -> int | None:
    """Where the newest turn that took the snapshot of ``state`` back went to; None: none did."""
    for number in reversed(_numbers(access)):
        turn = _read(access, number)
        if turn is not None and state in turn.gone:
            return turn.target
    return None


@dataclass(slots=True)
class HeldTurn:
    """The newest turn, which is this process's."""

    access: TableAccess
    number: int
    turn: Turn
    born: bytes
    """The earliest schema of the table when it began."""
    taken: list[Snapshot] = field(default_factory=list)
    """What it has noted to take back."""
    made: list[tuple[str, bytes]] = field(default_factory=list)
    """Paths and bytes of what it has brought."""

    @classmethod
    def begin(
        cls,
        access: TableAccess,
        verb: str,
        *,
        by: str,
        target: int,
        over_all_but: str | None = None,
    ) -> HeldTurn:
        """Begin a turn to ``target``; ``over_all_but``: others end by it, but for those of that verb.

        Raises:
            CommitConflictError: another one is under way.
        """
        born = _earliest_schema(access)
        numbers = _numbers(access)
        newest = max(numbers, default=0)
        last = _read(access, newest) if newest else None
        excludes = last is not None and not last.ended and over_all_but in {None, last.verb}
        if last is not None and excludes and _lives(access, last.holder):
            raise _under_way(access, newest, last)
        turn = Turn(verb=verb, by=by, holder=_holder(access), target=target)
        held = cls(access, newest + 1, turn, born)
        path = layout.turn_path(held.number, access.branch)
        if not is_ours(access.storage, path, turn.to_json()):
            raise _under_way(access, held.number, _read(access, held.number))
        _AT_WORK.add(turn.holder.token)
        access.storage.delete([layout.turn_path(n, access.branch) for n in numbers[:-_KEPT]])
        return held

    def take(self, snapshots: Iterable[Snapshot]) -> None:
        """Note that ``snapshots`` are taken back, before they are.

        Raises:
            CommitConflictError, NotFoundError: as ``require``.
        """
        snapshots = list(snapshots)
        if snapshots:
            self.require()
            self.taken.extend(snapshots)
            self._store(self.turn.taking(snapshots))

    def delete(self, id: int) -> None:
        """Delete the snapshot ``id``, which was noted before.

        Raises:
            CommitConflictError, NotFoundError: as ``require``.
        """
        self.require()
        self.access.storage.delete([layout.snapshot_path(id, self.access.branch)])

    def create(self, path: str, body: bytes) -> bool:
        """Bring ``path`` if it is absent, as ``write``; False: it is not."""
        self.made.append((path, body))
        return self.access.storage.create(path, body)

    def bring_forth(self, path: str, body: bytes) -> bool:
        """Bring ``path``, the earliest schema so far of a branch that is made in this turn; False: somebody else has."""
        if not self.access.storage.create(path, body):
            return False
        self.born = body
        return True

    def write(self, path: str, body: bytes) -> None:
        """Bring ``path``; if the table is dropped meanwhile, the end of the turn takes it away again."""
        self.made.append((path, body))
        self.access.storage.write(path, body)

    def require(self) -> None:
        """Require that this turn is there and the newest one, and say that its holder lives.

        Raises:
            CommitConflictError: somebody else holds the newest one by now.
            NotFoundError: the table was dropped, whatever is at its place now.
        """
        there = _read(self.access, self.number)
        if there is None:
            raise self.access.is_gone()
        if there.holder.token != self.turn.holder.token:
            raise _under_way(self.access, self.number, there)
        later = _read(self.access, self.number + 1)  # what is absent is asked for by one read
        if later is not None:
            raise _under_way(self.access, self.number + 1, later)
        if self.access.clock.now_ms() - self.turn.holder.at_ms > _SAY_MS:
            self._store(self.turn)

    def end(self) -> None:
        """Let others turn: no delete of this one is under way.

        This is also the look that follows all marks of this turn: if the table was dropped, another one at its place
        keeps none of them.
        """
        self.let_go()
        there = _read(self.access, self.number)
        if there is None and max(_numbers(self.access), default=0) > self.number:
            return  # it is so old that newer ones have removed it
        if there is not None and there.holder.token == self.turn.holder.token:
            with suppress(NotFoundError):
                self._store(replace(self.turn, ended=True))
                return
        for path, body in reversed(self.made):
            if _body_of(self.access, path) == body:
                self.access.storage.delete([path])

    def let_go(self) -> None:
        """This process does not work on it any more."""
        _AT_WORK.discard(self.turn.holder.token)

    def forget(self) -> None:
        """End it, and leave nothing of it."""
        self.let_go()
        there = _read(self.access, self.number)
        if there is not None and there.holder.token == self.turn.holder.token:
            self.access.storage.delete([layout.turn_path(self.number, self.access.branch)])

    def is_of_another_table(self) -> bool:
        """Whether the table that this turn began with was dropped, whatever is at its place now."""
        return _earliest_schema(self.access) != self.born

    def _store(self, turn: Turn) -> None:
        holder = replace(turn.holder, at_ms=self.access.clock.now_ms())
        self.turn = replace(turn, holder=holder)
        path, body = layout.turn_path(self.number, self.access.branch), self.turn.to_json()
        self.access.storage.write(path, body)
        if self.is_of_another_table():  # which must not take it for a turn of its own, nor this one
            if _body_of(self.access, path) == body:
                self.access.storage.delete([path])
            raise self.access.is_gone()


def _earliest_schema(access: TableAccess) -> bytes:
    """Its bytes, which tell a table from others at its place; empty: there is no table."""
    body = _body_of(access, layout.schema_path(_FIRST_SCHEMA, access.branch))
    if body is None:
        ids = access.metadata.schema_ids()
        body = _body_of(access, layout.schema_path(ids[0], access.branch)) if ids else None
    return body or b""


def _body_of(access: TableAccess, path: str) -> bytes | None:
    try:
        return access.storage.read(path)
    except NotFoundError:
        return None


def _under_way(access: TableAccess, number: int, turn: Turn | None) -> CommitConflictError:
    what = "another change of direction" if turn is None else f"a {turn.verb} of {turn.by!r}"
    problem = f"{what} is under way (turn {number})"
    return CommitConflictError(
        f"{access.name}: {problem}, or was killed on another machine in the last {_SILENT_MAX_MS // 60_000} minutes. "
        "Ask again later",
        table=access.name,
        head_id=None,
        conflicts=[problem],
    )


@contextmanager
def turning(access: TableAccess, verb: str, *, by: str, target: int) -> Iterator[HeldTurn]:
    """A turn that has ended afterwards, whatever came between: who fails deletes nothing more.

    Raises:
        CommitConflictError: another one is under way.
    """
    held = HeldTurn.begin(access, verb, by=by, target=target)
    try:
        yield held
    finally:
        held.end()


@contextmanager
def founding(access: TableAccess, *, by: str) -> Iterator[HeldTurn]:
    """A turn in which a branch is made, so that two do not mix theirs; nothing is left of it afterwards.

    Raises:
        CommitConflictError: somebody else makes a branch of that name.
    """
    held = HeldTurn.begin(access, "creation", by=by, target=0)
    try:
        yield held
    finally:
        held.forget()


def _removal(access: TableAccess, snapshot: Snapshot) -> HeldTurn | None:
    """A turn that removes ``snapshot`` alone; None: one that looks for such snapshots is under way."""
    for _ in range(_REMOVALS_MAX):
        try:
            return HeldTurn.begin(access, _REMOVAL, by=snapshot.commit_user, target=snapshot.id - 1)
        except CommitConflictError:
            turn = _read(access, max(_numbers(access), default=0))
            if turn is not None and turn.verb not in {_REMOVAL, MOVE}:
                return None
            access.clock.sleep_ms(_REMOVAL_MS)  # it looks for none but its own
    return None


def set_aside(access: TableAccess, snapshot: Snapshot, body: bytes, *, keep: bool) -> bool:
    """Take ``snapshot`` away if it still has the bytes ``body``; False: another turn is under way, which finds it.

    With ``keep`` a copy goes into the folder of strays first.
    """
    path = layout.snapshot_path(snapshot.id, access.branch)
    held = _removal(access, snapshot)
    if held is None:
        return False
    with suppress(NotFoundError):
        if access.storage.read(path) == body:
            if keep:
                name = snapshot.delta_manifest_list
                access.storage.create(layout.stray_path(snapshot.id, name, access.branch), body)
            held.take([snapshot])
            held.delete(snapshot.id)
    held.end()
    return True


def snapshots_after(access: TableAccess, id: int) -> tuple[Snapshot, ...]:
    """All snapshots above ``id``, ascending, as they are now; see ``commit.take_back.ReadLater``."""
    there: list[Snapshot] = []
    for listed in [n for n in access.metadata.snapshot_ids() if n > id]:
        missing = range(max(there[-1].id if there else id, listed - 2) + 1, listed)
        there += [later for n in (*missing, listed) if (later := _snapshot(access, n)) is not None]
    return tuple(there)


def _snapshot(access: TableAccess, id: int) -> Snapshot | None:
    try:
        body = access.metadata.snapshot_body(id)
    except NotFoundError:
        return None
    return Snapshot.from_json(body, path=layout.snapshot_path(id, access.branch))


@dataclass(slots=True)
class _TakingBack:
    """Performs the effects of ``commit.take_back``."""

    access: TableAccess
    held: HeldTurn

    def perform(self, effect: steps.Effect) -> steps.Reply:
        """Carry out ``effect`` and give the reply that its docstring promises."""
        if isinstance(effect, steps.ReadLater):
            return snapshots_after(self.access, effect.id)
        if isinstance(effect, steps.Note):
            self.held.take(effect.snapshots)
        elif isinstance(effect, steps.TakeBack):
            self.held.delete(effect.snapshot.id)
        elif isinstance(effect, steps.End):
            self.held.end()
        else:
            ended, turn = self.held, self.held.turn
            self.held = HeldTurn.begin(self.access, turn.verb, by=turn.by, target=turn.target)
            if ended.is_of_another_table():  # its snapshots are none of ours
                self.held.end()
                raise self.access.is_gone()
        return None


def take_back(held: HeldTurn, target: Snapshot) -> tuple[Snapshot, ...]:
    """Take back what is above ``target``; which snapshots went.

    Raises:
        CommitConflictError: somebody took this turn for dead and holds the newest one by now.
    """
    return drive(steps.take_back(target), _TakingBack(held.access, held).perform)


def clean_after_end(held: HeldTurn, target: Snapshot, gone: Sequence[Snapshot]) -> None:
    """Once the turn has ended: delete what somebody left to it meanwhile; nothing if the table was dropped since."""
    with suppress(NotFoundError):
        drive(steps.clean_after_end(target, gone), _TakingBack(held.access, held).perform)


# ------------------------------------------------------------------------------- expiry beside turns
@dataclass(slots=True)
class HeldMark:
    """Says that an expiry is under way, and how far it is: a turn does not go below that meanwhile."""

    access: TableAccess
    mark: ExpiryMark

    @property
    def path(self) -> str:
        """Where it is: written once, so that it is not there once the table was dropped."""
        return layout.expiring_path(self.mark.holder.token, self.access.branch)

    @property
    def path_of_moves(self) -> str:
        """Where it says how far it is: written again and again, in a table at its place too."""
        return f"{self.path}-at"

    def move_to(self, id: int) -> None:
        """Say that snapshots up to ``id`` go next."""
        holder = replace(self.mark.holder, at_ms=self.access.clock.now_ms())
        self.mark = ExpiryMark(holder=holder, at=id)
        self.access.storage.write(self.path_of_moves, self.mark.to_json())


@contextmanager
def expiring(access: TableAccess) -> Iterator[HeldMark]:
    """The mark of an expiry is there meanwhile.

    Raises:
        NotFoundError: the table of this handle was dropped, whatever is at its place now.
    """
    held = HeldMark(access, ExpiryMark(holder=_holder(access), at=0))
    access.storage.write(held.path, held.mark.to_json())
    _AT_WORK.add(held.mark.holder.token)
    try:
        access.require_same()  # after the mark: one that is dropped from now on takes the mark along
        yield held
    finally:
        _AT_WORK.discard(held.mark.holder.token)
        access.storage.delete([held.path, held.path_of_moves])


def require_no_expiry(access: TableAccess, id: int) -> None:
    """Require that nobody expires snapshots from ``id`` on: asked by who goes below the floor, in its turn.

    Whoever expires older ones alone looks at the turns before it goes on to ``id``.

    Raises:
        CommitConflictError: somebody does.
    """
    for info in access.storage.list(layout.line_folder(access.branch)):
        if not info.path.rpartition("/")[2].startswith("expiring-"):
            continue
        try:
            mark = ExpiryMark.from_json(access.storage.read(info.path), path=info.path)
        except NotFoundError:
            continue
        if mark.at < id or not _lives(access, mark.holder, _EXPIRY_MAX_MS):
            continue
        problem = f"snapshots up to {mark.at} expire just now, and {id} is to be there again"
        raise CommitConflictError(
            f"{access.name}: {problem}. Nothing was changed: ask again in a few minutes",
            table=access.name,
            head_id=None,
            conflicts=[problem],
        )
