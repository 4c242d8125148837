"""What a ``paimon`` connection says: where the tables are, and where Spark is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import conf
from paimon_provider.connections.references import References
from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import ENGINES
from table_core.options.nearest import meant, require_one_of
from table_core.options.spark_master import require_master, require_memory
from table_core.options.spark_settings import require_printable, require_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paimon_provider._compat import Connection

__all__ = ["BACKENDS", "EXTRAS", "METASTORES", "SparkSettings", "Warehouse", "looking_secret"]

BACKENDS: Final = ("local", "spark-submit", "standalone", "connect")
METASTORES: Final = ("filesystem", "jdbc", "rest", "hive")
_JDBC_PASSWORD: Final = "jdbc.password"
_REST: Final = "rest"
_HIVE: Final = "hive"
_SECRET_NAMES: Final = (
    "secret|passw|passphrase|token|access.?key|account.?key|private.?key|ssl.?key|key.?pem|api.?key"
    "|sas|credential|jaas|user.?info|pwd|connection.?string|encryption.?key|signature|authorization|cookie"
)
_SECRET: Final = re.compile(_SECRET_NAMES, re.IGNORECASE)
_PLAIN: Final = frozenset({"token.provider", "data-token.enabled", "dlf.token-path"})
"""They are named like secrets and are none: to mask ``bear`` or ``true`` would spoil every log."""
_IN_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]{4,})@", re.IGNORECASE)
"""The password of ``scheme://user:password@host``."""
_REDACTION: Final = "spark.redaction.regex"
EXTRAS: Final = (
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
    "env",
    "sql_limits",
    "auto_limits",
    "engine",
)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_PORTS: Final = 1 << 16
_SQL_LIMITS: Final = ("memory-limit", "disk-limit", "time-limit", "threads")
_AUTO_LIMITS: Final = ("bytes", "rows")


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
    env: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    """What a job's environment has besides the usual; None: as the worker has it."""

    def __post_init__(self) -> None:
        """Refuse what would be more than one setting, argument or variable to somebody.

        Raises:
            ArgumentError: a name has no such form, something holds a control character, or the
                master is none that the backend can use.
        """
        require_settings(self.conf)
        require_memory(self.conf)
        require_printable(self.master, "spark_master")
        require_one_of("spark_backend", self.backend, BACKENDS)
        require_master(self.backend, self.master)
        if self.job_folder is not None:
            require_printable(self.job_folder, "spark_job_folder")
        for name, value in self.env.items():
            if not _VARIABLE.fullmatch(str(name)):
                raise ArgumentError(f"env: {name!r} is no name of a variable", argument="env")
            if value is not None:
                require_printable(value, f"env[{name!r}]")

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
    sql_limits: Mapping[str, str] = field(default_factory=dict)
    """``memory-limit``, ``disk-limit``, ``time-limit`` and ``threads`` of a query in the worker."""
    auto_limits: Mapping[str, str] = field(default_factory=dict)
    """``bytes`` and ``rows``: up to so much, ``engine="auto"`` runs a job in the worker."""
    engine: str = ""
    """What runs a job whose task does not say; '': the connection does not say either."""

    @classmethod
    def of(
        cls, connection: Connection, lookup: Callable[[str], Connection] | None = None
    ) -> Warehouse:
        """Read ``connection``, every setting by its name.

        The warehouse is the extra ``warehouse``, else the host with port and schema, as a URI of a
        connection has them: ``paimon://s3://lake/wh``.  Storage options that are secret
        go into the password as a JSON object; they are added to the extra ``storage_options``, and
        those that begin with ``spark.`` to ``spark_conf``.  With ``metastore`` ``jdbc`` the login is
        the user of the catalog's database, and a password that is no JSON object is its password.
        With ``rest`` the warehouse is the name that the server knows it by, and a password that is
        no JSON object is the bearer token.  With ``hive`` there is neither login nor password.
        Options, configuration and password may refer to other connections, which ``lookup`` gives:
        ``{{ conn.minio.password }}``.

        Raises:
            ArgumentError: no warehouse, an unknown extra, or one that does not parse, or a
                reference that leads nowhere.
        """
        name = connection.conn_id
        extra = connection.extra_dejson
        _require_ours(connection, extra)
        uri = _warehouse(connection, extra)
        references = References(lookup or _nowhere)
        catalog = _catalog(extra, connection.login, name)
        options = _texts(
            extra.get("storage_options"), f"storage_options of connection {name!r}", references
        )
        options |= catalog
        secret = _secret(connection.password, name, references, options)
        of_spark = {key: value for key, value in secret.items() if key.startswith("spark.")}
        spark = _spark(extra, name, references)
        require_printable(uri, "warehouse")
        if not _is_served(options):  # the server knows it by a name
            _require_place(uri, name)
        return cls(
            uri=uri.rstrip("/"),
            catalog_name=str(extra.get("catalog_name") or name).lower(),
            storage_options={**options, **{k: v for k, v in secret.items() if k not in of_spark}},
            secrets=(
                *_leaves(secret),
                *references.secrets,
                *looking_secret({**options, **spark.conf, **spark.env}),
            ),
            sql_limits=_limits("sql_limits", extra.get("sql_limits"), _SQL_LIMITS, name),
            auto_limits=_limits("auto_limits", extra.get("auto_limits"), _AUTO_LIMITS, name),
            spark=spark.with_conf(of_spark | _hidden(of_spark, spark.conf)),
            engine=_engine(extra.get("engine"), f"connection {name!r}: engine"),
        )

    @property
    def is_served(self) -> bool:
        """Whether a REST server keeps the catalog, and says where each table lies."""
        return _is_served(self.storage_options)

    @property
    def place(self) -> str:
        """What tells it from other warehouses: its URI; of a REST catalog, with that of the server."""
        server = self.storage_options.get("uri", "").rstrip("/")
        return f"{server}/{self.uri}" if self.is_served else self.uri

    @property
    def default_engine(self) -> str:
        """What runs a job whose task does not say: as the connection says, else Airflow's ``[paimon] engine``.

        Raises:
            ArgumentError: that setting is none of ``ENGINES``.
        """
        if self.engine:
            return self.engine
        return _engine(conf.get("paimon", "engine", fallback=""), "[paimon] engine") or "spark"

    def job_options(self) -> dict[str, str]:
        """The options of a job spec: storage options under ``storage.``, limits under ``sql.``."""
        storage = {f"storage.{key}": value for key, value in self.storage_options.items()}
        return storage | {f"sql.{key}": value for key, value in self.sql_limits.items()}


