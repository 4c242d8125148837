"""DB-API 2.0 (PEP 249) over the tables of a warehouse, for what speaks to databases.

>>> from table_core import dbapi
>>> with dbapi.connect("memory://dbapi-example") as connection, connection.cursor() as cursor:
...     _ = cursor.execute("CREATE DATABASE shop")
...     _ = cursor.execute("CREATE TABLE shop.t (id BIGINT)")
...     _ = cursor.execute("INSERT INTO shop.t VALUES (:id)", {"id": 7})
...     cursor.execute("SELECT id FROM shop.t WHERE id = :id", {"id": 7}).fetchall()
[(7,)]

Each statement that changes rows is one commit, so ``commit`` has nothing to do and ``rollback`` is refused.
"""

from __future__ import annotations

import datetime as dt
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import pyarrow as pa

from table_core.errors import ArgumentError, ErrorKind, TableError
from table_core.errors import DataError as BadRowsError
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from table_core.table.metadata.results import ResultDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from table_core.table.api.sql.session import SqlSession
    from table_core.table.metadata.results import CommitAs
    from table_core.table.read.scan import Scan

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel: Final = "2.0"
threadsafety: Final = 1
"""Threads may share the module, and no connection."""
paramstyle: Final = "named"
"""``WHERE id = :id``, with ``{"id": 7}``."""

_ROWS_AT_ONCE: Final = 1024
"""As many become Python objects before they are asked for."""


# ---------------------------------------------------------------------------------------- errors
class Warning(Exception):  # noqa: N818 - PEP 249 names it
    """Is never raised: what goes wrong is an error."""


class Error(Exception):
    """Base of the errors. ``__cause__`` is the ``TableError`` that it stands for, if there is one."""

    def __init__(
        self, message: str, kind: ErrorKind | None = None, facts: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        """What to do next; None: the interface was used in a wrong way."""
        self.facts = dict(facts or {})
        """The evidence, such as ``line`` and ``column`` of a statement."""

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.kind, self.facts)


class InterfaceError(Error):
    """The connection or cursor is closed."""


class DatabaseError(Error):
    """Base of the errors of statements."""


class DataError(DatabaseError):
    """Rows do not fit the table, or Python."""


class OperationalError(DatabaseError):
    """A conflict, a store that does not answer, or an unknown outcome: ``kind`` says which."""


class IntegrityError(DatabaseError):
    """Is never raised: tables have no constraints between each other."""


class InternalError(DatabaseError):
    """Stored bytes contradict the format."""


class ProgrammingError(DatabaseError):
    """The statement or its parameters are wrong, or name what is not there."""


class NotSupportedError(DatabaseError):
    """What is not done here; the message says what to do instead."""


_OF_KIND: Final[Mapping[ErrorKind, type[DatabaseError]]] = {
    ErrorKind.CONFLICT: OperationalError,
    ErrorKind.UNAVAILABLE: OperationalError,
    ErrorKind.UNKNOWN_OUTCOME: OperationalError,
    ErrorKind.INVALID: ProgrammingError,
    ErrorKind.NOT_FOUND: ProgrammingError,
    ErrorKind.CORRUPT: InternalError,
    ErrorKind.UNSUPPORTED: NotSupportedError,
}


@contextmanager
def _as_database_errors() -> Iterator[None]:
    try:
        yield
    except TableError as error:
        of = DataError if isinstance(error, BadRowsError) else _OF_KIND[error.kind]
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        raise of(text, error.kind, error.facts) from error


