"""Statements, one after the other, over one catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from table_core.errors import ArgumentError, TableError, UnsupportedFeatureError
from table_core.options.nearest import hint
from table_core.sql import statements as said
from table_core.sql.grammar import parse_statements
from table_core.sql.named_tables import named_tables
from table_core.sql.sql_parameters import checked_values
from table_core.sql.text import statements_of
from table_core.table.api.sql import changes, definitions, procedures, queries
from table_core.table.api.sql.context import Context, text_rows
from table_core.table.api.sql.sql_process import SqlLimits
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.read.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.sql.statements import Statement
    from table_core.table.api.sql.catalog_port import SqlCatalog

__all__ = ["SqlResult", "SqlSession", "run_statement", "split_statements"]

SqlResult: TypeAlias = Scan | ResultDocument
"""Rows as a scan, or what a change did."""
_OVERWRITE_MODE: Final = "spark.sql.sources.partitionOverwriteMode"
_LIMITS: Final = ("sql.memory-limit", "sql.disk-limit", "sql.time-limit", "sql.threads")


class SqlSession:
    """A catalog with a current database and settings, which USE and SET change."""

    def __init__(
        self,
        catalog: SqlCatalog,
        database: str | None = None,
        options: Mapping[str, str] | None = None,
        commit_as: Callable[[], CommitAs] | None = None,
    ) -> None:
        """``database`` is where names without one are looked up; ``options`` are those of ``sql.*``.

        ``commit_as`` says who commits, for each statement that changes rows; None: somebody with a random name.

        Raises:
            ArgumentError: an option is unknown or does not parse.
        """
        self._context = Context(catalog=catalog, database=database)
        self._commit_as = commit_as or CommitAs
        for key, value in (options or {}).items():
            self._set(key, value)

    def sql(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        commit: CommitAs | None = None,
    ) -> SqlResult:
        """The result of one statement; ``parameters`` are the values of ``:name`` in it.

        Raises:
            ArgumentError: ``text`` is not one statement, or ``commit`` is given to one that changes no rows.
            SqlError, UnsupportedFeatureError: it is wrong, or not supported; the facts say where.
        """
        parsed = parse_statements(text)
        if len(parsed) != 1:
            raise ArgumentError(
                f"sql takes one statement, and these are {len(parsed)}: use a session's script()",
                argument="text",
                value=text,
            )
        _, statement = parsed[0]
        if commit is not None and not isinstance(statement, _COMMITTED):
            raise ArgumentError(
                "commit is for statements that change rows, and this is "
                f"{type(statement).__name__}",
                argument="commit",
            )
        return self._run(statement, text, parameters, commit)

    def script(
        self, text: str, parameters: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, SqlResult]]:
        """Each statement of ``text`` with its result, run when it is asked for.

        All are parsed before the first one runs. A script is no transaction: if a statement fails, those before
        it stay, and the error says how many.

        Raises:
            SqlError, UnsupportedFeatureError: a statement is wrong, or not supported; nothing has run.
        """
        return self._results(parse_statements(text), text, parameters)

    def named_tables(self, text: str) -> dict[str, list[str]]:
        """What the statements of ``text`` read and change, by the keys ``read`` and ``written``.

        Names are ``database.table``; those without a database are of the current one.

        Raises:
            SqlError, UnsupportedFeatureError: as ``script``.
        """
        named: dict[str, list[str]] = {"read": [], "written": []}
        for words, statement in parse_statements(text):
            tables = named_tables(statement)
            for kind, parts in (("read", tables.read), ("written", tables.written)):
                named[kind] += [
                    self._context.full_name(one, text, words.start).partition("$")[0]
                    for one in parts
                ]
        return {kind: list(dict.fromkeys(names)) for kind, names in named.items()}

    def _results(
        self, parsed: list[Any], text: str, parameters: Mapping[str, Any] | None
    ) -> Iterator[tuple[str, SqlResult]]:
        for number, (words, statement) in enumerate(parsed, start=1):
            try:
                result = self._run(statement, text, parameters, None)
            except TableError as error:
                line = words.place(words.start)["line"]
                before = "none before it" if number == 1 else f"the {number - 1} before it are done"
                error.add_note(
                    f"statement {number} of {len(parsed)}, in line {line}, failed; {before}"
                )
                raise
            yield words.source, result

    def _run(
        self,
        statement: Statement,
        text: str,
        parameters: Mapping[str, Any] | None,
        commit: CommitAs | None,
    ) -> SqlResult:
        context = self._context
        if isinstance(statement, said.Use):
            if statement.database not in context.catalog.databases():
                context.catalog.tables(statement.database)  # says which there are
            context.database = statement.database
            return text_rows(())
        if isinstance(statement, said.SetOption):
            self._set(statement.key, statement.value)
            return text_rows(("key", "value"), [(statement.key, statement.value)])
        if commit is None:
            commit = self._commit_as() if isinstance(statement, _COMMITTED) else CommitAs()
        now = replace(context, parameters=checked_values(parameters), commit=commit)
        return _CARRIED_OUT[type(statement)](statement, now, text)

    def _set(self, key: str, value: str) -> None:
        if key == _OVERWRITE_MODE:
            if value.lower() not in {"static", "dynamic"}:
                raise ArgumentError(f"{key}={value}: static or dynamic", argument=key, value=value)
            self._context.dynamic_overwrite = value.lower() == "dynamic"
        elif key in _LIMITS:
            SqlLimits.of({key: value})
            self._context.options[key] = value
        else:
            raise UnsupportedFeatureError(
                f"SET {key}: {hint(key, (*_LIMITS, _OVERWRITE_MODE))}; options of a table go behind its name, "
                "as in /*+ OPTIONS('key' = 'value') */",
                feature=f"SET {key}",
            )


def split_statements(text: str) -> list[str]:
    """The statements of ``text``, each with its hints; a semicolon in a quote or a comment parts none.

    Raises:
        SqlError: a quote or comment is not closed.
    """
    return [words.source for words in statements_of(text)]


def run_statement(
    catalog: SqlCatalog,
    text: str,
    parameters: Mapping[str, Any] | None,
    commit: CommitAs | None,
    options: Mapping[str, str] | None,
) -> SqlResult:
    """See ``Catalog.sql``.

    Raises:
        ArgumentError: USE and SET have no session to change.
    """
    session = SqlSession(catalog, options=options)
    parsed = parse_statements(text)
    if len(parsed) == 1 and isinstance(parsed[0][1], said.Use | said.SetOption):
        raise ArgumentError(
            "USE and SET change a session: use catalog.sql_session(), or write database.table and "
            "pass options",
            argument="text",
            value=text,
        )
    return session.sql(text, parameters, commit)


def _select(statement: said.Select, context: Context, _: str) -> SqlResult:
    return queries.result_of(statement.query, context)


def _explain(statement: said.Explain, context: Context, _: str) -> SqlResult:
    return queries.explained(statement.query, context)


_COMMITTED: Final = (
    said.Insert,
    said.Update,
    said.Delete,
    said.Truncate,
    said.Merge,
    said.DropPartition,
)
_CARRIED_OUT: Final[dict[type[Any], Callable[[Any, Context, str], SqlResult]]] = {
    said.Select: _select,
    said.Explain: _explain,
    said.ShowDatabases: definitions.show_databases,
    said.ShowTables: definitions.show_tables,
    said.ShowColumns: definitions.show_columns,
    said.ShowPartitions: definitions.show_partitions,
    said.ShowOptions: definitions.show_options,
    said.ShowCreateTable: definitions.show_create_table,
    said.DescribeTable: definitions.describe,
    said.CreateDatabase: definitions.create_database,
    said.DropDatabase: definitions.drop_database,
    said.CreateTable: definitions.create_table,
    said.DropTable: definitions.drop_table,
    said.AlterTable: definitions.alter_table,
    said.RenameTable: definitions.rename_table,
    said.DropPartition: definitions.drop_partition,
    said.Insert: changes.insert,
    said.Update: changes.update,
    said.Delete: changes.delete,
    said.Truncate: changes.truncate,
    said.Merge: changes.merge,
    said.Call: procedures.call,
}
