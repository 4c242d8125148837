"""What `table-core doctor` finds about a connection of Airflow: its entry point of `table_core.doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_provider._compat import AirflowNotFoundException
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["findings"]

_ADD = (
    "airflow connections add {id} --conn-type paimon --conn-extra "
    '\'{{"warehouse": "file:///data/warehouse"}}\''
)


def findings(connection: str | None) -> Iterator[dict[str, str]]:
    """Whether the connection is there, is complete, and leads to a warehouse.

    Without an id, the default connection is looked at; that there is none is no fault then.
    """
    from paimon_provider.hooks.paimon import PaimonHook

    id = connection or PaimonHook.default_conn_name
    check = f"connection {id}"
    hook = PaimonHook(id)
    try:
        _ = hook.warehouse
    except AirflowNotFoundException:
        state = "skipped" if connection is None else "fault"
        yield _told(check, state, f"Airflow has no connection {id!r}", _ADD.format(id=id))
        return
    except TableError as error:
        remedy = f"Correct the connection: airflow connections get {id}"
        yield _told(check, "fault", f"{error.kind}: {error}", remedy)
        return
    works, text = hook.test_connection()
    remedy = "" if works else "Check the warehouse and the credentials of the connection."
    yield _told(check, "ok" if works else "fault", text, remedy)


def _told(check: str, state: str, observed: str, remedy: str) -> dict[str, str]:
    return {"check": check, "state": state, "found": observed, "remedy": remedy}
