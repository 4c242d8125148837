"""What the routes of the tables page answer, made from the cache alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

from paimon_provider.pages.cache import get_meta, unpacked
from paimon_provider.pages.collected import metadata_place
from paimon_provider.pages.lines import HEALTH
from paimon_provider.pages.text import cell_text
from table_core.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Mapping

__all__ = [
    "SORTS",
    "Asker",
    "CollectedAt",
    "ListQuery",
    "collected_at",
    "iso",
    "line_answer",
    "overview",
    "require_line",
    "tables_answer",
]

_STALE_MS: Final = 7 * 86_400_000
"""A table without a new snapshot for a week is stale."""
_TEXT_MAX: Final = 500
_VARIANTS_MAX: Final = 50
SORTS: Final = {
    "name": "name",
    "database": "database",
    "rows": "rows",
    "bytes": "bytes",
    "files": "files",
    "small_files": "small_files",
    "partitions": "partitions",
    "updated_at": "updated_at",
    "freshness_s": "-updated_at",
    "health": "health_rank",
    "next_maintenance": "due",
    "events_24h": "events_24h",
}
"""What a list can be sorted by, and the column of the cache."""


CollectedAt: TypeAlias = "Callable[[Mapping[str, Any]], str | None]"


def iso(at_ms: int | None) -> str | None:
    """ISO 8601 of epoch milliseconds, in UTC; None of None and of what is no time."""
    if at_ms is None:
        return None
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: whose task runs they may see."""

    db: sqlite3.Connection
    dags: Collection[str]
    """The Dags that they may read."""
    now_ms: int

    def run(
        self, dag_id: str | None, task_id: str | None, run_id: str | None, map_index: int | None
    ) -> dict[str, Any] | None:
        """A task run; None if they may not read its Dag, or if there is none."""
        if dag_id is None or task_id is None or run_id is None or dag_id not in self.dags:
            return None
        index = -1 if map_index is None else map_index
        return {"dag_id": dag_id, "task_id": task_id, "run_id": run_id, "map_index": index}

    def by_user(self, user: str | None) -> dict[str, Any] | None:
        """The task run that commits under the name ``user``."""
        if not user:
            return None
        query = "SELECT dag_id, task_id, run_id, map_index FROM commit_user WHERE user = ?"
        keys = self.db.execute(query, (user,)).fetchone()
        if keys is None and len(user) > 37 and user[36] == "-":  # the later commits of a verb
            keys = self.db.execute(query, (user[:36],)).fetchone()
        return None if keys is None else self.run(*keys)

    def last_event_run(self, uri: str) -> tuple[dict[str, Any] | None, int] | None:
        """Who made the newest event of a table, and when."""
        row = self.db.execute(
            "SELECT dag_id, task_id, run_id, map_index, at FROM event WHERE base = ? "
            "ORDER BY id DESC LIMIT 1",
            (uri,),
        ).fetchone()
        return None if row is None else (self.run(*row[:4]), row[4])

    def document(self, uri: str, kind: str, part: str = "") -> dict[str, Any]:
        """What the collector keeps; empty where it keeps nothing."""
        row = self.db.execute(
            "SELECT body FROM document WHERE uri = ? AND kind = ? AND part = ?", (uri, kind, part)
        ).fetchone()
        return {} if row is None else unpacked(row[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Which tables a list shows."""

    search: str = ""
    database: str = ""
    health: str = ""
    sort: str = "-updated_at"
    offset: int = 0
    limit: int = 100

    def where(self) -> tuple[str, list[Any]]:
        """The condition, and its values.

        Raises:
            ArgumentError: no such health.
        """
        parts, values = ["1"], []
        if self.search:
            pattern = "".join(f"\\{c}" if c in "\\%_" else c for c in self.search.lower())
            parts.append("(uri LIKE ? ESCAPE '\\' OR database || '.' || name LIKE ? ESCAPE '\\')")
            values += [f"%{pattern}%"] * 2
        if self.database:
            parts.append("database = ?")
            values.append(self.database)
        if self.health:
            wanted = self.health.split(",")
            if not set(wanted) <= set(HEALTH):
                raise ArgumentError(
                    f"health={self.health!r}: known are {', '.join(HEALTH)}", argument="health"
                )
            parts.append(f"health IN ({', '.join('?' * len(wanted))})")
            values += wanted
        return " AND ".join(parts), values

    def order(self) -> str:
        """How it is sorted; what has no value comes last.

        Raises:
            ArgumentError: nothing that can be sorted by.
        """
        name = self.sort.removeprefix("-")
        column = SORTS.get(name)
        if column is None:
            raise ArgumentError(
                f"sort={self.sort!r}: known are {', '.join(SORTS)}", argument="sort"
            )
        down = self.sort.startswith("-") != column.startswith("-")
        column = column.removeprefix("-")
        return f"{column} IS NULL, {column} {'DESC' if down else 'ASC'}, uri"


def collected_at(asker: Asker) -> CollectedAt:
    """When the database of a line was collected last, as the tasks say that collect it."""
    latest: dict[tuple[str, str], int] = {}
    for at, text in asker.db.execute(
        "SELECT at, document FROM run WHERE action = 'collect-metadata' ORDER BY at"
    ):
        result = json.loads(text)
        details = result.get("details") if isinstance(result, dict) else None
        if isinstance(details, dict) and not result.get("dry_run"):
            place = (str(details.get("catalog")).lower(), str(details.get("database")).lower())
            latest[place] = at

    def of(line: Mapping[str, Any]) -> str | None:
        return iso(latest.get((unquote(line["catalog"]).lower(), line["database"].lower())))

    return of


def tables_answer(asker: Asker, query: ListQuery) -> dict[str, Any]:
    """``GET /api/tables``."""
    db = asker.db
    where, values = query.where()
    total = db.execute(f"SELECT count(*) FROM line WHERE {where}", values).fetchone()[0]
    rows = db.execute(
        f"SELECT line, events_24h FROM line WHERE {where} ORDER BY {query.order()} LIMIT ? OFFSET ?",
        (*values, query.limit, query.offset),
    ).fetchall()
    collected = collected_at(asker)
    databases = db.execute("SELECT DISTINCT database FROM line ORDER BY database LIMIT 10000")
    return {
        "total": total,
        "databases": [row[0] for row in databases],
        **_collector(asker),
        "tables": [line_answer(asker, json.loads(row[0]), row[1], collected) for row in rows],
    }


def _collector(asker: Asker) -> dict[str, Any]:
    """When metadata was collected last, and what collects it; None without.

    ``collector_error``: the kind of what kept the page from reading it.  ``collector_known``: whether it has looked yet.
    """
    look = get_meta(asker.db, "collected_look")
    state = {
        "collector_error": look.get("error") if look else None,
        "collector_known": look is not None,
    }
    collected = get_meta(asker.db, "collected")
    if not collected:
        return {"collected_at": None, "collector": None, **state}
    row = asker.db.execute(
        "SELECT dag_id FROM run WHERE action = 'collect-metadata' ORDER BY at DESC LIMIT 1"
    ).fetchone()
    conn_id, table = metadata_place()
    return {
        "collected_at": iso(collected.get("at_ms")),
        "collector": {
            "dag_id": row[0] if row is not None and row[0] in asker.dags else None,
            "table": table,
            "conn_id": conn_id,
        },
        **state,
    }


def overview(asker: Asker) -> dict[str, Any]:
    """``GET /api/overview``."""
    row = asker.db.execute(
        "SELECT count(*), sum(rows), sum(bytes), sum(files), sum(health = 'due'), "
        "sum(health = 'bad'), sum(updated_at < ?), sum(events_24h) FROM line",
        (asker.now_ms - _STALE_MS,),
    ).fetchone()
    names = ("tables", "rows", "bytes", "files", "due", "bad", "stale", "events_24h")
    counts = dict(zip(names, row, strict=True))
    for name in ("due", "bad", "stale", "events_24h"):
        counts[name] = counts[name] or 0
    return {**counts, "collected_at": _collector(asker)["collected_at"]}


def require_line(asker: Asker, uri: str) -> tuple[dict[str, Any], int]:
    """The line of a table, and its events of a day.

    Raises:
        NotFoundError: no such table.
    """
    row = asker.db.execute("SELECT line, events_24h FROM line WHERE uri = ?", (uri,)).fetchone()
    if row is None:
        raise NotFoundError(
            f"no table {cell_text(uri)}: neither Airflow nor the collector knows it", name=uri
        )
    return json.loads(row[0]), row[1]


def line_answer(
    asker: Asker,
    line: Mapping[str, Any],
    events: int,
    collected: CollectedAt,
) -> dict[str, Any]:
    """A ``Line`` of the contract."""
    uri, updated = line["uri"], line["updated_ms"]
    by = asker.by_user(line["user"])
    writer = None
    if line["user"] is not None:
        writer = {"user": line["user"], "by": by, "at": iso(updated)}
    else:
        event = asker.last_event_run(uri)
        if event is not None:
            writer = {"user": None, "by": event[0], "at": iso(event[1])}
    same = ("uri", "catalog", "database", "name", "kind", "rows", "bytes", "files", "small_files")
    return {
        **{name: line[name] for name in (*same, "partitions", "snapshot_id", "health", "badges")},
        "updated_at": iso(updated),
        "freshness_s": None if updated is None else max(0, asker.now_ms - updated) // 1000,
        "last_writer": writer,
        "next_maintenance": line["next_maintenance"],
        "variants": _variants(asker, uri),
        "events_24h": events,
        "collected_at": collected(line),
        "cut": line["cut"],
    }


def _variants(asker: Asker, uri: str) -> list[dict[str, Any]]:
    """Other assets of the table: what watchers see of it, and its branches."""
    rows = asker.db.execute(
        "SELECT label, uri, last_at FROM asset WHERE base = ? AND label <> '' ORDER BY label LIMIT ?",
        (uri, _VARIANTS_MAX),
    )
    return [
        {"label": cell_text(label, _TEXT_MAX), "uri": own, "last_event_at": iso(at)}
        for label, own, at in rows
    ]
