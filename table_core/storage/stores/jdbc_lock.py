"""The lock of Paimon's JDBC catalog: a row in ``paimon_distributed_locks``.

Whoever inserts the row holds the lock; deleting it lets go.  A row that is older than the lease
written in it counts as forgotten and may be deleted by anybody, so a holder that sleeps longer than
``lock-acquire-timeout`` has lost the lock without noticing.  Then Java's check and move may
replace a file; our own create cannot where the store creates conditionally.

Source: ``org.apache.paimon.jdbc.JdbcCatalogLock``, ``AbstractDistributedLockDialect`` and the
dialects of 2.0.0; 2.1 adds a column ``lock_owner`` that may be NULL.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError, StorageUnavailableError, TableError
from table_core.storage.stores.lock import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.storage.stores.jdbc import JdbcDatabase, Session

__all__ = ["JdbcLock"]

_log = logging.getLogger(__name__)
_FIRST_SLEEP_MS: Final = 10
_CREATE: Final = (
    "CREATE TABLE paimon_distributed_locks(lock_id VARCHAR({length}) NOT NULL,"
    "acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL,"
    "expire_time_seconds BIGINT DEFAULT 0 NOT NULL,PRIMARY KEY (lock_id))"
)
_TAKE: Final = "INSERT INTO paimon_distributed_locks (lock_id,expire_time_seconds) VALUES (?,?)"
_TAKEN_AT: Final = "SELECT acquired_at FROM paimon_distributed_locks WHERE lock_id = ?"
_RELEASE: Final = "DELETE FROM paimon_distributed_locks WHERE lock_id = ? AND acquired_at = ?"
_AGE: Final = {
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at))",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
    "mariadb": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at)",
}


@dataclass(frozen=True, slots=True)
class JdbcLock:
    """Locks of the tables of one catalog."""

    database: JdbcDatabase
    catalog_key: str
    sleep_max_ms: int
    timeout_ms: int
    local_offset_minutes: int
    """Zone of this machine.  PostgreSQL keeps ``acquired_at`` in the zone of the session, and Java's
    driver sets that of its machine: all writers must be of one zone."""
    key_length_max: int = 255

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        """See ``TableLock``."""
        name = f"{self.catalog_key}.{table}"
        if len(name) > self.key_length_max:
            raise ArgumentError(
                f"the name of lock {name!r} is longer than {self.key_length_max}: raise "
                "lock-key-max-length before the lock table is made, or take shorter names",
                argument="lock-key-max-length",
                value=self.key_length_max,
            )
        with self.database.session() as session:
            self._prepare(session)
            wait_for(
                lambda: self._take(session, name),
                what=f"lock {name} in {self.database.shown}",
                sleep_max_ms=self.sleep_max_ms,
                timeout_ms=self.timeout_ms,
                first_ms=_FIRST_SLEEP_MS,
            )
            taken = session.rows(_TAKEN_AT, name)
            if not taken:
                raise StorageUnavailableError(
                    f"lock {name} in {self.database.shown} was taken away at once: its lease of "
                    f"{self.timeout_ms} ms is too short, or the zones of the writers differ",
                    path=name,
                    reason="lock was lost",
                )
            try:
                yield
            finally:
                self._release(session, name, taken[0][0])

    def _prepare(self, session: Session) -> None:
        if self.database.kind == "postgresql":
            hours, minutes = divmod(abs(self.local_offset_minutes), 60)
            zone = f"{'-' if self.local_offset_minutes < 0 else '+'}{hours:02d}:{minutes:02d}"
            session.change(f"SET TIME ZONE INTERVAL '{zone}' HOUR TO MINUTE")

    def _take(self, session: Session, name: str) -> bool:
        lease = max(self.timeout_ms // 1000, 1)
        if session.insert(_TAKE, name, lease):
            return True
        expired = f"{_AGE[self.database.kind]} > expire_time_seconds and lock_id = ?"
        gone = session.insert(f"DELETE FROM paimon_distributed_locks WHERE {expired}", name)
        return gone and session.insert(_TAKE, name, lease)

    def _release(self, session: Session, name: str, acquired_at: object) -> None:
        """Let go of our own row; one that somebody else took meanwhile stays."""
        try:
            try:
                gone = session.change(_RELEASE, name, acquired_at)
            except TableError:
                with self.database.session() as again:
                    gone = again.change(_RELEASE, name, acquired_at)
        except TableError as error:
            _log.warning(
                "lock %s was not released (%s): others wait until its lease of %s ms is over",
                name,
                error,
                self.timeout_ms,
            )
            return
        if not gone:
            _log.warning("lock %s was held for longer than its lease and is another's now", name)

    def create_table(self) -> None:
        """Make the table of locks, if it is not there."""
        with self.database.session() as session:
            session.create_table(
                "paimon_distributed_locks", _CREATE.format(length=self.key_length_max)
            )
