"""Copies what is new in the table that the collector keeps into the cache.

The first time, and when the changes since the last time are expired, it is read whole, the lines first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import conf
from paimon_provider.pages.cache import get_meta, packed, set_meta, transaction
from paimon_provider.pages.lines import make_lines
from table_core.errors import NotFoundError
from table_core.history.kinds import Kind

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["bound_cache", "copy_collected", "metadata_place"]

_FIRST: Final = (Kind.LINE, Kind.DETAIL, Kind.OPEN, Kind.LEVELS, Kind.PARTITIONS, Kind.REFS)
_URI_MAX: Final = 3_000
_STEP: Final = 500


def metadata_place() -> tuple[str, str]:
    """The connection and the table that the collector writes to: ``[paimon] metadata_conn_id`` and ``metadata_table``."""
    conn_id = str(conf.get("paimon", "metadata_conn_id", fallback="") or "paimon_default")
    table = str(conf.get("paimon", "metadata_table", fallback="") or "airflow.table_metadata")
    return conn_id, table


def copy_collected(hook: PaimonHook, table: str, db: sqlite3.Connection) -> set[str]:
    """One pass; the URIs of the tables of which something is new.

    Raises:
        TableError: the warehouse cannot be read.
    """
    try:
        handle = hook.catalog().table(table)
        head = handle.latest_snapshot()
    except NotFoundError:
        set_meta(db, "collected", None)
        return set()
    if head is None:
        return set()
    known = get_meta(db, "collected") or {}
    here = {"birth": handle.birth, "head": head.id, "mark": head.delta_manifest_list}
    if known.get("birth") == here["birth"] and known.get("mark") == here["mark"]:
        return set()
    touched = None
    if known.get("birth") == here["birth"] and known.get("head", head.id) < head.id:
        touched = _changes(handle, known, head.id, db)
    if touched is None:
        touched = _everything(handle, head.id, db)
    set_meta(db, "collected", {**here, "at_ms": head.time_millis})
    return touched


def _changes(
    handle: Any, known: dict[str, Any], head: int, db: sqlite3.Connection
) -> set[str] | None:
    """Copy what came since ``known``; None if that is not there any more."""
    try:
        if handle.snapshot(known["head"]).delta_manifest_list != known["mark"]:
            return None
        scan = handle.changes(after=known["head"], to=head, mode="delta")
        touched: set[str] = set()
        with transaction(db):
            for batch in scan.to_batches():
                touched |= _kept(batch, db)
        return touched
    except NotFoundError:
        return None


def _everything(handle: Any, head: int, db: sqlite3.Connection) -> set[str]:
    """Copy all of it, kind after kind; the list of tables is there as soon as their lines are."""
    touched = {row[0] for row in db.execute("SELECT DISTINCT uri FROM document")}
    later = [kind for kind in Kind if kind not in {*_FIRST, Kind.STATE}]
    for kind in (*_FIRST, *later):
        scan = handle.read(where=f"kind = '{kind.value}'", snapshot=head)
        with transaction(db):
            db.execute("DELETE FROM document WHERE kind = ?", (kind.value,))
            for batch in scan.to_batches():
                touched |= _kept(batch, db)
            if kind is Kind.LINE:
                make_lines(db, touched)
    return touched


def _kept(batch: Any, db: sqlite3.Connection) -> set[str]:
    """Put the rows of a batch into the cache; the URIs that occur."""
    names = batch.schema.names
    touched = set()
    for at in range(0, batch.num_rows, _STEP):
        part = batch.slice(at, _STEP)
        kinds, uris, parts, texts = (
            part.column(name).to_pylist() for name in ("kind", "uri", "part", "document")
        )
        signs = (
            part.column("_ROW_KIND").to_pylist() if "_ROW_KIND" in names else ["+I"] * len(kinds)
        )
        _put(zip(kinds, uris, parts, texts, signs, strict=True), db)
        touched |= {uri for uri in uris if isinstance(uri, str)}
    return touched


def _put(rows: Iterable[tuple[Any, Any, Any, Any, str]], db: sqlite3.Connection) -> None:
    for kind, uri, part, text, sign in rows:
        if not (isinstance(uri, str) and isinstance(kind, str) and isinstance(part, str)):
            continue  # a row that no collector wrote
        if kind == Kind.STATE.value or len(uri) > _URI_MAX:
            continue
        if sign == "-D" or text is None:
            db.execute(
                "DELETE FROM document WHERE uri = ? AND kind = ? AND part = ?", (uri, kind, part)
            )
            continue
        db.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?)",
            (kind, uri, part, _newest(kind, text), packed(text)),
        )


def _newest(kind: str, text: str) -> int | None:
    """When the newest snapshot of a full chunk was made."""
    if kind != Kind.SNAPSHOTS.value:
        return None
    try:
        document = json.loads(text)
        at = document["rows"][-1][document["columns"].index("at_ms")]
    except (ValueError, KeyError, IndexError, TypeError):
        return 0
    return at if isinstance(at, int) else 0


def bound_cache(db: sqlite3.Connection, most: int) -> int:
    """Drop the oldest snapshots while the cache is larger than ``most`` bytes; how many chunks went.

    The page tells of a table with fewer snapshots than it could have.
    """
    gone = 0
    size = db.execute("PRAGMA page_size").fetchone()[0]
    while True:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        free = db.execute("PRAGMA freelist_count").fetchone()[0]
        if (pages - free) * size <= most:
            return gone
        oldest = db.execute(
            "SELECT kind, uri, part FROM document WHERE kind = 'snapshots' ORDER BY newest_at LIMIT 1000"
        ).fetchall()
        if not oldest:
            return gone
        with transaction(db):
            db.executemany("DELETE FROM document WHERE kind = ? AND uri = ? AND part = ?", oldest)
        gone += len(oldest)
