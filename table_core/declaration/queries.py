"""SQL of a declaration, held against the columns of the tables that its views show.

Looked at by ``validate`` only: a Dag file has no time to parse SQL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.declaration.parameters import jinja_problem
from table_core.declaration.steps import DeclaredView, MergeStep, QueryStep
from table_core.errors import TableError
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.declaration.model import Declaration, TableDeclaration
    from table_core.declaration.steps import Step

__all__ = ["merge_diagnostics", "query_diagnostics"]

_UNRESOLVED: Final = re.compile(
    r"Column '\"?(?P<name>[^'\"]*)\"?' could not be resolved(?: for table: '(?P<view>[^']*)')?"
)
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*")
_LOOSE_COMMA: Final = re.compile(r",\s*FROM\b", re.IGNORECASE)
"""Spark does not take it."""
_CHARACTERS_MAX: Final = 200_000
Finding = tuple[tuple[str, ...], str]


def query_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Queries that do not parse, or name a column or view that is not there."""
    for step in declaration.steps:
        if step.table in declaration.tables:
            for path, message in _of_step(step, declaration):
                yield ("flows", step.name, *path), message
    for check in declaration.checks:
        sql, table = check.rules.get("sql"), declaration.tables.get(check.table)
        if sql is not None and table is not None:
            for message in _sql_diagnostics(
                sql, {"rows": [*table.columns]}, "the rows are the view rows"
            ):
                yield ("checks", check.name, "sql"), message


def _of_step(step: Step, declaration: Declaration) -> Iterator[tuple[tuple[str, ...], str]]:
    sql = step.sql if isinstance(step, QueryStep | MergeStep) else None
    inner = ("merge", "source") if isinstance(step, MergeStep) else ()
    views = {name: columns_read(view, declaration) for name, view in step.views.items()}
    pending = step.pending
    if pending is not None:
        table = declaration.tables.get(pending.table)
        views[pending.shown_as] = None if table is None else [*table.columns]
    known = ", ".join(views) or "nothing"
    parameters = step.with_arguments.get("parameters") or {}
    if parameters and not sql:
        yield ("with", "parameters"), "values of $name in SQL, and there is none"
    for path, text, makes in (
        (("sql",), sql, step.table if isinstance(step, QueryStep) else ""),
        (("pending", "sql"), pending and pending.sql, "" if pending is None else pending.table),
    ):
        query, message = _parsed(text)
        if query is not None:
            message = [*_name_diagnostics(query, views, f"reads has {known}")]
            message += parameter_problems(query, parameters)
            if makes in declaration.tables and not message and None not in views.values():
                fixed = step.overwrite if isinstance(step.overwrite, dict) else {}
                message += output_problems(query, makes, declaration.tables[makes], fixed)
        for one in message:
            yield (*inner, *path), one


def columns_selected(sql: Any, views: Mapping[str, Sequence[str] | None]) -> list[str] | None:
    """The columns of a query over ``views``; None where nobody knows, or where it is wrong."""
    query, _ = _parsed(sql)
    if query is None or None in views.values() or _name_diagnostics(query, views, ""):
        return None
    names = [str(name) for name in query.named_selects]
    return None if "*" in names or not all(names) else names


def columns_read(view: DeclaredView, declaration: Declaration) -> list[str] | None:
    """What a view shows; None where nobody knows, such as of a system table."""
    table = declaration.tables.get(view.table) or declaration.external.get(view.table)
    if table is None:
        return None
    return [*table.columns, *(["_ROW_KIND"] if view.is_of_changes else [])]


