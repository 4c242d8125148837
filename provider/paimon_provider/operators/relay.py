"""Tell Airflow which partitions of a table are ready, whoever wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import BaseOperator
from paimon_provider.assets import require_named_so, table_asset
from paimon_provider.conditions import delivers_changes
from paimon_provider.failures import airflow_failures
from paimon_provider.operators.partitions import partition_key
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from paimon_provider._compat import Context
    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["PaimonRelayPartitionsOperator"]

READY: Final = ("changed", "done")
_VERSION: Final = 1
_MANY: Final = 1_000_000
_Partitions = list[dict[str, str]]


class PaimonRelayPartitionsOperator(BaseOperator):
    """Announce as Airflow asset partitions what has happened to a table's partitions.

    A run announces each partition once, however many commits since the last run have touched it.

    Airflow's watchers cannot name partitions, so a Dag that a watcher wakes relays them::

        with DAG("relay", schedule=[watched_table("shop.orders")], catchup=False):
            PaimonRelayPartitionsOperator(task_id="relay", table="shop.orders")

        with DAG(
            "daily",
            schedule=PartitionedAssetTimetable(assets=table_asset("shop.orders")),
        ):
            ...  # a run for each partition; its key is such as dt=2026-01-01/hh=01

    How far it has come is kept in the state of the table's asset.  An attempt that is repeated
    announces the same partitions again, a failed run moves nothing.  Returns what was announced.

    :param table: ``database.table``.
    :param ready: ``changed``: partitions that commits with changes have touched.  ``done``: those
        that were marked done, by us or by Flink; a mark is no commit and wakes nobody, so give the
        Dag a schedule too.  It reads one small file for each partition of the table.
    :param paimon_conn_id: the connection with the warehouse.
    :param catalog: the connection's ``catalog_name``, if it has one: names the asset.
    """

    ui_color = "#e8f1fb"

    def __init__(
        self,
        *,
        table: str,
        ready: str = "changed",
        paimon_conn_id: str = "paimon_default",
        catalog: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.asset = table_asset(table, paimon_conn_id=paimon_conn_id, catalog=catalog)
        super().__init__(**{"outlets": [self.asset], **kwargs})
        if ready not in READY:
            raise ArgumentError(
                f"ready={ready!r} is none of {', '.join(READY)}", argument="ready", value=ready
            )
        self.table = table
        self.ready = ready
        self.paimon_conn_id = paimon_conn_id
        self.catalog = catalog

    def execute(self, context: Context) -> list[str]:
        """Announce what is new since the last run that ended well."""
        from paimon_provider.hooks.paimon import PaimonHook

        ti: Any = context["ti"]
        states: Any = context["asset_state_store"]
        state = states[self.asset]
        key = f"partitions.{ti.dag_id}.{ti.task_id}"
        after = _position(state.get(key), ti.run_id)
        if after is None:
            after = 0 if self.ready == "done" else _first_told(context)
        with airflow_failures():
            hook = PaimonHook(self.paimon_conn_id)
            require_named_so([self.asset.uri], self.table, catalog=hook.warehouse.catalog_name)
            find = self._done if self.ready == "done" else self._changed
            found, upto = find(hook, after)
        keys = [partition_key(partition) for partition in found]
        self.log.info("%d partitions of %s are ready: %s", len(keys), self.table, ", ".join(keys))
        if keys:
            event: Any = context["outlet_events"][self.asset]
            event.extra = {"version": _VERSION, "table": self.table, "partitions": found}
            event.add_partitions(keys)
        else:
            self.outlets = [outlet for outlet in self.outlets if outlet != self.asset]
        state.set(key, {"to": upto, "from": upto if after is None else after, "run": ti.run_id})
        return keys

    def _done(self, hook: PaimonHook, after_ms: int | None) -> tuple[_Partitions, int]:
        marked = hook.table(self.table).done_partitions(after_ms or 0)
        newest = max((at_ms for _, at_ms in marked), default=after_ms or 0)
        return [partition for partition, _ in marked], newest

    def _changed(self, hook: PaimonHook, after: int | None) -> tuple[_Partitions, int]:
        snapshots, producer = hook.snapshots(self.table)
        head = snapshots[-1].id if snapshots else 0
        if after is None or not snapshots:
            return [], head
        if after > head:  # rolled back, or a new table of that name
            after = 0
        table = hook.table(self.table)
        if after + 1 < snapshots[0].id:
            self.log.warning(
                "Snapshots %d to %d expired before they were relayed: every partition counts",
                *(after + 1, snapshots[0].id - 1),
            )
            rows = table.system("partitions").to_arrow()
            names = rows.column("partition").to_pylist()
            return [dict(part.split("=", 1) for part in n.split("/")) for n in names], head
        new = [s.id for s in snapshots if s.id > after and delivers_changes(s, producer)]
        return table.touched_partitions(new, limit=_MANY), head


def _position(stored: Any, run_id: str) -> int | None:
    """How far the runs before this one have come; None if there was none."""
    if not isinstance(stored, dict):
        return None
    return int(stored["from" if stored.get("run") == run_id else "to"])


def _first_told(context: Context) -> int | None:
    """Where the events that have started the very first run begin."""
    told: Any = context.get("triggering_asset_events") or {}
    extras = [event.extra.get("payload") or event.extra for of in told.values() for event in of]
    firsts = [int(extra["snapshots"]["first"]) for extra in extras if extra.get("snapshots")]
    return min(firsts) - 1 if firsts else None
