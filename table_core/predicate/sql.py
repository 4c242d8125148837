"""SQL text to the tree of conditions: what stands after WHERE in Spark SQL.

Names are case-sensitive, backticks quote them, ``a.b`` reaches into a ROW.  The session zone is UTC.
What is not understood is refused with its text; nothing is skipped.
"""

from __future__ import annotations

import logging
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from table_core.datatypes.kinds import STRING, Atomic, DataType, Root
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError, PredicateError, TableError
from table_core.options.budgets import require_bounded
from table_core.predicate.doubled_quotes import doubled_quote
from table_core.predicate.expression import (
    And,
    Arithmetic,
    Case,
    Cast,
    Column,
    Compare,
    Condition,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Term,
)
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parse_value", "parse_where"]

_COMPARISONS: Final = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_ARITHMETIC: Final = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_BOOLEAN: Final = Atomic(Root.BOOLEAN)
_TEMPORAL: Final = {
    "TIMESTAMPTZ": Root.TIMESTAMP_LTZ,
    "TIMESTAMPLTZ": Root.TIMESTAMP_LTZ,
    "TIMESTAMP": Root.TIMESTAMP_LTZ,
    "TIMESTAMPNTZ": Root.TIMESTAMP,
}
_TYPES: Final = {"TEXT": "STRING", "BINARY": "BYTES", "VARBINARY": "BYTES", "TIME": "TIME(3)"}


_T = TypeVar("_T")
_DOUBLED_MAX: Final = 10
_DIGITS_MAX: Final = 400


def parse_where(text: str) -> Condition:
    """The condition that ``text`` says, e.g. ``"amount > 10 AND dt = '2026-01-01'"``.

    Raises:
        PredicateError: not a condition, or one that is not supported; says which part.
    """
    return _Reader(text).condition(_parsed(text))


def parse_value(text: str) -> Term:
    """The value that ``text`` says, e.g. ``"qty + 1"``.

    Raises:
        PredicateError: not a value, or one that is not supported; says which part.
    """
    return _Reader(text).term(_parsed(text))


def _parsed(text: str) -> Any:
    if not text.strip():
        raise PredicateError(
            f"cannot read {text!r} as SQL: it is empty; write a condition such as a > 1, or leave it "
            "out",
            where=text,
        )
    try:
        require_bounded(text)
    except ArgumentError as error:
        raise PredicateError(str(error), where=shortened(text, 60)) from error
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it warns on stderr about what we refuse
    try:
        return sqlglot.parse_one(text, dialect="spark")
    except (SqlglotError, RecursionError) as error:
        raise PredicateError(f"cannot read {text!r} as SQL: {_fault(error)}", where=text) from error
    finally:
        logger.disabled = before


def _fault(error: Exception) -> str:
    """What the parser ran into, and where."""
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        what = str(first["description"])
        if what.startswith("Required keyword"):
            what = "something is missing"
        return f"{what} at {first['highlight']!r} (line {first['line']}, column {first['col']})"
    opened = re.search(r"Missing (\S+) from (\d+):(\d+)", str(error.__cause__))
    if opened is not None:
        return "{} is not closed (line {}, column {})".format(*opened.groups())
    if str(error).startswith("No expression"):
        return "it is empty; write a condition such as a > 1"
    return "it ends too early" if isinstance(error, TokenError) else "it is nested too deep"


def _doubling(read: Callable[[_Reader, Any], _T]) -> Callable[[_Reader, Any], _T]:
    """``read`` of what names an operand more than once: of so many in one another it would be millions."""

    def bounded(reader: _Reader, node: Any) -> _T:
        if reader.doubled >= _DOUBLED_MAX:
            raise PredicateError(
                f"{reader.text[:200]!r}: BETWEEN, CASE, coalesce and comparisons of conditions are "
                f"nested more than {_DOUBLED_MAX} deep",
                where=reader.text,
            )
        reader.doubled += 1
        try:
            return read(reader, node)
        finally:
            reader.doubled -= 1

    return bounded