# ----------------------------------------------------------------------------------------- types
class _Types(frozenset[str]):
    """Equal to each Arrow type that it stands for, as PEP 249 compares ``type_code``."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, pa.DataType):
            return _class_of(other) in self
        return frozenset.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


def _class_of(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "number"
    if types.is_temporal(kind):
        return "datetime"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "binary"
    return "nested"


STRING: Final = _Types({"string"})
BINARY: Final = _Types({"binary"})
NUMBER: Final = _Types({"number"})
DATETIME: Final = _Types({"datetime"})
ROWID: Final = _Types()

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 - PEP 249 names it
    """The local date of ``ticks`` seconds since the epoch."""
    return dt.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - PEP 249 names it
    """The local time of day of ``ticks`` seconds since the epoch."""
    return dt.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 - PEP 249 names it
    """The local time of ``ticks`` seconds since the epoch."""
    return dt.datetime(*time.localtime(ticks)[:6])  # noqa: DTZ001 - PEP 249 has no zones


# ----------------------------------------------------------------------------------- connections
def connect(
    warehouse: str | Path | Catalog,
    *,
    database: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    commit_as: Callable[[], CommitAs] | None = None,
) -> Connection:
    """A connection to ``warehouse``, with a session of its own: ``USE`` and ``SET`` hold for what follows.

    Args:
        warehouse: as ``open_catalog`` takes it, or an open catalog.
        database: where names without a database are looked up.
        storage_options: as ``open_catalog`` takes them.
        options: limits of queries, such as ``{"sql.memory-limit": "1 gb"}``.
        commit_as: who commits; it is asked for each statement that changes rows. Default: a random name.

    Raises:
        DatabaseError: the warehouse or an option is none.
    """
    with _as_database_errors():
        catalog = warehouse
        if not isinstance(catalog, Catalog):
            catalog = open_catalog(catalog, storage_options=dict(storage_options or {}))
        elif storage_options:
            raise ArgumentError(
                "storage_options: an open catalog has its own", argument="storage_options"
            )
        return Connection(catalog.sql_session(database, options, commit_as))


class Connection:
    """A session of SQL. Leaving its ``with`` closes it."""

    Warning: ClassVar = Warning
    Error: ClassVar = Error
    InterfaceError: ClassVar = InterfaceError
    DatabaseError: ClassVar = DatabaseError
    DataError: ClassVar = DataError
    OperationalError: ClassVar = OperationalError
    IntegrityError: ClassVar = IntegrityError
    InternalError: ClassVar = InternalError
    ProgrammingError: ClassVar = ProgrammingError
    NotSupportedError: ClassVar = NotSupportedError

    def __init__(self, session: SqlSession) -> None:
        self._session: SqlSession | None = session

    @property
    def session(self) -> SqlSession:
        """What runs the statements.

        Raises:
            InterfaceError: the connection is closed.
        """
        if self._session is None:
            raise InterfaceError("the connection is closed: connect again")
        return self._session

    def cursor(self) -> Cursor:
        """A cursor, which runs one statement after the other."""
        _ = self.session
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: what a statement has changed is committed when it is done."""
        _ = self.session

    def rollback(self) -> None:
        """Refuse: each statement is a transaction.

        Raises:
            NotSupportedError: always, on an open connection.
        """
        _ = self.session
        raise NotSupportedError(
            "rollback is not supported: each statement is committed when it is done; "
            "CALL sys.rollback(table => …, version => …) goes back to a snapshot",
            ErrorKind.UNSUPPORTED,
            {"feature": "rollback"},
        )

    def close(self) -> None:
        """Close it; a second time does nothing."""
        self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


