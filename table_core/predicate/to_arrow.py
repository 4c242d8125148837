"""Conditions over rows: which rows of a batch are kept.

Spark's meaning, not Arrow's: NaN equals NaN and is greater than every number, 0.0 equals -0.0, an
unknown answer keeps no row, not even under NOT.

Source: Spark SQL, NULL and NaN semantics; spec "What Paimon does, as seen here".
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.cast import cast_array
from table_core.datatypes.domain import domain_array
from table_core.datatypes.kinds import Atomic, DataType, Root
from table_core.errors import DataError
from table_core.predicate.bound import (
    AllOf,
    AnyOf,
    Bound,
    BoundTerm,
    Calc,
    Choice,
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
    can_fail,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["evaluate", "mask", "rows_that_meet"]

Batch = Any
"""A ``pa.RecordBatch`` or ``pa.Table``."""
_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_PLAIN: Final = {
    "=": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_CALC: Final = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": pc.divide,
}


def mask(bound: Bound, batch: Batch) -> pa.BooleanArray:
    """Which rows of ``batch`` meet ``bound``; true or false, never null.

    Shape: ``batch[n]`` to ``result[n]``, bool.
    """
    answer = _answer(bound, batch)
    if isinstance(answer, pa.Scalar):
        return pa.repeat(pa.scalar(answer.as_py() is True), batch.num_rows)
    return _flat(pc.fill_null(answer, False))  # Arrow's own signature


def rows_that_meet(bound: Bound, rows: pa.Table) -> pa.Table:
    """Those of ``rows`` that meet ``bound``; where all do, ``rows`` themselves: a row may be as long as the memory allows."""
    met = mask(bound, rows)
    return rows if met.true_count == rows.num_rows else rows.filter(met)


def evaluate(term: BoundTerm, batch: Batch) -> pa.Array:
    """The values of ``term`` for the rows of ``batch``.

    Raises:
        DataError: a computation overflows, divides by zero, or a cast does not fit.
    """
    column = _term(term, batch)
    if isinstance(column, pa.Scalar):
        return pa.repeat(column, batch.num_rows)
    return _flat(column)


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _answer(bound: Bound, batch: Batch) -> Any:
    match bound:
        case AllOf(parts):
            return _joined(parts, batch, settled=False)
        case AnyOf(parts):
            return _joined(parts, batch, settled=True)
        case Negation(part):
            return pc.invert(_answer(part, batch))
        case Known(answer):
            return pa.scalar(answer, pa.bool_())
        case NullTest(operand):
            return pc.is_null(_term(operand, batch))
        case UnlessNull(operand, answer):
            return pc.if_else(
                pc.is_valid(_term(operand, batch)), answer, pa.scalar(None, pa.bool_())
            )
        case Cmp(op, left, right):
            return _compare(op, _term(left, batch), _term(right, batch), left.type)
        case Member():
            return _member(bound, batch)
        case Pattern():
            return _pattern(bound, batch)


def _joined(parts: Iterable[Bound], batch: Batch, *, settled: bool) -> Any:
    """AND, which one false part settles, or OR, which one true part does.

    A part that can fail is asked of those rows only that the parts before it leave open, so that
    ``k <> 0 AND v / k > 1`` holds or not, and never fails, whatever lies in one file.
    """
    join = pc.or_kleene if settled else pc.and_kleene
    answer: Any = None
    for part in parts:
        if answer is None:
            answer = _answer(part, batch)
        elif can_fail(part):
            answer = join(answer, _of_open_rows(part, batch, answer, settled=settled))
        else:
            answer = join(answer, _answer(part, batch))
    return answer


def _of_open_rows(part: Bound, batch: Batch, answer: Any, *, settled: bool) -> Any:
    """The answer of ``part``; ``settled`` for rows of which ``answer`` is so already."""
    is_settled = pc.fill_null(pc.equal(answer, pa.scalar(settled)), False)
    if isinstance(is_settled, pa.Scalar):
        return pa.scalar(settled) if is_settled.as_py() else _answer(part, batch)
    is_open = _flat(pc.invert(is_settled))
    if not is_open.false_count:
        return _answer(part, batch)
    of_open = _answer(part, batch.filter(is_open))
    if isinstance(of_open, pa.Scalar):
        return of_open
    whole = pa.repeat(pa.scalar(settled), batch.num_rows)
    return pc.replace_with_mask(whole, is_open, _flat(of_open))


def _compare(op: str, left: Any, right: Any, type_: DataType) -> Any:
    if op == "<=>":
        both = pc.and_(pc.is_null(left), pc.is_null(right))
        return pc.or_(both, pc.fill_null(_compare("=", left, right, type_), False))
    if op == "<>":
        return pc.invert(_compare("=", left, right, type_))
    plain = _PLAIN[op](left, right)
    if not isinstance(type_, Atomic) or type_.root not in _FLOATS:
        return plain
    nan_left, nan_right = pc.is_nan(left), pc.is_nan(right)
    if op == "=":
        return pc.or_kleene(plain, pc.and_kleene(nan_left, nan_right))
    if op == "<":
        return pc.or_kleene(plain, pc.and_kleene(nan_right, pc.invert(nan_left)))
    if op == ">":
        return pc.or_kleene(plain, pc.and_kleene(nan_left, pc.invert(nan_right)))
    met = pc.or_kleene(plain, nan_right if op == "<=" else nan_left)
    known = pc.and_(pc.is_valid(left), pc.is_valid(right))  # NULL <= NaN is unknown as well
    return pc.if_else(known, met, pa.scalar(None, pa.bool_()))


def _member(bound: Member, batch: Batch) -> Any:
    values = _term(bound.operand, batch)
    type_ = bound.operand.type
    if isinstance(type_, Atomic) and type_.root in _FLOATS:
        tests = [
            _compare("=", values, pa.scalar(v, arrow_type(type_)), type_) for v in bound.values
        ]
        matches: Any = reduce(pc.or_kleene, tests, pa.scalar(value=False))
    else:
        matches = pc.is_in(values, value_set=_array(bound.values, type_), skip_nulls=True)
    unknown = pa.scalar(None, pa.bool_())
    if bound.null:
        matches = pc.if_else(matches, matches, unknown)
    return pc.if_else(pc.is_valid(values), matches, unknown)


def _pattern(bound: Pattern, batch: Batch) -> Any:
    values = _term(bound.operand, batch)
    return pc.match_substring_regex(
        values, rf"(?s)\A(?:{bound.regex})\z", ignore_case=bound.ignore_case
    )


def _term(term: BoundTerm, batch: Batch) -> Any:
    match term:
        case Ref(path):
            column = batch.column(path[0])
            return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column
        case Const(value, type_):
            return _array([value], type_)[0]
        case Conv(operand, type_):
            return _converted(_term(operand, batch), operand.type, type_)
        case Calc():
            return _calculated(term, batch)
        case Choice():
            return _chosen(term, batch)


def _array(values: Any, type_: DataType) -> Any:
    if isinstance(type_, Atomic) and type_.root is Root.DECIMAL and type_.precision > 38:
        return pa.array(list(values), pa.decimal256(type_.precision, type_.scale))
    return domain_array(values, type_)


def _converted(values: Any, source: DataType, target: Atomic) -> Any:
    if isinstance(values, pa.ChunkedArray):
        chunks = [cast_array(chunk, source, target, strict=True) for chunk in values.chunks]
        return pa.chunked_array(chunks, None if chunks else arrow_type(target))
    if isinstance(values, pa.Scalar):
        array = pa.array([values.as_py()], values.type)
        return cast_array(array, source, target, strict=True)[0]
    return cast_array(values, source, target, strict=True)


def _calculated(term: Calc, batch: Batch) -> Any:
    left, right = _term(term.left, batch), _term(term.right, batch)
    try:
        if term.op in "/%" and _divides_by_zero(left, right):
            raise pa.ArrowInvalid("division by zero")
        if term.op == "%":
            return _remainder(left, right, term.type)
        return pc.cast(_CALC[term.op](left, right), arrow_type(term.type))
    except pa.ArrowInvalid as error:
        raise DataError(
            f"cannot compute {term.op}: {error}", column="", row=None, value=str(error)
        ) from error


def _chosen(term: Choice, batch: Batch) -> Any:
    """Each value is computed only for the rows that it is chosen for."""
    kind = arrow_type(term.type)
    rest, indices, parts = np.arange(batch.num_rows), [], []
    for condition, value in term.branches:
        met = mask(condition, batch.take(pa.array(rest))).to_numpy(zero_copy_only=False)
        indices.append(rest[met])
        parts.append(evaluate(value, batch.take(pa.array(rest[met]))))
        rest = rest[~met]
    indices.append(rest)
    parts.append(evaluate(term.default, batch.take(pa.array(rest))))
    whole = pa.concat_arrays(
        [pa.nulls(len(p), kind) if p.null_count == len(p) else p.cast(kind) for p in parts]
    )
    return whole.take(pa.array(np.argsort(np.concatenate(indices))))


def _divides_by_zero(left: Any, right: Any) -> bool:
    """Whether a value is divided by zero; NULL by zero is NULL."""
    is_zero = pc.equal(right, pa.scalar(0).cast(right.type))
    bad = pc.and_(pc.is_valid(left), pc.fill_null(is_zero, False))
    return (bad if isinstance(bad, pa.Scalar) else pc.any(bad)).as_py() is True


def _remainder(left: Any, right: Any, type_: Atomic) -> Any:
    """Sign of the dividend, as in Java.

    Of doubles it is exact: 1e17 % 3 is 1, and 5 % Infinity is 5, which a quotient would lose.
    """
    if type_.root in _FLOATS:
        if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
            left = pa.array([left.as_py()], left.type)
            return _remainder(left, right, type_)[0]
        null = pc.or_(pc.is_null(left), pc.is_null(right))
        with np.errstate(invalid="ignore"):
            remainder = np.fmod(_numbers(left), _numbers(right))
        return pa.array(remainder, arrow_type(type_), mask=np.asarray(null))
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


def _numbers(side: Any) -> Any:
    """One double or an array of them; NULL is NaN."""
    if isinstance(side, pa.Scalar):
        return np.nan if side.as_py() is None else side.as_py()
    return np.asarray(pc.fill_null(side, np.nan))
