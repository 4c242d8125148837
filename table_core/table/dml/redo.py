"""A statement that has read rows which another commit changed meanwhile is done again, on the newest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from table_core.commit.conflicts import ConflictKind
from table_core.errors import CommitConflictError
from table_core.options import keys_commit

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.table.metadata.access import TableAccess

__all__ = ["done_again"]

T = TypeVar("T")
_PAUSE_MS: Final = 10
_PAUSE_MAX_MS: Final = 1_000


def done_again(access: TableAccess, do: Callable[[], T]) -> T:
    """What ``do`` gives, which reads the table anew each time; ``commit.max-retries`` times at most.

    Raises:
        CommitConflictError: other writers were first every time, or it is another conflict.
    """
    pause_ms = _PAUSE_MS
    for _ in range(access.options.get(keys_commit.COMMIT_MAX_RETRIES)):
        try:
            return do()
        except CommitConflictError as error:
            if not _is_stale(error):
                raise
        access.clock.sleep_ms(int(pause_ms * (0.5 + access.ids.jitter() / 2)))
        pause_ms = min(pause_ms * 2, _PAUSE_MAX_MS)
    return do()


def _is_stale(error: CommitConflictError) -> bool:
    conflicts = error.facts.get("conflicts")
    told = conflicts if isinstance(conflicts, tuple | list) else ()
    return any(str(conflict).startswith(ConflictKind.ROWS_CHANGED) for conflict in told)