# --------------------------------------------------------------------------------------- cursors
class Cursor:
    """Runs statements and gives their rows: as tuples, or as Arrow. Leaving its ``with`` closes it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        """As many rows ``fetchmany`` gives by default."""
        self.description: tuple[tuple[Any, ...], ...] | None = None
        """Of each column its name, Arrow type, None twice, precision and scale of a DECIMAL, and whether it may be
        NULL; None: the statement gives no rows."""
        self.rowcount = -1
        """Always -1: rows are streamed, and what a change did is in ``result``."""
        self.result: ResultDocument | None = None
        """What a statement did that gives no rows; None for definitions, and for queries."""
        self._schema: pa.Schema | None = None
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._is_closed = False

    def execute(self, operation: str, parameters: Mapping[str, Any] | None = None) -> Self:
        """Run one statement, and return this cursor.

        Args:
            operation: one statement. Several are refused.
            parameters: the values of ``:name``: texts, numbers, truth values, dates, ``datetime`` (with a zone it
                is a TIMESTAMP, without one a TIMESTAMP_NTZ), ``Decimal``, ``bytes`` or None. They are bound,
                never pasted.

        Raises:
            DatabaseError: see the errors of this module; ``kind`` says what to do next.
            InterfaceError: the cursor or its connection is closed.
        """
        session = self._open_session()
        self._forget()
        if parameters is not None and not hasattr(parameters, "keys"):
            raise ProgrammingError(
                "parameters are named: write :name in the statement, and pass {'name': value}",
                ErrorKind.INVALID,
                {"argument": "parameters"},
            )
        with _as_database_errors():
            done = session.sql(operation, parameters)
            if isinstance(done, ResultDocument):
                self.result = done
            elif len(done.schema):
                self._give(done)
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Mapping[str, Any]]) -> Self:
        """Run a statement that gives no rows once for each of ``seq_of_parameters``: each time is one commit.

        Raises:
            ProgrammingError: the statement gives rows.
            DatabaseError, InterfaceError: as ``execute``.
        """
        self._open_session()
        self._forget()
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            if self.description is not None:
                self._forget()
                raise ProgrammingError("executemany is for statements that give no rows")
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None behind the last one.

        Raises:
            ProgrammingError: there is no result: no statement ran, or it gives no rows.
            DatabaseError: the rows cannot be read.
        """
        self._require_rows()
        while True:
            row = next(self._rows, None)
            if row is not None:
                return row
            batch = self._next_batch(_ROWS_AT_ONCE)
            if batch is None:
                return None
            self._rows = _tuples(batch)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next ``size`` rows, by default ``arraysize``; fewer behind the last one.

        Raises:
            ProgrammingError, DatabaseError: as ``fetchone``.
        """
        self._require_rows()
        rows = []
        for _ in range(self.arraysize if size is None else size):
            row = self.fetchone()
            if row is None:
                break
            rows.append(row)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left.

        Raises:
            ProgrammingError, DatabaseError: as ``fetchone``.
        """
        return list(self)

    def fetch_arrow_table(self) -> pa.Table:
        """All rows of the result as Arrow.

        Raises:
            ProgrammingError: as ``fetchone``, or rows were fetched as tuples before.
            DatabaseError: the rows cannot be read.
        """
        return self.fetch_record_batch().read_all()

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """All rows of the result as a stream of Arrow, which is read once.

        Raises:
            ProgrammingError: as ``fetch_arrow_table``.
            DatabaseError: the rows cannot be read; the stream raises it.
        """
        return pa.RecordBatchReader.from_batches(self._schema_of_rows(), self._untouched())

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Close it; a second time does nothing."""
        self._forget()
        self._is_closed = True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open_session(self) -> SqlSession:
        if self._is_closed:
            raise InterfaceError("the cursor is closed: take another one")
        return self.connection.session

    def _forget(self) -> None:
        self.description = self.result = self._schema = self._batch = None
        self._batches, self._rows = iter(()), iter(())

    def _give(self, scan: Scan) -> None:
        self._schema = scan.schema
        self.description = tuple(_described(field) for field in scan.schema)
        self._batches = iter(scan.to_batches())

    def _schema_of_rows(self) -> pa.Schema:
        self._open_session()
        if self._schema is None:
            raise ProgrammingError("there are no rows to fetch: execute a query first")
        return self._schema

    def _require_rows(self) -> None:
        self._schema_of_rows()

    def _untouched(self) -> Iterator[pa.RecordBatch]:
        """The batches of the result, of which none may be taken as tuples."""
        self._require_rows()
        if self._batch is not None:
            raise ProgrammingError(
                "rows of this result were fetched as tuples: execute the query again for Arrow"
            )
        batches, self._batches = self._batches, iter(())
        return _with_database_errors(batches)

    def _next_batch(self, rows: int) -> pa.RecordBatch | None:
        """The next rows, at most ``rows``; None behind the last one."""
        with _as_database_errors():
            while self._batch is None or not self._batch.num_rows:
                batch = next(self._batches, None)
                if batch is None:
                    return None
                self._batch = batch
        taken, self._batch = self._batch[:rows], self._batch[rows:]
        return taken


def _with_database_errors(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _as_database_errors():
        yield from batches


def _tuples(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    try:
        columns = [column.to_pylist() for column in batch.columns]
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"a value has no form in Python: {error}; take the rows by fetch_arrow_table",
            ErrorKind.INVALID,
        ) from error
    return zip(*columns, strict=True)


def _described(field: pa.Field) -> tuple[Any, ...]:
    is_decimal = pa.types.is_decimal(field.type)
    precision = field.type.precision if is_decimal else None
    scale = field.type.scale if is_decimal else None
    return field.name, field.type, None, None, precision, scale, field.nullable
