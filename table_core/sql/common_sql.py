"""SQL that means the same to Spark and to DuckDB.

``engine="auto"`` may run a query in either, and a retry in the other.  So it runs in the worker only what is
surely the same: both parsers read the same tree, and the tree holds nothing of which one engine makes
something else.  ``concat`` of NULL, ``5 / 2`` of decimals, a cast of 1.5 to INT and ``upper('ß')`` are examples.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from table_core.datatypes.kinds import Atomic, Root
from table_core.options.budgets import require_bounded
from table_core.predicate.parameters import literal_of
from table_core.sql.same_parts import HIDDEN, has_other_part

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["first_unsure", "only_type", "types_of", "why_only_spark"]

_SAME: Final = frozenset(
    {
        *("Select", "From", "Where", "Group", "Having", "Limit", "Distinct", "Order", "Ordered"),
        *("With", "CTE", "Subquery", "Union", "Intersect", "Except", "Join", "Exists"),
        *(
            "Table",
            "TableAlias",
            "Alias",
            "Column",
            "Identifier",
            "Star",
            "Placeholder",
            "Parameter",
        ),
        *("Var", "Literal", "Null", "Boolean", "Paren", "DataType", "DataTypeParam"),
        *("EQ", "NEQ", "GT", "GTE", "LT", "LTE", "And", "Or", "Not", "Is", "In", "Between"),
        *("Case", "If", "Coalesce", "Nullif", "Count", "Sum", "Min", "Max"),
        *("Add", "Sub", "Mul", "Neg", "Cast", "Like"),
        *("Window", "WindowSpec", "RowNumber", "Rank", "DenseRank"),
    }
)
_COMPARES: Final = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Like),
    *(exp.Coalesce, exp.Nullif, exp.Case),
)
"""Where two values of two types meet, and one becomes of the other's."""
_WITH_BOUND: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between)
_TRUTHS: Final = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Like),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.Exists, exp.Boolean, exp.Null),
)
"""What is true, false or NULL."""
_TEXTS: Final = {
    str(Root.DATE): re.compile(r"\d{4}-\d\d-\d\d"),
    str(Root.TIMESTAMP): re.compile(
        r"\d{4}-\d\d-\d\d( ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?)?"
    ),
    str(Root.BOOLEAN): re.compile("true|false"),
}
"""Texts that both engines read as a value of the kind; each reads others that the other does not."""
_BOUND: Final = "bound"
"""Marks what stands for a parameter: no engine reads quotes or escapes in it, nor a type out of its text."""
_OF_BOUND: Final = {
    exp.DataType.Type.DATE: frozenset({Root.DATE, Root.TIMESTAMP}),
    exp.DataType.Type.TIMESTAMPNTZ: frozenset({Root.TIMESTAMP}),
    exp.DataType.Type.TIMESTAMPLTZ: frozenset({Root.TIMESTAMP_LTZ}),
    exp.DataType.Type.BINARY: frozenset({Root.BINARY, Root.VARBINARY}),
}
"""What a bound value of each type meets alike in both engines."""
_MICROS: Final = 6
_CALCULATES: Final = (exp.Add, exp.Sub, exp.Mul, exp.Neg)
_DIGITS_MAX: Final = 38
_UNKNOWN: Final = _DIGITS_MAX + 1
_INTEGERS: Final[Mapping[Root, int]] = {Root.INT: 10, Root.BIGINT: 20}
_NUMBERS: Final = frozenset({*_INTEGERS, Root.TINYINT, Root.SMALLINT, Root.DECIMAL, Root.DOUBLE})
_SURE: Final = _NUMBERS | {Root.BOOLEAN, Root.VARCHAR, Root.DATE, Root.TIMESTAMP}
"""Not FLOAT, whose 0.1 is another to each; not CHAR, which one pads; not what has the time zone of a session."""
_CAST_OF_NUMBERS: Final = (
    exp.DataType.Type.DECIMAL,
    exp.DataType.Type.BIGINT,
    exp.DataType.Type.INT,
)


def why_only_spark(
    sql: str, fields: Iterable[Field], parameters: Mapping[str, object] | None = None
) -> str:
    """What of ``sql`` Spark alone is sure about; '' if both engines answer the same.

    ``fields`` are the columns of its views, ``parameters`` the values of its ``$name``.
    """
    require_bounded(sql)
    try:
        tree = sqlglot.parse_one(sql, read="spark")
        other = sqlglot.parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return "the SQL is not understood"
    unsure = first_unsure(tree, other, fields, parameters)
    return "" if unsure is None else unsure[1]


