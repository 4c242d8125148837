"""Whether both sides are the same, and whether a table is read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from table_core.errors import EventError
from tests.cdc.mariadb_log import Log


def is_read_again(sync: Callable[..., object]) -> bool:
    """Whether the log does not tell all: then a sync that may read nothing again fails."""
    try:
        sync(on_rewrite="fail")
    except EventError as error:
        assert "the log does not tell its rows" in str(error), error
        return True
    return False


def same(log: Log, *tables: str, all_columns: bool = True) -> None:
    """Both sides have the same tables and rows, column by column."""
    for table in tables:
        known = {row[0] for row in log.server.sql(f"SHOW FULL TABLES FROM {log.name}")}
        if table not in known or table not in log.catalog.tables("lake"):
            assert table not in known or log.there(table) == []  # nothing was ever read of it
            continue
        names = [row[0] for row in log.server.sql(f"SHOW COLUMNS FROM {log.name}.{table}")]
        rows = log.catalog.table(f"lake.{table}").read().to_arrow()
        if not all_columns:  # a column comes with the first row that has it
            names = [name for name in names if name in rows.column_names]
        found = rows.select(names).to_pylist()
        here = sorted(tuple(map(str, row.values())) for row in found)
        quoted = ", ".join(f"`{name}`" for name in names)
        there = log.server.sql(f"SELECT {quoted} FROM {log.name}.{table}")
        assert here == sorted(tuple(map(str, row)) for row in there), table


def plain(value: Any) -> Any:
    """A value as both sides spell it."""
    if isinstance(value, list | int | bytes | type(None)):
        return value
    return value.timestamp() if hasattr(value, "timestamp") else str(value)
