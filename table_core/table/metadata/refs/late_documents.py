"""Documents in a table that prove that they were written for another one, which stood at its place.

Who is at work in a table writes a document, then looks whether the table is still there, and takes the document away
if it is not.  If the table was dropped, made anew and renamed before that look, the document went along with the new
table.  So whoever renames looks for such documents at the new place, where nobody who is late can write any more.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from table_core.errors import CorruptFileError, NotFoundError, TableError
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, decode_hint
from table_core.ondisk.line import Link, is_of_another_table, is_schema_of_another_table
from table_core.position.source import TableId
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.consumers import consumers, position_of
from table_core.table.metadata.refs.tags import tag_names, tagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess

__all__ = ["is_late_schema", "remove_late_documents"]

_log = logging.getLogger(__name__)
_BRANCH: Final = layout.branch_folder("")


def remove_late_documents(line: TableAccess) -> None:
    """Delete what proves to be of another table than ``line``, which was just moved and does not turn.

    A store that fails is logged and no error: the line has moved.
    """
    try:
        late = list(_late(line))
        line.storage.delete(late)
    except TableError as error:
        _log.warning("%s: nobody looked for what is of another table: %s", line.name, error)
        return
    if late:
        _log.warning("%s: deleted what is of another table: %s", line.name, ", ".join(late))


def is_late_schema(metadata: Metadata, schema: TableSchema, birth: str) -> bool:
    """Whether ``schema``, in a table of that ``birth``, proves that it was made in another one."""
    link = Link.of(schema)
    if link is None or link.birth == birth:  # most are: nothing more is read
        return False
    there = schema.id - 1 in metadata.schema_ids()
    before = metadata.schema(schema.id - 1) if there else None
    return is_schema_of_another_table(schema, birth, before)


def _late(line: TableAccess) -> Iterator[str]:
    """Paths of what is of another table than ``line``."""
    metadata = line.metadata
    birth = metadata.line_birth()
    if not birth:
        return
    for id in reversed(metadata.schema_ids()):
        if not is_late_schema(metadata, metadata.schema(id), birth):
            break  # one that is late is above all others
        yield layout.schema_path(id, line.branch)
    snapshots = metadata.snapshot_ids()
    while snapshots and _is_late_snapshot(line, snapshots[-1], birth):
        yield layout.snapshot_path(snapshots.pop(), line.branch)
    newest = snapshots[-1] if snapshots else 0
    yield from _late_tags(line, birth)
    yield from _late_hints(line, newest, birth)
    yield from _late_consumers(line, newest)
    if line.branch == layout.MAIN:
        yield from _late_branches(line, birth)


def _is_late_snapshot(line: TableAccess, id: int, birth: str) -> bool:
    try:
        return _is_late(line, line.metadata.snapshot(id), birth)
    except (NotFoundError, CorruptFileError):
        return False


def _is_late(line: TableAccess, snapshot: Snapshot, birth: str) -> bool:
    """Whether ``snapshot`` is of another table, and its files are gone too."""
    files = layout.manifest_path(snapshot.delta_manifest_list)
    return is_of_another_table(snapshot, birth) and not line.storage.exists(files)


def _late_tags(line: TableAccess, birth: str) -> Iterator[str]:
    for name in tag_names(line):
        with suppress(NotFoundError, CorruptFileError):
            if _is_late(line, tagged(line, name).snapshot, birth):
                yield layout.tag_path(name, line.branch)
                yield layout.tag_success_path(name, line.branch)


def _late_hints(line: TableAccess, newest: int, birth: str) -> Iterator[str]:
    """Those above all snapshots, also above what came since ``newest``."""
    for which in (EARLIEST, LATEST):
        path = layout.hint_path("snapshot", which, line.branch)
        with suppress(NotFoundError):
            id = decode_hint(line.storage.read(path))
            if id is None or id <= newest:
                continue
            if _is_late_snapshot(line, id, birth) or not line.metadata.has_snapshot(id):
                yield path


def _late_consumers(line: TableAccess, newest: int) -> Iterator[str]:
    """Those that have read more than there is, in a table of another birth."""
    next_snapshots = consumers(line)
    if not next_snapshots:
        return
    birth = line.metadata.birth()
    for name, next_snapshot in next_snapshots.items():
        position = position_of(line, name)
        source = None if position is None else position.source
        born = source.birth if isinstance(source, TableId) else ""
        if born not in {"", birth} and next_snapshot > newest + 1:
            yield layout.consumer_path(name, line.branch)


def _late_branches(main: TableAccess, birth: str) -> Iterator[str]:
    """All files of those without a snapshot that begin with the first schema of another table."""
    for info in list(main.storage.list(layout.BRANCH_FOLDER)):
        name = info.path.removeprefix(_BRANCH)
        branch = Metadata(main.storage, name)
        if name == info.path or branch.snapshot_ids():
            continue
        ids, first = branch.schema_ids(), main.metadata.schema_ids()[0]
        if ids[:1] == [first] and branch.line_birth() != birth:
            yield from (file.path for file in main.storage.walk(info.path))