def first_unsure(
    tree: exp.Expr,
    other: exp.Expr,
    fields: Iterable[Field],
    parameters: Mapping[str, object] | None = None,
) -> tuple[exp.Expr, str] | None:
    """The first node of which Spark alone is sure, and why; None if both engines answer the same.

    ``tree`` is what Spark reads, ``other`` what DuckDB reads in the text that it is given.
    """
    tree, other = _plain(tree, parameters or {}), _plain(other, parameters or {})
    types = types_of(tree, fields)
    for node in tree.walk():
        if why := _why(node, types):
            return node, why
    return None if tree == other else (tree, "the SQL means other things to Spark and to DuckDB")


def _plain(tree: exp.Expr, parameters: Mapping[str, object]) -> exp.Expr:
    """The same SQL without the nodes that only one dialect makes of the same text, and with its values."""

    def plain(node: exp.Expr) -> exp.Expr:
        if isinstance(
            node, exp.TryCast
        ):  # so sqlglot reads Spark's CAST; since Spark 4 it fails as DuckDB's
            return exp.Cast(this=node.this, to=node.args["to"])
        if isinstance(node, exp.Parameter) and isinstance(node.this, exp.Var):
            node = exp.Placeholder(this=node.this.name)
        if isinstance(node, exp.Placeholder) and node.name in parameters:
            value = literal_of(parameters[node.name])
            value.meta[_BOUND] = True
            return value
        return node

    return tree.transform(plain)


def types_of(tree: exp.Expr, fields: Iterable[Field]) -> dict[str, list[DataType]]:
    """The types of each name; of a name that the SQL itself gives to something else, behind ``HIDDEN``."""
    by_name: dict[str, list[DataType]] = {}
    for field in fields:
        by_name.setdefault(field.name.casefold(), []).append(field.type)
    plain = isinstance(tree, exp.Select) and not any(
        tree.args.get(clause) for clause in ("group", "having", "order", "qualify")
    )
    sources = (*tree.find_all(exp.Table), *tree.find_all(exp.Subquery), *tree.find_all(exp.CTE))
    tables = {source.alias_or_name.casefold() for source in sources}
    for column in tree.find_all(exp.Column):
        if column.table and column.table.casefold() not in tables:
            by_name.pop(column.name.casefold(), None)  # a member of a ROW
    for alias in tree.find_all(exp.Alias):
        if plain and alias.parent is tree:
            continue  # nobody reads what the outermost query calls it
        name = alias.alias.casefold()
        if not isinstance(alias.this, exp.Column) or alias.this.name.casefold() != name:
            known = by_name.pop(name, None)
            if known is not None:
                by_name[HIDDEN + name] = known
    return by_name


def _why(node: exp.Expr, types: Mapping[str, list[DataType]]) -> str:
    name = type(node).__name__
    if name not in _SAME and not node.meta.get(_BOUND):
        return f"only Spark is sure about {name.upper()} in the SQL"
    if isinstance(node, exp.Literal) and node.is_string and "\\" in node.name:
        if not node.meta.get(_BOUND):
            return "a text in the SQL has a backslash"
        if node.find_ancestor(exp.Like):  # Spark escapes by it, DuckDB does not
            return "a pattern of LIKE has a backslash"
    unsure = (
        (
            isinstance(node, exp.Cast)
            and not node.meta.get(_BOUND)
            and not _is_same_cast(node, types)
        )
        or (isinstance(node, _CALCULATES) and not _is_same_number(node, types))
        or (isinstance(node, _COMPARES) and not _is_same_meeting(node, types))
        or (isinstance(node, exp.Like) and not isinstance(node.expression, exp.Literal))
        or (isinstance(node, exp.Case | exp.If) and not _is_one_kind(node, types))
        or not all(_is_truth(asked, types) for asked in _asked(node))
        or has_other_part(node, types)
        or (isinstance(node, exp.TableAlias) and bool(node.columns))
        or (isinstance(node, exp.SetOperation) and not _is_same_union(node, types))
    )
    return f"only Spark is sure about {node.sql()}" if unsure else ""


def _is_same_union(node: exp.SetOperation, types: Mapping[str, list[DataType]]) -> bool:
    """Columns of the same names, each of one kind: no value becomes of another's type."""
    names = node.left.named_selects
    if names != node.right.named_selects:
        return False
    kinds = [{_kind(type_) for type_ in types.get(name.casefold(), [])} for name in names]
    for side in (node.left, node.right):
        selects = [] if side.is_star else side.selects
        for of_column, item in zip(kinds, selects, strict=False):
            if not isinstance(item.unalias(), exp.Column):
                of_column.update(_kinds_of(item.unalias(), types))
    return all(len(roots) < 2 for roots in kinds)


def _kind(type_: DataType) -> str:
    root = type_.root if isinstance(type_, Atomic) else None
    return "number" if root in _NUMBERS else str(root)


