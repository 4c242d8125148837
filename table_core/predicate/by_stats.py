"""May a file hold a row that meets a condition?  Answered from bounds alone; never loses a row.

The picture: each condition has a set of answers that *some* row within the bounds could give, out of
true, false and unknown.  Sets are combined as if parts were independent, so a set may be too large
and is never too small.  Only a set without "true" rules a file out.

Source: ``org.apache.paimon.predicate.PredicateVisitor``; format 4.5, T28 to T31.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.castable import EXACT_INTEGERS, NUMERIC
from table_core.datatypes.kinds import Atomic, Root
from table_core.datatypes.range import Range
from table_core.predicate.bound import (
    AllOf,
    AnyOf,
    Bound,
    BoundTerm,
    Cmp,
    Const,
    Conv,
    Known,
    Member,
    Negation,
    NullTest,
    Pattern,
    Ref,
    UnlessNull,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.datatypes.domain import Value

__all__ = ["Range", "equal_values", "may_match"]

_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_KEYS_MAX: Final = 1000
"""More combinations than this are not worth hashing."""
Answers = frozenset[bool | None]
_ANY: Final[Answers] = frozenset({True, False, None})
_SURE: Final[Answers] = frozenset({True, False})
_NO_ROW: Final[Answers] = frozenset()


def may_match(bound: Bound, ranges: Mapping[str, Range]) -> bool:
    """Whether a row within ``ranges`` may meet ``bound``; columns without a range are unknown."""
    return True in _answers(bound, ranges)


def _answers(bound: Bound, ranges: Mapping[str, Range]) -> Answers:
    match bound:
        case Known(answer):
            return frozenset({answer})
        case AllOf(parts):
            return _joined([_answers(p, ranges) for p in parts], stop=False)
        case AnyOf(parts):
            return _joined([_answers(p, ranges) for p in parts], stop=True)
        case Negation(part):
            return frozenset(None if a is None else not a for a in _answers(part, ranges))
        case NullTest(operand):
            return _null_test(_range(operand, ranges))
        case UnlessNull(operand, answer):
            return _with_null(_range(operand, ranges), frozenset({answer}))
        case Cmp(op, left, Const(value)):
            return _compare(op, left, value, ranges)
        case Member(operand, values, null):
            return _member(operand, values, ranges, null=null)
        case Pattern(operand, _, prefix):
            return _prefix(_range(operand, ranges), prefix)
        case _:
            return _ANY


def _joined(parts: Sequence[Answers], *, stop: bool) -> Answers:
    """AND (``stop`` is false) or OR (``stop`` is true) of answers taken independently."""
    answers: Answers = frozenset({not stop})
    for part in parts:
        answers = frozenset(_pair(a, b, stop=stop) for a, b in product(answers, part))
    return answers


def _pair(one: bool | None, two: bool | None, *, stop: bool) -> bool | None:
    if stop in (one, two):
        return stop
    return None if None in (one, two) else not stop


def _range(operand: BoundTerm, ranges: Mapping[str, Range]) -> Range:
    """What is known of ``operand``: columns as they are, and casts that keep order."""
    match operand:
        case Ref(path) if len(path) == 1:
            return ranges.get(path[0], Range())
        case Conv(Ref() as inner, Atomic(Root.DOUBLE)) if isinstance(
            inner.type, Atomic
        ) and inner.type.root in {*EXACT_INTEGERS, *_FLOATS}:
            inner_stats = _range(inner, ranges)
            low = None if inner_stats.min is None else float(inner_stats.min)
            high = None if inner_stats.max is None else float(inner_stats.max)
            return Range(low, high, inner_stats.null_count, inner_stats.row_count)
        case Conv(inner, Atomic(root)) if root in NUMERIC:
            inner_stats = _range(inner, ranges)  # a NULL stays one; the bounds are not carried over
            return Range(None, None, inner_stats.null_count, inner_stats.row_count)
        case _:
            return Range()


def _null_test(stats: Range) -> Answers:
    if stats.only_null:
        return frozenset({True}) if stats.row_count else _NO_ROW
    return _SURE if stats.may_be_null else frozenset({False})


def _with_null(stats: Range, answers: Answers) -> Answers:
    """``answers`` of rows with a value, and unknown if some row is NULL."""
    if stats.only_null:
        return frozenset({None}) if stats.row_count else _NO_ROW
    return answers | {None} if stats.may_be_null else answers


def _compare(op: str, operand: BoundTerm, value: Value, ranges: Mapping[str, Range]) -> Answers:
    stats = _range(operand, ranges)
    if op == "<=>":
        answers = _compare("=", operand, value, ranges)
        return frozenset(a is True for a in answers)
    if isinstance(operand.type, Atomic) and operand.type.root in _FLOATS:
        return _with_null(stats, _float_answers(op, stats, value))
    return _with_null(stats, _bounded(op, stats.min, stats.max, value))


def _bounded(op: str, low: Value, high: Value, value: Value) -> Answers:
    """Answers of ``x op value`` for ``low <= x <= high``; a bound that is None is unknown."""
    below = low is None or low < value
    equal = (low is None or low <= value) and (high is None or high >= value)
    above = high is None or high > value
    holds = _HOLDS[op]
    answers = set()
    for possible, sign in ((below, -1), (equal, 0), (above, 1)):
        if possible:
            answers.add(holds(sign))
    return frozenset(answers)


_HOLDS: Final[dict[str, Callable[[int], bool]]] = {
    "=": lambda sign: sign == 0,
    "<>": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


def _float_answers(op: str, stats: Range, value: float) -> Answers:
    """Bounds of floats hide NaN, and count only when none is infinite or NaN (format T31)."""
    if math.isnan(value):
        # Every number lies below; a NaN, which may always be there, is equal.
        return frozenset({_HOLDS[op](-1), _HOLDS[op](0)})
    finite = all(bound is None or math.isfinite(bound) for bound in (stats.min, stats.max))
    low, high = (stats.min, stats.max) if finite else (None, None)
    return _bounded(op, low, high, value) | {_HOLDS[op](1)}


def _member(
    operand: BoundTerm, values: tuple[Value, ...], ranges: Mapping[str, Range], *, null: bool
) -> Answers:
    stats = _range(operand, ranges)
    is_float = isinstance(operand.type, Atomic) and operand.type.root in _FLOATS
    answers: set[bool | None] = {None if null else False}
    for value in values:
        answer = (
            _float_answers("=", stats, value)
            if is_float
            else _bounded("=", stats.min, stats.max, value)
        )
        if True in answer:
            answers.add(True)
    return _with_null(stats, frozenset(answers))


def _prefix(stats: Range, prefix: str) -> Answers:
    low, high = stats.min, stats.max
    beyond = (high is not None and high < prefix) or (
        low is not None and low > prefix and not low.startswith(prefix)
    )
    return _with_null(stats, frozenset({False}) if beyond else _SURE)


def equal_values(bound: Bound, columns: Sequence[str]) -> frozenset[tuple[Any, ...]] | None:
    """All values of ``columns`` that a row meeting ``bound`` may have, None if not enumerable.

    For point lookups: ``id IN (1, 2)`` over ``("id",)`` gives ``{(1,), (2,)}``.
    """
    choices = [_choices(bound, name) for name in columns]
    keys = 1
    for choice in choices:
        if choice is None:
            return None
        keys *= len(choice)
    if not columns or keys > _KEYS_MAX:
        return None
    return frozenset(product(*(c for c in choices if c is not None)))


def _choices(bound: Bound, column: str) -> frozenset[Value] | None:
    """The values that ``column`` may have where ``bound`` is true, None if any."""
    match bound:
        case Known(answer):
            return None if answer else frozenset()
        case Cmp("=" | "<=>", Ref() as ref, Const(value)) if _hashable(ref, column):
            return frozenset({value})
        case Member(Ref() as ref, values) if _hashable(ref, column):
            return frozenset(values)
        case NullTest(Ref() as ref) if _hashable(ref, column):
            return frozenset({None})
        case AllOf(parts):
            known = [c for p in parts if (c := _choices(p, column)) is not None]
            return frozenset.intersection(*known) if known else None
        case AnyOf(parts):
            either = [_choices(p, column) for p in parts]
            if any(c is None for c in either):
                return None
            return frozenset().union(*(c for c in either if c is not None))
        case _:
            return None


def _hashable(ref: Ref, column: str) -> bool:
    """Floats are out: 0.0 equals -0.0 and hashes to another bucket."""
    is_float = isinstance(ref.type, Atomic) and ref.type.root in _FLOATS
    return ref.path == (column,) and not is_float
