"""Names of columns and views in a declaration, held against what it declares.

Looked at by ``validate`` only: a Dag file has no time to parse SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.located import Fault, Located, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.declaration.model import Declaration, Step

__all__ = ["column_faults"]

_TEMPLATE: Final = "{{"


def column_faults(found: Declaration, root: Located, file: str) -> list[Fault]:
    """Checks, upkeep and queries that name a column, a view or SQL that is not there."""
    return [Fault(file, *place_of(root, path), told) for path, told in _unknown_columns(found)]


def _unknown_columns(found: Declaration) -> Iterator[tuple[tuple[str, ...], str]]:
    for check in found.checks:
        columns = found.tables[check.table].columns
        for rule in ("not_null", "unique", "range"):
            for name in check.rules.get(rule) or ():
                if name not in columns:
                    yield (
                        ("checks", check.name, rule),
                        f"{check.table} has no column {name!r}",
                    )
    for table, policy in found.policies.items():
        for name in (policy.get("compact") or {}).get("order_by") or ():
            if name not in found.tables[table].columns:
                yield ("upkeep",), f"compact.order_by: {table} has no column {name!r}"
    for step in found.steps:
        for told in _query_faults(step, found):
            yield _sql_path(step), told


def _sql_path(step: Step) -> tuple[str, ...]:
    return ("flows", step.name, *(("merge", "source") if step.verb == "merge" else ()), "sql")


def _query_faults(step: Step, found: Declaration) -> list[str]:
    """What is wrong with the SQL of a step; SQL with templates is known only at run time."""
    given: Mapping[str, Any] = step.arguments
    if step.verb == "merge":
        given = given["merge"]["source"]
    sql, reads = given.get("sql"), dict(given.get("reads") or given.get("sources") or {})
    if not isinstance(sql, str) or _TEMPLATE in sql:
        return []
    views = {view: _columns_read(source, found) for view, source in reads.items()}
    pending = given.get("pending") or {}
    if pending.get("table") in found.tables:
        views[pending["table"].partition(".")[2]] = [*found.tables[pending["table"]].columns]
    faults = _sql_faults(sql, views)
    if _TEMPLATE not in str(pending.get("sql", _TEMPLATE)):
        faults += [f"pending: {told}" for told in _sql_faults(pending["sql"], views)]
    return faults


def _columns_read(source: Any, found: Declaration) -> list[str]:
    table = source["table"] if isinstance(source, dict) else str(source)
    return [*found.tables[table].columns, "_ROW_KIND"] if table in found.tables else []


def _sql_faults(sql: str, views: Mapping[str, Sequence[str]]) -> list[str]:
    from sqlglot import errors, exp, parse
    from sqlglot.optimizer.qualify import qualify

    try:
        statements = parse(sql, dialect="spark")
    except errors.ParseError as error:
        first: Mapping[str, Any] = error.errors[0] if error.errors else {}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        return [f"no SQL{where}: {first.get('description', error)}"]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return ["expected one SELECT"]
    query = statements[0]
    named = {cte.alias for cte in query.find_all(exp.CTE)}
    missing = {t.name for t in query.find_all(exp.Table) if t.name} - named - set(views)
    if missing:
        known = ", ".join(views) or "nothing"
        return [f"no view {', '.join(sorted(missing))}; reads has {known}"]
    schema: dict[str, object] = {
        view: dict.fromkeys(columns, "STRING") for view, columns in views.items()
    }
    try:
        qualify(query, schema=schema, dialect="spark")
    except errors.OptimizeError as error:
        return [str(error).partition(". Line")[0]]
    return []
