"""Whether a snapshot that was just created stands on what it was built on (docs/adr/0026).

The create is the mark, and this is the look.  Who takes snapshots back deletes them, then lists: if what
the new one was built on is there with its bytes, that listing will show the new one too.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from table_core.commit import effects as fx
from table_core.commit.readback import Seen, digest, verify
from table_core.commit.recovery import read_floor
from table_core.errors import (
    CommitConflictError,
    CorruptFileError,
    ErrorKind,
    ForeignOverwriteError,
    NotFoundError,
    TableError,
)
from table_core.ondisk.line import is_of_another_table, is_stray

if TYPE_CHECKING:
    from table_core.commit.recovery import Run
    from table_core.commit.request import CommitPart
    from table_core.ondisk.snapshot import Snapshot

__all__ = ["require_files", "set_stray_aside", "stands", "strays"]

T = TypeVar("T")
Steps: TypeAlias = Generator[fx.Effect, fx.Reply, T]
_SAID: Final = frozenset({ErrorKind.CORRUPT, ErrorKind.NOT_FOUND, ErrorKind.UNKNOWN_OUTCOME})
"""Kinds that are an answer, and no fault on the way to one."""


def stands(run: Run, head: fx.Head | None, new: fx.Head) -> Steps[bool]:
    """Whether ``new`` stands on ``head``; False: a turn took that back, and ``new`` is gone too.

    Raises:
        ForeignOverwriteError: the head was replaced under us; ``new`` is taken away again.
        NotFoundError: the table was dropped, or another one is in its place; ``new`` is taken away again.
        OutcomeUnknownError: the head went under us, and nothing says why; or ``new`` went with the table; or the
            store does not say.
    """
    try:
        if head is not None:
            stored = yield from _stored(head.id)
            if stored is not None and stored.digest == head.digest:
                return True
        yield from _require_table(run, new)
        if head is None:
            return True
        return (yield from _judged(run, head, new))
    except TableError as error:
        if error.kind in _SAID:
            raise
        raise run.unknown(
            f"snapshot {new.id} was created, and the store does not say whether it stands: {error}",
            id=new.id,
        ) from error


def _stored(id: int) -> Steps[fx.Head | None]:
    stored = yield fx.ReadBack(id)
    assert stored is None or isinstance(stored, fx.Head)
    return stored


def _require_table(run: Run, new: fx.Head) -> Steps[None]:
    """Require that the table is there that ``new`` was made for.

    A drop takes ``new`` along, and so does a rename of the table or of its branch: then it is at the new name.

    Raises:
        NotFoundError: it is not, and ``new`` was left alone; it is taken away again.
        OutcomeUnknownError: ... and ``new`` went along.
    """
    try:
        state = yield fx.ReadHead()
        assert isinstance(state, fx.TableState)
        run.refuse_another_table(state)
    except NotFoundError as error:
        mine = yield from _stored(new.id)
        if mine is None or mine.digest != new.digest:
            raise run.unknown(
                f"the table or branch was dropped or renamed once snapshot {new.id} was made. If it was renamed, the "
                "snapshot is there under its new name",
                id=new.id,
            ) from error
        yield fx.SetAside(head=new, keep=False)
        raise


def _judged(run: Run, head: fx.Head, new: fx.Head) -> Steps[bool]:
    """Whether ``new`` stands, although what it was built on is not there, or not as it was."""
    stored = yield from _stored(head.id)
    mine = yield from _stored(new.id)
    is_mine = mine is not None and mine.digest == new.digest
    floor = yield from read_floor()
    if head.id < floor and (is_mine or new.id < floor):
        return True  # what was built on is expired: a line that has turned cannot get past ``new``
    target = yield fx.WasWithdrawn(head.snapshot.state)
    assert target is None or isinstance(target, int)
    if target is None and not is_mine:
        target = yield fx.WasWithdrawn(new.snapshot.state)
        assert target is None or isinstance(target, int)
    if target is not None:
        yield fx.SetAside(head=new, keep=False)
        run.turned(target)
        return False
    if stored is not None:
        try:
            verify(Seen.of(head), stored)
        except ForeignOverwriteError:
            yield from _require_table(run, new)  # its numbers are those of another one
            yield fx.SetAside(head=new, keep=False)
            raise
        return True
    raise run.unknown(
        f"the table was rolled back below snapshot {head.id} by another program while {new.id} was made. "
        "Look which of the two the table is to hold",
        id=new.id,
    )


def require_files(run: Run, part: CommitPart, named_by: Snapshot | None = None) -> Steps[bool]:
    """Require that the files of ``part`` are there, if they are so old that somebody may take them for orphans.

    Asked before the snapshot is made, and again once it names them; whether they are so old.

    Raises:
        CommitConflictError: some are gone; ``named_by`` is taken away again.
        OutcomeUnknownError: ... but somebody else changes the direction of the table just now.
    """
    missing = yield fx.ReadMissing(part)
    assert missing is None or isinstance(missing, frozenset)
    if not missing:
        return missing is not None
    if named_by is not None:
        new = fx.Head(named_by, digest(named_by.to_json()))
        yield fx.SetAside(head=new, keep=False)
        left = yield from _stored(new.id)
        if left is not None and left.digest == new.digest:
            raise run.unknown(
                f"snapshot {new.id} names files that are gone: {sorted(missing)[:3]}", id=new.id
            )
    names = tuple(sorted(missing))
    raise CommitConflictError(
        f"{run.request.table}: {len(names)} files of this commit are gone, such as {names[0]}: they were written "
        "more than a day ago, and orphan removal took them for the rest of a write that failed. Nothing was "
        "committed: write the rows again",
        table=run.request.table,
        head_id=None,
        conflicts=names,
    )


def strays(snapshot: Snapshot, state: fx.TableState) -> bool:
    """Whether ``snapshot``, which stands where the next one is to come, proves that it is of another line."""
    if is_of_another_table(snapshot, state.birth):
        return True
    return state.head is not None and is_stray(snapshot, state.head.snapshot)


def set_stray_aside(run: Run, stray: fx.Head) -> Steps[None]:
    """Move ``stray`` out of the line, if it still is one as the table stands now: it may be this commit that is late.

    Raises:
        CorruptFileError: somebody has built on it.
        NotFoundError: another table is here: it is none of its strays.
    """
    state = yield fx.ReadHead()
    assert isinstance(state, fx.TableState)
    run.refuse_another_table(state)
    if (state.head.id if state.head else 0) == stray.id - 1 and strays(stray.snapshot, state):
        yield from _refuse_built_on(run, stray)
        yield fx.SetAside(head=stray, keep=True)


def _refuse_built_on(run: Run, stray: fx.Head) -> Steps[None]:
    """Refuse to take away a stray that somebody has built on.

    Raises:
        CorruptFileError: names both writers.
    """
    after = yield from _stored(stray.id + 1)
    if after is None or is_stray(after.snapshot, stray.snapshot):
        return
    ours, theirs = stray.snapshot.commit_user, after.snapshot.commit_user
    problem = (
        f"snapshot {stray.id} of {ours} is of a line that was taken back, and {theirs} has built snapshot "
        f"{after.id} on it"
    )
    raise CorruptFileError(
        f"{run.request.table}: {problem}. Nothing was committed: look which of them the table is to hold, and "
        f"roll it back to snapshot {stray.id - 1} or keep them with rollback_to(snapshot={after.id})",
        path=f"snapshot/snapshot-{stray.id}",
        problems=[problem],
    )
