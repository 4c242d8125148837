"""Conditions meet a table: names become fields, literals values, mixed types one type.

Types meet as Spark's (ANSI) do, with one exception: text is never turned into a number behind the
user's back; the refusal says what to write.

Source: ``org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.datatypes.castable import (
    BINARIES,
    EXACT_INTEGERS,
    NUMERIC,
    STRINGS,
    TIMESTAMPS,
    is_castable,
)
from table_core.datatypes.kinds import STRING, Atomic, DataType, Field, Root, Row
from table_core.datatypes.text import parse_type, type_to_json
from table_core.errors import PredicateError, TableError
from table_core.options.nearest import meant
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
)
from table_core.predicate.expression import (
    And,
    Arithmetic,
    Case,
    Cast,
    Column,
    Compare,
    Condition,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Term,
)
from table_core.predicate.folding import folded
from table_core.predicate.like import regex_of
from table_core.predicate.literal import DOUBLE, as_bool, as_float, constant, grid_of, on_grid

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Bound", "bind", "bind_term"]

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_ABOVE: Final = {"=": False, "<>": True, "<": True, "<=": True, ">": False, ">=": False}
"""What ``column op literal`` says when the literal lies above every value of the column."""
_BELOW: Final = {"=": False, "<>": True, "<": False, "<=": False, ">": True, ">=": True}
_SPELT_ALIKE: Final = frozenset({Root.DATE, Root.BOOLEAN, *EXACT_INTEGERS})
"""What text is made of without asking: Paimon's cast and Spark's write these the same."""
_INT_DIGITS: Final = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 19}


def bind(condition: Condition | Column, fields: Iterable[Field]) -> Bound:
    """``condition`` over a table with ``fields``.

    Raises:
        PredicateError: a column is missing, or types do not meet; says what to write instead.
    """
    binder = _Binder(tuple(fields))
    if isinstance(condition, Column):
        condition = Compare("=", condition, Literal(value=True))
    if not isinstance(condition, Condition):
        raise PredicateError(f"expected a condition, not {condition!r}", where=repr(condition))
    return binder.condition(condition)


def bind_term(term: Term, fields: Iterable[Field]) -> BoundTerm:
    """``term`` over a table with ``fields``, e.g. the new value of a column.

    Raises:
        PredicateError: a column is missing, or types do not meet.
    """
    binder = _Binder(tuple(fields))
    return binder.fixed(term) if isinstance(term, Literal) else binder.term(term)


class _Binder:
    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.row = Row(fields)

    def condition(self, node: Condition) -> Bound:
        match node:
            case And(parts):
                return AllOf(tuple(self.condition(p) for p in parts))
            case Or(parts):
                return AnyOf(tuple(self.condition(p) for p in parts))
            case Not(part):
                return Negation(self.condition(part))
            case Compare(op, left, right):
                return self.compare(op, left, right)
            case In(operand, values):
                return self.member(operand, values)
            case IsNull(operand):
                if isinstance(operand, Literal):
                    return Known(operand.value is None)
                return NullTest(self.term(operand))
            case Like():
                return self.like(node)
        raise _refuse(f"{type(node).__name__} is no condition", node)

    def term(self, node: Term) -> BoundTerm:
        match node:
            case Column(path):
                return self.column(path)
            case Literal():
                return self.fixed(node)
            case Cast(operand, type_):
                known = self.folded(node)
                if isinstance(known, Literal):
                    return self.fixed(known)
                return self.cast(node, operand, type_)
            case Arithmetic():
                return self.calc(node)
            case Case():
                return self.choice(node)
        raise _refuse(f"{type(node).__name__} is no value", node)

    def column(self, path: tuple[str, ...]) -> Ref:
        if len(path) == 1 and all(f.name != path[0] for f in self.row.fields):
            path = tuple(path[0].split("."))
        type_: DataType = self.row
        for at, step in enumerate(path):
            inside = type_.fields if isinstance(type_, Row) else ()
            member = next((f for f in inside if f.name == step), None)
            if member is None:
                names = [f.name for f in inside]
                if not names:
                    whole = ".".join(path[:at])
                    raise PredicateError(
                        f"{whole!r} is {_text(type_)}, which has no {step!r}", where=".".join(path)
                    )
                of = f" in {'.'.join(path[:at])!r}" if at else ""
                near = meant(step, names)
                text = "" if near or of else f"; a text is written in quotes, '{step}'"
                raise PredicateError(
                    f"no column {step!r}{of}{near}; there are {names}{text}", where=".".join(path)
                )
            type_ = member.type
        return Ref(path, type_)

    def fixed(self, literal: Literal) -> Const:
        if literal.value is None:
            return Const(None, Atomic(Root.BOOLEAN))
        try:
            return Const(*constant(literal))
        except ValueError as error:
            raise _refuse(str(error), literal) from error

    def cast(self, node: Cast, operand: Term, target: str | DataType) -> BoundTerm:
        inner = self.term(operand)
        try:
            type_ = parse_type(target) if isinstance(target, str) else target
        except TableError as error:
            raise _refuse(str(error), node) from error
        if not isinstance(type_, Atomic) or not is_castable(inner.type, type_):
            raise _refuse(f"no cast from {_text(inner.type)} to {_text(type_)}", node)
        return Conv(inner, type_)

    def calc(self, node: Arithmetic) -> BoundTerm:
        left, right = self.term(node.left), self.term(node.right)
        types = left.type, right.type
        if not all(isinstance(t, Atomic) and t.root in NUMERIC for t in types):
            raise _refuse(f"cannot compute {_text(left.type)} {node.op} {_text(right.type)}", node)
        common = _common(left.type, right.type)
        assert common is not None
        if common.root is Root.DECIMAL:
            return _decimal_calc(node, left, right)
        if node.op == "/":
            common = DOUBLE
        return Calc(node.op, _as(left, common), _as(right, common), common)

    def choice(self, node: Case) -> Choice:
        values = [self.term(value) for value in (*(v for _, v in node.branches), node.default)]
        known = [v.type for v in values if not _is_null(v)]
        type_: DataType = known[0] if known else Atomic(Root.BOOLEAN)
        for other in known[1:]:
            common = type_ if other == type_ else _common(type_, other)
            if common is None:
                raise _refuse(f"{_text(type_)} or {_text(other)}: CAST one of them", node)
            type_ = common
        if isinstance(type_, Atomic):
            values = [v if _is_null(v) else _as(v, type_) for v in values]
        conditions = [self.condition(condition) for condition, _ in node.branches]
        return Choice(tuple(zip(conditions, values, strict=False)), values[-1], type_)

    def folded(self, term: Term) -> Term:
        try:
            return folded(term)
        except ValueError as error:
            raise _refuse(str(error), term) from error

    def compare(self, op: str, left: Term, right: Term) -> Bound:
        left, right = self.folded(left), self.folded(right)
        if isinstance(left, Literal) and not isinstance(right, Literal):
            return self.compare(_FLIPPED.get(op, op), right, left)
        if isinstance(right, Literal):
            if isinstance(left, Literal) and left.value is None:
                return Known(right.value is None if op == "<=>" else None)
            return self.against(op, self.term(left), right)
        first, second = self.term(left), self.term(right)
        common = _common(first.type, second.type)
        if common is None:
            raise _refuse(
                f"cannot compare {_text(first.type)} with {_text(second.type)}: "
                f"{_bare_date(left) or _bare_date(right) or 'CAST one of them'}",
                Compare(op, left, right),
            )
        return Cmp(op, _as(first, common), _as(second, common))

    def against(self, op: str, operand: BoundTerm, literal: Literal) -> Bound:
        """``operand op literal``."""
        if literal.value is None:
            return NullTest(operand) if op == "<=>" else Known(None)
        if op == "<=>":
            same = self.against("=", operand, literal)
            return replace(same, op="<=>") if isinstance(same, Cmp) else Known(answer=False)
        type_ = operand.type
        if not isinstance(type_, Atomic) or type_.root in {Root.VARIANT, Root.BLOB}:
            raise _refuse(f"{_text(type_)} columns cannot be compared", literal)
        try:
            bound = self.converted(op, operand, type_, literal)
        except ValueError as error:
            raise _refuse(f"{error} (compared with {_text(type_)})", literal) from error
        if bound is None:
            raise _refuse(_mismatch(operand, type_, literal), literal)
        return bound

    def converted(
        self, op: str, operand: BoundTerm, type_: Atomic, literal: Literal
    ) -> Bound | None:
        """The comparison once ``literal`` is a value beside ``type_``; None if they do not meet."""
        value, of = constant(literal)
        root = type_.root
        if root is Root.BOOLEAN:
            fits = isinstance(value, bool | str)
            return Cmp(op, operand, Const(as_bool(value), type_)) if fits else None
        if root in STRINGS:
            return Cmp(op, operand, Const(value, type_)) if isinstance(value, str) else None
        if root in BINARIES:
            body = value.encode() if isinstance(value, str) else value
            return Cmp(op, operand, Const(body, type_)) if isinstance(body, bytes) else None
        if root in _FLOATS or (root in NUMERIC and of.root in _FLOATS):
            if of.root not in NUMERIC | STRINGS:
                return None
            return Cmp(op, _as(operand, DOUBLE), Const(as_float(value), DOUBLE))
        if of.root in STRINGS:
            value, of = constant(Literal(value, type_))
        if grid_of(type_, of) is None:
            return None
        tick, exact = on_grid(type_, value, of)
        if exact is None:
            return UnlessNull(operand, (_ABOVE if tick > 0 else _BELOW)[op])
        if not exact:
            if op in {"=", "<>"}:
                return UnlessNull(operand, op == "<>")
            op = {"<": "<=", ">=": ">"}.get(op, op)
        return Cmp(op, operand, Const(tick, type_))

    def member(self, operand: Term, values: tuple[Term, ...]) -> Bound:
        values = tuple(self.folded(value) for value in values)
        if not all(isinstance(v, Literal) for v in values):
            return AnyOf(tuple(self.compare("=", operand, v) for v in values))
        literals = [v for v in values if isinstance(v, Literal) and v.value is not None]
        null = len(literals) < len(values)
        if isinstance(operand, Literal) and operand.value is None:
            return Known(None)
        inner = self.term(operand)
        tests = [self.against("=", inner, v) for v in literals]
        constants = [
            t.right.value for t in tests if isinstance(t, Cmp) and isinstance(t.right, Const)
        ]
        converted = [t.left for t in tests if isinstance(t, Cmp)]
        if any(c != (converted[0]) for c in converted):  # some compare as double, some exactly
            return AnyOf((*tests, Known(None)) if null else tuple(tests))
        return Member(converted[0] if converted else inner, tuple(constants), null)

    def like(self, node: Like) -> Bound:
        operand = self.term(node.operand)
        if isinstance(operand.type, Atomic) and operand.type.root in _SPELT_ALIKE:
            operand = Conv(operand, STRING)
        if not isinstance(operand.type, Atomic) or operand.type.root not in STRINGS:
            raise _refuse(f"LIKE needs text, not {_text(operand.type)}", node)
        regex, prefix = regex_of(node)
        return Pattern(operand, regex, "" if node.ignore_case else prefix, node.ignore_case)


def _common(left: DataType, right: DataType) -> Atomic | None:
    """The type in which two values are compared, or None."""
    if not isinstance(left, Atomic) or not isinstance(right, Atomic):
        return None
    roots = {left.root, right.root}
    for family in (STRINGS, BINARIES, {Root.BOOLEAN}, {Root.DATE}, {Root.TIME}):
        if roots <= family:
            return replace(left, nullable=True)
    if roots <= {Root.DATE, *TIMESTAMPS}:
        precision = max(t.precision for t in (left, right) if t.root is not Root.DATE)
        return Atomic(Root.TIMESTAMP, precision=precision)
    if not roots <= NUMERIC:
        return None
    if roots & _FLOATS:
        return DOUBLE
    if Root.DECIMAL not in roots:
        return Atomic(max(roots, key=EXACT_INTEGERS.index))
    one, two = _decimal_of(left), _decimal_of(right)
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return Atomic(Root.DECIMAL, precision=whole + scale, scale=scale)


def _decimal_of(type_: Atomic) -> Atomic:
    if type_.root is Root.DECIMAL:
        return type_
    return Atomic(Root.DECIMAL, precision=_INT_DIGITS[type_.root], scale=0)


def _decimal_calc(node: Arithmetic, left: BoundTerm, right: BoundTerm) -> Calc:
    if node.op in "/%":
        raise _refuse(f"{node.op} of decimals is not supported: CAST one side AS DOUBLE", node)
    assert isinstance(left.type, Atomic)
    assert isinstance(right.type, Atomic)
    one, two = _decimal_of(left.type), _decimal_of(right.type)
    if node.op == "*":
        precision, scale = one.precision + two.precision + 1, one.scale + two.scale
    else:
        common = _common(one, two)
        assert common is not None
        precision, scale = common.precision + 1, common.scale
    if precision > 38:
        raise _refuse(f"the result would need {precision} digits: CAST to fewer", node)
    result = Atomic(Root.DECIMAL, precision=precision, scale=scale)
    if node.op == "*":
        return Calc(node.op, _as(left, one), _as(right, two), result)
    return Calc(node.op, _as(left, result), _as(right, result), result)


def _as(term: BoundTerm, type_: Atomic) -> BoundTerm:
    inner = term.type
    if isinstance(inner, Atomic) and replace(inner, nullable=True) == replace(type_, nullable=True):
        return term
    if isinstance(inner, Atomic) and {inner.root, type_.root} <= STRINGS | BINARIES:
        return term
    return Conv(term, type_)


def _is_null(term: BoundTerm) -> bool:
    return isinstance(term, Const) and term.value is None


def _bare_date(term: Term) -> str | None:
    """What to write where ``term`` is a date without quotes, which is a difference of numbers."""
    match term:
        case Arithmetic(
            "-",
            Arithmetic("-", Literal(int() as year), Literal(int() as month)),
            Literal(int() as day),
        ) if 1000 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31:
            return f"write the date in quotes, '{year}-{month:02}-{day:02}'"
    return None


def _mismatch(operand: BoundTerm, type_: Atomic, literal: Literal) -> str:
    if isinstance(operand, Const) and isinstance(operand.value, str):
        text = operand.value
        return (
            f"cannot compare the text {text!r} with {literal.value!r}: a column of that name is written in "
            f"backticks, `{text}`"
        )
    name = ".".join(operand.path) if isinstance(operand, Ref) else "the value"
    what = f"cannot compare {_text(type_)} {name} with {literal.value!r}"
    if type_.root in STRINGS:
        return f"{what}: write '{literal.value}' in quotes, or CAST({name} AS …)"
    return what


def _refuse(what: str, node: Expression) -> PredicateError:
    return PredicateError(what, where=repr(node))


def _text(type_: DataType) -> str:
    document = type_to_json(type_)
    return document if isinstance(document, str) else str(document["type"])
