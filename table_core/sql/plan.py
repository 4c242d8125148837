"""A query and the columns of its tables, to what is read of each table and what DuckDB computes.

A query is carried out here only if both engines answer it alike (``common_sql``); all else is refused with its
place, and Spark is the way out.  What a scan is asked for is only ever less than all, and never less than the
query needs: DuckDB applies every condition again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import ErrorLevel, exp

from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import PredicateError
from table_core.options.nearest import hint
from table_core.predicate.parameters import literal_of
from table_core.sql.common_sql import first_unsure, only_type, types_of
from table_core.sql.query import Query, start_of
from table_core.sql.same_parts import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["Plan", "ScanNeeds", "plan_of"]

_INNER: Final = frozenset({"", "INNER", "CROSS"})
_KEEPS_LEFT: Final = frozenset({*_INNER, "SEMI", "ANTI", "OUTER"})
_ENOUGH: Final = frozenset(
    {"kind", "expressions", "from_", "where", "limit", "operation_modifiers"}
)
"""What a SELECT has that is nothing but rows of one table."""
_DIGITS_MAX: Final = 38


@dataclass(frozen=True, slots=True)
class ScanNeeds:
    """What a query needs of one view."""

    columns: tuple[str, ...]
    """Exact names."""
    where: tuple[str, ...] = ()
    """Conditions that each wanted row meets, over exact names."""
    limit: int | None = None
    """As many rows are enough, if every condition is applied."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is answered."""

    sql: str
    """For DuckDB, with a ``$name`` for each parameter."""
    needs: Mapping[str, ScanNeeds]
    """Of each view."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    output: tuple[str, ...] | None = None
    """The columns of the only view that are the result, where its scan leaves nothing to compute."""
    inexact: tuple[str, ...] = ()
    """Columns of the result that are computed: of decimals among them Spark may have another precision."""


def plan_of(
    query: Query, columns: Mapping[str, Sequence[Field]], parameters: Mapping[str, Any]
) -> Plan:
    """Decide how ``query`` is answered, whose views have ``columns``.

    Raises:
        SqlError: it names a column or parameter that is not there.
        UnsupportedFeatureError: a part of it may mean something else to Spark.
    """
    words, tree = query.words, query.tree
    fields = [field for of_view in columns.values() for field in of_view]
    for of_view in columns.values():
        _refuse_twins(query, of_view)
    named = _parameters(query, parameters)
    _refuse_unknown_columns(query, columns)
    text = _for_duckdb(tree)
    other = sqlglot.parse_one(text, dialect="duckdb")
    unsure = first_unsure(tree, other, fields, named)
    if unsure is not None:
        node, why = unsure
        raise words.only_spark(why, start_of(node, words.start))
    needs = {
        view.name: _needs_of(query, view.name, view.times, columns[view.name], named)
        for view in query.views
    }
    types = types_of(tree, fields)
    typed = _with_names_as_written(_with_types_of_spark(tree, types), fields)
    return Plan(
        _for_duckdb(typed),
        {name: one for name, (one, _) in needs.items()},
        named,
        _output(query, columns, needs),
        _inexact(typed, types),
    )


def _for_duckdb(tree: Any) -> str:
    """What only one dialect has is left out here, and then makes the trees differ."""
    return str(tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE))


def _refuse_twins(query: Query, fields: Sequence[Field]) -> None:
    seen: dict[str, str] = {}
    for one in fields:
        twin = seen.setdefault(one.name.casefold(), one.name)
        if twin != one.name:
            raise query.words.refused(
                f"a table with the columns {twin!r} and {one.name!r}",
                "SQL does not tell them apart: rename one",
                query.words.start,
            )


def _parameters(query: Query, parameters: Mapping[str, Any]) -> dict[str, Any]:
    named = {}
    for node in query.tree.find_all(exp.Placeholder, exp.Parameter):
        name = node.name if isinstance(node, exp.Placeholder) else ""
        if not name or name == "?":
            raise query.words.wrong("a parameter is written :name", query.words.start)
        if name not in parameters:
            have = ", ".join(sorted(parameters)) or "none"
            raise query.words.wrong(
                f"the SQL names :{name}, which is not in the parameters; there are {have}",
                query.words.start,
            )
        named[name] = parameters[name]
    return named


# ---------------------------------------------------------------------------------------- columns
def _refuse_unknown_columns(query: Query, columns: Mapping[str, Sequence[Field]]) -> None:
    """A column that nothing has: DuckDB would say so too, but not where."""
    tree, words = query.tree, query.words
    by_alias = {
        table.alias.casefold(): columns[table.name]
        for table in tree.find_all(exp.Table)
        if table.name in columns
    }
    every = {one.name.casefold(): one.name for fields in columns.values() for one in fields}
    made = {alias.alias.casefold() for alias in tree.find_all(exp.Alias)}
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            continue
        start = start_of(column, words.start)
        if column.args.get("db"):
            raise words.refused(
                f"{column.sql()}", "give the table an alias, and write alias.column", start
            )
        name, table = column.name.casefold(), column.table.casefold()
        if table in by_alias and _tables_of(tree, table) == 1:
            names = {one.name.casefold(): one.name for one in by_alias[table]}
            if name not in names:
                raise words.wrong(
                    f"no column {column.name!r} in {column.table!r}"
                    f": {hint(column.name, names.values())}",
                    start,
                )
        elif not table and name not in every and name not in made:
            raise words.wrong(
                f"no column {column.name!r}: {hint(column.name, every.values())}", start
            )


def _tables_of(tree: Any, alias: str) -> int:
    sources = (*tree.find_all(exp.Table), *tree.find_all(exp.Subquery), *tree.find_all(exp.CTE))
    return sum(source.alias.casefold() == alias for source in sources)


def _needed_columns(tree: Any, fields: Sequence[Field]) -> tuple[str, ...]:
    """Of every name that occurs anywhere; one column at least, because rows are counted by it."""
    stars = any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))
    natural = any(join.args.get("method") for join in tree.find_all(exp.Join))
    if stars or natural:
        return tuple(one.name for one in fields)
    names = {name.name.casefold() for name in tree.find_all(exp.Identifier)}
    return tuple(one.name for one in fields if one.name.casefold() in names) or (fields[0].name,)


# --------------------------------------------------------------------------- conditions and limit
def _needs_of(
    query: Query, view: str, times: int, fields: Sequence[Field], parameters: Mapping[str, Any]
) -> tuple[ScanNeeds, bool]:
    """What is needed of a view, and whether nothing but its rows is left to compute."""
    columns = _needed_columns(query.tree, fields)
    (table, *_) = [one for one in query.tree.find_all(exp.Table) if one.name == view]
    select = table.find_ancestor(exp.Select)
    if times > 1 or select is None or not _is_kept(select, table):
        return ScanNeeds(columns), False
    alone = not select.args.get("joins")
    where, all_taken = [], True
    for condition in _conjuncts(select.args.get("where")):
        text = _pushed(condition, table.alias, fields, parameters, alone=alone)
        if text is None:
            all_taken = False
        else:
            where.append(text)
    whole = (
        all_taken
        and select is query.tree
        and alone
        and all(name in _ENOUGH for name, value in select.args.items() if value)
        and not any(select.find_all(exp.AggFunc, exp.Window, exp.Subquery))
        and isinstance(table.parent, exp.From)
    )
    limit = _limit(select) if whole else None
    if whole and select.args.get("limit") is not None and limit is None:
        whole = False
    return ScanNeeds(columns, tuple(where), limit), whole


def _is_kept(select: Any, table: Any) -> bool:
    """Whether WHERE of ``select`` takes rows of ``table`` as they are, never NULLs in their place."""
    joins = select.args.get("joins") or []
    for join in joins:
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if side not in {"", "LEFT"} or kind not in _KEEPS_LEFT or join.args.get("method"):
            return False
    if any(one.args.get("joins") for one in select.find_all(exp.Table)):
        return False  # a JOIN b RIGHT JOIN c ON … ON …
    parent = table.parent
    if isinstance(parent, exp.From):
        return parent.parent is select
    if isinstance(parent, exp.Join) and parent.parent is select:
        return not parent.side and (parent.kind or "").upper() in _INNER
    return False


def _conjuncts(where: Any) -> Iterator[Any]:
    rest = [] if where is None else [where.this]
    while rest:
        node = rest.pop()
        if isinstance(node, exp.And):
            rest += [node.expression, node.this]
        elif isinstance(node, exp.Paren):
            rest.append(node.this)
        else:
            yield node


def _pushed(
    condition: Any,
    alias: str,
    fields: Sequence[Field],
    parameters: Mapping[str, Any],
    *,
    alone: bool,
) -> str | None:
    """``condition`` as a scan takes it; None if it says more than of this table's columns."""
    if any(condition.find_all(exp.Query, exp.Window, exp.AggFunc)):
        return None
    exact = {one.name.casefold(): one.name for one in fields}
    for column in condition.find_all(exp.Column):
        qualified = column.table.casefold() == alias.casefold()
        if (
            isinstance(column.this, exp.Star)
            or column.name.casefold() not in exact
            or (column.table and not qualified)
            or (not column.table and not alone)
        ):
            return None
    plain = condition.copy()
    for column in plain.find_all(exp.Column):
        column.set("table", None)
        name = exact[column.name.casefold()]
        column.set("this", exp.to_identifier(name, quoted=True))
    for placeholder in list(plain.find_all(exp.Placeholder)):
        literal = _literal(parameters[placeholder.name])
        if placeholder is plain or literal is None:
            return None
        placeholder.replace(literal)
    text = plain.sql(dialect="spark")
    return text if _is_condition(text, fields) else None