def looking_secret(settings: Mapping[str, Any]) -> list[str]:
    """Values that are masked though they are not in the password: their names say what they are.

    Also those inside of others, which may be written as JSON: ``{"client_kwargs": '{"secret": "x"}'}``.
    """
    secrets = []
    for key, value in settings.items():
        for item in _items(value):
            is_secret = key not in _PLAIN and _SECRET.search(str(key))
            if isinstance(item, Mapping):
                secrets += _leaves(item) if is_secret else looking_secret(item)
            elif isinstance(item, str) and len(item) > 3:
                secrets += [item] if is_secret else _IN_ADDRESS.findall(item)
    return secrets


def _items(value: Any) -> Iterator[Any]:
    """``value``, or what a list of it holds, and what its JSON says."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _items(one)
        return
    yield value
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            said = json.loads(value)
        except (ValueError, RecursionError):  # no JSON
            return
        yield from _items(said)


def _leaves(value: Any) -> list[str]:
    """Every text in ``value``, however deep: all of it is secret."""
    leaves = []
    for item in _items(value):
        if isinstance(item, Mapping):
            leaves += [leaf for k, one in item.items() if k not in _PLAIN for leaf in _leaves(one)]
        elif isinstance(item, str) and item:
            leaves.append(item)
    return leaves


def _require_ours(connection: Connection, extra: Mapping[str, Any]) -> None:
    """Refuse a connection of another type, and extras that nobody reads."""
    name = connection.conn_id
    if connection.conn_type not in (None, "", "paimon", "generic"):
        raise ArgumentError(
            f"connection {name!r} is of type {connection.conn_type!r}: name one of type 'paimon', which says where "
            "the warehouse is",
            argument="paimon_conn_id",
            value=connection.conn_type,
        )
    unknown = sorted(set(extra) - set(EXTRAS))
    if unknown:
        raise ArgumentError(
            f"connection {name!r} has unknown extras "
            f"{', '.join(f'{key}{meant(key, EXTRAS)}' for key in unknown)}; "
            f"known: {', '.join(EXTRAS)}",
            argument="extra",
            value=unknown,
        )


def _warehouse(connection: Connection, extra: Mapping[str, Any]) -> str:
    """Where the tables are: a URI, or an absolute path.

    Raises:
        ArgumentError: nothing says it, several things do, or it depends on who reads it.
    """
    name, host = connection.conn_id, connection.host
    path = (connection.schema or "").strip("/")
    where = extra.get("warehouse")
    if not where and host:
        port = f":{connection.port}" if connection.port else ""
        where = f"{host.rstrip('/') if path else host}{port}{path and '/' + path}"
    elif path or connection.port:
        raise ArgumentError(
            f"connection {name!r} has a port or a schema ({path!r}) that belongs to no host: name the "
            "whole warehouse in one place, e.g. in the extra 'warehouse'",
            argument="warehouse",
            value=path,
        )
    if not where:
        raise ArgumentError(
            f"connection {name!r} names no warehouse: set it, e.g. to file:///data/wh",
            argument="warehouse",
            value=None,
        )
    return str(where)


def _require_place(uri: str, name: str) -> None:
    """Refuse a warehouse that is another one in the folder of each worker."""
    if not re.match(r"/|[a-z][a-z0-9+.-]*:/", uri, re.IGNORECASE):
        raise ArgumentError(
            f"connection {name!r}: the warehouse {uri!r} is neither a URI nor an absolute path; each "
            "worker would make its own.  In a connection URI write the whole one, e.g. "
            "paimon://s3://lake/wh, or ?warehouse=s3%3A%2F%2Flake%2Fwh",
            argument="warehouse",
            value=uri,
        )


def _nowhere(conn_id: str) -> Connection:
    raise ArgumentError(f"nobody knows connection {conn_id!r}", argument="conn", value=conn_id)


def _secret(
    password: str | None, name: str, references: References, options: Mapping[str, str]
) -> dict[str, str]:
    """The password as options; where a catalog takes one secret, that may be all of it."""
    if password and not password.lstrip().startswith("{"):
        if options.get("metastore") == "jdbc":
            return {_JDBC_PASSWORD: references.filled(password)}
        if _is_served(options) and options.get("token.provider", "bear") == "bear":
            return {"token.provider": "bear", "token": references.filled(password)}
    return _texts(password, f"password of connection {name!r}", references)


def _catalog(extra: Mapping[str, Any], login: str | None, name: str) -> dict[str, str]:
    """What the form says of the catalog, as Paimon names it."""
    metastore = str(extra.get("metastore") or "")
    if metastore:
        _require_one_of("metastore", metastore, METASTORES, name)
    if metastore == _REST and login:
        raise ArgumentError(
            f"connection {name!r} has a login, and a REST catalog takes none: the password is the token",
            argument="login",
            value=None,
        )
    if metastore == _HIVE and login:
        raise ArgumentError(
            f"connection {name!r} has a login, and a Hive catalog takes none",
            argument="login",
            value=None,
        )
    settings = {
        "metastore": metastore,
        "uri": extra.get("metastore_uri"),
        "catalog-key": extra.get("catalog_key"),
        "lock.enabled": "true" if str(extra.get("lock_enabled")).lower() == "true" else None,
        "jdbc.user": login,
    }
    return {key: str(value) for key, value in settings.items() if value}


def _is_served(options: Mapping[str, str]) -> bool:
    return options.get("metastore", "").lower() == _REST


def _hidden(secret: Mapping[str, str], conf: Mapping[str, str]) -> dict[str, str]:
    """Configuration that keeps secrets off the pages of Spark, whatever their names are."""
    if not secret and not looking_secret(conf):
        return {}
    own = [conf[_REDACTION]] if _REDACTION in conf else []
    return {_REDACTION: "|".join([*own, f"(?i){_SECRET_NAMES}", *map(re.escape, sorted(secret))])}


def _spark(extra: Mapping[str, Any], name: str, references: References) -> SparkSettings:
    backend = str(extra.get("spark_backend") or "local")
    _require_one_of("spark_backend", backend, BACKENDS, name)
    port = str(extra.get("spark_rest_port") or 6066)
    if not port.isdecimal() or not 0 < int(port) < _PORTS:
        raise ArgumentError(
            f"connection {name!r}: spark_rest_port={port!r} is no number of a port",
            argument="spark_rest_port",
            value=port,
        )
    return SparkSettings(
        backend=backend,
        master=str(extra.get("spark_master") or "local[*]"),
        conf=_texts(extra.get("spark_conf"), f"spark_conf of connection {name!r}", references),
        job_folder=extra.get("spark_job_folder") or None,
        rest_port=int(port),
        env=_environment(extra.get("env"), name, references),
    )


def _environment(value: object, name: str, references: References) -> dict[str, str | None]:
    """Variables by name; null, or a name in a list, is that of the worker."""
    document = value
    if isinstance(value, str) and value:
        try:
            document = json.loads(value)
        except ValueError:
            document = value
    if isinstance(document, list):
        document = dict.fromkeys(map(str, document))
    if document in (None, ""):
        return {}
    if not isinstance(document, dict):
        raise ArgumentError(
            f"env of connection {name!r} is no JSON object of variables, nor a list of names",
            argument="env",
        )
    passed = {str(key): None for key, item in document.items() if item is None}
    variables = {key: item for key, item in document.items() if item is not None}
    return {**passed, **_texts(variables, f"env of connection {name!r}", references)}


def _limits(setting: str, value: object, known: tuple[str, ...], name: str) -> dict[str, str]:
    limits = _texts(value, f"{setting} of connection {name!r}", References(_nowhere))
    unknown = sorted(set(limits) - set(known))
    if unknown:
        raise ArgumentError(
            f"{setting} of connection {name!r}: {', '.join(unknown)} is none of {', '.join(known)}",
            argument=setting,
            value=unknown,
        )
    return limits


def _engine(value: object, what: str) -> str:
    """One of ``ENGINES``; '' if nothing is said."""
    said = str(value or "").strip().lower()
    if said and said not in ENGINES:
        raise ArgumentError(
            f"{what}={value!r} is none of {', '.join(ENGINES)}{meant(said, ENGINES)}",
            argument="engine",
            value=value,
        )
    return said


def _require_one_of(setting: str, value: str, known: tuple[str, ...], name: str) -> None:
    if value not in known:
        raise ArgumentError(
            f"connection {name!r}: {setting}={value!r} is none of {', '.join(known)}"
            f"{meant(value, known)}",
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
