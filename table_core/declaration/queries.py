"""SQL of a declaration, held against the columns of the tables that its views show.

Looked at by ``validate`` only: a Dag file has no time to parse SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.verbs import pending_view, views_of_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.declaration.model import Declaration, Step

__all__ = ["query_faults"]

_TEMPLATE: Final = "{{"
_CHARACTERS_MAX: Final = 200_000
Told = tuple[tuple[str, ...], str]


def query_faults(found: Declaration) -> Iterator[Told]:
    """Queries that do not parse, or name a column or view that is not there."""
    for step in found.steps:
        if step.table in found.tables:
            for path, told in _of_step(step, found):
                yield ("flows", step.name, *path), told
    for check in found.checks:
        sql, table = check.rules.get("sql"), found.tables.get(check.table)
        if sql is not None and table is not None:
            for told in _sql_faults(sql, {"rows": [*table.columns]}, "the rows are the view rows"):
                yield ("checks", check.name, "sql"), told


def _of_step(step: Step, found: Declaration) -> Iterator[tuple[tuple[str, ...], str]]:
    given: Mapping[str, Any] = step.arguments
    inner: tuple[str, ...] = ()
    if step.verb == "merge":
        given, inner = given["merge"]["source"], ("merge", "source")
    views: dict[str, Sequence[str] | None] = {}
    for view, source in views_of_step(step.verb, step.arguments).items():
        views[view] = _columns_read(source, found)
    pending = given.get("pending") or {}
    if pending:
        table = found.tables.get(pending["table"])
        views[pending_view(pending)] = None if table is None else [*table.columns]
    known = ", ".join(views) or "nothing"
    for path, sql in (("sql",), given.get("sql")), (("pending", "sql"), pending.get("sql")):
        for told in _sql_faults(sql, views, f"reads has {known}"):
            yield (*inner, *path), told


def _columns_read(source: Any, found: Declaration) -> list[str] | None:
    """What a view shows; None where nobody knows, such as of a system table."""
    changes = isinstance(source, dict) and source.get("mode") == "changes"
    name = source["table"] if isinstance(source, dict) else str(source)
    table = found.tables.get(name) or found.external.get(name)
    if table is None:
        return None
    return [*table.columns, *(["_ROW_KIND"] if changes else [])]


def _sql_faults(sql: Any, views: Mapping[str, Sequence[str] | None], there: str) -> list[str]:
    """What is wrong with ``sql``; with templates it is known only at run time."""
    if not isinstance(sql, str) or _TEMPLATE in sql or "{%" in sql:
        return []
    if sql.endswith(".sql") and " " not in sql:
        return []  # a file that Airflow reads
    if len(sql) > _CHARACTERS_MAX:
        return [f"SQL of more than {_CHARACTERS_MAX:,} characters"]
    from sqlglot import errors, exp, parse

    try:
        statements = parse(sql, dialect="spark")
    except errors.ParseError as error:
        first: Mapping[str, Any] = error.errors[0] if error.errors else {}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        return [f"no SQL{where}: {first.get('description', error)}"]
    except (errors.SqlglotError, RecursionError) as error:
        return [f"no SQL: {str(error).partition(chr(10))[0] or 'it is nested too deep'}"]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return ["expected one SELECT"]
    return _name_faults(statements[0], views, there)


def _name_faults(query: Any, views: Mapping[str, Sequence[str] | None], there: str) -> list[str]:
    from sqlglot import errors, exp
    from sqlglot.optimizer.qualify import qualify

    named = {cte.alias.casefold() for cte in query.find_all(exp.CTE)}
    folded = {view.casefold() for view in views}
    tables = [t.sql(dialect="spark") for t in query.find_all(exp.Table) if t.name and t.db]
    if tables:
        return [f"{tables[0]}: SQL names the views of reads, not tables; {there}"]
    missing = {t.name for t in query.find_all(exp.Table) if t.name}
    missing = {name for name in missing if name.casefold() not in named | folded}
    if missing:
        return [f"no view {', '.join(sorted(missing))}; {there}"]
    if None in views.values():
        return []
    schema: dict[str, object] = {
        view: dict.fromkeys(columns or (), "STRING") for view, columns in views.items()
    }
    try:
        qualify(query, schema=schema, dialect="spark", quote_identifiers=False)
    except errors.OptimizeError as error:
        return [str(error).partition(". Line")[0]]
    except (errors.SqlglotError, RecursionError) as error:
        return [f"no SQL: {str(error).partition(chr(10))[0]}"]
    return []
