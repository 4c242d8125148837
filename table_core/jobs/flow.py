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

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from table_core.cdc.model.generated import ComputedRows
from table_core.errors import ArgumentError
from table_core.jobs.flow_name import require_state, view_of_pending
from table_core.jobs.pinning import View, pin
from table_core.ondisk.layout import MAIN
from table_core.options import keys_commit
from table_core.table.dml.overwrite import begin_write
from table_core.table.metadata.describing import committed
from table_core.table.metadata.results import CommitAs, ResultDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.cdc.model.parallel_batches import RecordsBy
    from table_core.jobs.pinning import Pinned
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit
    from table_core.table.metadata.sharing import Share

__all__ = ["Engine", "View", "computed_rows", "run_flow", "views_of"]

_ASKED: Final = ("sql", "sources", "pending", "overwrite", "parameters", "name")
_FORCE: Final = keys_commit.COMMIT_FORCE_CREATE_SNAPSHOT.key


class Engine(Protocol):
    """What computes and writes rows: the calling process, or Spark."""

    @property
    def progress(self) -> Callable[..., None]:
        """Told ``(stage, **facts)`` as the work goes on."""
        ...

    @property
    def map_pieces(self) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]] | None:
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

    def sharing(self, action: str, target: str) -> Share:
        """What has groups of many pieces of ``action`` done: tasks, or this process."""
        ...

    def verb(self, name: str, handle: Table | Catalog) -> Callable[..., ResultDocument]:
        """The method ``name`` of ``handle``, or what does the same by tasks."""
        ...

    def with_computed(self, table: Table, rows: Any, computed: ComputedRows) -> Any:
        """What ``query`` gave, with the computed columns of ``table``."""
        ...

    def write(
        self,
        table: Table,
        rows: Any,
        commit: CommitAs,
        overwrite: str | Mapping[str, Any] | None,
        *,
        is_new: bool = False,
    ) -> Commit:
        """Write what ``query`` gave.

        ``is_new``: the caller has looked, and ``commit`` was not made before; so only the commit itself looks again.
        """
        ...


def views_of(catalog: Catalog, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, View]:
    """Sources of a plain query, each pinned to its newest snapshot.

    Raises:
        ArgumentError: one asks for more than that.
    """
    views = {}
    for name, source in sources.items():
        require_state(name, source)
        table = catalog.table(source["table"])
        head = table.latest_snapshot()
        views[name] = View(table=table, snapshot=head.id if head else None)
    return views


def computed_rows(table: Table, args: Mapping[str, Any]) -> ComputedRows | None:
    """What adds ``args["computed_columns"]`` to rows of ``table``; None if there are none.

    Raises:
        ArgumentError: one is none, or the table cannot keep it true.
    """
    texts = args.get("computed_columns")
    if not texts:
        return None
    return ComputedRows.of(texts, table.definition, table.access.clock.now_ms())


def run_flow(
    catalog: Catalog, table: Table, args: Mapping[str, Any], commit: CommitAs, engine: Engine
) -> ResultDocument:
    """Run one flow into ``table``.

    ``args``: ``sql``; ``parameters`` (of ``sql``, bound); ``sources`` (view name to ``{"table", "mode",
    "position"}``); ``pending`` (None or ``{"table", "sql", "view"}``); ``overwrite``; ``computed_columns``, which the
    rows get before they are written; ``name`` of the flow, or ``task``, what runs it: by them, or by what it
    does, its positions are found again.

    Raises:
        ArgumentError: the rows that wait would replace those of ``table``.
        CommitConflictError: another run has moved a position meanwhile.
        PositionDivergedError: a source is not what the flow has read, or nobody can tell.
        OutcomeUnknownError: a position was stored once and the snapshot that held it is gone.
    """
    started_ms = table.access.clock.now_ms()
    asked = {name: args.get(name) for name in _ASKED}
    computed = computed_rows(table, args)
    if computed is not None:
        asked["computed_columns"] = args["computed_columns"]
    commit = commit.with_request("write", table.access.branch, **asked)
    begun = begin_write(
        table.access, commit, lambda: engine.verb("compact", table)(strategy="minor")
    )
    details: dict[str, Any] = {}
    done = begun.landed
    if begun.landed is None:
        _refuse_own_table(catalog, table, args.get("pending"))
        pinned = pin(catalog, table, args, begun.head)
        details["positions"] = pinned.kept.properties
        if pinned.runs:
            done = _compute(catalog, table, args, commit, engine, pinned, details, computed)
    facts = {**details, "replayed": done is not None and done.replayed}  # perhaps a twin's
    return committed(table.access, "write", done, begun.head, facts, started_ms=started_ms)


def _refuse_own_table(catalog: Catalog, table: Table, pending: Mapping[str, Any] | None) -> None:
    """The rows that wait replace all that is in their table; on main also where a branch is written."""
    if pending is None:
        return
    waiting, written = catalog.table(pending["table"]).access, table.access
    own = waiting.storage.uri == written.storage.uri
    if own and waiting.branch in {written.branch, MAIN}:
        raise ArgumentError(
            f"pending: the rows that wait would replace all of {table.name}, which the flow writes: name "
            "a table of their own",
            argument="pending",
            value=str(pending["table"]),
        )


def _compute(
    catalog: Catalog,
    table: Table,
    args: Mapping[str, Any],
    commit: CommitAs,
    engine: Engine,
    pinned: Pinned,
    details: dict[str, Any],
    computed: ComputedRows | None,
) -> Commit:
    pending = args.get("pending")
    if pending is not None:
        waiting = catalog.table(pending["table"])
        rows = engine.query(pending["sql"], pinned.views, args.get("parameters"))
        # A random user on purpose: a retry may have pinned newer sources, so what an earlier
        # attempt left in the pending table must not be taken for the result of this one.
        kept = engine.write(waiting, rows, CommitAs(), "table")
        # No snapshot: nothing waited and nothing waits.  The newest may be another run's.
        pinned.wait_for(view_of_pending(pending), waiting, kept.snapshot_id)
        details["pending_rows"] = kept.rows_added
    rows = engine.query(args["sql"], pinned.views, args.get("parameters"))
    if computed is not None:
        rows = engine.with_computed(table, rows, computed)
    if pinned.stores:
        table = type(table)(table.access.with_options({_FORCE: "true"}))
    properties = pinned.kept.properties
    done = engine.write(
        table,
        rows,
        replace(
            commit,
            properties={**commit.properties, **properties},
            expect={**pinned.kept.expect, **commit.expect},
        ),
        args.get("overwrite"),
        is_new=True,
    )
    details["positions"] = properties
    # Otherwise the positions are where they were, or where the run has put them whose commit it was.
    if done.snapshot_ids and not done.replayed:
        pinned.advance()
    return done
