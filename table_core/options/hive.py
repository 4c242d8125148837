"""Options of a Hive catalog, under Paimon's names.

Source: ``org.apache.paimon.hive.HiveCatalogOptions``, ``org.apache.paimon.options.CatalogOptions`` of 2.0.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import OptionError, UnsupportedFeatureError
from table_core.options import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HiveOptions", "addresses", "is_hive_option", "refuse_unsupported_settings"]

_CONF_DIR: Final = "hive-conf-dir"
_TABLE_TYPE: Final = "table.type"
_URIS: Final = "hive.metastore.uris"
_CLIENT: Final = "metastore.client.class"
_HIVES_CLIENT: Final = "org.apache.hadoop.hive.metastore.HiveMetaStoreClient"
_POOL: Final = ("client-pool-size", "client-pool-cache.")
"""Connections here are opened where they are needed, so there is no pool to set up."""
_ADDRESS: Final = re.compile(r"thrift://(?P<host>\[[0-9a-fA-F:]+\]|[^:/\[\]@]+):(?P<port>\d{1,5})")
_PORTS: Final = 1 << 16
_REFUSED: Final = {
    "hadoop-conf-dir": "the file system is that of fsspec, which takes its own settings",
    "location-in-properties": "the place of a table is read from the table's storage alone",
    "sync-all-properties": "all options of a table go to the metastore",
    "case-sensitive": "names in Hive are in lower case",
    "alter-table-cascade": "changes of a schema go to partitions too",
    "hive.skip-update-stats": "the metastore keeps its statistics",
}
"""Options by why another value than that of ``_TAKEN`` is not taken."""
_TAKEN: Final = {
    "location-in-properties": "false",
    "sync-all-properties": "true",
    "case-sensitive": "false",
    "alter-table-cascade": "true",
    "hive.skip-update-stats": "false",
}
_SASL: Final = ("hive.metastore.sasl.enabled", "metastore.sasl.enabled")
_TLS: Final = ("hive.metastore.use.SSL", "metastore.use.SSL")
_FRAMED: Final = ("hive.metastore.thrift.framed.transport.enabled",)


def is_hive_option(key: str) -> bool:
    """Whether ``key`` is about the metastore of a Hive catalog, and not about the store."""
    return (
        key in {_CONF_DIR, _TABLE_TYPE, _CLIENT}
        or key in _REFUSED
        or key.startswith(("hive.", "metastore.", *_POOL))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveOptions:
    """How the metastore is reached, and what tables are there."""

    uri: str | None
    """``thrift://host:port``, several with commas; None: ``hive-site.xml`` says it."""
    conf_dir: str | None
    """The folder of ``hive-site.xml``."""
    external: bool
    """Whether tables that are created keep their files when they are dropped."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> HiveOptions:
        """Read ``options``.

        Raises:
            OptionError: one is missing or wrong.
            UnsupportedFeatureError: one asks for what this release has not.
        """
        if "glue" in options.get(_CLIENT, "").lower():
            raise UnsupportedFeatureError(
                "AWS Glue is no catalog of this release. Keep the tables on S3 with metastore=filesystem, and let "
                "Glue show them to others, by a crawler or CREATE EXTERNAL TABLE",
                feature="Glue catalog",
            )
        if options.get(_CLIENT, _HIVES_CLIENT) != _HIVES_CLIENT:
            raise UnsupportedFeatureError(
                f"{_CLIENT} names a class of Java; the client here speaks Hive's own protocol: leave it out",
                feature=_CLIENT,
            )
        for key in sorted(_REFUSED.keys() & options.keys()):
            if options[key].strip().lower() != _TAKEN.get(key):
                raise UnsupportedFeatureError(
                    f"{key}={options[key]} is not in this release: {_REFUSED[key]}; leave it out",
                    feature=key,
                )
        refuse_unsupported_settings(options)
        uri, conf_dir = options.get("uri") or options.get(_URIS), options.get(_CONF_DIR)
        if uri is None and conf_dir is None:
            raise OptionError(
                "a Hive catalog needs the option 'uri', e.g. thrift://metastore:9083, or 'hive-conf-dir', the "
                "folder of hive-site.xml",
                option="uri",
                value=None,
            )
        if uri is not None:
            addresses(uri)
        return cls(
            uri=uri, conf_dir=conf_dir, external=_table_type(options.get(_TABLE_TYPE, "managed"))
        )


def refuse_unsupported_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings of Hive, by option or in ``hive-site.xml``, that need another connection than a plain one.

    Raises:
        UnsupportedFeatureError: Kerberos, TLS, or framed messages.
    """
    for keys, what in ((_SASL, "Kerberos"), (_TLS, "TLS"), (_FRAMED, "framed messages")):
        for key in keys:
            if settings.get(key, "").strip().lower() == "true":
                raise UnsupportedFeatureError(
                    f"{key}=true: the connection to a Hive metastore has no {what} in this release. Reach it over a "
                    "network that nobody else is on, by a metastore that takes plain connections",
                    feature=f"{what} of a Hive metastore",
                )


def addresses(uri: str) -> tuple[tuple[str, int], ...]:
    """Hosts and ports of ``thrift://host:port``, several with commas.

    Raises:
        OptionError: one is no such address.
    """
    matches = [_ADDRESS.fullmatch(part.strip().rstrip("/")) for part in uri.split(",")]
    if not all(match is not None and 0 < int(match["port"]) < _PORTS for match in matches):
        raise OptionError(
            "the 'uri' of a Hive metastore is thrift://host:port, several with commas",
            option="uri",
            value=None,
        )
    return tuple((m["host"].strip("[]"), int(m["port"])) for m in matches if m is not None)


def _table_type(value: str) -> bool:
    try:
        return parse.choice("managed", "external")(value) == "external"
    except ValueError as error:
        raise OptionError(
            f"option {_TABLE_TYPE!r} cannot be {value!r}: {error}", option=_TABLE_TYPE, value=value
        ) from error