def _is_same_cast(node: exp.Cast, types: Mapping[str, list[DataType]]) -> bool:
    """Casts of NULL, of a text to a date, and of exact numbers to DECIMAL."""
    to, inner = node.to.this, node.this
    if isinstance(inner, exp.Null):
        return True
    if isinstance(inner, exp.Literal):
        if not inner.is_string:  # one engine rounds what the other cuts
            is_exact = to == exp.DataType.Type.DECIMAL or inner.name.isdigit()
            return to in _CAST_OF_NUMBERS and is_exact
        is_date = _TEXTS[str(Root.DATE)].fullmatch(inner.name) is not None
        return to == exp.DataType.Type.DATE and is_date
    if to != exp.DataType.Type.DECIMAL or not isinstance(
        inner, exp.Sum | exp.Min | exp.Max | exp.Count | exp.Column
    ):
        return False
    return all(0 < _digits(column, types) < _UNKNOWN for column in inner.find_all(exp.Column))


def _is_same_number(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    """Integers among themselves, which overflow alike; doubles; decimals that nobody has to round."""
    if isinstance(node.parent, (*_CALCULATES, exp.Paren)):
        return True  # judged with what it is a part of
    counted = {
        id(name) for count in node.find_all(exp.Count) for name in count.find_all(exp.Column)
    }
    roots = _roots(node, types, counted)  # a count is a whole number, whatever it counts
    whole = all("." not in n.name and not n.is_string for n in node.find_all(exp.Literal))
    if roots <= _INTEGERS.keys() and whole:
        return True
    return roots == {Root.DOUBLE} or _digits(node, types) <= _DIGITS_MAX


def _roots(
    node: exp.Expr, types: Mapping[str, list[DataType]], without: Container[int] = ()
) -> set[Root | None]:
    """The families of what ``node`` names, but for nodes ``without``; None for what nobody knows."""
    columns = [column for column in node.find_all(exp.Column) if id(column) not in without]
    names = [column.name.casefold() for column in columns]
    known: list[DataType | None] = [one for name in names for one in types.get(name, [None])]
    return {type_.root if isinstance(type_, Atomic) else None for type_ in known}


def _digits(node: exp.Expr, types: Mapping[str, list[DataType]]) -> int:
    """How many digits an exact number may have; more than 38 where nobody can tell."""
    if isinstance(node, exp.Paren | exp.Neg):
        return _digits(node.this, types)
    if isinstance(node, exp.Literal):
        return _UNKNOWN if node.is_string else len(node.name)
    if isinstance(node, exp.Column):
        return max(map(_digits_of, types.get(node.name.casefold(), [])), default=_UNKNOWN)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _digits(node.left, types) + _digits(node.right, types) + 1
    return _UNKNOWN


def only_type(node: exp.Expr, types: Mapping[str, list[DataType]]) -> DataType | None:
    """The type of a column; None for all else, and where columns of that name have several."""
    if not isinstance(node, exp.Column):
        return None
    known = set(types.get(node.name.casefold(), []))
    return known.pop() if len(known) == 1 else None


def _digits_of(type_: DataType) -> int:
    if not isinstance(type_, Atomic):
        return _UNKNOWN
    return type_.precision if type_.root is Root.DECIMAL else _INTEGERS.get(type_.root, _UNKNOWN)


def _is_same_meeting(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    """Numbers with numbers and texts with texts: what else meets is cast, and by each in its own way."""
    roots = _roots(node, types)
    if bound := _bound_types(node):
        return _is_same_bound(node, bound, types)
    if not roots <= _SURE:
        return False
    literals = [literal.name for literal in node.find_all(exp.Literal) if literal.is_string]
    texts = bool(literals)
    numbers = any(not literal.is_string for literal in node.find_all(exp.Literal))
    kinds = {"number" if root in _NUMBERS else str(root) for root in roots}
    if isinstance(node, exp.Case):  # what is asked and what is answered may be of two types
        return not roots & {Root.DATE, Root.TIMESTAMP} or not texts
    if len(kinds) > 1:
        return False
    form = _TEXTS.get(next(iter(kinds), ""))
    if form is not None and not all(map(form.fullmatch, literals)):
        return False
    if kinds == {"number"} and not _meet_exactly(node, types):
        return False
    return not (texts and "number" in kinds) and not (numbers and kinds and kinds != {"number"})


def _bound_types(node: exp.Expr) -> set[exp.DType]:
    """The types of the parameters in ``node`` that are neither a text nor a number."""
    marked = [one for one in node.find_all(exp.Cast, exp.HexString) if one.meta.get(_BOUND)]
    return {
        one.to.this if isinstance(one, exp.Cast) else exp.DataType.Type.BINARY for one in marked
    }


def _is_same_bound(
    node: exp.Expr, bound: set[exp.DType], types: Mapping[str, list[DataType]]
) -> bool:
    """Whether ``node`` compares columns with times or bytes that are of their types, and with nothing else."""
    names = [column.name.casefold() for column in node.find_all(exp.Column)]
    known = [one for name in names for one in types.get(name, [])]
    fits = frozenset.intersection(*(_OF_BOUND[kind] for kind in bound))
    literals = [one for one in node.find_all(exp.Literal) if not isinstance(one.parent, exp.Cast)]
    return (
        isinstance(node, _WITH_BOUND)
        and not literals
        and all(name in types for name in names)
        and bool(known)
        and all(isinstance(one, Atomic) and one.root in fits for one in known)
        and len({one.root for one in known if isinstance(one, Atomic)}) == 1
        and all(
            one.precision <= _MICROS
            for one in known
            if isinstance(one, Atomic) and one.root is Root.TIMESTAMP_LTZ
        )
    )


def _meet_exactly(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    """Whether decimals have room beside one another: Spark rounds what does not fit into 38 digits."""
    known = [one for c in node.find_all(exp.Column) for one in types.get(c.name.casefold(), [])]
    sizes = [
        (type_.precision - type_.scale, type_.scale)
        for type_ in known
        if isinstance(type_, Atomic) and type_.root is Root.DECIMAL
    ]
    if not sizes:
        return True
    for literal in node.find_all(exp.Literal):
        whole, _, fraction = literal.name.partition(".")
        if "e" not in literal.name.lower():
            sizes.append((len(whole), len(fraction)))
    return max(whole for whole, _ in sizes) + max(scale for _, scale in sizes) <= _DIGITS_MAX


def _asked(node: exp.Expr) -> list[exp.Expr]:
    """The conditions of ``node``: one engine takes numbers for them, the other refuses them."""
    conditions: list[exp.Expr | None] = []
    if isinstance(node, exp.And | exp.Or):
        conditions = [node.left, node.right]
    elif isinstance(node, exp.Join):
        conditions = [node.args.get("on")]
    elif (
        isinstance(node, exp.Not | exp.Where | exp.Having)
        or (isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean))
        or (isinstance(node, exp.If) and not _is_of_simple_case(node))
    ):
        conditions = [node.this]
    return [condition for condition in conditions if condition is not None]


def _is_of_simple_case(node: exp.If) -> bool:
    """``CASE x WHEN 1 …``: it compares with x, and asks nothing."""
    return isinstance(node.parent, exp.Case) and node.parent.this is not None


def _is_truth(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    if isinstance(node, exp.Paren):
        return _is_truth(node.this, types)
    return isinstance(node, _TRUTHS) or _kinds_of(node, types) == {str(Root.BOOLEAN)}


def _is_one_kind(node: exp.Case | exp.If, types: Mapping[str, list[DataType]]) -> bool:
    """All answers are of one kind, and all that is compared: no value becomes of another's type."""
    branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
    answers = [branch.args.get("true") for branch in branches]
    answers.append(node.args.get("default") or node.args.get("false"))
    compared = [node.this, *(branch.this for branch in branches)]
    groups = [answers, compared if isinstance(node, exp.Case) and node.this is not None else []]
    return all(
        len(set().union(*(_kinds_of(one, types) for one in group if one is not None))) < 2
        for group in groups
    )


def _kinds_of(node: exp.Expr, types: Mapping[str, list[DataType]]) -> set[str]:
    """The kinds of values that ``node`` may have; none of NULL, and itself where nobody can tell."""
    if isinstance(node, exp.Null):
        return set()
    if isinstance(node, exp.Literal):
        return {str(Root.VARCHAR) if node.is_string else "number"}
    if isinstance(node, _TRUTHS):
        return {str(Root.BOOLEAN)}
    if isinstance(node, (*_CALCULATES, exp.Sum, exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank)):
        return {"number"}
    if isinstance(node, exp.Paren | exp.Min | exp.Max | exp.Window | exp.Nullif | exp.Coalesce):
        return _kinds_of(node.this, types)
    if isinstance(node, exp.Case):
        answers = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
        return set().union(*(_kinds_of(one, types) for one in answers if one is not None))
    if isinstance(node, exp.Column):
        known = {_kind(type_) for type_ in types.get(node.name.casefold(), [])}
        return known or _kinds_of_computed(node, types)
    return {node.sql()}


def _kinds_of_computed(column: exp.Column, types: Mapping[str, list[DataType]]) -> set[str]:
    """Of a column that the one subquery behind FROM computes; itself where nobody can tell."""
    select = column.find_ancestor(exp.Select)
    parts = {} if select is None or select.args.get("joins") else select.args
    inner = parts["from_"].this if parts.get("from_") else None
    if isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Select):
        named = [
            item.this
            for item in inner.this.expressions
            if isinstance(item, exp.Alias) and item.alias.casefold() == column.name.casefold()
        ]
        if len(named) == 1:
            return _kinds_of(named[0], types)
    return {column.sql()}
