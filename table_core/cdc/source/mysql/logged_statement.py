"""A statement as an event of the log has it, with the settings that its session had.

Source: ``Query_log_event`` of the server: what stands between the head and the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.log_cursor import Cursor
from table_core.cdc.source.mysql.binlog import (
    EVENT_BYTES,
    LOAD,
    QUERY_COMPRESSED,
    decompressed,
)
from table_core.cdc.source.mysql.charsets import charset_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LoggedStatement", "statement_of"]

_SQL_MODE, _CHARSET = 1, 4
_SIZES: Final = {0: 4, 1: 8, 3: 4, 4: 6, 7: 2, 8: 2, 9: 8, 10: 4, 128: 3}
"""Bytes of the settings whose length is known."""
_NAMED: Final = {2: 1, 5: 0, 6: 0}
"""Those that begin with their length, and what comes behind."""
_OF_LOAD: Final = 13


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """Default database, text, and the session's ``sql_mode``."""

    database: str
    text: str
    sql_mode: int = 0


def statement_of(
    kind: int,
    body: bytes,
    most: int = EVENT_BYTES,
    charset: Callable[[int], str | None] = charset_of,
) -> LoggedStatement:
    """Read a QUERY or EXECUTE_LOAD_QUERY event without its header.

    Raises:
        ValueError: the event is damaged; so may ``LookupError`` and ``zlib.error``.
    """
    cursor = Cursor(body)
    cursor.skip(8)
    database_length = cursor.unsigned(1)
    cursor.skip(2)
    size = cursor.unsigned(2)
    cursor.skip(_OF_LOAD if kind == LOAD else 0)
    settings = _settings(Cursor(cursor.take(size)))
    database = cursor.take(database_length).decode(errors="replace")
    cursor.skip(1)
    text = cursor.rest()
    if kind == QUERY_COMPRESSED:
        text = decompressed(text, most)
    client = int.from_bytes(settings.get(_CHARSET, b"")[:2], "little")
    try:
        codec = (charset(client) if client else None) or "utf-8"
    except LookupError:
        codec = "utf-8"  # words of SQL are the same in all
    sql_mode = int.from_bytes(settings.get(_SQL_MODE, b""), "little")
    return LoggedStatement(database, text.decode(codec, errors="mariadb"), sql_mode)


def _settings(cursor: Cursor) -> dict[int, bytes]:
    """By number; what comes behind one that is not known is left out."""
    variables: dict[int, bytes] = {}
    while cursor.at < cursor.end:
        number = cursor.unsigned(1)
        if number in _NAMED:
            cursor.skip(cursor.unsigned(1) + _NAMED[number])
        elif number in _SIZES:
            variables[number] = cursor.take(_SIZES[number])
        else:
            break
    return variables