def _parsed(sql: Any) -> tuple[Any, list[str]]:
    """The query, or what is wrong; neither of what is known only at run time."""
    if not isinstance(sql, str):
        return None, []
    if "{{" in sql or "{%" in sql:
        return None, template_problems(sql)
    if sql.endswith(".sql") and " " not in sql:
        return None, []  # a file that Airflow reads
    if len(sql) > _CHARACTERS_MAX:
        return None, [f"SQL of more than {_CHARACTERS_MAX:,} characters"]
    from sqlglot import errors, exp, parse

    try:
        statements = parse(sql, dialect="spark")
    except errors.ParseError as error:
        first: Mapping[str, Any] = error.errors[0] if error.errors else {}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        return None, [f"no SQL{where}: {first.get('description', error)}"]
    except (errors.SqlglotError, RecursionError) as error:
        return None, [f"no SQL: {str(error).partition(chr(10))[0] or 'it is nested too deep'}"]
    if _LOOSE_COMMA.search(_QUOTED.sub("''", sql)):
        return None, ["no SQL: a comma stands before FROM"]
    if len(statements) == 1 and isinstance(statements[0], exp.Query):
        return statements[0], []
    there = [one for one in statements if one is not None]
    statement = (
        f"{len(there)} statements" if len(there) > 1 else there[0].key.upper() if there else ""
    )
    return None, [f"expected one SELECT, found {statement or 'nothing'}"]


def _sql_diagnostics(sql: Any, views: Mapping[str, Sequence[str] | None], there: str) -> list[str]:
    """What is wrong with ``sql``; with templates it is known only at run time."""
    query, message = _parsed(sql)
    return message if query is None else _name_diagnostics(query, views, there)


def _name_diagnostics(
    query: Any, views: Mapping[str, Sequence[str] | None], there: str
) -> list[str]:
    """Views and columns that are not there; ``query`` is qualified where all is known."""
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
        return [_column_problem(str(error).partition(". Line")[0], views)]
    except (errors.SqlglotError, RecursionError) as error:
        return [f"no SQL: {str(error).partition(chr(10))[0]}"]
    return []


def _column_problem(message: str, views: Mapping[str, Sequence[str] | None]) -> str:
    """What the parser says of a column, with what there is instead."""
    match = _UNRESOLVED.match(message)
    if match is None:
        return message
    name, view = match["name"], match["view"]
    if view and view.casefold() not in {one.casefold() for one in views}:
        return f"no view {view!r} for column {name!r}; {hint(view, views)}"
    having = [one for one, columns in views.items() if name in (columns or ())]
    if not view and len(having) > 1:
        both = " or ".join(f"{one}.{name}" for one in having)
        return f"column {name!r} is in {' and '.join(having)}: write {both}"
    if having:
        return f"column {name!r} is in {having[0]}, which the query does not read there"
    known = [c for one, columns in views.items() if view in {"", None, one} for c in columns or ()]
    return f"no column {name!r}; {hint(name, dict.fromkeys(known))}"


_UNNAMED: Final = re.compile(r"_col_\d+")
_OF_DBT: Final = re.compile(
    r"\{[{%][^}]*?\b(ref|source|env_var|var|config|is_incremental|this)\s*\("
)
_KIND: Final = "_row_kind"
"""The kind of a row is no column of the table."""


def output_problems(
    query: Any, name: str, table: TableDeclaration, overwritten: Iterable[str]
) -> Iterator[str]:
    """Columns that a qualified query gives and the table has not, and the reverse where one must be."""
    selected = [one.casefold() for one in query.named_selects]
    if "*" in selected or any(not one for one in selected):
        return
    known = {column.casefold(): column for column in table.columns}
    for number, column in enumerate(selected, 1):
        if _UNNAMED.fullmatch(column):
            yield f"column {number} of the query has no name: write … AS and a column of {name}"
        elif column not in known and column != _KIND:
            yield f"the query gives {column!r}, which {name} has not; {hint(column, known.values())}"
        elif known.get(column) in table.computed:
            yield f"the query gives {column!r}, which {name} computes: leave it out"
        elif column in selected[: number - 1]:
            yield f"the query gives {column!r} twice"
    for folded, column in known.items():
        left_out = folded not in selected and column not in {*overwritten, *table.computed}
        if left_out and _is_needed(column, table):
            yield f"the query lacks {column!r}, which is NOT NULL in {name}"


