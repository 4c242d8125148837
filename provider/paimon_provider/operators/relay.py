"""Tell Airflow which partitions of a table are ready, whoever wrote them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import BaseOperator, Feature, asset_state, require
from paimon_provider.arguments.checks import ChecksArguments, require_early
from paimon_provider.assets import require_named_so, table_asset
from paimon_provider.failures import airflow_failures
from paimon_provider.operators.partitions import asset_partitions, digest, partitions_extra
from paimon_provider.runs.mapped_tables import as_given, over_tables, own_of
from paimon_provider.watching.conditions import delivers_changes
from paimon_provider.watching.run_positions import RunPosition
from paimon_provider.watching.seen import Seen, since
from table_core.errors import ErrorKind, TableError
from table_core.position.place import SnapshotPlace

if TYPE_CHECKING:
    from paimon_provider._compat import Context
    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["PaimonRelayPartitionsOperator"]

_CONNECTION: Final = "paimon_default"
_MARKS_KEPT: Final = 1_000
_CLOCKS_MS: Final = 3_600_000
"""By how much the clocks of those who mark may be behind."""


class PaimonRelayPartitionsOperator(ChecksArguments, BaseOperator):
    """Announce changed partitions of a table as Airflow asset partitions.

    A run announces each partition once, however many commits have touched it since the last run.

    Airflow's watchers cannot name partitions. So a Dag that a watcher starts relays them::

        with DAG("relay", schedule=[watched_table("shop.orders")], catchup=False):
            PaimonRelayPartitionsOperator(task_id="relay", table="shop.orders")

        with DAG(
            "daily",
            schedule=PartitionedAssetTimetable(assets=table_asset("shop.orders")),
        ):
            ...  # a run for each partition; its key is such as dt=2026-01-01/hh=01

    The position is kept in the state of the table's asset. A repeated attempt announces the same
    partitions again, and the next run announces what a failed run has read. So no partition is
    lost. A partition comes twice only if runs overlap or a run was deleted; set
    ``max_active_runs=1``. If snapshots expired unread, or the table was rolled back, fast-forwarded
    or recreated, every existing partition is announced. Returns the keys.

    :param table: ``database.table``.
    :param ready: ``changed``: partitions that commits with changes have touched. ``done``:
        partitions that were marked done, by this provider or by Flink. A mark is not a commit and
        starts no Dag, so give the Dag a schedule too. ``done`` reads one small file for each
        partition of the table.
    :param paimon_conn_id: the connection with the warehouse.
    :param catalog: the connection's ``catalog_name``, if it has one. It is part of the asset's
        name.
    :param reader: the name of the position; default: the Dag and the task, so renaming either
        starts again. Two relays of one table need two names.
    """

    ui_color = "#e8f1fb"

    def __init__(
        self,
        *,
        table: str,
        ready: str = "changed",
        paimon_conn_id: str = _CONNECTION,
        catalog: str | None = None,
        reader: str | None = None,
        **kwargs: Any,
    ) -> None:
        require_early(self, table=table, paimon_conn_id=paimon_conn_id, catalog=catalog)
        require(
            Feature.ASSET_PARTITIONS,
            "PaimonRelayPartitionsOperator",
            "let a watcher with partitions= start the Dag",
        )
        self.asset = table_asset(table, paimon_conn_id=paimon_conn_id, catalog=catalog)
        super().__init__(**{"outlets": [self.asset], **kwargs})
        self.outlets = as_given(self.outlets, kwargs.get("outlets"))
        self.table = table
        self.ready = ready
        self.paimon_conn_id = paimon_conn_id
        self.catalog = catalog
        self.reader = reader

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """What Airflow's does; a mapped task has the asset of its table too."""
        mapped: Any = super().partial(**kwargs)
        return (
            mapped
            if mapped.kwargs.get("outlets")
            else over_tables(mapped, "outlets", _CONNECTION, _assets)
        )

    def execute(self, context: Context) -> list[str]:
        """Announce what is new since the last run that ended well."""
        from paimon_provider.hooks.paimon import PaimonHook

        ti: Any = context["ti"]
        self.outlets = own_of(self.outlets, self.asset.uri)
        name = self.reader or f"{ti.dag_id}.{ti.task_id}"
        position = RunPosition(asset_state(context, self.asset), f"partitions.{name}", ti)
        with airflow_failures():
            start = position.start
            if start is None and self.ready == "changed":
                start = self._first_told(context)
                if start is not None:
                    position.begin(start)
            hook = PaimonHook(self.paimon_conn_id)
            require_named_so([self.asset.uri], self.table, catalog=hook.warehouse.catalog_name)
            find = self._done if self.ready == "done" else self._changed
            partitions, start, to = find(hook, start)
            table = hook.table(self.table) if partitions else None
            keys = (
                asset_partitions([table.partition_key(one) for one in partitions]) if table else []
            )
        self.log.info("%d partitions of %s are ready: %s", len(keys), self.table, ", ".join(keys))
        if keys:
            event: Any = context["outlet_events"][self.asset]
            event.extra = partitions_extra(self.table, partitions, apart=True)
            event.add_partitions(keys)
        else:
            self.outlets = [outlet for outlet in self.outlets if outlet != self.asset]
        position.keep(start, to)
        return keys

    def _first_told(self, context: Context) -> dict[str, Any] | None:
        """Before the events that have started the very first run; None if there are none."""
        told: Any = context.get("triggering_asset_events") or {}
        extras = [event.extra.get("payload") or event.extra for of in told.values() for event in of]
        firsts = [
            int(extra["snapshots"]["first"])
            for extra in extras
            if extra.get("snapshots") and extra.get("table", self.table) == self.table
        ]
        return Seen(place=SnapshotPlace(id=min(firsts) - 1)).to_json() if firsts else None

    def _changed(self, hook: PaimonHook, start: Any) -> tuple[list[Any], Any, Any]:
        """Partitions, and where the reading has begun and ended."""
        snapshots, producer = hook.snapshots(self.table)
        table = hook.table(self.table)
        birth = table.birth
        if start is None or not snapshots:
            head = Seen(birth=birth)
            if snapshots:
                head = head.moved(snapshots[-1], snapshots)
            here = head.to_json()
            return [], here if start is None else start, here if start is None else start
        seen = Seen.from_json(start)
        step = since(snapshots, seen, birth)
        to = seen.moved(snapshots[-1], step.new, birth).to_json()
        if step.reset:
            self.log.warning("%s was replaced (%s) since %s", self.table, step.reset, start)
        taken_back = step.reset is not None and step.reset != "made-anew"
        if step.gap:
            self.log.warning(
                "Snapshots %d to %d expired before they were relayed: every partition counts",
                *step.gap,
            )
            return table.live_partitions(), start, to
        new = [s.id for s in step.new if delivers_changes(s, producer)]
        try:
            partitions = table.touched_partitions(new, limit=2**31) or []
            if taken_back:  # nothing that is there tells whose rows that were
                all_of_them = [*partitions, *table.live_partitions()]
                partitions = list({table.partition_key(one): one for one in all_of_them}.values())
            return partitions, start, to
        except TableError as error:
            if error.kind is not ErrorKind.NOT_FOUND:
                raise
            self.log.warning("Snapshots expire meanwhile: every partition counts: %s", error)
            return table.live_partitions(), start, to

    def _done(self, hook: PaimonHook, start: Any) -> tuple[list[Any], Any, Any]:
        """Marks that were not told yet, and which have been.

        A mark may be written behind our back while others are read, by a clock that is not ours: so
        those of the last hour are remembered one by one, and all that is older has been told.
        """
        began_ms = int(time.time() * 1000)
        stored: dict[str, Any] = start if isinstance(start, dict) else {"ms": int(start or 0)}
        table = hook.table(self.table)
        birth = table.birth
        if stored.get("birth", birth) != birth:
            stored = {"ms": 0}
        told, after_ms = dict(stored.get("told", {})), int(stored["ms"])
        marks = [
            (values, digest(f"{table.partition_key(values)} {at_ms}")[:16], at_ms)
            for values, at_ms in table.done_partitions(after_ms)
        ]
        told_now = {name: at_ms for _, name, at_ms in marks}
        times = sorted(told_now.values())
        upto = min(began_ms, times[-1] if times else after_ms) - _CLOCKS_MS
        if len(times) > _MARKS_KEPT:
            upto = max(upto, min(times[-_MARKS_KEPT], began_ms))
        upto = max(upto, after_ms)
        kept = {name: at_ms for name, at_ms in told_now.items() if at_ms > upto}
        to = {"ms": upto, "told": kept, "birth": birth}
        return [values for values, name, _ in marks if name not in told], stored, to


def _assets(table: str, conn_id: str, catalog: str | None) -> list[Any]:
    return [table_asset(table, paimon_conn_id=conn_id, catalog=catalog)]
