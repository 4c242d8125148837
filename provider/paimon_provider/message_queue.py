"""Snapshots as messages, for Airflow's ``MessageQueueTrigger`` of ``common-messaging``.

``MessageQueueTrigger(scheme="paimon", table="shop.orders", asset_uri="…")`` is a
``PaimonSnapshotTrigger`` with these arguments; nothing here needs that package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from paimon_provider.assets import SCHEME, TableIdentity, normalize_uri
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger

if TYPE_CHECKING:
    from paimon_provider._compat import BaseEventTrigger

__all__ = ["PaimonMessageQueue"]

_PREFIX: Final = f"{SCHEME}://"


class PaimonMessageQueue:
    """What ``common-messaging`` asks of a kind of queue."""

    scheme = SCHEME

    def scheme_matches(self, scheme: str) -> bool:
        """Whether ``scheme`` is ours."""
        return scheme == self.scheme

    def queue_matches(self, queue: str) -> bool:
        """Whether ``queue`` is the URI of a table: ``paimon://<connection>/<database>/<table>``."""
        return queue.startswith(_PREFIX)

    def trigger_class(self) -> type[BaseEventTrigger]:
        """The trigger that watches."""
        return PaimonSnapshotTrigger

    def trigger_kwargs(self, queue: str, **kwargs: Any) -> dict[str, Any]:
        """The arguments that the URI stands for, but for those in ``kwargs``.

        Raises:
            ValueError: it is no URI of a table.
        """
        uri = normalize_uri(urlsplit(queue))
        database, _, name = uri.path.strip("/").partition("/")
        identity = TableIdentity.of(f"{database}.{name}", catalog=uri.netloc)
        found = {
            "table": identity.table,
            "paimon_conn_id": urlsplit(queue).netloc,
            "asset_uri": f"{identity.uri}?on=changes",
        }
        return {name: value for name, value in found.items() if name not in kwargs}
