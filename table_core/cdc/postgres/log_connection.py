"""Whose log a replication slot of PostgreSQL is of, and where it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.cdc.postgres.lsn import lsn_number

if TYPE_CHECKING:
    from table_core.cdc.postgres.source import PostgresConnection

__all__ = ["cluster_and_timeline", "slot_begin"]


def cluster_and_timeline(connection: PostgresConnection) -> tuple[str, str]:
    """What tells the server's data from others, and its timeline."""
    system = connection.rows("SELECT system_identifier FROM pg_control_system()")[0][0]
    timeline = connection.rows("SELECT timeline_id FROM pg_control_checkpoint()")[0][0]
    return str(system), str(timeline)


def slot_begin(connection: PostgresConnection, slot: str) -> int | None:
    """From where on a slot has changes; None if there is none of that name."""
    found = connection.rows(
        "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s", (slot,)
    )
    return None if not found or found[0][0] is None else lsn_number(str(found[0][0]))
