"""Options of a catalog: which one keeps the names of tables, and who keeps writers apart.

They come with the storage options, under Paimon's names, so that one set of settings serves both.
What is none of these is for the store.  Source: ``org.apache.paimon.options.CatalogOptions``,
``org.apache.paimon.jdbc.JdbcCatalogOptions``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.errors import OptionError, UnsupportedFeatureError
from table_core.options import parse
from table_core.options.hive import is_hive_option
from table_core.options.rest import is_rest_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["LOCAL_TABLES", "CatalogOptions"]

T = TypeVar("T")
_LOGIN: Final = "jdbc."
LOCAL_TABLES: Final = "local-tables.enabled"
_OBJECT_STORES: Final = ("s3:", "s3a:", "s3n:", "gs:", "gcs:", "abfs:", "abfss:", "az:", "oss:")
_OWN: Final = frozenset(
    {
        "metastore",
        "warehouse",
        "uri",
        "catalog-key",
        "lock.enabled",
        "lock.type",
        "lock.path",
        "lock-check-max-sleep",
        "lock-acquire-timeout",
        "lock-key-max-length",
        LOCAL_TABLES,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogOptions:
    """What ``storage_options`` say about the catalog; the rest of them is in ``storage``."""

    metastore: str = "filesystem"
    """``filesystem`` (folders are the catalog), ``jdbc``, ``rest`` or ``hive``."""
    uri: str | None = field(default=None, repr=False)
    """``jdbc:<database>:...`` of the metastore, or of a lock of type ``jdbc``; of ``rest`` and ``hive`` the server."""
    hive: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What ``HiveOptions`` reads, with the ``uri``; empty if the metastore is another."""
    rest: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What ``RestOptions`` reads, with the ``uri``; empty if the metastore is another."""
    login: Mapping[str, str] = field(default_factory=dict, repr=False)
    """``jdbc.user``, ``jdbc.password`` and their like, without the prefix."""
    catalog_key: str = "jdbc"
    """Catalogs of several warehouses may share a database: this tells them apart."""
    lock_type: str | None = None
    """``jdbc``, ``file``, ``hive``, or None: no lock."""
    lock_path: str | None = None
    """Folder of the lock files."""
    check_max_sleep_ms: int = 8_000
    acquire_timeout_ms: int = 480_000
    """How long to wait for a lock; one that is held for longer counts as forgotten."""
    key_length_max: int = 255
    local_tables: bool = False
    """Whether a REST server or a Hive metastore may say that a table lies in a folder of this machine."""
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, warehouse: str, options: Mapping[str, Any]) -> CatalogOptions:
        """Read ``options``.

        Raises:
            OptionError: a value does not parse, or two do not fit together.
            UnsupportedFeatureError: a catalog of Paimon's that this release has not.
        """
        known = {key: str(value) for key, value in options.items() if key in _OWN}
        if known.get("metastore", "").lower() == "glue":
            raise UnsupportedFeatureError(
                "metastore=glue is not in this release. Keep the tables on S3 with metastore=filesystem, and let Glue "
                "show them to others, by a crawler or CREATE EXTERNAL TABLE",
                feature="Glue catalog",
            )
        kinds = parse.choice("filesystem", "jdbc", "rest", "hive")
        metastore = _read(known, "metastore", kinds, "filesystem")
        is_served, is_hive = metastore == "rest", metastore == "hive"
        parsed = cls(
            metastore=metastore,
            uri=known.get("uri"),
            rest={
                k: str(v)
                for k, v in options.items()
                if is_served and (k == "uri" or is_rest_option(k))
            },
            hive={
                k: str(v)
                for k, v in options.items()
                if is_hive and (k == "uri" or is_hive_option(k))
            },
            login={k[len(_LOGIN) :]: str(v) for k, v in options.items() if k.startswith(_LOGIN)},
            catalog_key=known.get("catalog-key", "jdbc"),
            lock_type=_lock_type(known, warehouse),
            lock_path=known.get("lock.path"),
            check_max_sleep_ms=_read(known, "lock-check-max-sleep", parse.duration_ms, 8_000),
            acquire_timeout_ms=_read(known, "lock-acquire-timeout", parse.duration_ms, 480_000),
            key_length_max=_read(known, "lock-key-max-length", parse.integer, 255),
            local_tables=_read(known, LOCAL_TABLES, parse.boolean, _is_folder(warehouse)),
            storage={
                k: v
                for k, v in options.items()
                if k not in _OWN
                and not k.startswith(_LOGIN)
                and not (is_served and is_rest_option(k))
                and not (is_hive and is_hive_option(k))
            },
        )
        parsed.check(warehouse, known.get("warehouse"))
        return parsed

    def check(self, warehouse: str, again: str | None) -> None:
        """Require that the options fit together."""
        if again is not None and again.rstrip("/") != warehouse.rstrip("/"):
            raise OptionError(
                f"option 'warehouse' is {again!r}, not {warehouse!r}", option="warehouse"
            )
        if self.metastore == "rest" and self.lock_type is not None:
            raise OptionError(
                "a REST catalog has no lock: its server says who wins. Leave 'lock.enabled' and 'lock.type' out",
                option="lock.type",
                value=self.lock_type,
            )
        if self.metastore == "hive" and self.lock_type == "jdbc":
            raise OptionError(
                "lock.type=jdbc needs the option 'uri' for itself, and a Hive catalog has its metastore there: take "
                "the lock of the metastore, with lock.enabled=true alone",
                option="lock.type",
                value="jdbc",
            )
        if self.lock_type == "hive" and self.metastore != "hive":
            raise OptionError(
                "lock.type=hive is the lock of a Hive catalog: it needs metastore=hive",
                option="lock.type",
                value="hive",
            )
        if "jdbc" in (self.metastore, self.lock_type) and not (self.uri or "").startswith("jdbc:"):
            raise OptionError(
                "a JDBC catalog needs the option 'uri', e.g. jdbc:postgresql://host:5432/db",
                option="uri",
                value=None,
            )
        if self.lock_type == "file" and not self.lock_path:
            raise OptionError(
                "lock.type=file needs the option 'lock.path': a folder that all writers share",
                option="lock.path",
                value=None,
            )


def _is_folder(warehouse: str) -> bool:
    """Whether a warehouse is a folder of this machine; a plain name is the name that a REST server knows."""
    return warehouse.startswith("/") or warehouse.lower().startswith("file:")


def _lock_type(known: Mapping[str, str], warehouse: str) -> str | None:
    """The lock in force: a JDBC and a Hive catalog bring their own, any other has to name one.

    A Hive catalog takes its lock on an object store without being asked: so does Paimon, whose writers check and then
    move there.
    """
    metastore = known.get("metastore", "filesystem").lower()
    on_its_own = metastore == "hive" and warehouse.lower().startswith(_OBJECT_STORES)
    if not _read(known, "lock.enabled", parse.boolean, "lock.type" in known or on_its_own):
        return None
    if metastore not in {"jdbc", "hive"} and "lock.type" not in known:
        raise OptionError(
            "lock.enabled=true needs lock.type=jdbc or lock.type=file with a file system catalog",
            option="lock.type",
            value=None,
        )
    kinds = parse.choice("jdbc", "file", "hive")
    return _read(known, "lock.type", kinds, metastore)


def _read(known: Mapping[str, str], key: str, parse_text: Callable[[str], T], default: T) -> T:
    if key not in known:
        return default
    try:
        return parse_text(known[key])
    except ValueError as error:
        raise OptionError(
            f"option {key!r} cannot be {known[key]!r}: {error}", option=key, value=known[key]
        ) from error
