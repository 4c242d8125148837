"""The catalog of a REST server: names, schemas and newest snapshots are its own (docs/adr/0032).

Source: ``org.apache.paimon.rest.RESTCatalog`` of 2.0.0.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from table_core.errors import AlreadyExistsError, NotFoundError
from table_core.rest.documents import ServedTable, create_request, rename_request
from table_core.rest.refusals import RefusedError
from table_core.table.metadata.served_storage import ServedLine, ServedStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.ports import Clock, Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.stores.rest_server import RestServer

__all__ = ["RestDirectory"]


@dataclass(frozen=True, slots=True)
class RestDirectory:
    """What the server knows, asked each time."""

    server: RestServer
    clock: Clock
    open_folder: Callable[[str], Storage]
    """Opens the folder of a table by its URI."""
    makes_tables: Literal[True] = field(default=True, init=False)

    def databases(self) -> list[str]:
        """See ``Directory``."""
        with self._asked("the databases"):
            return self.server.names(self.server.resources.databases(), "databases")

    def add_database(self, name: str) -> bool:
        """See ``Directory``."""
        try:
            with self._asked(f"database {name!r}"):
                self.server.post(self.server.resources.databases(), {"name": name, "options": {}})
        except AlreadyExistsError:
            return False
        return True

    def drop_database(self, name: str) -> None:
        """See ``Directory``."""
        with self._asked(f"database {name!r}"):
            self.server.delete(self.server.resources.database(name))

    def tables(self, database: str) -> list[str]:
        """See ``Directory``."""
        with self._asked(f"database {database!r}"):
            return self.server.names(self.server.resources.tables(database), "tables")

    def others(self, database: str) -> Mapping[str, str]:  # noqa: ARG002
        """What is no table of Paimon is told when it is opened."""
        return {}

    def candidates(self, database: str) -> list[str]:
        """See ``Directory``."""
        return self.tables(database)

    def has_table(self, database: str, table: str) -> bool:
        """See ``Directory``."""
        try:
            with self._asked(f"table {database}.{table}"):
                self.server.get(self.server.resources.table(database, table))
        except NotFoundError:
            return False
        return True

    def root(self, warehouse: Storage, database: str, table: str) -> Storage:  # noqa: ARG002
        """See ``Directory``."""
        name = f"{database}.{table}"
        with self._asked(f"table {name}"):
            body = self.server.get(self.server.resources.table(database, table))
        served = ServedTable.of(body, name)
        line = ServedLine(
            server=self.server, database=database, table=table, id=served.id, clock=self.clock
        )
        return ServedStorage(self.open_folder(served.path), line)

    def create_table(self, database: str, table: str, schema: TableSchema) -> bool:
        """See ``Directory``."""
        try:
            with self._asked(f"table {database}.{table}"):
                self.server.post(
                    self.server.resources.tables(database), create_request(database, table, schema)
                )
        except AlreadyExistsError:
            return False
        return True

    def drop_table(self, database: str, table: str) -> None:
        """See ``Directory``."""
        try:
            with self._asked(f"table {database}.{table}"):
                self.server.delete(self.server.resources.table(database, table))
        except NotFoundError:
            return

    def rename_table(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """See ``Directory``.

        Raises:
            NotFoundError, AlreadyExistsError: the server knows no ``source``, or a ``target``.
        """
        with self._asked(f"table {'.'.join(source)}"):
            self.server.post(self.server.resources.rename(), rename_request(source, target))

    def move(self, warehouse: Storage, source: tuple[str, str], target: tuple[str, str]) -> None:
        """The server sees to it."""

    def keeps_files(self, database: str, table: str) -> Literal[False]:  # noqa: ARG002
        """See ``Directory``."""
        return False

    def check_name(self, what: str, name: str) -> None:
        """What names may be says the server."""

    @contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        """Within, the server is asked for ``what``; a refusal is the error that it means."""
        try:
            yield
        except RefusedError as error:
            raise error.refusal.error(what, self.server.uri) from None
