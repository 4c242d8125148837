"""Files that writers prepared are committed once.

The second commit of a file makes a table that nobody can read: two entries add it.  If that commit is
refused or numbers the rows anew, it is worse, because files of commits that did not land are deleted.
So what this process has committed is remembered, and refused before anything is done.  A commit with a
name is looked for first: it may be asked for again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.options import keys_commit
from table_core.table.commit_io.committer import find_commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, CommitAs

__all__ = ["already_committed", "remember_committed"]

_FILES_MAX: Final = 100_000
_COMMITTED: dict[tuple[str, str], None] = {}
"""Table and file, the oldest first."""


def already_committed(
    access: TableAccess, results: Sequence[WriteResult], commit: CommitAs
) -> Commit | None:
    """The commit that ``commit`` names, where files of ``results`` were committed before.

    Raises:
        ArgumentError: they were, and by another commit; or one of them is there twice.
    """
    if access.options.get(keys_commit.COMMIT_DISCARD_DUPLICATE_FILES):
        return None  # files are known by their names then
    names = _names(results)
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    where = access.storage.uri
    before = [name for name in names if (where, name) in _COMMITTED]
    if not twice and not before:
        return None
    done = find_commit(access, commit) if before and not twice else None
    if done is not None:
        return done
    how = "is named twice in this commit" if twice else "was committed by this process before"
    raise ArgumentError(
        f"{access.name}: {(twice or before)[0]} {how}, so nothing was done: what a writer prepared is "
        "committed once. To be able to ask again, commit under a user and an identifier",
        argument="results",
        value=(twice or before)[0],
    )


def remember_committed(access: TableAccess, results: Sequence[WriteResult]) -> None:
    """Note that the files of ``results`` are in the table."""
    where = access.storage.uri
    for name in _names(results):
        _COMMITTED[where, name] = None
    while len(_COMMITTED) > _FILES_MAX:
        del _COMMITTED[next(iter(_COMMITTED))]


def _names(results: Sequence[WriteResult]) -> list[str]:
    return [
        file.file_name for result in results for change in result.changes for file in change.added
    ]
