"""When somebody has committed to a table: to tell a task run from another one of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import OutcomeUnknownError
from table_core.ondisk.properties import carried_properties, has_landed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.table.api.table import Table

__all__ = ["landed_ms"]


def landed_ms(table: Table, users: Sequence[str]) -> list[int]:
    """When each commit of one of ``users`` was made, in epoch milliseconds, as far as it is there.

    The later commits of a verb are by ``<user>-…``.

    Raises:
        OutcomeUnknownError: none is there, and one has landed in a snapshot that is expired.
    """
    snapshots = table.snapshots()
    begins = tuple(f"{user}-" for user in users)
    times = [
        s.time_millis
        for s in snapshots
        if s.commit_user in users or s.commit_user.startswith(begins)
    ]
    known = carried_properties(snapshots[-1]) if snapshots else {}
    if not times and any(has_landed(known, user, 0, growing=True) for user in users):
        raise OutcomeUnknownError(
            f"{table.name}: a commit of {users[0]} has landed and is expired, and a run of this id may have made "
            "it that is deleted since. Look whether the rows are there: if they are, mark the task as done; "
            "if not, clear it, and it is done under a new name",
            user=users[0],
        )
    return times
