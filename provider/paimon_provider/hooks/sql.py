"""The part of the hook that speaks SQL, as Airflow's SQL operators, checks and sensors want it."""

from __future__ import annotations

import importlib
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.sql.hooks.sql import DbApiHook

from paimon_provider._compat import mask_secret
from paimon_provider.connections.warehouse import looking_secret
from table_core.errors import (
    ArgumentError,
    DataError,
    MissingPackageError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from paimon_provider.connections.warehouse import Warehouse
    from paimon_provider.launchers.job_log import Redaction

__all__ = ["SqlHook"]

_FRAMES: Final = {"pandas": "pandas", "polars": "polars"}
_ROWS_AT_ONCE: Final = 10_000
"""As many rows of Python become Arrow together."""


class SqlHook(DbApiHook):
    """Statements of the embedded SQL by Airflow's ``common.sql``; ``PaimonHook`` is one."""

    dialect_name = "default"

    if TYPE_CHECKING:
        hide: Callable[[Mapping[str, Any]], None]
        no_secret_told: Callable[[], Any]
        _redaction: Callable[[], Redaction]
        catalog: Callable[[], Any]
        commit_as: Callable[[], Any]
        table: Callable[[str], Any]

        @property
        def warehouse(self) -> Warehouse:
            """The settings of the connection."""
            ...

    def __init__(self, *args: Any, schema: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, schema=schema, **kwargs)
        self.schema = schema
        """The database where names without one are looked up; the operators' ``database`` sets it."""
        self._named: dict[str, dict[str, None]] = {"read": {}, "written": {}}

    # -------------------------------------------------------------------------------- statements
    def get_conn(self) -> Any:
        """A DB-API connection (``table_core.dbapi``), which has what the catalog has, too."""
        from paimon_provider.hooks.connection import (  # Arrow stays out of Dag parsing
            LineageCatalog,
            WarehouseConnection,
        )
        from table_core.table.api.sql.session import SqlSession

        warehouse, catalog = self.warehouse, self.catalog()
        seen: Any = LineageCatalog(catalog, warehouse.catalog_name)
        limits = {f"sql.{name}": value for name, value in warehouse.sql_limits.items()}
        session = SqlSession(seen, self.schema, limits, self.commit_as)
        return WarehouseConnection(session, catalog)

    def run_sql(self, *args: Any, **kwargs: Any) -> Any:
        """``run`` of Airflow's SQL hooks: statements, and what ``handler`` makes of each cursor.

        Raises:
            table_core.dbapi.Error: with the kind and the text of the ``TableError``, without secrets.
        """
        with self._no_secret_in_errors():
            return super().run(*args, **kwargs)

    @staticmethod
    def split_sql_string(sql: str, strip_semicolon: bool = False) -> list[str]:  # noqa: ARG004
        """The statements of ``sql``, with their hints; a semicolon is never a part of one."""
        from table_core.table.api.sql.session import split_statements

        return split_statements(sql)

    def _run_command(self, cur: Any, sql_statement: str, parameters: Any) -> None:
        """Run a statement. Names of parameters are logged, and never their values."""
        parameters = parameters or None
        named = parameters if hasattr(parameters, "keys") else {}
        self.hide(named)
        for secret in looking_secret(named):
            mask_secret(secret)
        if self.log_sql:
            shown = self._redaction().text(sql_statement)
            self.log.info(
                "Running statement: %s, parameters: %s", shown, ", ".join(named) or "none"
            )
        cur.execute(sql_statement, parameters)
        names = cur.connection.session.named_tables(sql_statement)
        for kind, of_kind in self._named.items():
            of_kind.update(dict.fromkeys(names[kind]))
        if cur.result is not None:
            self.log.info("Done: %s", self._redaction().text(_shown(cur.result)))

    @contextmanager
    def _no_secret_in_errors(self) -> Iterator[None]:
        from table_core.dbapi import Error

        with self.no_secret_told():
            try:
                yield
            except Error as error:
                document = {"text": str(error), "facts": error.facts}
                told = self._redaction().clean(document)
                if told == document:
                    raise
                # the chain would show what was taken out
                raise type(error)(told["text"], error.kind, told["facts"]) from None

    # -------------------------------------------------------------------------------------- rows
    def get_df(  # type: ignore[override]  # its overloads say what comes back
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        df_type: str = "pandas",
        **kwargs: Any,
    ) -> Any:
        """The rows of one query as a data frame of pandas or polars, made of Arrow.

        Raises:
            ArgumentError: ``df_type`` is another, or there are more arguments: nothing is read by ``read_sql``.
            MissingPackageError: pandas or polars is not installed.
            table_core.dbapi.Error: as ``run``.
        """
        frame = _frames(df_type, kwargs)
        with self._rows_of(sql, parameters) as cursor:
            return frame(cursor.fetch_arrow_table())

    def get_df_by_chunks(  # type: ignore[override]  # its overloads say what comes back
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        chunksize: int,
        df_type: str = "pandas",
        **kwargs: Any,
    ) -> Iterator[Any]:
        """The rows of one query as data frames of at most ``chunksize`` rows.

        Raises:
            ArgumentError, MissingPackageError, table_core.dbapi.Error: as ``get_df``.
        """
        import pyarrow as pa

        frame = _frames(df_type, kwargs)
        with self._rows_of(sql, parameters) as cursor:
            for batch in cursor.fetch_record_batch():
                for start in range(0, batch.num_rows, chunksize):
                    yield frame(pa.Table.from_batches([batch.slice(start, chunksize)]))

    @contextmanager
    def _rows_of(self, sql: str, parameters: Any) -> Iterator[Any]:
        with (
            self._no_secret_in_errors(),
            closing(self.get_conn()) as connection,
            connection.cursor() as cursor,
        ):
            self._run_command(cursor, sql, parameters)
            yield cursor

    def insert_rows(
        self,
        table: str,
        rows: Iterable[Sequence[Any]],
        target_fields: Sequence[str] | None = None,
        commit_every: int = 0,
        replace: bool = False,
        *,
        executemany: bool = False,  # noqa: ARG002 - rows are never written one by one
        fast_executemany: bool = False,  # noqa: ARG002
        autocommit: bool = False,  # noqa: ARG002 - each commit is one
        **kwargs: Any,
    ) -> None:
        """Insert tuples: as one commit, or as one for every ``commit_every`` rows.

        Args:
            table: ``database.table``, or a table of ``schema``.
            rows: one value for each of ``target_fields``.
            target_fields: columns; the others become NULL. Default: all columns in their order.
            commit_every: how many rows are a commit; 0: all of them.
            replace: is refused.
            executemany: Airflow's; rows are never written one by one.
            fast_executemany: Airflow's.
            autocommit: Airflow's; a commit is final in any case.
            **kwargs: are refused.

        Raises:
            UnsupportedFeatureError: ``replace``, or an argument of another database.
            DataError: a row has another length, or a value that its column does not take.
        """
        if replace or kwargs:
            what = "replace=True" if replace else f"{next(iter(kwargs))}="
            raise UnsupportedFeatureError(
                f"insert_rows with {what} is not supported: a table with a primary key keeps the newest row "
                "of each key; leave it out",
                feature=f"insert_rows with {what}",
            )
        handle = self.table(table if "." in table else f"{self.schema or ''}.{table}")
        names = list(target_fields or handle.arrow_schema.names)
        schema = _schema_of(handle, names)
        left, done = iter(rows), 0
        while True:
            own = left if commit_every < 1 else islice(left, commit_every)
            first = list(islice(own, _ROWS_AT_ONCE))
            if not first:
                break
            with handle.write() as writer:
                while first:
                    writer.write(_arrow_rows(first, schema, done))
                    done += len(first)
                    first = list(islice(own, _ROWS_AT_ONCE))
                writer.commit()
        self.log.info("Done loading. Loaded a total of %s rows into %s", done, table)

    # ----------------------------------------------------------------------------------- refused
    def get_sqlalchemy_engine(self, engine_kwargs: Any = None) -> Any:  # noqa: ARG002
        """Refuse: there is no dialect of SQLAlchemy.

        Raises:
            UnsupportedFeatureError: always.
        """
        raise UnsupportedFeatureError(
            "a SQLAlchemy engine of a paimon connection is not supported: use get_df, get_records or get_conn",
            feature="SQLAlchemy engine",
        )

    def get_openlineage_database_specific_lineage(self, task_instance: Any) -> Any:  # noqa: ARG002
        """The tables that the statements so far have read and written, with their schemas."""
        from paimon_provider.hooks.datasets import tables_of

        hook: Any = self
        extractors = importlib.import_module("airflow.providers.openlineage.extractors")  # an extra
        return extractors.OperatorLineage(
            inputs=tables_of(hook, list(self._named["read"])),
            outputs=tables_of(hook, list(self._named["written"])),
        )


def _shown(result: Any) -> str:
    facts = {"rows written": result.rows_written, "snapshot": result.snapshot_after}
    told = [f"{name} {value}" for name, value in facts.items() if value is not None]
    return f"{result.action}: {', '.join(told) or 'nothing changed'}"


def _frames(df_type: str, more: Mapping[str, Any]) -> Callable[[Any], Any]:
    """What makes a frame of a table of Arrow."""
    if more or df_type not in _FRAMES:
        name, value = next(iter(more.items())) if more else ("df_type", df_type)
        raise ArgumentError(
            f"get_df: {name}={value!r} is not known; df_type is pandas or polars, and there is nothing else",
            argument=name,
        )
    try:
        module: Any = importlib.import_module(df_type)
    except ImportError as error:
        raise MissingPackageError.of("get_df", "frames", error) from error
    return module.from_arrow if df_type == "polars" else lambda table: table.to_pandas()


def _schema_of(handle: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    known = handle.arrow_schema
    missing = [name for name in names if name not in known.names]
    if missing:
        raise ArgumentError(
            f"target_fields: {handle.name} has no column {missing[0]!r}; there are {', '.join(known.names)}",
            argument="target_fields",
        )
    return pa.schema([known.field(name) for name in names])


def _arrow_rows(rows: Sequence[Sequence[Any]], schema: Any, before: int) -> Any:
    """``rows`` as Arrow; ``before`` as many came before them."""
    import pyarrow as pa

    for number, row in enumerate(rows):
        if len(row) != len(schema):
            raise DataError(
                f"row {before + number} has {len(row)} values, and {len(schema)} are wanted: "
                f"{', '.join(schema.names)}"
            )
    columns = []
    for at, field in enumerate(schema):
        try:
            columns.append(pa.array([row[at] for row in rows], field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"column {field.name!r} of rows {before} to {before + len(rows) - 1}: {error}"
            ) from error
    return pa.Table.from_arrays(columns, schema=schema)
