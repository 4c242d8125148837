"""What a ``paimon`` connection says: where the tables are, and where Spark is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.connection_references import References
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paimon_provider._compat import Connection

__all__ = ["BACKENDS", "METASTORES", "SparkSettings", "Warehouse", "looking_secret"]

BACKENDS: Final = ("local", "spark-submit", "standalone", "connect")
METASTORES: Final = ("filesystem", "jdbc")
_JDBC_PASSWORD: Final = "jdbc.password"
_SECRET_NAMES: Final = "secret|passw|token|access.?key|account.?key|sas|credential"
_SECRET: Final = re.compile(_SECRET_NAMES, re.IGNORECASE)
_REDACTION: Final = "spark.redaction.regex"
_EXTRAS: Final = (
    "warehouse",
    "catalog_name",
    "storage_options",
    "metastore",
    "metastore_uri",
    "catalog_key",
    "lock_enabled",
    "spark_backend",
    "spark_master",
    "spark_conf",
    "spark_job_folder",
    "spark_rest_port",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """Where Spark work runs."""

    backend: str = "local"
    """``local``: Spark inside a process beside the worker.  ``spark-submit``: client mode.
    ``standalone``: the driver on the cluster, by REST.  ``connect``: a Spark Connect server."""
    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    job_folder: str | None = None
    """Where backend ``standalone`` leaves specs and finds results."""
    rest_port: int = 6066
    """Of the standalone master's REST server."""

    def with_conf(self, more: Mapping[str, str]) -> SparkSettings:
        """These settings with ``more`` Spark configuration on top."""
        return replace(self, conf={**self.conf, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """Where the tables are and how to get at them."""

    uri: str
    catalog_name: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that must not be shown anywhere."""
    spark: SparkSettings = field(default_factory=SparkSettings)

    @classmethod
    def of(
        cls, connection: Connection, lookup: Callable[[str], Connection] | None = None
    ) -> Warehouse:
        """Read ``connection``, every setting by its name.

        The warehouse is the extra ``warehouse``, else the host.  Storage options that are secret
        go into the password as a JSON object; they are added to the extra ``storage_options``, and
        those that begin with ``spark.`` to ``spark_conf``.  With ``metastore`` ``jdbc`` the login is
        the user of the catalog's database, and a password that is no JSON object is its password.
        Options, configuration and password may refer to other connections, which ``lookup`` gives:
        ``{{ conn.minio.password }}``.

        Raises:
            ArgumentError: no warehouse, an unknown extra, or one that does not parse, or a
                reference that leads nowhere.
        """
        name = connection.conn_id
        extra = connection.extra_dejson
        unknown = sorted(set(extra) - set(_EXTRAS))
        if unknown:
            raise ArgumentError(
                f"connection {name!r} has unknown extras {', '.join(unknown)}; "
                f"known: {', '.join(_EXTRAS)}",
                argument="extra",
                value=unknown,
            )
        uri = extra.get("warehouse") or connection.host
        if not uri:
            raise ArgumentError(
                f"connection {name!r} names no warehouse: set it, e.g. to file:///data/wh",
                argument="warehouse",
                value=None,
            )
        references = References(lookup or _nowhere)
        catalog = _catalog(extra, connection.login, name)
        plain = catalog.get("metastore") == "jdbc"
        secret = _secret(connection.password, name, references, plain=plain)
        options = _texts(
            extra.get("storage_options"), f"storage_options of connection {name!r}", references
        )
        options |= catalog
        of_spark = {key: value for key, value in secret.items() if key.startswith("spark.")}
        spark = _spark(extra, name, references)
        return cls(
            uri=str(uri).rstrip("/"),
            catalog_name=str(extra.get("catalog_name") or name).lower(),
            storage_options={**options, **{k: v for k, v in secret.items() if k not in of_spark}},
            secrets=(
                *secret.values(),
                *references.secrets,
                *looking_secret({**options, **spark.conf}),
            ),
            spark=spark.with_conf(of_spark | _hidden(of_spark, spark.conf)),
        )

    def job_options(self) -> dict[str, str]:
        """The options of a job spec: storage options under ``storage.``."""
        return {f"storage.{key}": value for key, value in self.storage_options.items()}


def looking_secret(settings: Mapping[str, Any]) -> list[str]:
    """Values that are masked though they are not in the password: their names say what they are."""
    found = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found += looking_secret(value)
        elif isinstance(value, str) and _SECRET.search(key) and len(value) > 3:
            found.append(value)
    return found


def _nowhere(conn_id: str) -> Connection:
    raise ArgumentError(f"nobody knows connection {conn_id!r}", argument="conn", value=conn_id)


def _secret(
    password: str | None, name: str, references: References, *, plain: bool
) -> dict[str, str]:
    """The password as options; where ``plain`` is allowed, one option may be all of it."""
    if plain and password and not password.lstrip().startswith("{"):
        return {_JDBC_PASSWORD: references.filled(password)}
    return _texts(password, f"password of connection {name!r}", references)


def _catalog(extra: Mapping[str, Any], login: str | None, name: str) -> dict[str, str]:
    """What the form says of the catalog, as Paimon names it."""
    metastore = str(extra.get("metastore") or "")
    if metastore:
        _require_one_of("metastore", metastore, METASTORES, name)
    found = {
        "metastore": metastore,
        "uri": extra.get("metastore_uri"),
        "catalog-key": extra.get("catalog_key"),
        "lock.enabled": "true" if str(extra.get("lock_enabled")).lower() == "true" else None,
        "jdbc.user": login,
    }
    return {key: str(value) for key, value in found.items() if value}


def _hidden(secret: Mapping[str, str], conf: Mapping[str, str]) -> dict[str, str]:
    """Configuration that keeps secrets off the pages of Spark, whatever their names are."""
    if not secret and not looking_secret(conf):
        return {}
    given = [conf[_REDACTION]] if _REDACTION in conf else []
    return {_REDACTION: "|".join([*given, f"(?i){_SECRET_NAMES}", *map(re.escape, sorted(secret))])}


def _spark(extra: Mapping[str, Any], name: str, references: References) -> SparkSettings:
    backend = str(extra.get("spark_backend") or "local")
    _require_one_of("spark_backend", backend, BACKENDS, name)
    port = str(extra.get("spark_rest_port") or 6066)
    if not port.isdigit():
        raise ArgumentError(
            f"connection {name!r}: spark_rest_port={port!r} is no number",
            argument="spark_rest_port",
            value=port,
        )
    return SparkSettings(
        backend=backend,
        master=str(extra.get("spark_master") or "local[*]"),
        conf=_texts(extra.get("spark_conf"), f"spark_conf of connection {name!r}", references),
        job_folder=extra.get("spark_job_folder") or None,
        rest_port=int(port),
    )


def _require_one_of(setting: str, value: str, known: tuple[str, ...], name: str) -> None:
    if value not in known:
        raise ArgumentError(
            f"connection {name!r}: {setting}={value!r} is none of {', '.join(known)}",
            argument=setting,
            value=value,
        )


def _texts(value: object, what: str, references: References) -> dict[str, str]:
    """A flat JSON object of texts, given as an object or as its text; references are filled in."""
    if value is None or value == "":
        return {}
    document = value
    if isinstance(value, str):
        try:
            document = json.loads(value)
        except ValueError:
            document = None
    if not isinstance(document, dict):
        raise ArgumentError(f"{what} is not a JSON object", argument=what, value=None)
    return {
        str(key): item if isinstance(item, str) else json.dumps(item)
        for key, item in references.filled(document).items()
    }
