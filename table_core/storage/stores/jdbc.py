"""A database that is named as Java names it: ``jdbc:<database>:<where>``.

Each use is one connection of its own, each statement its own transaction, as in Paimon's JDBC
catalog: nothing is shared between threads, and nothing has to survive a fork.
"""

from __future__ import annotations

import importlib
import re
import urllib.parse
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import (
    AccessDeniedError,
    MissingPackageError,
    OptionError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from table_core.storage.stores.jdbc_tls import mysql_settings, postgres_settings
from table_core.storage.stores.mysql_connection import mysql_connection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.errors import TableError

__all__ = ["JdbcDatabase", "Session"]

_URI: Final = re.compile(r"jdbc:(?P<kind>[a-z]+):(?P<rest>.*)", re.DOTALL)
_CONNECT_SECONDS: Final = 20
_REFUSED: Final = re.compile(r"password|authentication|access denied|denied to user", re.IGNORECASE)
_NOT_THERE: Final = re.compile(
    r"unknown database|database \"[^\"]*\" does not exist|unable to open database file",
    re.IGNORECASE,
)
_DRIVERS: Final = {
    "postgresql": ("psycopg2", "postgres", "PostgreSQL"),
    "mysql": ("pymysql", "mysql", "MySQL"),
    "mariadb": ("pymysql", "mysql", "MariaDB"),
    "sqlite": ("sqlite3", "", "SQLite"),
}
_HAS_TABLE: Final = {
    "postgresql": "SELECT 1 WHERE to_regclass(?) IS NOT NULL",
    "mysql": "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
    "sqlite": "SELECT 1 FROM sqlite_master WHERE name = ?",
}
_HAS_TABLE["mariadb"] = _HAS_TABLE["mysql"]
_POSTGRES: Final = {"ApplicationName": "application_name"}
_IGNORED: Final = frozenset({"allowPublicKeyRetrieval", "serverTimezone"})
"""Settings of Java's drivers that mean nothing to ours."""


@dataclass(frozen=True, slots=True)
class Session:
    """An open connection.  Statements have ``?`` for values.

    Raises:
        StorageUnavailableError: a statement failed, or the connection broke.
    """

    database: JdbcDatabase
    connection: Any = field(repr=False)
    driver: Any = field(repr=False)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query gives."""
        with self._cursor(statement, values) as cursor:
            return [tuple(row) for row in cursor.fetchall()]

    def change(self, statement: str, *values: object) -> int:
        """How many rows a statement changed."""
        with self._cursor(statement, values) as cursor:
            changed: int = cursor.rowcount
            return changed

    def insert(self, statement: str, *values: object) -> bool:
        """Whether the row was new; False if its key is taken, or others are at it."""
        try:
            self.change(statement, *values)
        except _TakenError:
            return False
        return True

    def has_table(self, name: str) -> bool:
        """Whether the table ``name`` is there."""
        return bool(self.rows(_HAS_TABLE[self.database.kind], name))

    def create_table(self, name: str, statement: str) -> None:
        """Run ``statement``, which makes the table ``name``, unless it is there."""
        if not self.has_table(name):
            # Another may make it at this moment; PostgreSQL calls that a duplicate key.
            self.insert(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))

    @contextmanager
    def _cursor(self, statement: str, values: Sequence[object]) -> Iterator[Any]:
        text = statement
        if self.database.kind != "sqlite":
            text = statement.replace("%", "%%").replace("?", "%s")
        try:
            cursor = self.connection.cursor()
            try:
                cursor.execute(text, values)
                yield cursor
            finally:
                cursor.close()
        except self.driver.Error as error:
            if isinstance(error, self.driver.IntegrityError) or _is_busy(error):
                raise _TakenError(str(error), path=self.database.shown, reason="taken") from error
            raise self.database.explained(error, "ask") from error


class _TakenError(StorageUnavailableError):
    """The key is there, or another transaction is making it."""


def _is_busy(error: BaseException) -> bool:
    """MySQL: deadlock, lock wait timeout; SQLite: the file is locked."""
    return bool(error.args) and (error.args[0] in {1205, 1213} or "is locked" in str(error))


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    """The database at ``uri``.  ``login``: what Paimon calls ``jdbc.user``, ``jdbc.password``, ..."""

    uri: str = field(repr=False)
    login: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no URI of a database that we know.

        Raises:
            UnsupportedFeatureError: no such database here.
        """
        match = _URI.fullmatch(self.uri)
        if match is None or match["kind"] not in _DRIVERS:
            raise UnsupportedFeatureError(
                f"{self.shown} names no database that can keep a catalog or its lock: use "
                "jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb: or jdbc:sqlite:",
                feature="catalog database",
            )

    @property
    def kind(self) -> str:
        """``postgresql``, ``mysql``, ``mariadb`` or ``sqlite``."""
        return self.uri.split(":", 2)[1]

    @property
    def shown(self) -> str:
        """The URI without anything that may be secret."""
        return re.sub(r"//[^/@]*@", "//", self.uri.partition("?")[0])

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection, closed afterwards.

        Raises:
            StorageUnavailableError: the database does not answer, or a statement failed.
            AccessDeniedError: it does not let us in.
            OptionError: there is no such database.
            MissingPackageError: the driver is not installed.
        """
        driver = self._driver()
        try:
            connection = self._connect(driver)
        except driver.Error as error:
            raise self.explained(error, "open") from error
        try:
            yield Session(self, connection, driver)
        finally:
            with suppress(driver.Error):  # it was lost before: what counts has been raised
                connection.close()

    def rows(self, statement: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """What a query gives."""
        with self.session() as session:
            return session.rows(statement, *values)

    def change(self, statement: str, *values: object) -> int:
        """How many rows a statement changed."""
        with self.session() as session:
            return session.change(statement, *values)

    def _driver(self) -> Any:
        module, extra, name = _DRIVERS[self.kind]
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise MissingPackageError.of(f"a catalog in {name}", extra, error) from error

    def _connect(self, driver: Any) -> Any:
        if self.kind == "sqlite":
            path = self.uri[len("jdbc:sqlite:") :].removeprefix("file:")
            return driver.connect(path, timeout=_CONNECT_SECONDS, isolation_level=None)
        parts, settings = self._parts()
        database = urllib.parse.unquote(parts.path.lstrip("/"))
        properties = {"user": parts.username, "password": parts.password, **settings, **self.login}
        user, password = properties.pop("user"), properties.pop("password")
        if self.kind == "postgresql":
            return self._postgres(driver, parts, database, user, password, properties)
        tls = mysql_settings(properties, self.shown)
        if properties:
            raise self._unknown(properties)
        return mysql_connection()(
            **tls,
            host=parts.hostname or "localhost",
            port=parts.port or 3306,
            user=user or "",
            password=password or "",
            database=database,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
        )

    def _postgres(
        self,
        driver: Any,
        parts: urllib.parse.SplitResult,
        database: str,
        user: str | None,
        password: str | None,
        properties: dict[str, Any],
    ) -> Any:
        schema = properties.pop("currentSchema", None)
        tls = postgres_settings(properties, self.shown)
        more = {_POSTGRES[key]: properties.pop(key) for key in list(properties) if key in _POSTGRES}
        if properties:
            raise self._unknown(properties)
        connection = driver.connect(
            host=parts.hostname or "localhost",
            port=parts.port or 5432,
            user=user,
            password=password,
            dbname=database,
            connect_timeout=_CONNECT_SECONDS,
            options=f"-c search_path={schema}" if schema else None,
            **more,
            **tls,
        )
        connection.autocommit = True
        return connection

    def _parts(self) -> tuple[urllib.parse.SplitResult, dict[str, str]]:
        try:
            parts = urllib.parse.urlsplit(self.uri[len("jdbc:") :])
            _ = parts.port
        except ValueError:  # whose text may have a part of the password
            raise OptionError(
                f"uri is no address of {self.kind}: write it as jdbc:{self.kind}://host:port/database",
                option="uri",
                value=None,
            ) from None
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        return parts, {key: value for key, value in query.items() if key not in _IGNORED}

    def _unknown(self, properties: Mapping[str, object]) -> OptionError:
        names = ", ".join(sorted(properties))
        return OptionError(
            f"{self.shown}: settings {names} of the connection are not known here; leave them out",
            option=next(iter(properties)),
            value=None,
        )

    def explained(self, error: BaseException, action: str) -> TableError:
        """What ``error`` of the driver means."""
        reason = str(error).strip() or type(error).__name__
        if _REFUSED.search(reason):
            return AccessDeniedError(
                f"may not {action} {self.shown}: {reason}; correct jdbc.user and jdbc.password in "
                "the storage options",
                path=self.shown,
                reason=reason,
            )
        if _NOT_THERE.search(reason):
            return OptionError(
                f"cannot {action} {self.shown}: {reason}; make it, or correct uri in the storage "
                "options",
                option="uri",
                value=self.shown,
            )
        return StorageUnavailableError(
            f"cannot {action} {self.shown}: {reason}; try again", path=self.shown, reason=reason
        )
