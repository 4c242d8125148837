"""Types of columns as Spark writes them, or Flink where the statement is Flink's.

They differ in TIMESTAMP, which has a zone in Spark and none in Flink, and in the length of BINARY.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, DataType, Field, Map, Multiset, Row, with_nullability
from table_core.datatypes.text import parse_type
from table_core.errors import SchemaError

if TYPE_CHECKING:
    from table_core.sql.text import Words

__all__ = ["take_type"]

_SPARK: Final = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "BINARY": "BYTES",
    "TIMESTAMP": "TIMESTAMP_LTZ(6)",
    "TIMESTAMP_NTZ": "TIMESTAMP(6)",
}
_SIZED: Final = frozenset({"CHAR", "VARCHAR", "DECIMAL", "DEC", "NUMERIC"})
"""What may have numbers in brackets in Spark."""
_PLAIN: Final = frozenset(
    {
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"),
        *("DATE", "STRING", "VARIANT", *_SIZED, *_SPARK),
    }
)
_DEPTH_MAX: Final = 50


def take_type(words: Words, *, flink: bool = False, depth: int = 0) -> DataType:
    """Take one type, without what may stand behind it.

    Raises:
        SqlError: it is none.
    """
    first = words.word
    if depth > _DEPTH_MAX:
        raise words.wrong(f"a type is nested more than {_DEPTH_MAX} deep")
    name = words.name("a type").upper()
    if name == "ARRAY":
        words.expect("<")
        element = take_type(words, flink=flink, depth=depth + 1)
        element = _nullability(words, element)
        words.expect(">")
        return Array(element)
    if name == "MAP":
        words.expect("<")
        key = _nullability(words, take_type(words, flink=flink, depth=depth + 1))
        words.expect(",")
        value = _nullability(words, take_type(words, flink=flink, depth=depth + 1))
        words.expect(">")
        return Map(key, value)
    if name == "MULTISET" and flink:
        words.expect("<")
        counted = _nullability(words, take_type(words, flink=flink, depth=depth + 1))
        words.expect(">")
        return Multiset(counted)
    if name in {"STRUCT", "ROW"}:
        return _struct(words, flink=flink, depth=depth)
    text = name + _numbers(words)
    if not flink:
        if name not in _PLAIN or ("(" in text and name not in _SIZED):
            raise words.wrong(_hint(text), first.start if first else None)
        text = _SPARK.get(text, text)
    elif words.take("WITH", "LOCAL", "TIME", "ZONE"):
        text += " WITH LOCAL TIME ZONE"
    try:
        return parse_type(text)
    except SchemaError as error:
        raise words.wrong(str(error), first.start if first else None) from error


def _hint(text: str) -> str:
    if text.startswith("TIMESTAMP"):
        return (
            f"{text} is a type of Flink: write TIMESTAMP (with a zone) or TIMESTAMP_NTZ (without), or end "
            "the statement with WITH (…)"
        )
    return f"{text} is no type"


def _numbers(words: Words) -> str:
    if not words.take("("):
        return ""
    numbers = [str(words.whole_number("a length or precision"))]
    while words.take(","):
        numbers.append(str(words.whole_number("a scale")))
    words.expect(")")
    return f"({', '.join(numbers)})"


def _nullability(words: Words, type_: DataType) -> DataType:
    if words.take("NOT", "NULL"):
        return with_nullability(type_, nullable=False)
    return type_


def _struct(words: Words, *, flink: bool, depth: int) -> Row:
    words.expect("<")
    fields = []
    while True:
        name = words.name("the name of a member")
        words.take(":")
        type_ = _nullability(words, take_type(words, flink=flink, depth=depth + 1))
        words.take("COMMENT")
        word = words.word
        comment = words.string() if word is not None and word.kind == "string" else None
        fields.append(Field(0, name, type_, comment))
        if not words.take(","):
            break
    words.expect(">")
    return Row(tuple(fields))
