"""Whether a column that gets another definition keeps its values: it has to hold all that the old one could.

INT to BIGINT does, DECIMAL(10, 2) to DECIMAL(12, 2) too.  BIGINT to INT may not, and NULL to NOT NULL not.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from table_core.cdc.source.mysql.sql_tokens import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.source.mysql.binlog_columns import Column
    from table_core.cdc.source.mysql.sql_tokens import Token

__all__ = ["keeps_values"]

_SIZES: Final = {
    "TINYINT": 1,
    "SMALLINT": 2,
    "MEDIUMINT": 3,
    "INT": 4,
    "INTEGER": 4,
    "BIGINT": 8,
}
_TEXTS: Final = {"TINYTEXT": 1 << 8, "TEXT": 1 << 16, "MEDIUMTEXT": 1 << 24, "LONGTEXT": 1 << 32}
_CHANGES: Final = frozenset(
    {"AS", "GENERATED", "AUTO_INCREMENT", "CHARACTER", "CHARSET", "COLLATE", "ASCII", "UNICODE"}
)
_UTF8_BYTES: Final = 3


def keeps_values(old: Column | None, definition: Sequence[Token]) -> bool:
    """Whether no value changes; False where the old definition is not known."""
    words = [token.word for token in definition]
    if old is None or not words or not _CHANGES.isdisjoint(words):
        return False
    if old.nullable and ("NOT", "NULL") in pairwise(words):
        return False
    numbers = [int(t.text) for t in definition[1:5] if t.kind is Kind.NUMBER and t.text.isdigit()]
    numbers = numbers if len(definition) > 1 and definition[1].text == "(" else []
    type_ = old.source_type
    before = _SIZES.get(type_.name.upper())
    if before is not None:
        after, unsigned = _SIZES.get(words[0], 0), "UNSIGNED" in words or "ZEROFILL" in words
        if unsigned == type_.unsigned:
            return after >= before
        return type_.unsigned and after > before
    if type_.name == "decimal" and words[0] in {"DECIMAL", "NUMERIC", "DEC", "FIXED"}:
        digits, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        whole = digits - scale
        return (
            scale >= type_.number(1, 0)
            and whole >= type_.number(0, 10) - type_.number(1, 0)
            and not ({"UNSIGNED", "ZEROFILL"} & {*words})
        )
    if old.is_enum and words[0] == "ENUM":
        return {*old.values} <= {t.text for t in definition if t.kind is Kind.TEXT}
    if type_.name in {"float", "double"}:
        return words[0] == "DOUBLE" and not numbers
    if old.is_long_text and old.codec is not None:
        return _TEXTS.get(words[0], 0) >= 1 << (8 * old.meta)
    if old.is_varchar and old.codec is not None:
        most = old.meta // (_UTF8_BYTES if old.codec == "utf-8" else 1)
        room = numbers[0] if words[0] == "VARCHAR" and numbers else _TEXTS.get(words[0], 0)
        return room >= most
    return False
