"""Whose log a replication slot of PostgreSQL is of, and where it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.source.postgres.lsn import lsn_number

if TYPE_CHECKING:
    from table_core.cdc.source.postgres.source import PostgresConnection

__all__ = ["cluster_and_timeline", "slot_begin"]

_DIGITS: Final = 8
"""Of the timeline, at the front of a log file's name."""


def cluster_and_timeline(connection: PostgresConnection) -> tuple[str, str]:
    """What tells the server's data from others, and its timeline.

    The timeline is the one that is written now: the control file has that of the newest checkpoint, so
    for a while after a promotion it has the old one.
    """
    system = connection.rows("SELECT system_identifier FROM pg_control_system()")[0][0]
    file = str(connection.rows("SELECT pg_walfile_name(pg_current_wal_lsn())")[0][0])
    return str(system), str(int(file[:_DIGITS], 16))


def slot_begin(connection: PostgresConnection, slot: str) -> int | None:
    """The place from which a slot has changes. None if there is no slot of that name."""
    slots = connection.rows(
        "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s", (slot,)
    )
    return None if not slots or slots[0][0] is None else lsn_number(str(slots[0][0]))
