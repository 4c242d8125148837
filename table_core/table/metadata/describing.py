"""What a verb did, as its result document: told from its commits, and from the states around them.

One place, so that every verb, engine and door says the same of the same work.  What was known before a
commit is not what it did: others commit too, and a retry finds what an earlier attempt has made.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from table_core.errors import ErrorKind, TableError
from table_core.table.metadata.results import ResultDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.ondisk.file_columns import FileColumns
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit

__all__ = ["FilesOf", "between", "committed", "foretold", "summed", "unchanged"]

_log = logging.getLogger(__name__)
_LOUD: Final = {ErrorKind.NOT_FOUND: logging.DEBUG}
"""That a snapshot is expired is no fault."""
_SUMMED: Final = (
    "files_before",
    "files_after",
    "bytes_before",
    "bytes_after",
    "files_deleted",
    "bytes_deleted",
    "rows_written",
)


@dataclass(frozen=True, slots=True)
class FilesOf:
    """The data files of one state; ``live`` is None where they can be known no more."""

    snapshot_id: int | None
    live: FileColumns | None

    @classmethod
    def of(cls, access: TableAccess, snapshot: Snapshot | None) -> FilesOf:
        """Those of ``snapshot``; without one, those of a table without rows."""
        id = snapshot.id if snapshot else None
        return cls._counted(access, id, lambda: cls(id, access.metadata.live_files(snapshot)))

    @classmethod
    def at(cls, access: TableAccess, id: int) -> FilesOf:
        """Those of the snapshot ``id``; 0: before the first."""
        if not id:
            return cls.of(access, None)
        metadata = access.metadata
        return cls._counted(
            access, id, lambda: cls.of(access, metadata.built.get(id) or metadata.snapshot(id))
        )

    @classmethod
    def newest(cls, access: TableAccess) -> FilesOf:
        """Those of the newest snapshot."""
        return cls._counted(access, None, lambda: cls.of(access, access.metadata.probable_head()))

    @classmethod
    def _counted(cls, access: TableAccess, id: int | None, count: Callable[[], Self]) -> FilesOf:
        """What ``count`` gives.  No fault is raised: of a verb that is done it would say that it is not."""
        try:
            return count()
        except TableError as error:
            what = "%s: snapshot %s is not counted, and the result document says less: %s"
            _log.log(_LOUD.get(error.kind, logging.WARNING), what, access.name, id, error)
            return cls(id, None)

    @property
    def files(self) -> int | None:
        """How many there are."""
        return None if self.live is None else len(self.live)

    @property
    def bytes(self) -> int | None:
        """How long they are together."""
        return None if self.live is None else int(self.live.size.sum())

    def without(self, other: FilesOf) -> tuple[int | None, int | None]:
        """How many of them, and how many bytes, are not in ``other``."""
        if self.live is None or other.live is None:
            return None, None
        gone = ~np.isin(self.live.identity, other.live.identity)
        return int(gone.sum()), int(self.live.size[gone].sum())


def committed(
    access: TableAccess,
    action: str,
    done: Commit | Sequence[Commit] | None,
    head: Snapshot | None,
    details: Mapping[str, object],
    *,
    started_ms: int,
    since: Snapshot | None = None,
) -> ResultDocument:
    """What ``done`` did, one commit or several, made or found.

    Without any, the table is as it was at ``head``.  ``since`` is the state before this verb, where it made
    commits besides ``done`` to get there.
    """
    commits = () if done is None else done if isinstance(done, (list, tuple)) else (done,)
    replayed = any(commit.replayed for commit in commits)
    made = [commit for commit in commits if commit.snapshot_ids]
    told: dict[str, Any] = {"replayed": replayed, **details}
    if replayed and not made:  # in a snapshot that is expired: nobody knows what it was
        return _document(access, action, None, None, told, started_ms, rows_written=None)
    if not made:
        same = FilesOf.of(access, head)
        return _document(access, action, same, same, told, started_ms)
    first, last = made[0].snapshot_ids[0], made[-1].snapshot_ids[-1]
    after = FilesOf.at(access, last)
    begins = since.id if since is not None and not replayed else first - 1
    before = FilesOf.at(access, begins)
    gone = made[0].moved.files_gone, made[0].moved.bytes_gone
    if since is not None or len(made) > 1:
        gone = before.without(after)
    return _document(
        access,
        action,
        before,
        after,
        told,
        started_ms,
        files_deleted=gone[0],
        bytes_deleted=gone[1],
        rows_written=sum(commit.moved.rows_written for commit in made),
    )


def between(
    access: TableAccess,
    action: str,
    before: FilesOf,
    after: FilesOf,
    details: Mapping[str, object],
    *,
    started_ms: int | None,
    dry_run: bool = False,
) -> ResultDocument:
    """What a verb did that made ``after`` the newest state, or would have.

    ``after`` is then told of files and bytes, and the newest snapshot stays what it was.
    """
    files_gone, bytes_gone = before.without(after)
    document = _document(
        access,
        action,
        before,
        after,
        details,
        started_ms,
        dry_run=dry_run,
        files_deleted=files_gone,
        bytes_deleted=bytes_gone,
    )
    return document.having(snapshot_after=before.snapshot_id) if dry_run else document


def foretold(
    access: TableAccess,
    action: str,
    head: Snapshot | None,
    gone: Iterable[int],
    details: Mapping[str, object],
    *,
    started_ms: int,
    instead: bool,
) -> ResultDocument:
    """What a dry run foresees: files of the lengths ``gone`` go.

    ``instead``: others come in their place, and how many and how long they are depends on the rows.
    """
    before, sizes = FilesOf.of(access, head), list(gone)
    document = _document(
        access,
        action,
        before,
        before,
        details,
        started_ms,
        dry_run=True,
        files_deleted=len(sizes),
        bytes_deleted=sum(sizes),
    )
    if not sizes:
        return document
    if instead:
        return document.having(files_after=None, bytes_after=None, rows_written=None)
    if before.files is None or before.bytes is None:
        return document
    return document.having(
        files_after=before.files - len(sizes), bytes_after=before.bytes - sum(sizes)
    )


def unchanged(
    access: TableAccess,
    action: str,
    details: Mapping[str, object],
    *,
    dry_run: bool = False,
    started_ms: int | None = None,
    files: FilesOf | None = None,
) -> ResultDocument:
    """The result of a verb that makes no snapshot and takes no data file from the newest state.

    ``files`` are those of that state, where they are known.
    """
    same = files or FilesOf.newest(access)
    return _document(access, action, same, same, details, started_ms, dry_run=dry_run)


def summed(
    action: str,
    name: str,
    parts: Iterable[ResultDocument],
    details: Mapping[str, object],
    *,
    seconds: float,
    dry_run: bool = False,
) -> ResultDocument:
    """What was done to tables of the database ``name`` together.  What one cannot say, all cannot."""
    parts = list(parts)
    sums: dict[str, Any] = {}
    for member in _SUMMED:
        values = [getattr(part, member) for part in parts]
        sums[member] = None if None in values else sum(values)
    return ResultDocument(
        action=action, table=name, seconds=seconds, dry_run=dry_run, details=details, **sums
    )


def _document(
    access: TableAccess,
    action: str,
    before: FilesOf | None,
    after: FilesOf | None,
    details: Mapping[str, object],
    started_ms: int | None,
    **more: Any,
) -> ResultDocument:
    now_ms = access.clock.now_ms()
    gone = {} if before else dict.fromkeys(("files_deleted", "bytes_deleted"))
    members: dict[str, Any] = {**gone, **more}
    return ResultDocument(
        action=action,
        table=access.name,
        snapshot_before=before.snapshot_id if before else None,
        snapshot_after=after.snapshot_id if after else None,
        files_before=before.files if before else None,
        files_after=after.files if after else None,
        bytes_before=before.bytes if before else None,
        bytes_after=after.bytes if after else None,
        seconds=0.0 if started_ms is None else (now_ms - started_ms) / 1000,
        details=details,
        **members,
    )
