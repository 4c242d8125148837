"""Compacts until a head has no rows that wait for it, beside writers that bring new ones."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from table_core.errors import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["until_compacted"]

_TRIES: Final = 10
Waiting = TypeVar("Waiting")


def until_compacted(
    access: TableAccess,
    head: Snapshot | None,
    waiting: Callable[[Snapshot | None], Waiting],
    compact: Callable[[Waiting], object],
    *,
    then: str,
) -> Snapshot | None:
    """``head``, or a later one in which nothing waits.

    Args:
        access: the table.
        head: the snapshot to begin with.
        waiting: what waits in a snapshot; something empty when nothing does.
        compact: compacts that.
        then: what to do when other writers were first every time, for the error.

    Raises:
        CommitConflictError: they were.
    """
    for _ in range(_TRIES):
        left = waiting(head)
        if not left:
            return head
        with suppress(CommitConflictError):  # another compaction
            compact(left)
        head = access.head()
    raise CommitConflictError(
        f"{access.name}: rows wait for a compaction, and each time it ran others had come; {then} when fewer "
        "writers commit",
        table=access.name,
        head_id=head.id if head else None,
        conflicts=(),
    )
