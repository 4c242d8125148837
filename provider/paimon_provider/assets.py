"""Tables as Airflow assets: ``paimon://<catalog>/<database>/<table>``, lower case.

The catalog is the connection's ``catalog_name``, else the connection's id.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlencode

from paimon_provider._compat import Asset, AssetWatcher
from paimon_provider.arguments.table_identity import (
    SCHEME,
    TableIdentity,
    is_template,
    quoted,
    require_named_so,
    spelled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from urllib.parse import SplitResult


__all__ = [
    "SCHEME",
    "TableIdentity",
    "create_asset",
    "filters_of",
    "is_template",
    "normalize_uri",
    "query_of",
    "require_named_so",
    "spelled",
    "table_asset",
    "watched_table",
]

_WATCHED: Final = re.compile(r"(events=[a-z]+&)?(min_rows=\d+&)?on=[a-z]+(&partitions=[^&]+)?")


def table_asset(
    table: str,
    *,
    paimon_conn_id: str = "paimon_default",
    catalog: str | None = None,
    name: str | None = None,
    **more: Any,
) -> Asset:
    """The asset of ``database.table``: everybody who asks gets the same name and URI.

    Args:
        table: ``database.table``.
        paimon_conn_id: the connection; its id is the catalog unless ``catalog`` is given.
        catalog: the connection's ``catalog_name``, where it has one.
        name: what Airflow calls it, if not by its URI: one URI has one name, so give the name of an ``@asset`` of
            this table, here and as ``outlets=[table_asset(…)]`` of operators.
        more: further arguments of ``Asset``: ``group``, ``extra``, ``watchers``.
    """
    return TableIdentity.of(table, catalog=catalog or paimon_conn_id).to_asset(name, **more)


def watched_table(  # noqa: PLR0913 - what users may set
    table: str,
    *,
    paimon_conn_id: str = "paimon_default",
    catalog: str | None = None,
    on: str = "changes",
    start: str = "latest",
    poll_seconds: float = 3.0,
    min_rows: int = 0,
    partitions: Sequence[Mapping[str, Any]] = (),
    events: str = "poll",
    **more: Any,
) -> Asset:
    """What a watcher sees of ``database.table``: new snapshots become events.

    An asset of its own (``paimon://…/table?on=changes``), not the one that operators announce: a Dag
    file that names an asset without watchers takes away those that another file gave it.

    A Dag with ``schedule=[watched_table("shop.orders")]`` runs when anybody commits changes to
    the table: Airflow, Spark, Flink or another Paimon client.  The parameters are those of
    ``PaimonSnapshotTrigger``; each combination of filters is an asset of its own.  Give Dags that
    watch the same one the same ``poll_seconds`` and ``start``: Airflow keeps those it read last.
    """
    from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger

    identity = TableIdentity.of(table, catalog=catalog or paimon_conn_id)
    trigger = PaimonSnapshotTrigger(
        table=table,
        asset_uri=f"{identity.uri}?{query_of(on, min_rows, partitions, events)}",
        paimon_conn_id=paimon_conn_id,
        on=on,
        start=start,
        poll_seconds=poll_seconds,
        min_rows=min_rows,
        partitions=partitions,
        events=events,
    )
    watcher = AssetWatcher(name=f"snapshots-{on}", trigger=trigger)
    return Asset(name=trigger.asset_uri, uri=trigger.asset_uri, watchers=[watcher], **more)


def filters_of(query: str) -> dict[str, Any]:
    """The arguments of a watcher that the query of its asset's URI stands for."""
    filters: dict[str, Any] = dict(parse_qsl(query))
    if "min_rows" in filters:
        filters["min_rows"] = int(filters["min_rows"])
    if "partitions" in filters:
        told = (one.split(",") for one in filters["partitions"].split(";"))
        filters["partitions"] = [dict(map(_said, one)) for one in told]
    return filters


def _said(pair: str) -> tuple[str, str | None]:
    """A column and its value, which is NULL where there is no ``=``."""
    name, equals, value = pair.partition("=")
    return unquote(name), unquote(value) if equals else None


def _saying(name: str, value: object) -> str:
    """What ``_said`` reads: no value is taken for what stands between others."""
    if value is None:
        return _escaped(name)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{_escaped(name)}={_escaped(text)}"


def _escaped(text: str) -> str:
    return re.sub("[%,;=]", lambda match: f"%{ord(match[0]):02X}", text)


def query_of(
    on: str = "changes",
    min_rows: int = 0,
    partitions: Sequence[Mapping[str, Any]] = (),
    events: str = "poll",
) -> str:
    """What tells the assets of differing watchers apart, in the order that Airflow sorts it to."""
    parts = {"on": on}
    if events != "poll":
        parts["events"] = events
    if min_rows:
        parts["min_rows"] = str(min_rows)
    if partitions:
        named = (",".join(_saying(*pair) for pair in sorted(one.items())) for one in partitions)
        parts["partitions"] = ";".join(sorted(named))
    return urlencode(sorted(parts.items()))


def normalize_uri(uri: SplitResult) -> SplitResult:
    """Check and lower-case a ``paimon://`` URI; Airflow calls this for every such asset.

    Raises:
        ValueError: not of the form ``paimon://<catalog>/<database>/<table>``, with ``?on=…`` for
            what a watcher sees of it.
    """
    parts = [unquote(part) for part in uri.path.removeprefix("/").split("/")]
    watched = not uri.query or _WATCHED.fullmatch(uri.query)
    if not uri.netloc or not watched or len(parts) != 2 or not all(parts):
        raise ValueError(f"expected paimon://<catalog>/<database>/<table>, got {uri.geturl()!r}")
    path = "/".join(quoted(part.lower()) for part in parts)
    return uri._replace(netloc=quoted(unquote(uri.netloc).lower()), path=f"/{path}")


def create_asset(*, catalog: str, database: str, table: str, **more: Any) -> Asset:
    """Make an asset from its parts; Airflow's lineage collection calls this."""
    return TableIdentity.of(f"{database}.{table}", catalog=catalog).to_asset(**more)
