"""Conditions and values as a user writes them, before they meet a table.

    col("amount") > 10          (col("dt") == "2026-01-01") & ~col("note").is_null()

A frozen tree; nothing is evaluated here.  ``bind`` gives it types, ``to_arrow`` and ``by_stats``
evaluate it.  Conditions are joined with ``&``, ``|`` and ``~``; Python's own ``and``, ``or``, ``not``
cannot be overloaded and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from table_core.errors import PredicateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.datatypes.kinds import DataType

__all__ = [
    "And",
    "Arithmetic",
    "Case",
    "Cast",
    "Column",
    "Compare",
    "Condition",
    "Expression",
    "In",
    "IsNull",
    "Like",
    "Literal",
    "Not",
    "Or",
    "Term",
    "col",
    "lit",
]

Operand: TypeAlias = Any
"""A ``Term``, or a Python value that becomes a ``Literal``."""


class Expression:
    """Anything of the tree."""

    __slots__ = ()

    def columns(self) -> frozenset[str]:
        """The top-level columns that this expression reads, as written."""
        return frozenset(column.path[0] for column in _columns(self))

    def __bool__(self) -> NoReturn:
        raise PredicateError(
            "a condition has no truth value of its own: join conditions with & | ~, each in "
            "parentheses, instead of and, or, not",
            where=repr(self),
        )


class Term(Expression):
    """A value: a column, a literal, or computed from them.  Comparing one makes a condition."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # comparing builds a condition, so terms cannot be keys

    def __eq__(self, other: object) -> Compare:  # type: ignore[override]  # builds a condition
        return Compare("=", self, _term(other))

    def __ne__(self, other: object) -> Compare:  # type: ignore[override]  # builds a condition
        return Compare("<>", self, _term(other))

    def __lt__(self, other: Operand) -> Compare:
        return Compare("<", self, _term(other))

    def __le__(self, other: Operand) -> Compare:
        return Compare("<=", self, _term(other))

    def __gt__(self, other: Operand) -> Compare:
        return Compare(">", self, _term(other))

    def __ge__(self, other: Operand) -> Compare:
        return Compare(">=", self, _term(other))

    def __add__(self, other: Operand) -> Arithmetic:
        return Arithmetic("+", self, _term(other))

    def __sub__(self, other: Operand) -> Arithmetic:
        return Arithmetic("-", self, _term(other))

    def __mul__(self, other: Operand) -> Arithmetic:
        return Arithmetic("*", self, _term(other))

    def __truediv__(self, other: Operand) -> Arithmetic:
        return Arithmetic("/", self, _term(other))

    def __mod__(self, other: Operand) -> Arithmetic:
        return Arithmetic("%", self, _term(other))

    def isin(self, values: Iterable[Operand]) -> In:
        """Equal to one of ``values``."""
        return In(self, tuple(_term(v) for v in values))

    def between(self, low: Operand, high: Operand) -> And:
        """From ``low`` to ``high``, both included."""
        return And((self >= low, self <= high))

    def is_null(self) -> IsNull:
        """NULL.  For the opposite write ``~col("x").is_null()``."""
        return IsNull(self)

    def like(self, pattern: str, escape: str = "\\") -> Like:
        """Text that matches ``pattern``: ``%`` any text, ``_`` any one character."""
        return Like(self, pattern, escape)

    def equals_or_both_null(self, other: Operand) -> Compare:
        """SQL's ``<=>``: NULL equals NULL, and the answer is never unknown."""
        return Compare("<=>", self, _term(other))

    def cast(self, type_: str | DataType) -> Cast:
        """The value as another type."""
        return Cast(self, type_)


class Condition(Expression):
    """True, false or unknown for a row; a row is kept if it is true."""

    __slots__ = ()

    def __and__(self, other: Condition) -> And:
        return And((*_parts(And, self), *_parts(And, _condition(other))))

    def __or__(self, other: Condition) -> Or:
        return Or((*_parts(Or, self), *_parts(Or, _condition(other))))

    def __invert__(self) -> Not:
        return Not(self)


@dataclass(frozen=True, slots=True, eq=False)
class Column(Term):
    """A column, or a member of a ROW: one step of ``path`` each."""

    path: tuple[str, ...]

    def field(self, name: str) -> Column:
        """The member ``name`` of this ROW column."""
        return Column((*self.path, name))

    # A BOOLEAN column is a condition as it stands.
    def __and__(self, other: Operand) -> And:
        return _true(self) & _condition(other)

    def __or__(self, other: Operand) -> Or:
        return _true(self) | _condition(other)

    def __invert__(self) -> Not:
        return Not(_true(self))


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Term):
    """A Python value.  ``type`` is set where SQL text said it: ``DATE '…'``, ``5L``."""

    value: Any
    type: DataType | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Folded(Literal):
    """A literal whose ``value`` is of the domain of its type already: the result of a cast."""


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Term):
    """``operand`` as ``type``; a value that does not fit is an error."""

    operand: Term
    type: str | DataType


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic(Term):
    """``left op right`` with ``+ - * / %``."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False)
class Case(Term):
    """The value of the first of ``branches`` whose condition is true, else ``default``."""

    branches: tuple[tuple[Condition, Term], ...]
    default: Term


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Condition):
    """``left op right`` with ``= <> < <= > >= <=>``."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False)
class And(Condition):
    """All of ``parts``."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or(Condition):
    """Any of ``parts``."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Condition):
    """The opposite; unknown stays unknown."""

    part: Condition


@dataclass(frozen=True, slots=True, eq=False)
class In(Condition):
    """``operand`` equals one of ``values``."""

    operand: Term
    values: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class IsNull(Condition):
    """``operand`` is NULL."""

    operand: Term


@dataclass(frozen=True, slots=True, eq=False)
class Like(Condition):
    """``operand`` matches the SQL ``pattern``."""

    operand: Term
    pattern: str
    escape: str = "\\"
    ignore_case: bool = False


def col(name: str) -> Column:
    """The column ``name``.  ``"a.b"`` is member ``b`` of ROW ``a`` unless a column is called so."""
    return Column((name,))


def lit(value: Operand) -> Literal:
    """``value`` as a term, where Python alone would compute: ``lit(1) + col("x")``."""
    return Literal(value)


def _term(value: Operand) -> Term:
    if isinstance(value, Term):
        return value
    if isinstance(value, Expression):
        raise PredicateError("a condition cannot be compared or computed with", where=repr(value))
    return Literal(value)


def _condition(value: Operand) -> Condition:
    if isinstance(value, Condition):
        return value
    if isinstance(value, Column):
        return _true(value)
    raise PredicateError(f"expected a condition, not {value!r}", where=repr(value))


def _true(column: Column) -> Compare:
    return Compare("=", column, Literal(value=True))


def _parts(kind: type[And | Or], condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, kind) else (condition,)


def _columns(node: object) -> Iterator[Column]:
    if isinstance(node, Column):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from _columns(item)
    elif is_dataclass(node) and not isinstance(node, type):
        for member in fields(node):
            yield from _columns(getattr(node, member.name))
