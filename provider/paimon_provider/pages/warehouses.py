"""Which connections the page may read rows by: those that ``[paimon] page_conn_ids`` names, and no other.

The catalog in a table's URI is compared with the ``catalog_name`` of each.  What a request, an event or a
document says never becomes a connection.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from paimon_provider._compat import AirflowException, conf
from paimon_provider.arguments.table_identity import TableIdentity
from table_core.errors import NotFoundError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["conn_id_of", "hook_of"]

_FRESH_S: Final = 60.0
_LOCK: Final = threading.Lock()
_CONNECTIONS: Final[dict[str, tuple[float, Mapping[str, str]]]] = {}


def hook_of(uri: str) -> PaimonHook:
    """A hook on the warehouse of a table.

    Raises:
        NotFoundError: the page has no connection to that catalog.
    """
    from paimon_provider.hooks.paimon import PaimonHook

    conn_id = conn_id_of(uri)
    if conn_id is None:
        raise NotFoundError(
            "the API server has no connection to the catalog of this table: [paimon] page_conn_ids "
            "names those that it may read rows by",
            name=uri,
        )
    return PaimonHook(conn_id)


def conn_id_of(uri: str) -> str | None:
    """The connection whose catalog the table is in; None without."""
    identity = TableIdentity.of_uri(uri)
    return None if identity is None else _by_catalog().get(identity.catalog)


def _by_catalog() -> Mapping[str, str]:
    """Catalog to connection, looked up once a minute."""
    from paimon_provider.hooks.paimon import PaimonHook

    conn_ids = str(conf.get("paimon", "page_conn_ids", fallback="") or "paimon_default")
    with _LOCK:
        at, connections = _CONNECTIONS.get(conn_ids, (0.0, {}))
        if connections and time.monotonic() - at < _FRESH_S:
            return connections
        connections = {}
        for conn_id in filter(None, (name.strip() for name in conn_ids.split(","))):
            try:
                catalog = PaimonHook(conn_id).warehouse.catalog_name.lower()
            except (AirflowException, TableError):  # one that is missing hides no other
                continue
            connections.setdefault(catalog, conn_id)
        _CONNECTIONS[conn_ids] = (time.monotonic(), connections)
        return connections
