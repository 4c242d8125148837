"""Tables as Airflow assets: ``paimon://<catalog>/<database>/<table>``, lower case.

The catalog is the connection's ``catalog_name``, else the connection's id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from paimon_provider._compat import Asset, AssetWatcher
from table_core.errors import ArgumentError

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

SCHEME: Final = "paimon"
_TEMPLATE_MARKS: Final = ("{{", "{%")
_WATCHED: Final = re.compile(r"(events=[a-z]+&)?(min_rows=\d+&)?on=[a-z]+(&partitions=[^&]+)?")


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """Which table an asset stands for.  Lower case, never a template."""

    catalog: str
    database: str
    name: str

    @classmethod
    def of(cls, table: str, *, catalog: str) -> TableIdentity:
        """The identity of ``database.table`` in ``catalog``.

        Raises:
            ArgumentError: a part is missing, or is a template: what a Dag announces must be known
                when it is parsed.
        """
        if is_template(table) or is_template(catalog):
            raise ArgumentError(
                f"an asset needs a fixed name, not the template {table!r} in {catalog!r}: "
                "give the operator outlets=[] or name the table",
                argument="table",
                value=table,
            )
        database, dot, name = table.lower().partition(".")
        if not (catalog and database and dot and name) or "/" in table:
            raise ArgumentError(
                f"expected database.table, got {table!r} (catalog {catalog!r})",
                argument="table",
                value=table,
            )
        return cls(catalog.lower(), database, name)

    @classmethod
    def of_uri(cls, uri: str) -> TableIdentity | None:
        """The identity that ``uri`` stands for; None if it is no plain URI of a table."""
        parts = urlsplit(uri)
        path = [unquote(part) for part in parts.path.removeprefix("/").split("/")]
        if parts.scheme != SCHEME or parts.query or len(path) != 2 or not all(path):
            return None
        return cls(unquote(parts.netloc).lower(), path[0].lower(), path[1].lower())

    @property
    def table(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"

    @property
    def uri(self) -> str:
        """The asset's URI, which is its name too."""
        parts = map(_quoted, (self.catalog, self.database, self.name))
        return f"{SCHEME}://{'/'.join(parts)}"

    def to_asset(self, **more: Any) -> Asset:
        """The asset; ``more`` are further arguments of ``Asset``, e.g. ``watchers``."""
        return Asset(name=self.uri, uri=self.uri, **more)


def require_named_so(
    uris: Sequence[str], table: str, *, catalog: str, who: str = "the task"
) -> None:
    """Refuse to announce ``table`` of the connection's ``catalog`` under the name of another catalog.

    Raises:
        ArgumentError: one of ``uris`` is this table in another catalog.
    """
    own = TableIdentity.of(table, catalog=catalog)
    for uri in uris:
        named = TableIdentity.of_uri(uri.partition("?")[0])
        if named is not None and named.table == own.table and named.catalog != own.catalog:
            raise ArgumentError(
                f"{who} announces {named.uri} but would touch {own.uri}: give catalog={catalog!r}, "
                "the connection's catalog_name, where the asset is named; or outlets=[]",
                argument="catalog",
                value=named.catalog,
            )


def is_template(text: str) -> bool:
    """Whether ``text`` is known only when the task runs."""
    return any(mark in text for mark in _TEMPLATE_MARKS)


def table_asset(
    table: str,
    *,
    paimon_conn_id: str = "paimon_default",
    catalog: str | None = None,
    **more: Any,
) -> Asset:
    """The asset of ``database.table``: everybody who asks gets the same name and URI.

    Args:
        table: ``database.table``.
        paimon_conn_id: the connection; its id is the catalog unless ``catalog`` is given.
        catalog: the connection's ``catalog_name``, where it has one.
        more: further arguments of ``Asset``: ``group``, ``extra``, ``watchers``.
    """
    return TableIdentity.of(table, catalog=catalog or paimon_conn_id).to_asset(**more)


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
    found: dict[str, Any] = dict(parse_qsl(query))
    if "min_rows" in found:
        found["min_rows"] = int(found["min_rows"])
    if "partitions" in found:
        told = (one.split(",") for one in found["partitions"].split(";"))
        found["partitions"] = [dict(map(_said, one)) for one in told]
    return found


def _said(pair: str) -> tuple[str, str | None]:
    """A column and its value, which is NULL where there is no ``=``."""
    name, given, value = pair.partition("=")
    return unquote(name), unquote(value) if given else None


def _saying(name: str, value: object) -> str:
    """What ``_said`` reads: no value is taken for what stands between others."""
    if value is None:
        return _escaped(name)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{_escaped(name)}={_escaped(text)}"


def _escaped(text: str) -> str:
    return re.sub("[%,;=]", lambda found: f"%{ord(found[0]):02X}", text)


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
    path = "/".join(_quoted(part.lower()) for part in parts)
    return uri._replace(netloc=_quoted(unquote(uri.netloc).lower()), path=f"/{path}")


def spelled(text: str) -> str:
    """``text``, maybe a part of a name, as the URIs of tables have it."""
    return quote(text.lower(), safe="-_.~$:/?=&")


def _quoted(part: str) -> str:
    """The one spelling of a name in a URI: percent codes in capitals."""
    return quote(part, safe="-_.~$")


def create_asset(*, catalog: str, database: str, table: str, **more: Any) -> Asset:
    """Make an asset from its parts; Airflow's lineage collection calls this."""
    return TableIdentity.of(f"{database}.{table}", catalog=catalog).to_asset(**more)
