"""When a task run has committed, as far as its tables know: to tell it from another run of its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.runs.identity import commit_users
from table_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["landed_ms", "landed_ms_in"]


def landed_ms(catalog: Any, tables: Iterable[str], user: str) -> list[int]:
    """When each commit of the task run ``user`` to one of ``tables`` was made, in epoch milliseconds.

    Raises:
        OutcomeUnknownError: one has landed, and its snapshot is expired.
    """
    return [at_ms for table in tables for at_ms in _in_table(catalog, table, user)]


def landed_ms_in(catalog: Any, database: str, user: str) -> list[int]:
    """The same of all tables of ``database``; of none while it is not there."""
    try:
        names = catalog.tables(database)
    except NotFoundError:
        return []
    return landed_ms(catalog, [f"{database}.{name}" for name in names], user)


def _in_table(catalog: Any, table: str, user: str) -> list[int]:
    from table_core.table.api.landed import landed_ms as landed_there

    try:
        return landed_there(catalog.table(table), commit_users(user))
    except NotFoundError:
        return []
