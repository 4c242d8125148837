"""Files that writers prepared are committed once.

The second commit of a file makes a table that nobody can read: two entries add it.  If that commit is
refused or numbers the rows anew, it is worse, because files of commits that did not land are deleted; and
who then commits them again, commits files that are gone.  So what this process has committed or deleted is
remembered, and refused before anything is done.  A commit with a name is looked for first: it may be asked
for again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError
from table_core.options import keys_commit
from table_core.table.commit_io.committer import find_commit
from table_core.table.commit_io.used_files import FileUse, remember, use_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, CommitAs

__all__ = ["already_committed", "remember_committed"]


def already_committed(
    access: TableAccess, results: Sequence[WriteResult], commit: CommitAs
) -> Commit | None:
    """The commit that ``commit`` names, where files of ``results`` were used before.

    Raises:
        ArgumentError: they were, by another commit or one that was refused; or one is there twice.
    """
    names = _names(results)
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    used = {name: use for name in names if (use := use_of(access.storage.uri, name))}
    if access.options.get(keys_commit.COMMIT_DISCARD_DUPLICATE_FILES):  # it knows what is there
        twice, used = [], {name: use for name, use in used.items() if use is FileUse.DELETED}
    if not twice and not used:
        return None
    done = None if twice else find_commit(access, commit)
    if done is not None:
        return done
    name = twice[0] if twice else next(iter(used))
    reason = "is named twice" if twice else used[name]
    raise ArgumentError(
        f"{access.name}: {name} {reason}. Nothing was done: what a writer prepared is committed once. To be "
        "able to ask for a commit again, give it a user and an identifier",
        argument="results",
        value=name,
    )


def remember_committed(access: TableAccess, results: Sequence[WriteResult]) -> None:
    """Note that the files of ``results`` are in the table."""
    remember(access.storage.uri, _names(results), FileUse.COMMITTED)


def _names(results: Sequence[WriteResult]) -> list[str]:
    return [
        file.file_name for result in results for change in result.changes for file in change.added
    ]
