"""Keeps what happened to tasks in a table: a callback that appends a row."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import BaseNotifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paimon_provider._compat import Context

__all__ = ["PaimonNotifier"]

_COLUMNS: Final = ("dag_id", "task_id", "run_id", "try_number", "state", "message", "at_ms")


class PaimonNotifier(BaseNotifier):
    """Append a row for each call: Dag, task, run, try, state, message, time in milliseconds.

    For ``on_failure_callback``, ``on_success_callback`` and the like, and as a deadline's
    ``AsyncCallback(PaimonNotifier, kwargs={"table": "ops.late"})``.  The table is made when it is not
    there.

    :param table: ``database.table``.  (templated)
    :param message: what to say; default is the error, or which deadline was missed.  (templated)
    :param paimon_conn_id: the connection with the warehouse.
    :param context: Airflow's; a deadline gives it here.
    """

    template_fields: Sequence[str] = ("table", "message")

    def __init__(
        self,
        *,
        table: str,
        message: str = "",
        paimon_conn_id: str = "paimon_default",
        context: Context | None = None,
    ) -> None:
        super().__init__(context)
        self.table = table
        self.message = message
        self.paimon_conn_id = paimon_conn_id

    def notify(self, context: Context) -> None:
        """Append the row."""
        import pyarrow as pa

        from paimon_provider.hooks.paimon import PaimonHook
        from table_core.errors import NotFoundError

        kinds = {"try_number": pa.int32(), "at_ms": pa.int64()}
        schema = pa.schema([(name, kinds.get(name, pa.string())) for name in _COLUMNS])
        hook = PaimonHook(self.paimon_conn_id)
        try:
            table = hook.table(self.table)
        except NotFoundError:
            catalog = hook.catalog()
            catalog.create_database(self.table.partition(".")[0], if_not_exists=True)
            table = catalog.create_table(
                self.table, schema, options={"bucket": "-1"}, if_not_exists=True
            )
        row = {name: [value] for name, value in self._row(context).items()}
        with table.write() as writer:
            writer.write(pa.Table.from_pydict(row, schema=schema))
            writer.commit()

    async def async_notify(self, context: Context) -> None:
        """Append the row from the triggerer, whose event loop does not wait for a store."""
        from paimon_provider.triggers.blocking_calls import BlockingCalls

        await BlockingCalls(self.table).ask(lambda: self.notify(context))

    def _row(self, context: Any) -> dict[str, Any]:
        ti, error, missed = (context.get(name) for name in ("ti", "exception", "deadline"))
        if missed:  # then the run comes as the REST API shows it, and there is no task
            run, why = context["dag_run"], f"missed the deadline {missed['deadline_time']}"
            named = {"dag_id": run["dag_id"], "run_id": run["dag_run_id"], "state": run["state"]}
        else:
            why = str(error) if error else ""
            named = {
                "dag_id": getattr(ti, "dag_id", None),
                "run_id": context.get("run_id") or getattr(ti, "run_id", None),
                "state": getattr(ti, "state", None) or ("failed" if error else ""),
            }
        named["state"] = str(getattr(named["state"], "value", named["state"]))
        return {
            **named,
            "task_id": getattr(ti, "task_id", None),
            "try_number": getattr(ti, "try_number", None),
            "message": self.message or why,
            "at_ms": int(time.time() * 1000),
        }
