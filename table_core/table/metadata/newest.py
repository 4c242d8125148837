"""The newest snapshot of a branch: by its hint where that can be believed, else by the folder.

What proves that it is of another line or table is stepped over (docs/adr/0026).  Nothing is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.commit.basis import Opened
from table_core.ondisk import layout
from table_core.ondisk.line import end_of_line, is_of_another_table, is_stray
from table_core.ondisk.properties import WRITER_PREFIX
from table_core.ondisk.snapshot import FIRST_ID, Snapshot

if TYPE_CHECKING:
    from table_core.table.metadata.documents import Metadata

__all__ = ["newest_of"]

_OURS: Final = f'"writerVersion": "{WRITER_PREFIX}'.encode()
_STEPS_MAX: Final = 8
"""So many snapshots past the hint are read one after the other; then the folder is listed."""


def newest_of(metadata: Metadata) -> tuple[int, bytes] | None:
    """Id and bytes of the newest snapshot.

    The hint says where to begin; who comes after it is read until there is none (format 1.2).
    To read what is not there is one request, to ask for it is two on an object store.
    """
    hinted = metadata.hinted_head()
    newest = None if hinted is None else _walked_from(metadata, hinted)
    if newest is not None and _is_dead(metadata, newest):
        newest = None
    if newest is None:
        newest = _listed_newest(metadata)
    metadata.newest_seen = None if newest is None else newest[0]
    return newest


def _walked_from(metadata: Metadata, id: int) -> tuple[int, bytes] | None:
    """The last of the snapshots from ``id`` on; None if that is not there, or far from the last."""
    body = metadata.snapshot_if_there(id)
    for _ in range(_STEPS_MAX):
        if body is None:
            return None
        following = metadata.snapshot_if_there(id + 1)
        if following is None or _is_stray(metadata, id, body, following):
            return id, body
        id, body = id + 1, following
    return None


def _is_stray(metadata: Metadata, id: int, body: bytes, following: bytes) -> bool:
    """Whether ``following``, which has the next number, proves that it was not built on snapshot ``id``."""
    before = Snapshot.from_json(body, path=layout.snapshot_path(id, metadata.branch))
    after = Snapshot.from_json(following, path=layout.snapshot_path(id + 1, metadata.branch))
    return is_stray(after, before)


def _is_dead(metadata: Metadata, hinted: tuple[int, bytes]) -> bool:
    """Whether the hint led below the floor, where a writer that slept used a number again.

    The floor is asked for where that can be: at first, and where another program made that snapshot or
    it is older than the newest one that this handle knows.
    """
    (id, body), seen = hinted, metadata.newest_seen
    if seen is not None and (id == seen or (id > seen and _OURS in body)):
        return False
    return id < (metadata.hinted_floor() or FIRST_ID)


def _listed_newest(metadata: Metadata) -> tuple[int, bytes] | None:
    """The newest snapshot as the folder has it, where the hint is of no use.

    From the floor on there is no gap, so what comes behind one is no part of the line; nor is what proves
    that it is of another line or table.  Where the floor is not known, the last number counts, as in Paimon.
    """
    strays: set[int] = set()
    gone = None
    while True:
        ids = [id for id in metadata.snapshot_ids() if id not in strays]
        if not ids:
            return None
        id = end_of_line(ids, metadata.hinted_floor())
        body = metadata.snapshot_body(id) if id == gone else metadata.snapshot_if_there(id)
        gone = id  # if it is: rolled back meanwhile
        if body is None:
            continue
        before = metadata.snapshot_if_there(id - 1) if id - 1 in ids else None
        if _is_foreign(metadata, id, body) or (
            before and _is_stray(metadata, id - 1, before, body)
        ):
            strays.add(id)
            continue
        return _walked_from(metadata, id) or (id, body)


def _is_foreign(metadata: Metadata, id: int, body: bytes) -> bool:
    """Whether the snapshot ``id`` proves that it was made in another table that stood here."""
    schemas = metadata.schema_ids()
    if not schemas:
        return False
    snapshot = Snapshot.from_json(body, path=layout.snapshot_path(id, metadata.branch))
    return is_of_another_table(snapshot, Opened.of(metadata.schema(schemas[0])).birth)
