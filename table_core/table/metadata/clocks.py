"""Snapshots of the future: a writer whose clock was ahead.

The time of a snapshot is never before that of the one before it, because time travel searches by it.  So one writer three
days ahead makes all commits of the next three days as late as its own, and who reads as of now misses them.
No time is rewritten; everybody who meets one is told.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["AHEAD_MS", "ahead_ms", "warn_of_future"]

AHEAD_MS: Final = 10 * 60_000
"""So far clocks may be apart."""
_log = logging.getLogger(__name__)


def ahead_ms(access: TableAccess, snapshot: Snapshot | None) -> int:
    """How far the time of ``snapshot`` is in the future of this machine, if further than clocks may be apart; else 0."""
    if snapshot is None:
        return 0
    ahead = snapshot.time_millis - access.clock.now_ms()
    return ahead if ahead > AHEAD_MS else 0


def warn_of_future(access: TableAccess, snapshot: Snapshot | None) -> None:
    """Say so if ``snapshot`` is of the future."""
    ahead = ahead_ms(access, snapshot)
    if snapshot is not None and ahead:
        _log.warning(
            "%s: the time of snapshot %s of %s is %s minutes ahead of this machine's clock: until then, reading as of now misses "
            "it and what follows. Set the clock of that writer, and read by snapshot or tag meanwhile",
            access.name,
            snapshot.id,
            snapshot.commit_user,
            ahead // 60_000,
        )
