r"""Values beside a text of SQL: each stands in the place of its ``$name`` as one literal, whatever it has in it.

>>> bind("name = $name AND qty > -$least", {"name": "x' OR 1 = 1 --", "least": -1})
"name = 'x\\' OR 1 = 1 --' AND qty > -(-1)"
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from table_core.errors import ArgumentError, PredicateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.predicate.expression import Expression

__all__ = ["bind", "bind_condition", "bind_values", "literal_of"]

_DIALECT: Final = Dialect.get_or_raise("spark")


def bind(text: str, parameters: Mapping[str, object]) -> str:
    """``text`` with the literals of ``parameters`` in the places of their names: see ``literal_of``.

    A ``$`` within a text, a quoted name or a comment is none.

    Raises:
        ArgumentError: it names one that is not there, or a number is not finite.
        PredicateError: it is no SQL.
    """
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError as error:
        raise PredicateError(f"cannot read {text!r} as SQL: {error}", where=text) from error
    parts, at = [], 0
    for mark, name in itertools.pairwise(tokens):
        if mark.token_type is TokenType.PARAMETER and name.token_type is TokenType.VAR:
            parts += [text[at : mark.start], _literal(name.text, parameters)]
            at = name.end + 1
    return "".join([*parts, text[at:]])


def bind_condition(
    where: str | Expression, parameters: Mapping[str, object] | None
) -> str | Expression:
    """``where`` with its ``parameters``; one that is no text has none.

    Raises:
        ArgumentError: as ``bind``, or ``where`` is no text and there are parameters.
        PredicateError: as ``bind``.
    """
    if isinstance(where, str):
        return bind(where, parameters or {})
    if parameters:
        raise ArgumentError("parameters are for a condition in SQL", argument="parameters")
    return where


def bind_values(
    values: Mapping[str, Any], parameters: Mapping[str, object] | None
) -> Mapping[str, Any]:
    """The SQL of each column with its ``parameters``; what is no text is left for the statement to refuse.

    Raises:
        ArgumentError: as ``bind``.
        PredicateError: as ``bind``.
    """
    if not hasattr(values, "items"):
        return values
    return {
        name: bind(sql, parameters or {}) if isinstance(sql, str) else sql
        for name, sql in values.items()
    }


def literal_of(value: object) -> exp.Expr:
    """The literal of a text, number, truth value, date, time, ``bytes`` or None, as Spark reads it.

    A ``datetime`` with a zone is a TIMESTAMP, one without a TIMESTAMP_NTZ; a ``Decimal`` is written with all its digits.
    """
    if isinstance(value, dt.datetime):
        zoned = value.utcoffset() is not None
        moment = value.astimezone(dt.UTC) if zoned else value
        kind = exp.DataType.Type.TIMESTAMPLTZ if zoned else exp.DataType.Type.TIMESTAMPNTZ
        return _typed(moment.isoformat(" "), kind)
    if isinstance(value, dt.date):
        return _typed(value.isoformat(), exp.DataType.Type.DATE)
    if isinstance(value, bytes):
        return exp.HexString(this=value.hex())
    if isinstance(value, Decimal):
        return exp.Literal.number(format(value, "f"))
    return exp.convert(value)


def _typed(text: str, kind: exp.DType) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=kind))


def _literal(name: str, parameters: Mapping[str, object]) -> str:
    if name not in parameters:
        raise ArgumentError(
            f"the SQL names ${name}, which is not in parameters; there are "
            f"{', '.join(sorted(parameters)) or 'none'}",
            argument="parameters",
            value=name,
        )
    value = parameters[name]
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentError(
            f"parameters: {name}={value!r} is no finite number", argument="parameters", value=name
        )
    literal = literal_of(value).sql(dialect=_DIALECT)
    return f"({literal})" if literal.startswith("-") else literal
