"""What the tables page is made from, in a SQLite file beside the API server (docs/adr/0020-a-page-reads-a-copy.md).

One process writes, the one that holds the lock; all read.  Nothing in it is the only copy: a file of
another version, or one that is damaged, is deleted and filled anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import zlib
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import conf
from table_core.errors import ArgumentError
from table_core.options.parse import size_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "cache_folder",
    "cache_max_bytes",
    "get_meta",
    "packed",
    "reading",
    "set_meta",
    "transaction",
    "unpacked",
    "writer_lock",
    "writing",
]

_VERSION: Final = 4
_FILE: Final = "tables.db"
_LOCK: Final = "tables.lock"
_BUSY_SECONDS: Final = 5
_DOCUMENT_MAX: Final = 32 << 20
"""Bytes of a document; ours are far smaller."""
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE asset (
    id INTEGER PRIMARY KEY, uri TEXT NOT NULL, base TEXT NOT NULL, label TEXT NOT NULL,
    last_at INTEGER);
CREATE INDEX asset_base ON asset (base);
CREATE TABLE event (
    id INTEGER PRIMARY KEY, base TEXT NOT NULL, at INTEGER NOT NULL, dag_id TEXT, task_id TEXT,
    run_id TEXT, map_index INTEGER, document TEXT NOT NULL);
CREATE INDEX event_base ON event (base, id);
CREATE INDEX event_dag ON event (dag_id, run_id);
CREATE TABLE event_hour (base TEXT, hour INTEGER, n INTEGER, PRIMARY KEY (base, hour)) WITHOUT ROWID;
CREATE TABLE run (
    base TEXT NOT NULL, at INTEGER NOT NULL, dag_id TEXT NOT NULL, task_id TEXT NOT NULL,
    run_id TEXT NOT NULL, map_index INTEGER NOT NULL, action TEXT, document TEXT,
    PRIMARY KEY (base, at, dag_id, run_id, task_id, map_index)) WITHOUT ROWID;
CREATE INDEX run_dag ON run (dag_id, run_id);
CREATE TABLE creation (
    base TEXT NOT NULL, dag_id TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (base, dag_id, since)) WITHOUT ROWID;
CREATE TABLE commit_user (
    user TEXT PRIMARY KEY, dag_id TEXT, task_id TEXT, run_id TEXT, map_index INTEGER) WITHOUT ROWID;
CREATE TABLE document (
    kind TEXT NOT NULL, uri TEXT NOT NULL, part TEXT NOT NULL, newest_at INTEGER, body BLOB NOT NULL,
    PRIMARY KEY (uri, kind, part)) WITHOUT ROWID;
CREATE TABLE line (
    uri TEXT PRIMARY KEY, catalog TEXT NOT NULL, database TEXT NOT NULL, name TEXT NOT NULL,
    health TEXT NOT NULL, health_rank INTEGER NOT NULL, rows INTEGER, bytes INTEGER, files INTEGER,
    small_files INTEGER, partitions INTEGER, updated_at INTEGER, stale INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL, events_24h INTEGER NOT NULL DEFAULT 0, line TEXT NOT NULL) WITHOUT ROWID;
"""


def cache_folder() -> Path:
    """The folder named by ``[paimon] cache_folder``, else one in the Airflow home."""
    named = str(conf.get("paimon", "cache_folder", fallback="") or "")
    if named:
        return Path(named)
    from airflow.configuration import AIRFLOW_HOME

    return Path(AIRFLOW_HOME) / "paimon-cache"


def cache_max_bytes() -> int:
    """How large the cache may become: ``[paimon] cache_max``.

    Raises:
        ArgumentError: the option is no size.
    """
    text = str(conf.get("paimon", "cache_max", fallback="4 gb") or "4 gb")
    try:
        return size_bytes(text)
    except ValueError as error:
        raise ArgumentError(f"[paimon] cache_max: {error}", argument="cache_max") from error


def _made_folder() -> Path:
    """The folder, for its owner alone."""
    folder = cache_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if folder.stat().st_uid == os.getuid():
        folder.chmod(0o700)
    return folder


@contextmanager
def writer_lock() -> Iterator[bool]:
    """Whether this process is the one that writes; it is until the end of the block."""
    number = os.open(_made_folder() / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(number)


def writing() -> sqlite3.Connection:
    """A connection that writes, for who holds the lock; the file is made where it is missing or of no use."""
    path = _made_folder() / _FILE
    try:
        return _opened(path)
    except sqlite3.DatabaseError:  # a copy that is damaged is no loss
        _delete(path)
        return _opened(path)


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")  # lost with the machine, it is filled anew
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == _VERSION:
        return connection
    if version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        connection.close()
        _delete(path)
        return _opened(path)
    connection.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {_VERSION};COMMIT;")
    return connection


def _delete(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def reading() -> Iterator[sqlite3.Connection | None]:
    """A connection that reads one state of the cache; None where there is none yet."""
    path = cache_folder() / _FILE
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    except sqlite3.OperationalError:
        yield None
        return
    with closing(connection):
        connection.row_factory = sqlite3.Row
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            yield None
            return
        connection.execute("BEGIN")
        yield connection


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of the block, or nothing of it."""
    db.execute("BEGIN")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def packed(document: str) -> bytes:
    """A document as the cache keeps it."""
    return zlib.compress(document.encode(), 6)


def unpacked(body: bytes) -> dict[str, Any]:
    """What ``packed`` made; what is none, e.g. because another program wrote it, is empty."""
    decoder = zlib.decompressobj()
    try:
        document = json.loads(decoder.decompress(body, _DOCUMENT_MAX))
    except (zlib.error, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def get_meta(db: sqlite3.Connection, key: str) -> Any:
    """A value that was kept; None without."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else json.loads(row[0])


def set_meta(db: sqlite3.Connection, key: str, value: Any) -> None:
    """Keep a value."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))
