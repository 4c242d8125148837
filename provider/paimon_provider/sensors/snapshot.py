"""Wait until somebody commits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from paimon_provider._compat import BaseSensorOperator, PokeReturnValue, conf
from paimon_provider.conditions import NewSnapshots, event_document
from paimon_provider.failures import airflow_failures
from table_core.errors import ArgumentError, ErrorKind, TableError, error_from_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonSnapshotSensor"]


class PaimonSnapshotSensor(BaseSensorOperator):
    """Wait for snapshots of a table.

    A table that does not exist yet, and a store that does not answer, are waited for.  Returns the
    event document of what was found: kinds, rows, range of snapshots.

    :param table: ``database.table``.  (templated)
    :param after: snapshots after this id count; 0, the default, means any at all.  (templated)
    :param on: ``changes`` (snapshots that a reader of changes gets rows from), ``append``,
        ``overwrite``, ``delete``, ``compact`` or ``any``.
    :param min_rows: wait until the new snapshots together touch so many rows.
    :param paimon_conn_id: the connection with the warehouse.
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = ("table", "after")
    ui_color = "#e8f1fb"

    def __init__(
        self,
        *,
        table: str,
        after: int | str = 0,
        on: str = "changes",
        min_rows: int = 0,
        paimon_conn_id: str = "paimon_default",
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        NewSnapshots(on=on, min_rows=min_rows)  # a wrong one is an error in the Dag
        self.table = table
        self.after = after
        self.on = on
        self.min_rows = min_rows
        self.paimon_conn_id = paimon_conn_id
        self.deferrable = deferrable

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 - Airflow's signature
        """Look once."""
        from paimon_provider.hooks.paimon import PaimonHook

        with airflow_failures():
            try:
                found = PaimonHook(self.paimon_conn_id).new_snapshots(self.table, self._condition())
            except TableError as error:
                if error.kind is not ErrorKind.UNAVAILABLE:
                    raise
                self.log.warning("Storage unavailable, still waiting: %s", error)
                return PokeReturnValue(False)
        if not found:
            return PokeReturnValue(False)
        snapshots, producer = found
        return PokeReturnValue(True, event_document(self.table, snapshots, producer))

    def execute(self, context: Context) -> Any:
        """Look; wait in the triggerer when there is nothing yet and that is wanted."""
        if not self.deferrable:
            return super().execute(context)
        first = self.poke(context)
        if not first.is_done:
            self._wait_in_triggerer()
        return first.xcom_value

    def _wait_in_triggerer(self) -> NoReturn:
        from paimon_provider.triggers.snapshot import PaimonSnapshotWaitTrigger

        condition = self._condition()
        self.defer(
            trigger=PaimonSnapshotWaitTrigger(
                table=self.table,
                paimon_conn_id=self.paimon_conn_id,
                after=condition.after,
                on=condition.on,
                min_rows=condition.min_rows,
                poll_seconds=self.poke_interval,
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Take the trigger's answer."""
        if event.get("status") == "found":
            return dict(event["found"])
        with airflow_failures():
            raise error_from_document(event["error"])

    def _condition(self) -> NewSnapshots:
        try:
            after = int(self.after)
        except ValueError as error:
            raise ArgumentError(
                f"after={self.after!r} is no snapshot id", argument="after", value=self.after
            ) from error
        return NewSnapshots(after=after, on=self.on, min_rows=self.min_rows)
