"""A pipeline that runs on: one process carries changes from sources through flows, batch after batch.

Each source is followed in a thread of its own.  All that a flow takes is committed by then, and a flow tells the next
one in this process as soon as its own commit is made.  Positions are those of the same syncs and flows when they run by
a schedule (``cdc.sync``, ``jobs.flow``): whoever runs next goes on where the tables are.
"""

from __future__ import annotations

import queue
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import TableError
from table_core.jobs.pipeline_claims import claimed
from table_core.jobs.pipeline_hops import planned
from table_core.options.parse import duration_ms
from table_core.pipeline.batches import Batches
from table_core.table.metadata.results import ResultDocument

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.jobs.action import Job
    from table_core.jobs.pipeline_claims import Claims
    from table_core.jobs.pipeline_hops import PlannedHop
    from table_core.ondisk.snapshot import Snapshot
    from table_core.ports import Clock

__all__ = ["run_pipeline"]

_LONGEST_WAIT_MS: Final = 1_000
_LOOK_MS: Final = 10_000
"""Between two looks for what others commit to a table that a hop writes: such are repairs, by hand or by a schedule."""


def run_pipeline(job: Job, stop: threading.Event | None = None) -> ResultDocument:
    """Run the hops of ``job`` until ``max_lifetime`` is over, ``stop`` is set, or nothing is left that runs.

    It ends behind a batch: sources commit what they have read, and flows what is due.  A hop that fails stops, with
    what only it feeds; the others go on.  Its error is raised once all have ended.

    Returns:
        The result document; ``details["hops"]`` has the batches and rows of each.

    Raises:
        CommitConflictError: another run of the pipeline is at work.
        TableError: that of the first hop that stopped.
    """
    started_ms = job.catalog.clock.now_ms()
    hops = planned(job)
    tables = [job.catalog.table(name) for name in dict.fromkeys(h.hop.target for h in hops.flows)]
    with claimed(tables, job.args["name"]) as claims:
        run = _Run(job, hops.by_name, claims, stop or threading.Event(), started_ms)
        run.run()
    if run.errors:
        raise next(iter(run.errors.values()))
    seconds = (job.catalog.clock.now_ms() - started_ms) / 1000
    rows = sum(one.rows for one in run.counts.values())
    details: dict[str, object] = {
        "hops": {
            name: {"batches": one.batches, "rows": one.rows} for name, one in run.counts.items()
        }
    }
    return ResultDocument(
        action=job.action,
        table=job.target,
        rows_written=rows,
        seconds=seconds,
        details=details,
    )


@dataclass(slots=True)
class _Count:
    """What a hop has done."""

    batches: int = 0
    rows: int = 0


@dataclass(slots=True)
class _Ended:
    """A source has come to its end."""

    hop: PlannedHop
    error: BaseException | None = None


