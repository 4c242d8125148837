"""The lock of Paimon's Hive catalog: an exclusive lock of the table, which the metastore keeps.

Requests for one table stand in a queue.  The metastore forgets a lock ``hive.txn.timeout`` after its holder was last heard
of, if its housekeeping runs; 300 s by default.  So a writer that is killed makes the others wait so long, and one that
sleeps longer has lost the lock without noticing.  Then Java's check and move may replace a file; our own create cannot
where the store creates conditionally.

Source: ``org.apache.paimon.hive.HiveCatalogLock`` of 2.0.0.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import OutcomeUnknownError, StorageUnavailableError, TableError
from table_core.storage.stores.lock import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.storage.stores.hive_metastore import HiveMetastore

__all__ = ["HiveLock"]

_log = logging.getLogger(__name__)
_FIRST_SLEEP_MS: Final = 20
_SLEEP_MAX_MS: Final = 1_000
"""Who is first in the queue and sleeps makes all others wait."""


@dataclass(frozen=True, slots=True)
class HiveLock:
    """Locks of the tables of one metastore."""

    metastore: HiveMetastore
    sleep_max_ms: int
    timeout_ms: int

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        """See ``TableLock``."""
        database, _, name = table.partition(".")
        id, is_held = self._asked_for(database, name)
        try:
            if not is_held:
                wait_for(
                    lambda: self.metastore.asked(lambda session: session.has_lock(id)),
                    what=f"the lock of {table} in the metastore at {self.metastore.uri}",
                    sleep_max_ms=min(self.sleep_max_ms, _SLEEP_MAX_MS),
                    timeout_ms=self.timeout_ms,
                    first_ms=_FIRST_SLEEP_MS,
                )
            yield
        finally:
            self._let_go(id, table)

    def _asked_for(self, database: str, name: str) -> tuple[int, bool]:
        """A request in the queue, and whether it holds the lock already.

        Raises:
            StorageUnavailableError: nobody says whether there is one; it goes by itself, and nothing was done.
        """
        try:
            with self.metastore.session() as session:
                return session.lock(database, name)
        except OutcomeUnknownError as error:
            raise StorageUnavailableError(
                str(error), path=self.metastore.uri, reason="the connection broke"
            ) from error

    def _let_go(self, id: int, table: str) -> None:
        try:
            gone = not self.metastore.asked(lambda session: session.unlock(id))
        except TableError as error:
            _log.warning(
                "the lock of %s was not released (%s): others wait until the metastore forgets it",
                table,
                error,
            )
            return
        if gone:
            _log.warning("the metastore has forgotten the lock of %s, which was held", table)
