"""Parts of nodes that both engines know, and of which only one makes something, or each something else.

``common_sql`` has the list of nodes; this says which of their parts are not of it: ``DISTINCT ON``, ``count(t.*)``,
``max(a, 2)``, the columns of ``*`` behind ``USING``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.datatypes.kinds import DataType

__all__ = ["HIDDEN", "has_other_part", "is_whole", "number_kinds"]

HIDDEN: Final = "\0"
"""Before the name of a column that the query gives to something else too."""
_BIGINT_MAX: Final = 2**63 - 1
_WHOLE: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
_SMALL: Final = frozenset({Root.TINYINT, Root.SMALLINT})
_REAL: Final = frozenset({Root.DECIMAL, Root.DOUBLE, Root.FLOAT})
_RANKS: Final = (exp.RowNumber, exp.Rank, exp.DenseRank)
_OF_ONE: Final = (exp.Sum, exp.Min, exp.Max, exp.Count)
_INSIDE: Final = (exp.Paren, exp.Neg, exp.Nullif, exp.Min, exp.Max, exp.Sum, exp.Window)
"""What is of the kind of the value in it."""
_OF_CASTS: Final = {
    exp.DataType.Type.BIGINT: "whole",
    exp.DataType.Type.INT: "whole",
    exp.DataType.Type.DECIMAL: "real",
}


def has_other_part(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    """Whether ``node`` has a part that only one engine knows, or that each takes in its own way."""
    if isinstance(node, exp.Star):
        return _is_other_star(node)
    if isinstance(node, exp.Literal):
        return not node.is_string and node.name.isdigit() and int(node.name) > _BIGINT_MAX
    if isinstance(node, exp.Distinct):
        return bool(node.args.get("on")) or len(node.expressions) > 1
    if isinstance(node, _OF_ONE) and node.expressions:
        return True
    if isinstance(node, exp.Sum):
        return not _is_sum_of_numbers(node, types)
    if isinstance(node, exp.Window):
        is_rank = isinstance(node.this, _RANKS)
        return node.this.find(exp.Distinct) is not None or (is_rank and not _is_ordered(node))
    if isinstance(node, exp.WindowSpec):
        return node.args.get("kind") not in {"ROWS", "RANGE"} or bool(node.args.get("exclude"))
    if isinstance(node, exp.Table):  # a JOIN b JOIN c ON … ON …
        return bool(node.args.get("joins")) and not isinstance(
            node.parent, exp.Subquery | exp.Paren
        )
    if isinstance(node, exp.Join):
        return _is_other_join(node, types)
    if isinstance(node, exp.Select):
        return _orders_by_other_columns(node)
    if isinstance(node, exp.Coalesce | exp.Case | exp.If):
        return _widens_small_numbers(node, types)
    return isinstance(node, exp.Column) and _is_nested_value(node, types)


def _is_other_star(node: exp.Star) -> bool:
    """A star with REPLACE or RENAME, or one that is neither columns of SELECT nor ``count(*)``."""
    parts = [name for name, value in node.args.items() if value]
    bare = node.parent
    columns = bare.parent if isinstance(bare, exp.Column) else bare
    in_select = isinstance(columns, exp.Select)
    return parts not in ([], ["except_"]) or not (in_select or isinstance(bare, exp.Count))


def _is_ordered(node: exp.Window) -> bool:
    """A rank without an order is an error in Spark; an order may also stand behind WINDOW."""
    return node.args.get("order") is not None or node.args.get("alias") is not None


def _is_other_join(node: exp.Join, types: Mapping[str, list[DataType]]) -> bool:
    """``NATURAL`` and ``USING`` put columns of ``*`` in another order, and compare without being a comparison."""
    if node.args.get("method"):
        return True
    using = node.args.get("using") or []
    select = node.find_ancestor(exp.Select)
    stars = [] if select is None else [one for one in select.expressions if one.find(exp.Star)]
    kinds = [{_kind_of(one) for one in types.get(name.name.casefold(), [])} for name in using]
    return bool(using) and (bool(stars) or any(len(one) != 1 or "" in one for one in kinds))


def _kind_of(type_: DataType) -> str:
    """Values of one kind are compared alike; '' where nobody is sure."""
    root = type_.root if isinstance(type_, Atomic) else None
    if root in _WHOLE or root in {Root.DECIMAL, Root.DOUBLE}:
        return "number"
    same = {Root.BOOLEAN, Root.VARCHAR, Root.DATE, Root.TIMESTAMP}
    return str(root) if root in same else ""


def _orders_by_other_columns(node: exp.Select) -> bool:
    """``SELECT DISTINCT a … ORDER BY b`` has no meaning, and ``count(*) AS n … ORDER BY sum(n)`` two."""
    order = node.args.get("order")
    if order is None:
        return False
    keys = [ordered.this for ordered in order.expressions]
    made = {
        item.alias.casefold()
        for item in node.expressions
        if isinstance(item, exp.Alias) and not _keeps_its_name(item)
    }
    for key in keys:
        computed = not isinstance(key, exp.Column)
        if computed and any(one.name.casefold() in made for one in key.find_all(exp.Column)):
            return True
    if node.args.get("distinct") is None or any(one.find(exp.Star) for one in node.expressions):
        return False
    selected = {name.casefold() for name in node.named_selects}
    return any(column.name.casefold() not in selected for column in order.find_all(exp.Column))


def _keeps_its_name(item: exp.Alias) -> bool:
    return isinstance(item.this, exp.Column) and item.this.name.casefold() == item.alias.casefold()


def _widens_small_numbers(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    """``coalesce(tiny, 0)`` is an INT to Spark, and a TINYINT to DuckDB."""
    answers = [node.this, *node.expressions] if isinstance(node, exp.Coalesce) else _answers(node)
    small = any(
        isinstance(one, Atomic) and one.root in _SMALL
        for answer in answers
        for column in answer.find_all(exp.Column)
        for one in types.get(column.name.casefold(), [])
    )
    return small and any(answer.find(exp.Literal) for answer in answers)


def _is_nested_value(node: exp.Column, types: Mapping[str, list[DataType]]) -> bool:
    """An ARRAY, MAP or ROW may be selected and counted; NULLs in it are ordered and compared in two ways."""
    known = types.get(node.name.casefold(), [])
    if all(isinstance(one, Atomic) for one in known):
        return False
    return not isinstance(node.parent, exp.Select | exp.Alias | exp.Is | exp.Count)


def _answers(node: exp.Expr) -> list[exp.Expr]:
    branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
    answers = [branch.args.get("true") for branch in branches]
    answers.append(node.args.get("default") or node.args.get("false"))
    return [answer for answer in answers if answer is not None]


# ---------------------------------------------------------------------------------------- numbers
def _is_sum_of_numbers(node: exp.Sum, types: Mapping[str, list[DataType]]) -> bool:
    kinds = number_kinds(node.this, types)
    return bool(kinds) and kinds <= {"whole", "real"}


def is_whole(node: exp.Expr, types: Mapping[str, list[DataType]]) -> bool:
    """Whether ``node`` is a whole number, whatever its rows are."""
    return number_kinds(node, types) == {"whole"}


def number_kinds(node: exp.Expr, types: Mapping[str, list[DataType]]) -> frozenset[str]:
    """Which of ``whole``, ``real`` and ``other`` the values of ``node`` may be; none of NULL."""
    return _NumberKinds(types).of(node)


class _NumberKinds:
    """Each name that the query itself gives is judged once."""

    def __init__(self, types: Mapping[str, list[DataType]]) -> None:
        self.types = types
        self.made: dict[tuple[str, int], frozenset[str]] = {}

    def of(self, node: exp.Expr) -> frozenset[str]:
        if isinstance(node, exp.Null):
            return frozenset()
        if isinstance(node, exp.Literal):
            return frozenset({_kind_of_literal(node)})
        if isinstance(node, exp.Count | exp.RowNumber | exp.Rank | exp.DenseRank):
            return frozenset({"whole"})
        if isinstance(node, exp.Cast):
            return frozenset({_OF_CASTS.get(node.to.this, "other")})
        if isinstance(node, exp.Column):
            return self._of_name(node)
        inner = _values_in(node)
        return frozenset().union(*map(self.of, inner)) if inner else frozenset({"other"})

    def _of_name(self, node: exp.Column) -> frozenset[str]:
        """Of the columns of that name, or of all that the query gives that name to."""
        name = node.name.casefold()
        if known := self.types.get(name):
            return _one_of(set(map(_kind_of_type, known)))
        within = node.find_ancestor(exp.Alias)
        key = (name, id(within))
        if key not in self.made:
            self.made[key] = frozenset({"other"})  # a name that stands for itself is none
            hidden = self.types.get(HIDDEN + name, []) if _reads_tables(node) else []
            kinds = set(map(_kind_of_type, hidden))
            for alias in node.root().find_all(exp.Alias):
                if alias is not within and alias.alias.casefold() == name:
                    kinds |= self.of(alias.this)
            self.made[key] = _one_of(kinds)
        return self.made[key]


def _reads_tables(node: exp.Expr) -> bool:
    """Whether the query around ``node`` reads a table, and not only other queries."""
    select = node.find_ancestor(exp.Select)
    if select is None:
        return True
    sources = [select.args.get("from_"), *(select.args.get("joins") or [])]
    return any(isinstance(one.this, exp.Table) for one in sources if one is not None)


def _one_of(kinds: set[str]) -> frozenset[str]:
    """``kinds`` of a name: nobody can tell which of several it is."""
    return frozenset(kinds if len(kinds) == 1 else {"other"})


def _kind_of_type(type_: DataType) -> str:
    root = type_.root if isinstance(type_, Atomic) else None
    return "whole" if root in _WHOLE else "real" if root in _REAL else "other"


def _kind_of_literal(node: exp.Literal) -> str:
    if node.is_string:
        return "other"
    return "whole" if node.name.isdigit() else "real"


def _values_in(node: exp.Expr) -> list[exp.Expr]:
    """What the value of ``node`` is one of, or is computed from."""
    if isinstance(node, _INSIDE):
        return [node.this]
    if isinstance(node, exp.Distinct):
        return list(node.expressions)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return [node.left, node.right]
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    return _answers(node) if isinstance(node, exp.Case | exp.If) else []