def _is_needed(column: str, table: TableDeclaration) -> bool:
    if column in table.column_defaults:
        return False
    from table_core.datatypes.text import parse_type

    try:
        return column in table.primary_key or not parse_type(table.columns[column]).nullable
    except TableError:
        return False  # told where the type stands


def parameter_problems(query: Any, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Parameters that the query asks for and nobody gives."""
    from sqlglot import exp

    for one in query.find_all(exp.Placeholder):
        if one.name:
            yield f":{one.name} is no parameter: write ${one.name}, with its value in parameters"
    asked = {one.name for one in query.find_all(exp.Parameter)}
    for name in sorted(asked - set(parameters)):
        near = hint(name, parameters)
        more = f"; {near}" if near.startswith("did") else ": give it under with.parameters"
        yield f"${name} has no value{more}"


def template_problems(text: str) -> list[str]:
    """What is wrong with a template, as far as it can be told before it is rendered."""
    for opening, closing in (("{{", "}}"), ("{%", "%}")):
        if text.count(opening) != text.count(closing):
            return [f"a template opens with {opening} and does not close with {closing}"]
    if message := jinja_problem(text):
        return [message]
    macro = _OF_DBT.search(text)
    if macro is not None:
        default_hint = "name the table under reads and its view in SQL"
        other = {"var": "write params.name of pipeline.params", "env_var": "write ${NAME}"}
        return [f"{macro[1]}() of dbt is not known here: {other.get(macro[1], default_hint)}"]
    return []


_TEMPLATE: Final = "{{"
Sides = dict[str, list[str] | None]


def merge_diagnostics(declaration: Declaration) -> Iterator[Finding]:
    """Columns in ``merge.when`` that the source or the table has not."""
    for step in declaration.steps:
        if not isinstance(step, MergeStep) or step.table not in declaration.tables:
            continue
        sides: Sides = {
            "source": _source_columns(step, declaration),
            "target": [*declaration.tables[step.table].columns],
        }
        path = ("flows", step.name, "merge", "when")
        if sides["source"] is not None and step.sql is not None:
            names = [name for name in step.on if _TEMPLATE not in name]
            for message in _lacking(names, sides["source"], "the source"):
                yield (*path[:-1], "on"), message
        for clause in step.when:
            for sql in (*(clause.get("values") or {}).values(), clause.get("condition")):
                for message in _diagnostics(sql, sides):
                    yield path, message


def _source_columns(step: MergeStep, declaration: Declaration) -> list[str] | None:
    """What the source shows; None where nobody knows."""
    if step.source_table is not None:
        return columns_read(DeclaredView(table=step.source_table), declaration)
    views = {name: columns_read(view, declaration) for name, view in step.views.items()}
    return columns_selected(step.sql, views)


def _diagnostics(sql: Any, sides: Sides) -> Iterator[str]:
    if not isinstance(sql, str) or _TEMPLATE in sql:
        return
    from sqlglot import errors, exp, parse_one

    try:
        tree = parse_one(sql, dialect="spark")
    except (errors.SqlglotError, RecursionError):
        return  # told with its place in the text
    bound = {name.name.casefold() for lam in tree.find_all(exp.Lambda) for name in lam.expressions}
    for column in tree.find_all(exp.Column):
        first, *rest = [part.name for part in column.parts]
        known = sides.get(first.casefold()) if rest else None
        if rest and first.casefold() in sides:
            if known is not None:
                yield from _lacking(rest[:1], known, f"the {first.casefold()}")
            continue
        if first.casefold() in bound or None in sides.values():
            continue
        both = [name for side in sides.values() for name in side or ()]
        if first.casefold() not in {name.casefold() for name in both}:
            near = hint(first, both)
            yield f"{sql!r}: {first!r} is neither source.… nor target.…, nor a column of them; {near}"


def _lacking(names: Sequence[str], known: Sequence[str], where: str) -> Iterator[str]:
    folded = {one.casefold() for one in known}
    for name in names:
        if name.casefold() not in folded:
            yield f"{where} has no column {name!r}; {hint(name, known)}"
