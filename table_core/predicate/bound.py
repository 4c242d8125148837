"""A condition that has met a table: every part has a type, every literal is a value of it.

The nodes that ``bind`` makes and ``to_arrow`` and ``by_stats`` evaluate.  Both sides of a ``Cmp`` have
comparable Arrow types already, so evaluators convert nothing on their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.datatypes.domain import Value
    from table_core.datatypes.kinds import DataType

__all__ = [
    "AllOf",
    "AnyOf",
    "Bound",
    "BoundTerm",
    "Calc",
    "Choice",
    "Cmp",
    "Const",
    "Conv",
    "Known",
    "Member",
    "Negation",
    "NullTest",
    "Pattern",
    "Ref",
    "UnlessNull",
    "can_fail",
    "conjuncts",
    "on_columns",
]


@dataclass(frozen=True, slots=True)
class Ref:
    """A column, or a member of a ROW column."""

    path: tuple[str, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Const:
    """One value, of the domain of ``datatypes.domain``."""

    value: Value
    type: Atomic


@dataclass(frozen=True, slots=True)
class Conv:
    """``operand`` as another type."""

    operand: BoundTerm
    type: Atomic


@dataclass(frozen=True, slots=True)
class Calc:
    """``left op right``; both sides have the type of the result."""

    op: str
    left: BoundTerm
    right: BoundTerm
    type: Atomic


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of the first of ``branches`` whose condition is true, else ``default``."""

    branches: tuple[tuple[Bound, BoundTerm], ...]
    default: BoundTerm
    type: DataType


BoundTerm: TypeAlias = Ref | Const | Conv | Calc | Choice


class BoundCondition:
    """Any condition below."""

    __slots__ = ()

    @property
    def columns(self) -> frozenset[str]:
        """The top-level columns that this condition reads."""
        return frozenset(ref.path[0] for ref in _refs(self))


@dataclass(frozen=True, slots=True)
class Known(BoundCondition):
    """The same answer for every row."""

    answer: bool | None


@dataclass(frozen=True, slots=True)
class Cmp(BoundCondition):
    """``left op right``: ``= <> < <= > >= <=>``."""

    op: str
    left: BoundTerm
    right: BoundTerm


@dataclass(frozen=True, slots=True)
class UnlessNull(BoundCondition):
    """``answer`` where ``operand`` is not NULL, else unknown."""

    operand: BoundTerm
    answer: bool


@dataclass(frozen=True, slots=True)
class Member(BoundCondition):
    """``operand`` equals one of ``values``; with ``null`` there is a NULL among them."""

    operand: BoundTerm
    values: tuple[Value, ...]
    null: bool


@dataclass(frozen=True, slots=True)
class NullTest(BoundCondition):
    """``operand`` is NULL."""

    operand: BoundTerm


@dataclass(frozen=True, slots=True)
class Pattern(BoundCondition):
    """``operand`` matches ``regex`` from end to end, hence begins with ``prefix``."""

    operand: BoundTerm
    regex: str
    prefix: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class AllOf(BoundCondition):
    """AND."""

    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(BoundCondition):
    """OR."""

    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Negation(BoundCondition):
    """NOT."""

    part: Bound


Bound: TypeAlias = AllOf | AnyOf | Negation | Cmp | UnlessNull | Member | NullTest | Pattern | Known


def conjuncts(bound: Bound) -> tuple[Bound, ...]:
    """The parts that must all be true."""
    if isinstance(bound, AllOf):
        return tuple(inner for part in bound.parts for inner in conjuncts(part))
    return (bound,)


def on_columns(bound: Bound, columns: frozenset[str]) -> Bound | None:
    """The parts that must all be true, read ``columns`` alone and cannot fail; None for none.

    What can fail is not asked alone: another part may keep it from the rows for which it does.
    """
    parts = tuple(p for p in conjuncts(bound) if p.columns <= columns and not can_fail(p))
    return AllOf(parts) if parts else None


def can_fail(bound: Bound) -> bool:
    """Whether a row may have values for which ``bound`` is an error: it calculates, or casts."""
    return any(
        isinstance(node, Calc) or (isinstance(node, Conv) and not _is_sure(node))
        for node in _nodes(bound)
    )


_INTEGERS: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})


def _is_sure(conv: Conv) -> bool:
    """Whether every value of the operand has one of the other type."""
    type_ = conv.operand.type
    source = type_.root if isinstance(type_, Atomic) else None
    if conv.type.root is Root.DOUBLE:
        return source in _INTEGERS or source is Root.FLOAT
    return conv.type.root is Root.BIGINT and source in _INTEGERS


def _refs(node: BoundCondition | BoundTerm) -> Iterator[Ref]:
    return (inner for inner in _nodes(node) if isinstance(inner, Ref))


def _nodes(node: BoundCondition | BoundTerm) -> Iterator[BoundCondition | BoundTerm]:
    """``node`` and all that it is made of."""
    yield node
    match node:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _nodes(part)
        case Negation(part):
            yield from _nodes(part)
        case Cmp(_, left, right) | Calc(_, left, right):
            yield from _nodes(left)
            yield from _nodes(right)
        case UnlessNull(operand) | Member(operand) | NullTest(operand) | Pattern(operand):
            yield from _nodes(operand)
        case Conv(operand):
            yield from _nodes(operand)
        case Choice(branches, default):
            yield from _nodes(default)
            for condition, value in branches:
                yield from _nodes(condition)
                yield from _nodes(value)
        case Ref() | Const() | Known():
            pass
