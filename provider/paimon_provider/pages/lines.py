"""The list of tables in the cache: one row a table, made of what the collector keeps and what Airflow knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from paimon_provider.arguments.table_identity import TableIdentity
from paimon_provider.pages.cache import unpacked
from paimon_provider.pages.text import cell_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

__all__ = ["HEALTH", "count_events", "make_lines"]

HEALTH: Final = ("ok", "unknown", "due", "bad")
"""From best to worst."""
_KINDS: Final = frozenset({"primary-key", "append", "unknown"})
_BADGES_MAX: Final = 20
_TEXT_MAX: Final = 500


def make_lines(db: sqlite3.Connection, uris: Iterable[str]) -> None:
    """Make the lines of ``uris`` anew; a table that nobody knows any more has none."""
    for uri in uris:
        identity = TableIdentity.of_uri(uri)
        kept = _document(db, uri)
        asset = db.execute(
            "SELECT max(last_at), count(*) FROM asset WHERE base = ?", (uri,)
        ).fetchone()
        is_table = identity is not None and identity.is_plain(uri)
        if identity is None or not is_table or (kept is None and not asset[1]):
            db.execute("DELETE FROM line WHERE uri = ?", (uri,))
            continue
        line = _line(uri, identity, kept or {}, asset[0])
        db.execute(
            "INSERT OR REPLACE INTO line (uri, catalog, database, name, health, health_rank, rows, "
            "bytes, files, small_files, partitions, updated_at, due, line) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(uri, unquote(identity.catalog), identity.database, identity.name),
                *(line["health"], HEALTH.index(line["health"])),
                *(line[name] for name in ("rows", "bytes", "files", "small_files", "partitions")),
                line["updated_ms"],
                int(line["next_maintenance"] is not None),
                json.dumps(line),
            ),
        )


def count_events(db: sqlite3.Connection, now_ms: int) -> None:
    """Count the events of the last 24 hours of every table."""
    since = now_ms // 3_600_000 - 23
    db.execute(
        "UPDATE line SET events_24h = n FROM (SELECT uri AS u, coalesce((SELECT sum(h.n) FROM "
        "event_hour h WHERE h.base = uri AND h.hour >= ?), 0) AS n FROM line) "
        "WHERE uri = u AND events_24h <> n",
        (since,),
    )


def _document(db: sqlite3.Connection, uri: str) -> dict[str, Any] | None:
    row = db.execute(
        "SELECT body FROM document WHERE uri = ? AND kind = 'line' AND part = ''", (uri,)
    ).fetchone()
    return None if row is None else unpacked(row[0])


def _line(
    uri: str, identity: TableIdentity, kept: Mapping[str, Any], last_event: int | None
) -> dict[str, Any]:
    """Members that are checked: the table that they come from can be written by others."""
    health = kept.get("health")
    badges = _badges(kept.get("badges"))
    if any(badge["code"] == "unreadable" for badge in badges):
        health = "bad"  # whatever else is not known of it
    kind = kept.get("kind")
    updated = _number(kept, "updated_ms")
    return {
        "uri": uri,
        "catalog": identity.catalog,
        "database": identity.database,
        "name": identity.name,
        "table": _spelled(kept.get("table"), identity),
        "kind": kind if isinstance(kind, str) and kind in _KINDS else "unknown",
        **{
            name: _number(kept, name)
            for name in ("rows", "bytes", "files", "small_files", "partitions", "snapshot_id")
        },
        "updated_ms": updated if updated is not None else last_event,
        "user": cell_text(kept["user"], _TEXT_MAX) if kept.get("user") else None,
        "health": health if isinstance(health, str) and health in HEALTH else "unknown",
        "badges": badges,
        "next_maintenance": _next(kept.get("next_maintenance")),
        "cut": _cut(kept.get("cut")),
    }


def _spelled(table: object, identity: TableIdentity) -> str:
    """The table as its catalog spells it, if that is the same name."""
    if isinstance(table, str) and table.lower() == identity.table:
        return table
    return identity.table


def _number(kept: Mapping[str, Any], name: str) -> int | None:
    value = kept.get(name)
    small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return value if small else None


def _badges(stored: object) -> list[dict[str, str]]:
    if not isinstance(stored, list):
        return []
    badges = []
    for badge in stored[:_BADGES_MAX]:
        if isinstance(badge, dict) and badge.get("severity") in ("info", "warning", "error"):
            told = {name: cell_text(badge.get(name), _TEXT_MAX) for name in ("code", "text")}
            badges.append({**told, "severity": badge["severity"]})
    return badges


def _next(stored: object) -> dict[str, str] | None:
    if not isinstance(stored, dict):
        return None
    return {name: cell_text(stored.get(name), _TEXT_MAX) for name in ("action", "reason")}


def _cut(stored: object) -> dict[str, Any]:
    """Which snapshots the collector left out: ``{"snapshots": {"from": 3, "to": 40}}``, or nothing."""
    ends = stored.get("snapshots") if isinstance(stored, dict) else None
    if not isinstance(ends, dict):
        return {}
    first, last = ends.get("from"), ends.get("to")
    if not (isinstance(first, int) and isinstance(last, int)):
        return {}
    return {"snapshots": {"from": first, "to": last}}
