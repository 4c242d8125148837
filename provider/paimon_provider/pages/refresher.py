"""Keeps the cache fresh while somebody looks: a thread, begun by the first request and ended when nobody asks.

Of several processes one writes, the one that has the lock; the others see what it has written.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import SQLAlchemyError

from paimon_provider._compat import AirflowException
from paimon_provider.pages.airflow_facts import copy_airflow_facts
from paimon_provider.pages.cache import (
    cache_max_bytes,
    get_meta,
    reading,
    set_meta,
    transaction,
    writer_lock,
    writing,
)
from paimon_provider.pages.collected import bound_cache, copy_collected, metadata_place
from paimon_provider.pages.lines import count_events, make_lines
from table_core.errors import TableError

if TYPE_CHECKING:
    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["REFRESHER", "Refresher"]

_log = logging.getLogger(__name__)
_EVERY_S: Final = 3.0
_IDLE_S: Final = 300.0
_FIRST_S: Final = 5.0
"""How long the first request of all waits for what Airflow knows."""


class Refresher:
    """One a process."""

    def __init__(self, every_s: float = _EVERY_S, idle_s: float = _IDLE_S) -> None:
        self.every_s = every_s
        self.idle_s = idle_s
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = 0.0
        self._stop = threading.Event()
        self._hook: PaimonHook | None = None
        self._error = ""

    def asked(self) -> None:
        """Somebody looks: be fresh from now on; wait if there is nothing to show yet."""
        self._asked = time.monotonic()
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="paimon-tables", daemon=True)
                self._thread.start()
        until = time.monotonic() + _FIRST_S
        while not _has_facts() and time.monotonic() < until:
            time.sleep(0.05)

    @property
    def is_running(self) -> bool:
        """Whether the thread is there."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30)

    def _run(self) -> None:
        while not self._stop.is_set() and time.monotonic() - self._asked < self.idle_s:
            try:
                with writer_lock() as is_ours:
                    if is_ours:
                        self._write()
            except (OSError, sqlite3.Error, TableError):
                _log.exception("The cache of the tables page could not be written")
            self._stop.wait(self.every_s)

    def _write(self) -> None:
        """Pass after pass, as long as somebody looks."""
        db = writing()
        try:
            while not self._stop.is_set() and time.monotonic() - self._asked < self.idle_s:
                self.once(db)
                self._stop.wait(self.every_s)
        finally:
            db.close()

    def once(self, db: sqlite3.Connection) -> None:
        """One pass."""
        from airflow.utils.session import create_session

        now_ms = int(time.time() * 1000)
        try:
            with transaction(db):
                with create_session() as session:
                    touched = copy_airflow_facts(session, db, now_ms)
                make_lines(db, touched)
                count_events(db, now_ms)
        except (SQLAlchemyError, sqlite3.Error):
            _log.exception("What Airflow knows of tables could not be read")
        self._collected(db)

    def _collected(self, db: sqlite3.Connection) -> None:
        from paimon_provider.hooks.paimon import PaimonHook

        conn_id, table = metadata_place()
        try:
            if self._hook is None or self._hook.paimon_conn_id != conn_id:
                self._hook = PaimonHook(conn_id)
            touched = copy_collected(self._hook, table, db)
            if touched:
                with transaction(db):
                    make_lines(db, touched)
                    count_events(db, int(time.time() * 1000))
                bound_cache(db, cache_max_bytes())
            self._error = ""
            _note_look(db, None)
        except (TableError, AirflowException) as error:
            self._hook = None  # the connection may be another by now
            kind = str(error.kind) if isinstance(error, TableError) else "no connection"
            _note_look(db, kind)  # why in full is for the log alone
            if str(error) != self._error:
                self._error = str(error)
                _log.warning("The table of the collector could not be read: %s", error)


def _note_look(db: sqlite3.Connection, error: str | None) -> None:
    """Let the page know how the last look at what is collected went."""
    look = {"error": error}
    if get_meta(db, "collected_look") != look:
        set_meta(db, "collected_look", look)


def _has_facts() -> bool:
    with reading() as db:
        return db is not None and get_meta(db, "airflow_ms") is not None


REFRESHER: Final = Refresher()
