"""Commit protocol: decides every step, performs none.

A commit is a generator that yields *effects* (``effects.py`` says what each one does) and is sent
their results.  ``table/commit_io/committer.py`` runs one against real storage; ``tests/simulation``
runs many against a fake and chooses who moves next.  It is the same code, so a race found in simulation
is a race in production.  For each half, APPEND then COMPACT (format 10.1)::

    read head ─► bytes seen before unchanged? ─► mine already there? ─► properties as expected?
        ▲                                                                       │
        │                  create N+1 if absent ◄─ write manifests ◄─ conflicts? ┘
        │ another's            │ exists, unknown         │ created
        ├──────── wait ◄─── read it back ───────────► above the floor? ─► stands on its base? ─► landed
        │                                 ours           │ no                │ no, a turn took that back
        │                                                └─► outcome unknown │
        └──────────────────── take it away again ◄───────────────────────────┘

What never breaks: a commit that is reported as landed is in the table, once.  Four facts drive the
shape.  Create-if-absent remembers only files that still exist, so a writer that sleeps through an
expiry can "create" an id that was used and deleted long ago.  A search for "my" snapshot proves
nothing once expiry has passed the place where it would be (docs/adr/0002).  A create whose reply
is lost may still take effect later, so the only next move is the same create again.  And a foreign
writer without a lock can replace a snapshot, so what we build on is remembered by its hash.

A rollback may have taken back what a commit was built on (docs/adr/0026): ``standing`` says what becomes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from table_core.commit import effects as fx
from table_core.commit.attempt import Attempt, prepare
from table_core.commit.outcome import Landed, Outcome
from table_core.commit.readback import CreateOutcome, Seen, digest, judge, remember
from table_core.commit.recovery import Run, check_floor, find, unchanged
from table_core.commit.request import CommitPart
from table_core.commit.standing import require_files, set_stray_aside, stands, strays
from table_core.errors import (
    CommitConflictError,
    ErrorKind,
    GaveUpError,
    OutcomeUnknownError,
    TableError,
)
from table_core.ondisk.snapshot import CommitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from table_core.commit.conflicts import Bounds
    from table_core.commit.request import CommitRequest
    from table_core.ondisk.snapshot import Snapshot

__all__ = ["Steps", "commit", "drive"]

T = TypeVar("T")
E = TypeVar("E")
R = TypeVar("R")
Steps: TypeAlias = "Generator[fx.Effect, fx.Reply, T]"


def drive(steps: Generator[E, R, T], perform: Callable[[E], R]) -> T:
    """Run ``steps`` to the end; ``perform`` carries effects out, its errors are thrown back in."""
    try:
        effect = next(steps)
        while True:
            try:
                reply = perform(effect)
            except TableError as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(reply)
    except StopIteration as stop:
        result: T = stop.value
        return result


def commit(
    request: CommitRequest, *, bounds: Bounds | None, seen: tuple[Seen, ...] = ()
) -> Steps[Outcome]:
    """Commit ``request`` at most once, and say so only if it is true.

    ``bounds`` gives the key range of a file (None: append table).  ``seen`` is ``Outcome.seen`` of the
    last commit of this process on this table.

    Raises:
        CommitConflictError: the delta does not fit on the head, or a property differs from
            ``expect``.  Nothing is visible.  All conflicts are listed.
        GaveUpError: every attempt lost a race, or the time is up.  Nothing is visible.
        OutcomeUnknownError: nobody can say whether the commit landed; a human must look.
        ForeignOverwriteError: a snapshot that this process relied on has other bytes now.
    """
    run = Run(request, bounds, seen)
    append, compact = _halves(request)
    if append is None and compact is None:
        yield from _only_look(run)
        return run.outcome()
    if append is not None:
        yield from _land(run, append, first=True)
        if run.superseded_by is not None:
            return run.outcome()
    if compact is not None and run.compact is None:
        try:
            _refuse_renamed(run, compact)
            yield from _land(run, compact, first=run.append is None)
        except TableError as error:
            if run.append is None or error.kind is ErrorKind.CORRUPT:
                raise
            return run.outcome(compact_error=error)  # the rows are in: that is what was asked for
    return run.outcome()


def _halves(request: CommitRequest) -> tuple[CommitPart | None, CommitPart | None]:
    """The halves that make a snapshot."""
    append = None if request.append is None or request.append.is_empty else request.append
    compact = None if request.compact is None or request.compact.is_empty else request.compact
    if request.force and append is None and compact is None:
        if request.compact is not None:
            return None, request.compact
        append = request.append or CommitPart(kind=CommitKind.APPEND)
    return append, compact


def _names(part: CommitPart) -> frozenset[str]:
    return frozenset(entry.file.file_name for entry in part.entries)


def _refuse_renamed(run: Run, compact: CommitPart) -> None:
    """A compaction of rows that were numbered anew since merged them in another order.

    Raises:
        CommitConflictError: naming their files.
    """
    gone = sorted(run.renamed & _names(compact))
    if gone:
        raise CommitConflictError(
            f"{run.request.table}: the rows in {', '.join(gone[:3])} were renumbered, because another "
            "commit to their bucket came first. They are committed, and compacted later",
            table=run.request.table,
            head_id=run.append.snapshot.id if run.append else None,
            conflicts=tuple(gone),
        )


def _only_look(run: Run) -> Steps[None]:
    """Nothing to commit: it may have landed before, and expectations are checked all the same."""
    if run.request.fresh_user and not run.request.expect:
        return
    state = yield from _head(run)
    yield from find(run, state)
    if run.append is None and run.compact is None and run.superseded_by is None:
        yield from Attempt(run.request, state).check_expectations()


def _land(run: Run, part: CommitPart, *, first: bool) -> Steps[None]:
    """Make the snapshot of ``part``, unless it is there or has nothing to say on this head."""
    previous: fx.Written | None = None  # what a lost attempt wrote; no snapshot can name it
    previous_delta: tuple[object, ...] | None = None
    attempt = 1
    anew = 0  # so often the rows were numbered anew
    try:
        while True:
            state = yield from _head(run)
            yield from find(run, state)
            if run.half(part.kind) is not None or run.superseded_by is not None:
                yield from _discard(run, previous)
                return
            step = Attempt(run.request, state)
            carried = yield from step.check_expectations() if first else step.carried()
            unnumbered, part = part, (yield from step.numbered(part, run.bounds, anew))
            if unnumbered.entries is not part.entries:
                anew += 1
                run.renamed |= _names(unnumbered) - _names(part)
            ready = yield from prepare(step, part, run.bounds)
            if ready is None:
                yield from _discard(run, previous)
                return
            are_old = yield from require_files(run, ready.part)
            written = yield from step.write(ready, previous, ready.delta == previous_delta)
            previous = None
            snapshot = step.snapshot(ready, carried, written, first=first)
            try:
                outcome = yield from _create(run, state, snapshot)
            except TableError as error:
                if error.kind not in {ErrorKind.UNKNOWN_OUTCOME, ErrorKind.CORRUPT}:
                    previous = written  # the store says that it did nothing
                raise
            if outcome is CreateOutcome.OURS:
                if are_old:
                    yield from require_files(run, ready.part, named_by=snapshot)
                run.land(Landed(snapshot, replayed=False, delta=ready.delta))
                run.searched_to = snapshot.id
                return
            if outcome is CreateOutcome.WITHDRAWN:
                previous_delta = None  # somebody may have read what it wrote
            else:
                previous, previous_delta = written, ready.delta
            run.races_lost += 1
            yield from _wait(run, attempt)
            attempt += 1
    except TableError:
        yield from _discard(run, previous)
        raise


def _head(run: Run) -> Steps[fx.TableState]:
    """Where the table stands; what this process saw before must still be as it was."""
    state = yield fx.ReadHead()
    assert isinstance(state, fx.TableState)
    run.refuse_another_table(state)
    head = state.head
    for seen in run.seen:
        if head is None or seen.id > head.id:
            continue  # rolled back, which is nobody's fault
        stored = head if seen.id == head.id else (yield fx.ReadBack(seen.id))
        assert stored is None or isinstance(stored, fx.Head)
        if stored is not None:  # None: expired
            yield from unchanged(run, seen, stored)
    run.seen = () if head is None else remember((), head)
    return state


def _create(run: Run, state: fx.TableState, snapshot: Snapshot) -> Steps[CreateOutcome]:
    """Create ``snapshot``; OURS, LOST or WITHDRAWN, never a guess.

    After an unknown reply the very same snapshot is tried again: then either reply settles it.
    """
    wanted = digest(snapshot.to_json())
    unsure = False
    stored: fx.Head | None = None
    for attempt in range(1, run.request.limits.retries_max + 2):
        try:
            created = yield fx.Create(snapshot)
            unsure = True
            if created is fx.Created.CREATED:
                yield from check_floor(run, snapshot.id)
                outcome = CreateOutcome.OURS
            else:
                reply = yield fx.ReadBack(snapshot.id)
                assert reply is None or isinstance(reply, fx.Head)
                stored = reply
                outcome = judge(stored, wanted)
                yield from check_floor(run, snapshot.id)
                if outcome is CreateOutcome.ABSENT:
                    yield _backoff(run, attempt)
        except OutcomeUnknownError:
            raise
        except TableError as error:
            if not unsure:
                raise  # a create that says it did nothing
            raise run.unknown(
                f"snapshot {snapshot.id} may have been created: {error}", id=snapshot.id
            ) from error
        if outcome is CreateOutcome.OURS:
            return (yield from _settle(run, state.head, fx.Head(snapshot, wanted)))
        if outcome is CreateOutcome.LOST and stored is not None and strays(stored.snapshot, state):
            yield from set_stray_aside(run, stored)
        if outcome is not CreateOutcome.ABSENT:
            return outcome
    raise run.unknown(
        f"no reply to creating snapshot {snapshot.id}, time after time", id=snapshot.id
    )


def _settle(run: Run, head: fx.Head | None, new: fx.Head) -> Steps[CreateOutcome]:
    """After the create: does it stand on what it was built on?  Then tell others.

    Raises:
        ForeignOverwriteError: the head was replaced under us.
        NotFoundError: the table was dropped; the snapshot is taken away again.
        OutcomeUnknownError: the head went under us, and nothing says why.
    """
    if not (yield from stands(run, head, new)):
        return CreateOutcome.WITHDRAWN
    try:
        yield fx.Announce(new.id)
    except TableError as error:
        run.warnings.append(error)  # the commit is in; a hint is not worth failing
    run.seen = remember(run.seen, new)
    return CreateOutcome.OURS


def _backoff(run: Run, attempt: int) -> fx.Wait:
    """Exponential, with half of it jitter."""
    limits = run.request.limits
    longest = min(limits.wait_max_ms, limits.wait_min_ms * 2 ** min(attempt - 1, 30))
    return fx.Wait(
        attempt=attempt,
        minimum_ms=longest // 2,
        maximum_ms=longest,
        ceiling_ms=limits.wait_max_ms,
    )


def _wait(run: Run, attempt: int) -> Steps[None]:
    """Back off after a lost race, unless that was the last one."""
    limits = run.request.limits
    elapsed = None
    if attempt <= limits.retries_max:
        elapsed = yield _backoff(run, attempt)
        assert isinstance(elapsed, int)
        if limits.timeout_ms is None or elapsed < limits.timeout_ms:
            return
    raise GaveUpError(
        f"{run.request.table}: {run.request.user} lost {attempt} races in a row; raise "
        "commit.max-retries or commit.timeout, or let fewer writers commit at a time",
        user=run.request.user,
        attempts=attempt,
        elapsed_ms=elapsed,
    )


def _discard(run: Run, written: fx.Written | None) -> Steps[None]:
    """Delete what no snapshot names; orphan removal gets what this cannot."""
    if written is None:
        return
    try:
        yield fx.Discard(written)
    except TableError as error:
        run.warnings.append(error)