def _literal(value: object) -> Any:
    """A number with a fraction is a DOUBLE, as for DuckDB; None of one that no literal stands for."""
    if not isinstance(value, float):
        return literal_of(value)
    return exp.Literal.number(f"{value:.17e}") if math.isfinite(value) else None


def _is_condition(text: str, fields: Sequence[Field]) -> bool:
    from table_core.predicate.bind import bind as bind_fields
    from table_core.predicate.sql import parse_where

    try:
        bind_fields(parse_where(text), fields)
    except PredicateError:
        return False
    return True


def _limit(select: Any) -> int | None:
    limit = select.args.get("limit")
    if not isinstance(limit, exp.Limit):
        return None
    count = limit.expression
    if isinstance(count, exp.Literal) and not count.is_string and count.name.isdigit():
        return int(count.name)
    return None


# ----------------------------------------------------------------------------------------- result
def _output(
    query: Query,
    columns: Mapping[str, Sequence[Field]],
    needs: Mapping[str, tuple[ScanNeeds, bool]],
) -> tuple[str, ...] | None:
    """The columns that are the result, if the scan of the only view gives it."""
    if len(query.views) != 1 or not needs[query.views[0].name][1]:
        return None
    fields = columns[query.views[0].name]
    exact = {one.name.casefold(): one.name for one in fields}
    output: list[str] = []
    for item in query.tree.expressions:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            output += [one.name for one in fields]
        elif isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
            name = exact.get(item.name.casefold())
            if name != item.name or item.table.casefold() not in {"", _alias(query)}:
                return None  # also where the result has the name as the query writes it
            output.append(item.name)
        else:
            return None
    return tuple(output) if len(set(output)) == len(output) else None


