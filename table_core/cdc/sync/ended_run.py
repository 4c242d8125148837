"""A run from its start to its end, also where its source is away for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.cdc.apply.outage import Outage
from table_core.cdc.apply.run import SourceAwayError, start_run
from table_core.cdc.sync.readers import open_reader
from table_core.errors import StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.run import SyncRun
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.sync.readers import Source

__all__ = ["ended_run"]


def ended_run(
    context: SyncContext, tables: SyncTables, names: Sequence[str], source: Source, until: str
) -> SyncRun[Any]:
    """A run over ``source`` that is at its end; ``names`` are the tables that are there already.

    One without an end begins again where its tables are if the source was away.

    Raises:
        StorageUnavailableError: the source does not answer; for long, where the run has no end.
    """
    run = start_run(context, tables, open_reader(source, context, tables, until), names)
    limits = context.limits
    outage = Outage(clock=context.clock, stop_at_ms=limits.stop_at_ms, stops=limits.stops)
    while True:
        try:
            run.run()
        except SourceAwayError as away:
            if until != "forever":
                raise away.error from None
            run = _begun_again(run, source, away.error, outage)
        else:
            return run


def _begun_again(
    before: SyncRun[Any], source: Source, error: StorageUnavailableError, outage: Outage
) -> SyncRun[Any]:
    context = before.context
    while True:
        outage.wait(error)
        tables = before.tables.anew()
        try:
            reader = open_reader(source, context, tables, "forever")
            run = start_run(context, tables, reader, list(tables.feeds))
        except StorageUnavailableError as still:
            error = still
        else:
            run.events, run.events_elsewhere = before.events_kept, before.events_elsewhere
            run.events_kept, run.outage = before.events_kept, outage
            return run
