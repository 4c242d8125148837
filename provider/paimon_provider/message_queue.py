"""Snapshots as messages, for Airflow's ``MessageQueueTrigger`` of ``common-messaging``.

``MessageQueueTrigger(scheme="paimon", table="shop.orders", asset_uri="…")`` is a
``PaimonSnapshotTrigger`` with these arguments; nothing here needs that package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from paimon_provider.arguments.table_identity import SCHEME, TableIdentity
from paimon_provider.assets import filters_of, normalize_uri, query_of
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger

if TYPE_CHECKING:
    from paimon_provider._compat import BaseEventTrigger

__all__ = ["PaimonMessageQueue"]

_PREFIX: Final = f"{SCHEME}://"
_FILTERS: Final = ("on", "min_rows", "partitions", "events")


class PaimonMessageQueue:
    """What ``common-messaging`` asks of a kind of queue."""

    scheme = SCHEME

    def scheme_matches(self, scheme: str) -> bool:
        """Whether ``scheme`` is ours."""
        return scheme == self.scheme

    def queue_matches(self, queue: str) -> bool:
        """Whether ``queue`` is the URI of a table: ``paimon://<connection>/<database>/<table>``.

        What follows a ``?`` says what a message is, as in the URI of a watched table:
        ``?on=any&partitions=dt%3D2026-01-01``.
        """
        return queue.startswith(_PREFIX)

    def trigger_class(self) -> type[BaseEventTrigger]:
        """The trigger that watches."""
        return PaimonSnapshotTrigger

    def trigger_kwargs(self, queue: str, **kwargs: Any) -> dict[str, Any]:
        """The arguments that the URI stands for, but for those in ``kwargs``.

        Raises:
            ValueError: it is no URI of a table.
        """
        address = urlsplit(queue)
        told = dict(parse_qsl(address.query))
        whole = sorted((told if "on" in told else told | {"on": "changes"}).items())
        uri = normalize_uri(address._replace(query=urlencode(whole)))
        identity = TableIdentity.of_uri(uri._replace(query="").geturl())
        assert identity is not None  # else it was refused
        filters = filters_of(address.query)
        chosen = filters | {name: kwargs[name] for name in _FILTERS if name in kwargs}
        arguments: dict[str, Any] = {
            "table": identity.table,
            "paimon_conn_id": unquote(address.netloc),
            "asset_uri": f"{identity.uri}?{query_of(**chosen)}",
            **filters,
        }
        return {name: value for name, value in arguments.items() if name not in kwargs}