def _alias(query: Query) -> str:
    return str(next(iter(query.tree.find_all(exp.Table))).alias).casefold()


def _with_types_of_spark(tree: Any, types: Mapping[str, list[DataType]]) -> Any:
    """The same query, whose sums and ranks have the types that they have in Spark."""
    copy = tree.copy()
    for node in list(copy.find_all(exp.Sum, exp.RowNumber, exp.Rank, exp.DenseRank)):
        to = _type_of_spark(node, types)
        whole = node.parent if isinstance(node.parent, exp.Window) else node
        parent, key, index = whole.parent, whole.arg_key, whole.index
        if to is not None and parent is not None and key is not None:
            parent.set(key, exp.Cast(this=whole, to=to), index)
    return copy


def _with_names_as_written(tree: Any, fields: Sequence[Field]) -> Any:
    """The same query, whose columns are called as it writes them: DuckDB calls them as their tables do."""
    spelled: dict[str, set[str]] = {}
    for name in (*(one.name for one in fields), *(a.alias for a in tree.find_all(exp.Alias))):
        spelled.setdefault(name.casefold(), set()).add(name)
    for select in tree.find_all(exp.Select):
        for item in list(select.expressions):
            if not isinstance(item, exp.Column) or isinstance(item.this, exp.Star):
                continue
            if spelled.get(item.name.casefold(), {item.name}) != {item.name}:
                item.replace(exp.alias_(item.copy(), item.name, quoted=True))
    return tree


def _type_of_spark(node: Any, types: Mapping[str, list[DataType]]) -> Any:
    if not isinstance(node, exp.Sum):
        return exp.DataType.build("INT")
    if is_whole(node.this, types):
        return exp.DataType.build("BIGINT")
    type_ = only_type(node.this, types)
    if isinstance(type_, Atomic) and type_.root is Root.DECIMAL:
        digits = min(_DIGITS_MAX, type_.precision + 10)
        return exp.DataType.build(f"DECIMAL({digits}, {type_.scale})")
    return None


def _inexact(tree: Any, types: Mapping[str, list[DataType]]) -> tuple[str, ...]:
    """Names of columns of the result whose type nobody has set: neither a table nor a cast."""
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tuple(
        item.alias_or_name
        for item in tree.expressions
        if not isinstance(item.unalias(), exp.Cast | exp.Star)
        and only_type(item.unalias(), types) is None
    )