class _Reader:
    """Walks one parsed text; keeps the text to say what could not be read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.doubled = 0

    def refuse(self, node: Any, hint: str = "") -> PredicateError:
        part = node.sql(dialect="spark") if isinstance(node, exp.Expr) else str(node)
        return PredicateError(
            f"{part!r} is not supported in {self.text!r}{hint and ': ' + hint}", where=self.text
        )

    def condition(self, node: Any) -> Condition:
        for kind, read in _CONDITIONS.items():
            if isinstance(node, kind):
                return read(self, node)
        for kind, op in _COMPARISONS.items():
            if isinstance(node, kind):
                return Compare(op, self.term(node.this), self.term(node.expression))
        if isinstance(node, _TRUTHS):
            return Compare("=", self.term(node), Literal(value=True))
        raise self.refuse(node, "expected a condition such as a > 1")

    def junction(self, node: Any) -> Condition:
        """AND and OR, flattened without recursion: long chains lean to the left."""
        kind = exp.And if isinstance(node, exp.And) else exp.Or
        parts, rest = [], [node]
        while rest:
            part = rest.pop()
            if isinstance(part, kind):
                rest += [part.expression, part.this]
            else:
                parts.append(self.condition(part))
        return (And if kind is exp.And else Or)(tuple(parts))

    def negated(self, node: Any, condition: Condition) -> Condition:
        return Not(condition) if node.args.get("negate") else condition

    def member(self, node: Any) -> Condition:
        if node.args.get("query") is not None or node.args.get("unnest") is not None:
            raise self.refuse(node, "sub-queries cannot be read here")
        condition = In(self.term(node.this), tuple(self.term(v) for v in node.expressions))
        return self.negated(node, condition)

    @_doubling
    def between(self, node: Any) -> Condition:
        if node.args.get("symmetric"):
            raise self.refuse(node, "write BETWEEN")
        low = Compare(">=", self.term(node.this), self.term(node.args["low"]))
        high = Compare("<=", self.term(node.this), self.term(node.args["high"]))
        return self.negated(node, And((low, high)))

    def like(self, node: Any, escape: str = "\\") -> Condition:
        pattern = self.term(node.expression)
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            raise self.refuse(node, "the pattern must be a text literal")
        condition = Like(self.term(node.this), pattern.value, escape, isinstance(node, exp.ILike))
        return self.negated(node, condition)

    def part(self, node: Any) -> Condition:
        """``startswith``, ``endswith`` and ``contains``, which are patterns by another name."""
        text = self.term(node.expression)
        if not isinstance(text, Literal) or not isinstance(text.value, str):
            raise self.refuse(node, "what is looked for must be a text literal")
        before = "" if isinstance(node, exp.StartsWith) else "%"
        after = "" if isinstance(node, exp.EndsWith) else "%"
        pattern = re.sub(r"([%_\\])", r"\\\1", text.value)
        return Like(self.term(node.this), f"{before}{pattern}{after}")

    def called(self, node: Any) -> Condition:
        """``isnull`` and ``isnotnull``."""
        if node.name.lower() not in {"isnull", "isnotnull"} or len(node.expressions) != 1:
            raise self.refuse(node)
        condition = IsNull(self.term(node.expressions[0]))
        return condition if node.name.lower() == "isnull" else Not(condition)

    def not_same(self, node: Any) -> Condition:
        return Not(Compare("<=>", self.term(node.this), self.term(node.expression)))

    def escaped(self, node: Any) -> Condition:
        escape = self.term(node.expression)
        if not isinstance(node.this, exp.Like | exp.ILike) or not isinstance(escape, Literal):
            raise self.refuse(node)
        if not isinstance(escape.value, str) or len(escape.value) != 1:
            raise self.refuse(node, "ESCAPE takes one character")
        return self.like(node.this, escape.value)

    def is_(self, node: Any) -> Condition:
        if isinstance(node.expression, exp.Null):
            return IsNull(self.term(node.this))
        if isinstance(node.expression, exp.Boolean):
            return Compare("<=>", self.term(node.this), self.term(node.expression))
        raise self.refuse(node)

    def term(self, node: Any) -> Term:
        for kind, read in _TERMS.items():
            if isinstance(node, kind):
                return read(self, node)
        for kind, op in _ARITHMETIC.items():
            if isinstance(node, kind):
                return Arithmetic(op, self.term(node.this), self.term(node.expression))
        if isinstance(node, (*_CONDITIONS, *_COMPARISONS)):
            return self.truth(node)
        raise self.refuse(node)

    @_doubling
    def truth(self, node: Any) -> Term:
        """A condition as a value: true, false or NULL."""
        met = self.condition(node)
        known = (met, Literal(value=True)), (Not(met), Literal(value=False))
        return Case(known, Literal(None, _BOOLEAN))

    def column(self, node: Any) -> Term:
        path: list[str] = []
        while isinstance(node, exp.Dot):
            path.append(node.expression.name)
            node = node.this
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            raise self.refuse(node)
        path += [part.name for part in reversed(node.parts)]
        return Column(tuple(reversed(path)))

    def literal(self, node: Any) -> Term:
        if node.is_string:
            return Literal(node.this, STRING)
        text: str = node.this
        if len(text) > _DIGITS_MAX:
            raise self.refuse(node, f"a number has at most {_DIGITS_MAX} digits")
        if re.fullmatch(r"\d+", text):
            return Literal(int(text))
        try:
            return Literal(float(text) if "e" in text.lower() else Decimal(text))
        except (ValueError, ArithmeticError) as error:
            raise self.refuse(node, "it is no number") from error

    def minus(self, node: Any) -> Term:
        value = self.term(node.this)
        if isinstance(value, Cast) and isinstance(node.this, exp.Cast):  # -5L is one number
            inner = self.below_zero(value.operand)
            return Arithmetic("-", Literal(0), value) if inner is None else Cast(inner, value.type)
        number = self.below_zero(value)
        return Arithmetic("-", Literal(0), value) if number is None else number

    @staticmethod
    def below_zero(value: Term) -> Literal | None:
        """The number below zero that ``value`` is with a minus, None if it is no literal number."""
        if isinstance(value, Literal) and isinstance(value.value, Decimal):
            return Literal(value.value.copy_negate(), value.type)  # minus would round to 28 digits
        if isinstance(value, Literal) and isinstance(value.value, int | float):
            return Literal(-value.value, value.type)
        return None

    def text_of_parts(self, node: Any) -> Term:
        """``'it''s'``: doubled quotes, which arrive here as parts."""
        parts = [part.this for part in node.expressions if part.is_string]
        quote = doubled_quote(self.text, parts)
        if quote is None or len(parts) < len(node.expressions):
            raise self.refuse(node, "write one text literal")
        return Literal(quote.join(parts), STRING)

    def binary(self, node: Any) -> Term:
        digits: str = node.this
        try:
            return Literal(bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits))
        except ValueError as error:
            raise self.refuse(node, "expected hexadecimal digits") from error

    def cast(self, node: Any) -> Term:
        if node.args.get("safe"):
            raise self.refuse(node, "write CAST")
        return Cast(self.term(node.this), self.type(node.to))  # DATE '…', 5L and 1.5D too

    @_doubling
    def case(self, node: Any) -> Term:
        """``CASE``, also ``CASE x WHEN``, and ``IF``."""
        default = node.args.get("default") or node.args.get("false")
        branches = []
        for branch in node.args.get("ifs") or [node]:
            met = branch.this
            if node is not branch and node.this is not None:
                met = exp.EQ(this=node.this.copy(), expression=branch.this.copy())
            branches.append((self.condition(met), self.term(branch.args["true"])))
        return Case(tuple(branches), Literal(None) if default is None else self.term(default))

    @_doubling
    def coalesce(self, node: Any) -> Term:
        *values, last = [self.term(part) for part in (node.this, *node.expressions)]
        return Case(tuple((Not(IsNull(value)), value) for value in values), last)

    @_doubling
    def nullif(self, node: Any) -> Term:
        value = self.term(node.this)
        return Case(((Compare("=", value, self.term(node.expression)), Literal(None)),), value)

    def type(self, node: Any) -> DataType:
        name = node.this.name
        if name in _TEMPORAL:
            return Atomic(_TEMPORAL[name], precision=6)
        try:
            return parse_type(_TYPES.get(name) or node.sql(dialect="spark"))
        except TableError as error:
            raise self.refuse(node) from error


_CONDITIONS: Final[dict[Any, Callable[[_Reader, Any], Condition]]] = {
    exp.Paren: lambda reader, node: reader.condition(node.this),
    exp.And: _Reader.junction,
    exp.Or: _Reader.junction,
    exp.Not: lambda reader, node: Not(reader.condition(node.this)),
    exp.In: _Reader.member,
    exp.Between: _Reader.between,
    exp.Like: _Reader.like,
    exp.ILike: _Reader.like,
    exp.Escape: _Reader.escaped,
    exp.Is: _Reader.is_,
    exp.StartsWith: _Reader.part,
    exp.EndsWith: _Reader.part,
    exp.Contains: _Reader.part,
    exp.NullSafeNEQ: _Reader.not_same,
    exp.Anonymous: _Reader.called,
}
_TERMS: Final[dict[Any, Callable[[_Reader, Any], Term]]] = {
    exp.Paren: lambda reader, node: reader.term(node.this),
    exp.Column: _Reader.column,
    exp.Dot: _Reader.column,
    exp.Literal: _Reader.literal,
    exp.Boolean: lambda _, node: Literal(bool(node.this), _BOOLEAN),
    exp.Null: lambda *_: Literal(None),
    exp.Neg: _Reader.minus,
    exp.Concat: _Reader.text_of_parts,
    exp.HexString: _Reader.binary,
    exp.Cast: _Reader.cast,
    exp.Case: _Reader.case,
    exp.If: _Reader.case,
    exp.Coalesce: _Reader.coalesce,
    exp.Nullif: _Reader.nullif,
}
_TRUTHS: Final = (
    exp.Column,
    exp.Dot,
    exp.Boolean,
    exp.Null,
    exp.Cast,
    exp.Case,
    exp.If,
    exp.Coalesce,
)
"""Values that may be conditions."""
