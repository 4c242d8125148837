"""Casts of literals, done once: ``CAST(-5.7 AS INT)`` is -5 for every row.

A cast of a literal means what the same cast of a column means (``datatypes.cast``): fractions of a
number are cut when it becomes an integer, decimals round half up, text must be a number of the type.
Spark says the same in ANSI mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.datatypes.cast import cast_array
from table_core.datatypes.castable import EXACT_INTEGERS, STRINGS, is_castable
from table_core.datatypes.domain import domain_array, domain_values
from table_core.datatypes.kinds import Atomic, DataType, Root
from table_core.datatypes.text import parse_type
from table_core.errors import DataError, TableError
from table_core.predicate.expression import Cast, Folded, Literal, Term
from table_core.predicate.literal import constant

if TYPE_CHECKING:
    from table_core.datatypes.domain import Value

__all__ = ["folded"]

_BY_VALUE: Final = frozenset({*EXACT_INTEGERS, Root.DECIMAL, Root.BOOLEAN, *STRINGS})
"""Targets that are computed here; text becomes a time, and a number a float, as a typed literal does."""


def folded(term: Term) -> Term:
    """``term``, as one literal if it is a cast of one.

    Raises:
        ValueError: the value does not fit the type.
    """
    if not isinstance(term, Cast):
        return term
    operand = folded(term.operand)
    if not isinstance(operand, Literal) or operand.value is None:
        return term if operand is term.operand else Cast(operand, term.type)
    target = _atomic(term.type)
    if target is None:
        return term
    value, source = constant(operand)
    if target.root not in _BY_VALUE:
        return term if isinstance(operand, Folded) else Literal(operand.value, target)
    if not is_castable(source, target):
        return term
    return Folded(_cast(value, source, target), target)


def _atomic(target: str | DataType) -> Atomic | None:
    try:
        type_ = parse_type(target) if isinstance(target, str) else target
    except TableError:  # the binder says so, with the text
        return None
    return type_ if isinstance(type_, Atomic) else None


def _cast(value: Value, source: Atomic, target: Atomic) -> Value:
    try:
        made = cast_array(domain_array([value], source), source, target, strict=True)
    except (DataError, pa.ArrowInvalid) as error:
        raise ValueError(f"{value!r} does not fit {target.root}") from error
    converted = domain_values(made, target)[0]
    if converted is None:
        raise ValueError(f"{value!r} does not fit {target.root}")
    return converted