@dataclass(slots=True)
class _Run:
    """One run; all but the sources is done by the thread that calls ``run``."""

    job: Job
    hops: dict[str, PlannedHop]
    claims: Claims
    stop: threading.Event
    started_ms: int
    counts: dict[str, _Count] = field(default_factory=dict)
    errors: dict[str, TableError] = field(default_factory=dict)
    batches: Batches = field(init=False)
    _heard: queue.SimpleQueue[str | _Ended] = field(default_factory=queue.SimpleQueue)
    _sources: dict[str, threading.Thread] = field(default_factory=dict)
    _drains: threading.Event = field(default_factory=threading.Event)
    _heads: dict[str, Snapshot | None] = field(default_factory=dict)
    """The newest snapshots of tables that wake flows, when they were looked at."""
    _looked_ms: dict[str, int] = field(default_factory=dict)
    _interval_ms: int = field(init=False)
    _look_ms: int = field(init=False)

    def __post_init__(self) -> None:
        self.batches = Batches(
            tuple(one.hop for one in self.hops.values()),
            upkeep_ms=duration_ms(self.job.args["upkeep"]),
        )
        self.counts = {name: _Count() for name in self.hops}
        self._interval_ms = duration_ms(self.job.args["interval"])
        self._look_ms = max(_LOOK_MS, self._interval_ms)

    @property
    def clock(self) -> Clock:
        """The time now."""
        return self.job.catalog.clock

    def run(self) -> None:
        """Begin the sources, and take batches until all is over.

        Raises:
            CommitConflictError: another run has taken this one for dead.
        """
        with ExitStack() as stack:
            stack.callback(self._end_sources)
            for one in self.hops.values():
                if one.hop.is_source:
                    self._begin(one)
            while not self._is_over():
                self.claims.require()
                if not self._step():
                    longest_ms = min(_LONGEST_WAIT_MS, self._interval_ms)
                    self._hear(self.batches.wait_ms(self.clock.now_ms(), longest_ms))
        self._drain()

    # --------------------------------------------------------------------------------- ending
    def _is_over(self) -> bool:
        lifetime = self.job.args.get("max_lifetime")
        now_ms = self.clock.now_ms()
        is_old = lifetime is not None and now_ms - self.started_ms >= duration_ms(lifetime)
        return is_old or self.stop.is_set() or self.batches.all_stopped

    def _end_sources(self) -> None:
        """Have the sources commit what they have read, and end."""
        self._drains.set()
        for thread in self._sources.values():
            thread.join()

    def _drain(self) -> None:
        """The batches that are due once the sources have ended."""
        self._hear(0)
        while self._step(upkeep=False):
            self.claims.require()

    # -------------------------------------------------------------------------------- sources
    def _begin(self, one: PlannedHop) -> None:
        thread = threading.Thread(target=self._follow, args=[one], name=f"source {one.hop.name}")
        self._sources[one.hop.name] = thread
        thread.start()

    def _follow(self, one: PlannedHop) -> None:
        """Follow a source until the pipeline ends; runs in a thread."""
        error: BaseException | None = None
        try:
            one.follow(self.job, self._progress_of(one), self._drains.is_set)
        except BaseException as raised:  # noqa: BLE001 - it is raised again where the pipeline ends
            error = raised
        self._heard.put(_Ended(one, error))

    def _progress_of(self, one: PlannedHop) -> Callable[..., None]:
        def progress(stage: str, **facts: Any) -> None:
            if stage == "committed":
                self.counts[one.hop.name].batches += 1
                self._heard.put(str(facts["table"]))
            elif stage != "events":  # once a second is too much for a log of weeks
                self.job.engine.progress(stage, hop=one.hop.name, **facts)

        return progress

    # -------------------------------------------------------------------------------- batches
    def _hear(self, wait_ms: int) -> None:
        """Take in what is committed by now, or within ``wait_ms``."""
        try:
            came = self._heard.get(timeout=wait_ms / 1000) if wait_ms else self._heard.get_nowait()
            while True:
                if isinstance(came, _Ended):
                    self._source_ended(came)
                else:
                    self.batches.committed(came, self.clock.now_ms())
                came = self._heard.get_nowait()
        except queue.Empty:
            return

    def _source_ended(self, ended: _Ended) -> None:
        if ended.error is None:
            return
        if not isinstance(ended.error, TableError):
            raise ended.error
        self._failed(ended.hop, ended.error)

    def _step(self, *, upkeep: bool = True) -> bool:
        """Do one thing that is due; False: nothing is."""
        self._hear(0)
        self._look_outside()
        now_ms = self.clock.now_ms()
        if (hop := self.batches.next(now_ms)) is not None:
            self._batch(self.hops[hop.name])
            return True
        table = self.batches.upkeep(now_ms) if upkeep else None
        if table is None:
            return False
        self._keep_up(table)
        return True

    def _batch(self, one: PlannedHop) -> None:
        """One batch of a flow: all that came since its last one."""
        self.batches.taken(one.hop)
        try:
            result = one.batch(self.job)
        except TableError as error:
            self._failed(one, error)
            return
        self.batches.done(one.hop)
        if result.snapshot_after != result.snapshot_before:
            count = self.counts[one.hop.name]
            count.batches += 1
            count.rows += result.rows_written or 0
            self.batches.committed(one.hop.target, self.clock.now_ms())

    def _failed(self, one: PlannedHop, error: TableError) -> None:
        if self.batches.failed(one.hop, error.kind, self.clock.now_ms()):
            self.errors.setdefault(one.hop.name, error)
            self.job.engine.progress("stopped", hop=one.hop.name, why=str(error))
        elif self.batches.is_first_failure(one.hop):
            self.job.engine.progress("tried-again", hop=one.hop.name, why=str(error))

    def _keep_up(self, table: str) -> None:
        """Merge small files, as Paimon's automatic compaction would."""
        now_ms = self.clock.now_ms()
        try:
            result = self.job.catalog.table(table).compact(strategy="minor")
        except TableError as error:
            self.job.engine.progress("upkeep-failed", table=table, why=str(error))
        else:
            if result.snapshot_after != result.snapshot_before:
                self.batches.committed(table, now_ms)
        self.batches.kept_up(table, self.clock.now_ms())

    # ------------------------------------------------------------------------- tables of others
    def _look_outside(self) -> None:
        """Look for commits of others to tables that wake flows: once in an interval, less often where a hop writes."""
        now_ms = self.clock.now_ms()
        for table in sorted({t for one in self.hops.values() for t in one.hop.woken_by}):
            pause_ms = self._look_ms if self.batches.is_fed(table) else self._interval_ms
            if 0 <= now_ms - self._looked_ms.get(table, 0) < pause_ms:
                continue
            self._looked_ms[table] = now_ms
            try:
                head = self.job.catalog.table(table).latest_snapshot()
            except TableError:
                continue  # the flow itself says what is wrong with it
            known = self._heads.get(table, head)
            self._heads[table] = head
            if head is not None and (known is None or head.state != known.state):
                self.batches.committed(table, now_ms)
