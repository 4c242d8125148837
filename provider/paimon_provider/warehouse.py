"""What a ``paimon`` connection says: where the tables are, and where Spark is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paimon_provider._compat import Connection

__all__ = ["BACKENDS", "SparkSettings", "Warehouse"]

BACKENDS: Final = ("local", "spark-submit", "standalone", "connect")
_SECRET: Final = re.compile(
    r"secret|passw|token|access.?key|account.?key|sas|credential", re.IGNORECASE
)
_EXTRAS: Final = (
    "warehouse",
    "catalog_name",
    "storage_options",
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
    def of(cls, connection: Connection) -> Warehouse:
        """Read ``connection``, every setting by its name.

        The warehouse is the extra ``warehouse``, else the host.  Storage options that are secret
        go into the password as a JSON object; they are added to the extra ``storage_options``, and
        those that begin with ``spark.`` to ``spark_conf``.

        Raises:
            ArgumentError: no warehouse, an unknown extra, or one that does not parse.
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
        secret = _texts(connection.password, f"password of connection {name!r}")
        options = _texts(extra.get("storage_options"), f"storage_options of connection {name!r}")
        of_spark = {key: value for key, value in secret.items() if key.startswith("spark.")}
        spark = _spark(extra, name)
        return cls(
            uri=str(uri).rstrip("/"),
            catalog_name=str(extra.get("catalog_name") or name).lower(),
            storage_options={**options, **{k: v for k, v in secret.items() if k not in of_spark}},
            secrets=(*secret.values(), *_looking_secret({**options, **spark.conf})),
            spark=spark.with_conf(of_spark),
        )

    def job_options(self) -> dict[str, str]:
        """The options of a job spec: storage options under ``storage.``."""
        return {f"storage.{key}": value for key, value in self.storage_options.items()}


def _looking_secret(settings: Mapping[str, str]) -> list[str]:
    """Values that are masked though they are not in the password: their names say what they are."""
    return [value for key, value in settings.items() if _SECRET.search(key) and len(value) > 3]


def _spark(extra: Mapping[str, Any], name: str) -> SparkSettings:
    backend = str(extra.get("spark_backend") or "local")
    if backend not in BACKENDS:
        raise ArgumentError(
            f"connection {name!r}: spark_backend={backend!r} is none of {', '.join(BACKENDS)}",
            argument="spark_backend",
            value=backend,
        )
    return SparkSettings(
        backend=backend,
        master=str(extra.get("spark_master") or "local[*]"),
        conf=_texts(extra.get("spark_conf"), f"spark_conf of connection {name!r}"),
        job_folder=extra.get("spark_job_folder") or None,
        rest_port=int(extra.get("spark_rest_port") or 6066),
    )


def _texts(value: object, what: str) -> dict[str, str]:
    """A flat JSON object of texts, given as an object or as its text."""
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
        for key, item in document.items()
    }
