"""The order of a primary key, in which a first snapshot of MySQL or MariaDB reads a table.

Each chunk begins behind the last key of the one before.  The server orders an ENUM by the places of its
values and compares it with text by letters, so there the places are asked for: ``c + 0 > 2``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import EventError

if TYPE_CHECKING:
    from table_core.cdc.model.source_table import CatalogTable

__all__ = ["key_mark", "numbered", "ordered", "quoted", "selected"]

_NUMERIC: Final = re.compile(r"(tiny|small|medium|big)?int|decimal|numeric|year|float|double")
_BY_NUMBER: Final = re.compile(r"enum|set|bit", re.IGNORECASE)
_LITERAL: Final = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def selected(name: str, type_: str) -> str:
    """A column of a query; a FLOAT as text would lose digits."""
    return f"CAST({quoted(name)} AS DOUBLE)" if type_.startswith("float") else quoted(name)


def numbered(table: CatalogTable) -> list[str]:
    """Columns of the key that the server orders by a number and shows as something else."""
    return [name for name in table.key if _BY_NUMBER.match(table.types[name])]


def ordered(name: str, table: CatalogTable) -> str:
    """What stands for a column where its order counts: of ENUM('b', 'a') the places, not the letters."""
    return f"{quoted(name)}+0" if _BY_NUMBER.match(table.types[name]) else quoted(name)


def key_mark(value: Any, type_: str) -> tuple[str, Any]:
    """A place for a key's value, and the value if the driver is to fill it in.

    Numbers are compared as numbers, to the last digit.
    """
    if _BY_NUMBER.match(type_) or _NUMERIC.match(type_):
        number = value[0] if isinstance(value, list) else str(value)
        if not _LITERAL.fullmatch(number):
            raise EventError(
                f"the snapshot was read up to the key {number!r} of type {type_}, which is no number: "
                "drop the table here, and it is read again",
                key=number,
            )
        return number, None
    return ("UNHEX(%s)", value[0]) if isinstance(value, list) else ("%s", value)
