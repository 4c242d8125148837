"""A flow: rows computed by SQL from other tables, committed with the positions they came from.

Exactly once by construction.  Every source is pinned before anything is computed, and the pins are
stored in the snapshot that makes the result visible, under ``expect`` of those that were read: of
two runs that start from the same position one commits, the other gets kind ``conflict``.

A *changes* source gives the rows after its stored position; a *snapshot* source is pinned to its
newest snapshot.  Rows that cannot be used yet go to the *pending* table, which is overwritten
first.  What the next run reads is not its newest state but the snapshot that this commit
names; so a run that dies between the two commits leaves nothing but an unused snapshot.

What the next run will read is held by consumers before the commit that promises it to that run, and
let go after the next one: expiry never comes between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.errors import ArgumentError, OutcomeUnknownError
from table_core.options import keys_commit
from table_core.table.committing.committer import find_commit
from table_core.table.results import CommitAs, ResultDocument
from table_core.table.upkeep.consumers import next_snapshot_of, set_consumer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.table.catalog import Catalog
    from table_core.table.cdc.waves import RecordsBy
    from table_core.table.results import Commit
    from table_core.table.table import Table

__all__ = ["Engine", "View", "run_flow", "views_of"]

_PREFIX: Final = "tc.flow."
_FORCE: Final = keys_commit.COMMIT_FORCE_CREATE_SNAPSHOT.key


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A pinned source: what SQL sees under its name."""

    table: Table
    snapshot: int | None
    """The state to read, or the end of the range; None for a table without snapshots."""
    after: int | None = None
    """With a value: the changes in (``after``, ``snapshot``]."""
    changes: bool = False
    """Rows carry their ``_ROW_KIND``: without ``after``, of the first run, that is ``+I``."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be in it."""
        return self.snapshot is None or self.after == self.snapshot


class Engine(Protocol):
    """What computes and writes rows: the calling process, or Spark."""

    @property
    def progress(self) -> Callable[..., None]:
        """Told ``(stage, **facts)`` as the work goes on."""
        ...

    @property
    def each(self) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]] | None:
        """Does a work for each of many pieces at once; None if all is done in this process."""
        ...

    @property
    def records_by(self) -> RecordsBy | None:
        """Reads records of topics; None if nobody else does."""
        ...

    def query(
        self, sql: str, views: Mapping[str, View], parameters: Mapping[str, Any] | None = None
    ) -> Any:
        """Rows of ``sql`` over ``views``, in the engine's own form.

        ``parameters`` are the values of its ``$name``.
        """
        ...

    def write(
        self, table: Table, rows: Any, commit: CommitAs, overwrite: str | Mapping[str, Any] | None
    ) -> Commit:
        """Write what ``query`` gave."""
        ...


@dataclass(frozen=True, slots=True)
class _Pinned:
    views: Mapping[str, View]
    properties: Mapping[str, str]
    expect: Mapping[str, str | None]
    consumers: Mapping[str, str]
    """Views whose tables must keep what the next run reads, and the consumer that sees to it."""

    @property
    def moves(self) -> bool:
        """Whether a changes source has gone on: then the new position is stored, rows or not."""
        return any(view.changes and not view.is_empty for view in self.views.values())


def views_of(catalog: Catalog, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, View]:
    """Sources of a plain query, each pinned to its newest snapshot."""
    found = {}
    for name, source in sources.items():
        table = catalog.table(source["table"])
        head = table.latest_snapshot()
        found[name] = View(table=table, snapshot=head.id if head else None)
    return found


def run_flow(
    catalog: Catalog, table: Table, args: Mapping[str, Any], commit: CommitAs, engine: Engine
) -> ResultDocument:
    """Run one flow into ``table``.

    ``args``: ``sql``; ``parameters`` (of ``sql``, bound); ``sources`` (view name to ``{"table", "mode", "position"}``); ``pending``
    (None or ``{"table", "sql"}``); ``overwrite``.

    Raises:
        CommitConflictError: another run has moved a position meanwhile.
        OutcomeUnknownError: a position was stored once and the snapshot that held it is gone.
    """
    clock = table.access.clock
    started_ms = clock.now_ms()
    before = table.latest_snapshot()
    asked = {name: args.get(name) for name in ("sql", "sources", "pending", "overwrite")}
    commit = commit.asking("write", table.access.branch, **asked)
    landed = find_commit(table.access, commit)
    details: dict[str, Any] = {}
    done = landed
    if landed is None:
        pinned = _pin(catalog, table, args)
        details["positions"] = dict(pinned.properties)
        if not pinned.views or any(not view.is_empty for view in pinned.views.values()):
            done = _compute(catalog, table, args, commit, engine, pinned, details)
    return ResultDocument(
        action="write",
        table=table.name,
        snapshot_before=before.id if before else None,
        snapshot_after=(done.snapshot_id if done else None) or (before.id if before else None),
        rows_written=done.rows_added if done else 0,
        seconds=(clock.now_ms() - started_ms) / 1000,
        details={**details, "replayed": landed is not None},
    )


