"""Files that were written for a commit and that no snapshot names.

They are deleted where that is certain, and only there: a file that is left over costs space until
``remove_orphan_files``, one that is missing costs the table.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from table_core.errors import ErrorKind, TableError
from table_core.expire.orphans import FLOOR_MS
from table_core.ondisk import layout
from table_core.ondisk.data_file import EntryKind
from table_core.table.commit_io.used_files import FileUse, remember
from table_core.table.read.state_plan import index_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from table_core.commit.request import CommitPart
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["discard", "is_certain", "missing_files", "undone_by"]

_UNCERTAIN: Final = frozenset({ErrorKind.UNKNOWN_OUTCOME, ErrorKind.CORRUPT})
_MARGIN_MS: Final = 2 * 3_600_000
"""So long before orphan removal may take a file it is looked for: clocks differ, and a commit takes a while."""
_log = logging.getLogger(__name__)


def is_certain(error: TableError) -> bool:
    """Whether a commit that ended with ``error`` has left nothing in the table."""
    return error.kind not in _UNCERTAIN


@contextmanager
def undone_by(undo: Callable[[], object]) -> Iterator[None]:
    """Call ``undo`` if what is done inside does not come to its end: an interrupt leaves no files either."""
    try:
        yield
    except BaseException:
        undo()
        raise


def discard(
    access: TableAccess,
    parts: Iterable[CommitPart | None],
    landed: Iterable[Snapshot] = (),
    kept: CommitPart | None = None,
) -> None:
    """Delete the files that ``parts`` bring, but for those that ``landed`` snapshots or ``kept`` name.

    Not those of a copy (``CommitPart.is_first``): they may be another's.

    A failure is logged and no more: what the caller has to say matters more than what is left over.
    """
    try:
        named = {name for snapshot in landed for name in _named(access, snapshot)}
        if kept is not None:
            named |= {name for name, _ in _made(access, kept)}
        gone = [
            (name, path)
            for part in parts
            if part is not None and not part.is_first
            for name, path in _made(access, part)
            if name not in named
        ]
        remember(access.storage.uri, (name for name, _ in gone), FileUse.DELETED)
        access.storage.delete(path for _, path in gone)
    except TableError as error:
        _log.warning("%s: uncommitted files are left over: %s", access.name, error)


def missing_files(access: TableAccess, part: CommitPart) -> frozenset[str] | None:
    """Paths of the new files of ``part`` that are not there; None if all are young: no orphan removal takes those."""
    now_ms = access.clock.now_ms()
    limit_ms = now_ms + access.clock.local_offset_ms(now_ms) - FLOOR_MS + _MARGIN_MS
    times = (e.file.creation_time_ms for e in (*part.entries, *part.changelog))
    if all(time_ms is None or time_ms > limit_ms for time_ms in times):
        return None
    return frozenset(path for _, path in _made(access, part) if not access.storage.exists(path))


def _named(access: TableAccess, snapshot: Snapshot) -> Iterator[str]:
    """Names of the data and index files that ``snapshot`` brings or keeps."""
    for which in (access.metadata.delta, access.metadata.changelog):
        yield from (entry.file.file_name for entry in which(snapshot))
    yield from (entry.file_name for entry in index_entries(access, snapshot))


def _made(access: TableAccess, part: CommitPart) -> Iterator[tuple[str, str]]:
    """New files, names and paths; one that only moves to another level is none."""
    schema = access.schema
    old = {e.file.file_name for e in part.entries if e.kind is EntryKind.DELETE}
    for e in (*part.entries, *part.changelog):
        if e.kind is EntryKind.ADD and e.file.file_name not in old:
            yield e.file.file_name, layout.data_file_path(schema, e.partition, e.bucket, e.file)
            for path in layout.extra_file_paths(schema, e.partition, e.bucket, e.file):
                yield e.file.file_name, path
    for i in part.index_added:
        yield i.file_name, layout.index_file_path(schema, i.partition, i.bucket, i.file_name)
