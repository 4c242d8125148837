"""Keeps a pipeline from being run twice at once: a claim in each table that its flows write.

It spares two runs their quarrel, and is not what rows rely on: a commit of a flow holds only if its positions are where
the run has read them, whoever runs.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import (
    CommitConflictError,
    NotFoundError,
    StorageUnavailableError,
    TableError,
)
from table_core.ondisk import layout
from table_core.ondisk.pipeline_claim import FOLDER, PipelineClaim, claim_path
from table_core.pipeline.standing import BEAT_MS, Standing, standing
from table_core.storage.system import ProcessId
from table_core.table.metadata.refs.new_document import is_ours

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.table.api.table import Table
    from table_core.table.metadata.access import TableAccess

__all__ = ["Claims", "claimed"]

_LOOK_MS = 500


@dataclass(slots=True)
class _Claim:
    """The newest claim of one table, which is this run's."""

    access: TableAccess
    number: int
    claim: PipelineClaim

    @classmethod
    def taken(cls, access: TableAccess, free: int, pipeline: str) -> _Claim:
        """Claim it behind the claim number ``free``, which does not hold.

        Raises:
            CommitConflictError: somebody was faster.
        """
        this = ProcessId.of_this()
        mine = PipelineClaim(
            pipeline=pipeline,
            token=access.ids.uuid(),
            machine=this.machine,
            process=this.number,
        )
        held = cls(access, free + 1, mine)
        if not is_ours(access.storage, claim_path(held.number), mine.to_json()):
            raise _runs(access, _newest(access)[1])
        access.storage.delete([claim_path(n) for n in _numbers(access) if n < held.number])
        return held

    def beat(self, *, ended: bool = False) -> bool:
        """Be heard of; whether the claim is this run's still."""
        number, there = _newest(self.access)
        if number != self.number or there is None or there.token != self.claim.token:
            return False
        self.claim = self.claim.beat(ended=ended)
        self.access.storage.write(claim_path(self.number), self.claim.to_json())
        return True


@dataclass(slots=True)
class Claims:
    """The claims of a run, which a thread keeps alive."""

    held: tuple[_Claim, ...]
    over: threading.Event
    _lost: _Claim | None = None
    _error: TableError | None = None

    def require(self) -> None:
        """Require that no other run has taken this one for dead.

        Raises:
            CommitConflictError: one has.
            TableError: this run can no longer be heard of, e.g. for want of a right.
        """
        if self._error is not None:
            raise self._error
        if self._lost is not None:
            access = self._lost.access
            raise _runs(access, _newest(access)[1])

    def keep(self) -> None:
        """Be heard of, until it is over."""
        while not (self._lost or self._error or self.over.wait(BEAT_MS / 1000)):
            try:
                self._lost = next((one for one in self.held if not one.beat()), None)
            except StorageUnavailableError:
                continue  # a store that is away stops the batches themselves
            except TableError as error:
                self._error = error


@contextmanager
def claimed(tables: Sequence[Table], pipeline: str) -> Iterator[Claims]:
    """The pipeline is this run's, which writes ``tables`` by its flows.

    Raises:
        CommitConflictError: another run is at work on one of them.
    """
    accesses = sorted((table.access for table in tables), key=lambda one: one.name)
    free = _wait_until_free(accesses)
    with ExitStack() as stack:
        held = []
        for access in accesses:
            one = _Claim.taken(access, free[access.name], pipeline)
            stack.callback(_let_go, one)
            held.append(one)
        claims = Claims(tuple(held), threading.Event())
        keeper = threading.Thread(target=claims.keep, name="pipeline claims", daemon=True)
        keeper.start()
        try:
            yield claims
        finally:
            claims.over.set()
            keeper.join()


def _wait_until_free(accesses: Sequence[TableAccess]) -> dict[str, int]:
    """Wait until no claim holds; those of a run that was killed are silent all at once.

    Gives the numbers of the claims that do not, by table; 0 where there was none.

    Raises:
        CommitConflictError: one is heard of meanwhile.
    """
    first = {access.name: _newest(access)[1] for access in accesses}
    left, waited_ms, free = list(accesses), 0, dict[str, int]()
    while True:
        for access in tuple(left):
            number, now = _newest(access)
            runs = None if now is None else ProcessId(now.machine, now.process).runs()
            state = standing(first[access.name], now, runs=runs, waited_ms=waited_ms)
            if state is Standing.HELD:
                raise _runs(access, now)
            if state is Standing.FREE:
                left.remove(access)
                free[access.name] = number
        if not left:
            return free
        left[0].clock.sleep_ms(_LOOK_MS)
        waited_ms += _LOOK_MS


def _let_go(one: _Claim) -> None:
    """Say that it is over; where that does not arrive, the silence says it."""
    try:
        one.beat(ended=True)
    except TableError:
        return


def _numbers(access: TableAccess) -> list[int]:
    names = (info.path.rpartition("/")[2] for info in access.storage.list(FOLDER))
    return sorted(n for name in names if (n := layout.numbered(name, "claim-")) is not None)


def _newest(access: TableAccess) -> tuple[int, PipelineClaim | None]:
    """Its number, 0 where there was none, and the claim."""
    number = max(_numbers(access), default=0)
    if not number:
        return 0, None
    path = claim_path(number)
    try:
        return number, PipelineClaim.from_json(access.storage.read(path), path=path)
    except NotFoundError:
        return number, None


def _runs(access: TableAccess, claim: PipelineClaim | None) -> CommitConflictError:
    who = "another run" if claim is None else f"process {claim.process} on {claim.machine or '?'}"
    problem = f"pipeline {claim.pipeline!r} is run by {who}" if claim else "it is run by another"
    return CommitConflictError(
        f"{access.name}: {problem}: let it end first, e.g. by max_lifetime, or stop it",
        table=access.name,
        head_id=None,
        conflicts=[problem],
    )
