"""Literal values in statements: of options, of PARTITION and of CALL."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table_core.sql.text import Words

__all__ = ["take_partition", "take_value"]


def take_value(words: Words) -> object:
    """Take a text, number, truth value or NULL.

    Raises:
        SqlError: something else comes.
    """
    word = words.word
    if word is not None and word.kind == "string":
        return words.string()
    negative = words.take("-")
    word = words.word
    if word is not None and word.kind == "number":
        words.at += 1
        text = word.value.upper().removesuffix("L")
        number = int(text) if text.isdigit() else _decimal(words, text)
        return -number if negative else number
    if not negative:
        for key, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if words.take(key):
                return value
        if words.take("DATE"):
            return words.string("a date in quotes")
    raise words.wrong("expected a value: a text in quotes, a number, TRUE, FALSE or NULL")


def _decimal(words: Words, text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError as error:
        raise words.wrong(f"{text} is no number that can stand here") from error


def take_partition(
    words: Words, *, whole: bool
) -> tuple[tuple[tuple[str, object], ...], tuple[str, ...]]:
    """Take ``(dt = '2026-01-01', hour)`` behind PARTITION: columns with a value, and those without.

    Raises:
        SqlError: it is none, or a column has no value and ``whole`` is set.
    """
    words.expect("(")
    valued: dict[str, object] = {}
    open_: list[str] = []
    while True:
        name = words.name("a partition column")
        if name in valued or name in open_:
            raise words.wrong(f"partition column {name!r} is said twice")
        if words.take("="):
            valued[name] = take_value(words)
        elif whole:
            raise words.wrong(f"expected = and a value of {name!r}")
        else:
            open_.append(name)
        if not words.take(","):
            break
    words.expect(")")
    return tuple(valued.items()), tuple(open_)