def _compute(
    catalog: Catalog,
    table: Table,
    args: Mapping[str, Any],
    commit: CommitAs,
    engine: Engine,
    pinned: _Pinned,
    details: dict[str, Any],
) -> Commit:
    properties = dict(pinned.properties)
    pending = args.get("pending")
    if pending is not None:
        waiting = catalog.table(pending["table"])
        rows = engine.query(pending["sql"], pinned.views, args.get("parameters"))
        # A random user on purpose: a retry may have pinned newer sources, so what an earlier
        # attempt left in the pending table must not be taken for the result of this one.
        kept = engine.write(waiting, rows, CommitAs(), "table")
        # No snapshot: nothing waited and nothing waits.  The newest may be another run's.
        id = kept.snapshot_id or 0
        name = _view_name(pending["table"])
        properties[_PREFIX + name] = str(id)
        details["pending_rows"] = kept.rows_added
        _hold(waiting, pinned.consumers[name], id)
    rows = engine.query(args["sql"], pinned.views, args.get("parameters"))
    if pinned.moves:
        table = type(table)(table.access.with_options({_FORCE: "true"}))
    done = engine.write(
        table,
        rows,
        replace(
            commit,
            properties={**commit.properties, **properties},
            expect={**pinned.expect, **commit.expect},
        ),
        args.get("overwrite"),
    )
    details["positions"] = properties
    if done.snapshot_ids:  # otherwise the positions are where they were
        _advance(pinned, properties)
    return done


def _pin(catalog: Catalog, table: Table, args: Mapping[str, Any]) -> _Pinned:
    views: dict[str, View] = {}
    properties: dict[str, str] = {}
    expect: dict[str, str | None] = {}
    consumers: dict[str, str] = {}
    for name, source in (args.get("sources") or {}).items():
        handle = catalog.table(source["table"])
        head = handle.latest_snapshot()
        key = source.get("position") or _PREFIX + name
        stored = table.position(key)
        mode = source.get("mode", "snapshot")
        if mode not in {"snapshot", "changes"}:
            raise ArgumentError(
                f"source {name!r}: mode {mode!r} is neither 'snapshot' nor 'changes'",
                argument="sources",
                value=mode,
            )
        after = int(stored) if stored is not None and mode == "changes" else None
        newest = head.id if head else None
        if after is not None and (newest or 0) < after:
            raise OutcomeUnknownError(
                f"{table.name}: position {key}={after} is ahead of {handle.name}, whose newest "
                f"snapshot is {newest}: it was rolled back or made anew; decide what the flow is "
                "to read and set the position with a commit of your own",
                user=None,
                id=after,
                floor=newest,
            )
        reads = mode == "changes"
        views[name] = View(table=handle, snapshot=newest, after=after or None, changes=reads)
        properties[key] = str(newest or 0)
        expect[key] = stored
        if reads:
            consumers[name] = f"flow-{table.name}-{key.removeprefix(_PREFIX)}"
            _hold(handle, consumers[name], (newest or 0) + 1)
    pending = args.get("pending")
    if pending is not None:
        name = _view_name(pending["table"])
        key = _PREFIX + name
        stored = table.position(key)
        snapshot = int(stored) or None if stored is not None else None
        views[name] = View(table=catalog.table(pending["table"]), snapshot=snapshot)
        expect[key] = stored
        consumers[name] = f"flow-{table.name}-{name}"
    return _Pinned(views, properties, expect, consumers)


def _hold(table: Table, consumer: str, next_snapshot: int) -> None:
    """Keep expiry from ``next_snapshot``, unless an earlier run keeps it from less."""
    if next_snapshot and next_snapshot_of(table.access, consumer) is None:
        set_consumer(table.access, consumer, next_snapshot)


def _advance(pinned: _Pinned, properties: Mapping[str, str]) -> None:
    """Let expiry go on: what this flow reads next begins here."""
    for name, consumer in pinned.consumers.items():
        view = pinned.views[name]
        if view.changes and view.snapshot is not None:
            set_consumer(view.table.access, consumer, view.snapshot + 1)
        elif not view.changes and (id := int(properties[_PREFIX + name])):
            set_consumer(view.table.access, consumer, id)


def _view_name(table: str) -> str:
    return table.rpartition(".")[2]
