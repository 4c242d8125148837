"""A Hive metastore, asked over Thrift: databases, tables and locks.

Each use is one connection of its own, as with a JDBC catalog: nothing is shared between threads, and nothing has to
survive a fork.  What only reads is asked again elsewhere, or once more; what changes something is sent once.

Source: ``hive_metastore.thrift`` of Hive 3.1, ``org.apache.paimon.hive.pool.HiveClientPool`` of 2.0.0.
"""

from __future__ import annotations

import getpass
import re
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.errors import (
    AccessDeniedError,
    ArgumentError,
    MissingPackageError,
    OutcomeUnknownError,
    StorageUnavailableError,
)
from table_core.hive.objects import HiveColumn, HiveDatabase, HiveTable
from table_core.options.hive import addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.errors import TableError

__all__ = ["HiveMetastore", "HiveSession", "user_name"]

T = TypeVar("T")
_CONNECT_MS: Final = 20_000
_ANSWER_MS: Final = 600_000
"""As ``hive.metastore.client.socket.timeout``."""
_ROUNDS: Final = 2
"""So often each address is tried for what only reads."""
_TEXT_MAX: Final = 64 << 20
_ITEMS_MAX: Final = 10_000_000
_BATCH: Final = 300
"""Tables that are asked for at a time."""
_NOT_ALLOWED: Final = re.compile(
    r"permission|not authori[sz]ed|notallow|access.?denied", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Thrift:
    """The modules that speak Thrift, imported when they are needed."""

    client: Any
    types: Any
    protocol: Any
    sockets: Any
    transport: Any
    error: Any

    @classmethod
    def imported(cls) -> _Thrift:
        """Import them.

        Raises:
            MissingPackageError: they are not installed.
        """
        try:
            from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
            from thrift.protocol import TBinaryProtocol
            from thrift.Thrift import TException
            from thrift.transport import TSocket, TTransport
        except ImportError as error:
            raise MissingPackageError.of("metastore=hive", "hive", error) from error
        return cls(ThriftHiveMetastore, ttypes, TBinaryProtocol, TSocket, TTransport, TException)


@dataclass(frozen=True, slots=True)
class HiveMetastore:
    """The metastore at ``uri``: ``thrift://host:port``, several with commas, of which any may answer."""

    uri: str

    @contextmanager
    def session(self) -> Iterator[HiveSession]:
        """A connection, closed afterwards.

        Raises:
            StorageUnavailableError: nobody answers.
            MissingPackageError: the client is not installed.
        """
        thrift = _Thrift.imported()
        transport = self._connected(thrift)
        try:
            protocol = thrift.protocol.TBinaryProtocolAccelerated(
                transport,
                string_length_limit=_TEXT_MAX,
                container_length_limit=_ITEMS_MAX,
                fallback=True,
            )
            yield HiveSession(self, thrift, thrift.client.Client(protocol))
        finally:
            with suppress(OSError, thrift.error):  # lost before: what counts has been raised
                transport.close()

    def asked(self, ask: Callable[[HiveSession], T]) -> T:
        """What ``ask`` gives, which only reads: on a connection that breaks it is asked once more.

        Raises:
            StorageUnavailableError: nobody answers.
        """
        for attempt in range(_ROUNDS):
            try:
                with self.session() as session:
                    return ask(session)
            except OutcomeUnknownError as error:
                if attempt + 1 == _ROUNDS:
                    raise StorageUnavailableError(
                        str(error), path=self.uri, reason="the connection broke"
                    ) from error
        raise AssertionError(self.uri)

    def _connected(self, thrift: _Thrift) -> Any:
        reasons = []
        for host, port in addresses(self.uri):
            plain = thrift.sockets.TSocket(host, port)
            plain.setTimeout(_CONNECT_MS)
            transport = thrift.transport.TBufferedTransport(plain)
            try:
                transport.open()
            except (OSError, thrift.error) as error:
                reasons.append(f"{host}:{port}: {getattr(error, 'message', None) or error}")
                continue
            plain.setTimeout(_ANSWER_MS)
            return transport
        raise StorageUnavailableError(
            f"no Hive metastore answers at {self.uri}: {'; '.join(reasons)}. Try again, or correct 'uri'",
            path=self.uri,
            reason="no connection",
        )


@dataclass(frozen=True, slots=True)
class HiveSession:
    """An open connection.

    Raises:
        OutcomeUnknownError: the connection broke, and nobody says what became of the call.
        AccessDeniedError: the metastore does not allow it.
        StorageUnavailableError: it failed over it, or answers something else.
        ArgumentError: it refuses what it was asked for.
    """

    metastore: HiveMetastore
    thrift: _Thrift
    client: Any

    def databases(self) -> list[str]:
        """Names of all databases."""
        return list(self._ask("list the databases", self.client.get_all_databases))

    def database(self, name: str) -> HiveDatabase | None:
        """A database; None if there is none of that name."""
        none = {self.thrift.types.NoSuchObjectException: None}
        answer = self._ask(
            f"look for database {name!r}", self.client.get_database, name, unless=none
        )
        return answer and HiveDatabase(name=answer.name, location=answer.locationUri or "")

    def create_database(self, database: HiveDatabase) -> bool:
        """Register ``database``; False if there is one of its name."""
        types, name = self.thrift.types, database.name
        made = types.Database(
            name=name, locationUri=database.location, parameters={}, ownerName=user_name()
        )
        made.ownerType = types.PrincipalType.USER
        there = {types.AlreadyExistsException: False}
        answer = self._ask(
            f"create database {name!r}", self.client.create_database, made, unless=there
        )
        return answer is None

    def drop_database(self, name: str) -> bool:
        """Forget an empty database, and leave its folder; False if there is none."""
        none = {self.thrift.types.NoSuchObjectException: False}
        drop = self.client.drop_database
        return self._ask(f"drop database {name!r}", drop, name, False, False, unless=none) is None

    def tables(self, database: str) -> list[HiveTable]:
        """All tables and views of ``database``."""
        what = f"list the tables of database {database!r}"
        names = self._ask(what, self.client.get_all_tables, database)
        ask = self.client.get_table_objects_by_name
        batches = (names[at : at + _BATCH] for at in range(0, len(names), _BATCH))
        return [_table_of(t) for batch in batches for t in self._ask(what, ask, database, batch)]

    def table(self, database: str, name: str) -> HiveTable | None:
        """A table or view; None if there is none of that name."""
        known = self._stored(database, name)
        return None if known is None else _table_of(known)

    def create_table(self, table: HiveTable) -> bool:
        """Register ``table``; False if there is one of its name."""
        there = {self.thrift.types.AlreadyExistsException: False}
        what = f"create table {table.database}.{table.name}"
        return self._ask(what, self.client.create_table, self._new(table), unless=there) is None

    def change_table(
        self, database: str, name: str, change: Callable[[HiveTable], HiveTable]
    ) -> bool:
        """Make a table what ``change`` says; False if there is none.

        What ``HiveTable`` does not name stays as it is.
        """
        types, known = self.thrift.types, self._stored(database, name)
        if known is None:
            return False
        before = _table_of(known)
        after = change(before)
        if after == before:
            return True
        answer = self._ask(
            f"change table {database}.{name}",
            self.client.alter_table_with_environment_context,
            database,
            name,
            self._laid_over(known, after),
            types.EnvironmentContext({"CASCADE": "true", "DO_NOT_UPDATE_STATS": "false"}),
            unless={types.NoSuchObjectException: False},
        )
        return answer is None

    def drop_table(self, database: str, name: str) -> None:
        """Forget a table, and leave its files; no error if it is gone."""
        none = {self.thrift.types.NoSuchObjectException: None}
        drop = self.client.drop_table
        self._ask(f"drop table {database}.{name}", drop, database, name, False, unless=none)

    def lock(self, database: str, table: str) -> tuple[int, bool]:
        """Ask for the exclusive lock of a table; the number of the request, and whether it holds the lock."""
        types = self.thrift.types
        component = types.LockComponent(
            types.LockType.EXCLUSIVE, types.LockLevel.TABLE, database, tablename=table
        )
        component.operationType = None
        request = types.LockRequest([component], user=user_name(), hostname=socket.gethostname())
        answer = self._ask(f"lock {database}.{table}", self.client.lock, request)
        return int(answer.lockid), bool(answer.state == types.LockState.ACQUIRED)

    def has_lock(self, id: int) -> bool:
        """Whether the request ``id`` holds its lock by now.

        Raises:
            StorageUnavailableError: the metastore has forgotten the request.
        """
        types = self.thrift.types
        request = types.CheckLockRequest(id)
        answer = self._ask(f"look at lock {id}", self.client.check_lock, request)
        return bool(answer.state == types.LockState.ACQUIRED)

    def unlock(self, id: int) -> bool:
        """Let go of the lock of request ``id``; False if the metastore has forgotten it."""
        types = self.thrift.types
        gone = {types.NoSuchLockException: False}
        request = types.UnlockRequest(id)
        return self._ask(f"unlock {id}", self.client.unlock, request, unless=gone) is None

    def _stored(self, database: str, name: str) -> Any:
        """A table as the metastore has it; None if there is none."""
        none = {self.thrift.types.NoSuchObjectException: None}
        what = f"look for table {database}.{name}"
        return self._ask(what, self.client.get_table, database, name, unless=none)

    def _new(self, table: HiveTable) -> Any:
        types = self.thrift.types
        made = types.Table(
            owner=table.owner,
            createTime=table.created_s,
            lastAccessTime=table.created_s,
            retention=2**31 - 1,
            sd=types.StorageDescriptor(
                compressed=False,
                numBuckets=0,
                serdeInfo=types.SerDeInfo(parameters={}),
                bucketCols=[],
                sortCols=[],
                parameters={},
            ),
        )
        return self._laid_over(made, table)

    def _laid_over(self, known: Any, table: HiveTable) -> Any:
        """``known`` with what ``table`` says."""
        known.dbName, known.tableName, known.tableType = (
            table.database,
            table.name,
            table.table_type,
        )
        known.parameters = dict(table.parameters)
        known.partitionKeys = self._columns(table.partition_keys)
        known.sd.cols = self._columns(table.columns)
        known.sd.location = table.location
        known.sd.inputFormat, known.sd.outputFormat = table.input_format, table.output_format
        known.sd.serdeInfo.serializationLib = table.serde
        return known

    def _columns(self, columns: tuple[HiveColumn, ...]) -> list[Any]:
        return [self.thrift.types.FieldSchema(c.name, c.type, c.comment) for c in columns]

    def _ask(
        self,
        action: str,
        call: Callable[..., Any],
        *arguments: object,
        unless: Mapping[type[BaseException], object] | None = None,
    ) -> Any:
        """What the metastore answers, which is to do ``action``; ``unless``: what its errors of some classes stand for.

        Thrift's errors cannot be changed, so none of them may pass through a ``with``, which sets its traceback.
        """
        try:
            return call(*arguments)
        except (OSError, EOFError, self.thrift.transport.TTransportException) as error:
            reason = getattr(error, "message", None) or str(error) or type(error).__name__
            raise OutcomeUnknownError(
                f"the connection to the metastore at {self.metastore.uri} broke while it was to {action}: {reason}. "
                "Look whether it was done",
                user=None,
                id=None,
                floor=None,
            ) from error
        except self.thrift.error as error:
            if unless is not None and type(error) in unless:
                return unless[type(error)]
            raise self._refusal(error, action) from error

    def _refusal(self, error: Any, action: str) -> TableError:
        """What an answer that says no means."""
        types, where = self.thrift.types, self.metastore.uri
        reason = str(getattr(error, "message", None) or error).strip() or type(error).__name__
        message = f"the metastore at {where} does not {action}: {reason}"
        if _NOT_ALLOWED.search(reason):
            return AccessDeniedError(
                f"{message}. Ask for the right to do it", path=where, reason=reason
            )
        if isinstance(error, types.InvalidOperationException | types.InvalidObjectException):
            return ArgumentError(message, argument="name", value=None)
        return StorageUnavailableError(message, path=where, reason=reason)


def _table_of(table: Any) -> HiveTable:
    """A table as the metastore sends it; a view has no formats."""
    storage = table.sd
    return HiveTable(
        database=table.dbName,
        name=table.tableName,
        location=None if storage is None else storage.location,
        columns=() if storage is None else _columns_of(storage.cols),
        partition_keys=_columns_of(table.partitionKeys),
        input_format=(storage and storage.inputFormat) or "",
        output_format=(storage and storage.outputFormat) or "",
        serde=(storage and storage.serdeInfo and storage.serdeInfo.serializationLib) or "",
        parameters=dict(table.parameters or {}),
        table_type=table.tableType or "",
        owner=table.owner or "",
        created_s=table.createTime or 0,
    )


def _columns_of(columns: Any) -> tuple[HiveColumn, ...]:
    return tuple(HiveColumn(c.name, c.type, c.comment) for c in columns or ())


def user_name() -> str:
    """Whose name the metastore shows; where there is none, as for a number of a user in a container, its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
