"""The documents of one branch of a table, loaded and remembered.

Manifests and schemas are written once under names that are never used again, so they are cached
for the whole process.  Snapshots are not: a rollback lets later commits use a number again.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from table_core.commit.basis import Opened
from table_core.commit.readback import digest
from table_core.errors import CorruptFileError, FilesExpiredError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.file_columns import FileColumns, live_columns
from table_core.ondisk.hints import decode_hint
from table_core.ondisk.line import end_of_line, is_of_another_table, is_stray
from table_core.ondisk.manifest import (
    decode_file_columns,
    decode_highest,
    decode_manifest,
    highest_of,
)
from table_core.ondisk.manifest_list import decode_manifest_list
from table_core.ondisk.properties import WRITER_PREFIX
from table_core.ondisk.snapshot import FIRST_ID, Snapshot
from table_core.options.budgets import CACHED_ENTRIES
from table_core.position.source import birth_of
from table_core.schema.document import schema_from_json
from table_core.storage.stores.os_errors import in_place_of
from table_core.storage.stores.paths import is_local
from table_core.table.metadata.remembered import Remembered
from table_core.validation_errors import way_out

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from table_core.commit.readback import Seen
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.highest import HighestNumbers
    from table_core.ondisk.manifest import Head
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.ports import FileInfo, Storage
    from table_core.schema.table_schema import TableSchema

__all__ = ["Metadata"]

Keep: TypeAlias = "Callable[[Sequence[Head]], Iterable[bool]]"
"""Which entries are wanted, by their heads."""

_FIRST_SCHEMA: Final = 0
_WHOLE_MAX: Final = 5_000
"""Of a manifest with more entries nobody who wants a few has all decoded: that takes seconds."""
_COLUMNS_AN_ENTRY: Final = 5
"""Rows of columns are small: of them so many more are kept."""
_NOTED_MAX: Final = 1 << 16
_AT_ONCE: Final = 8
"""So many manifests are on their way from a remote store."""


_MANIFESTS: Final = Remembered(weight_max=lambda: CACHED_ENTRIES.most)
_COLUMNS: Final = Remembered(weight_max=lambda: _COLUMNS_AN_ENTRY * CACHED_ENTRIES.most)


@dataclass(slots=True)
class Metadata:
    """Reads the documents of ``branch`` below the table root ``storage``."""

    storage: Storage
    branch: str = layout.MAIN
    seen: tuple[Seen, ...] = ()
    """Snapshots that commits through this handle were built on; a rollback empties it."""
    history: dict[int, Snapshot] = field(default_factory=dict, repr=False)
    """Snapshots that commits of this handle have searched."""
    _schemas: dict[int, TableSchema] = field(default_factory=dict, repr=False)
    floor_seen: int | None = field(default=None, repr=False)
    """What ``EARLIEST`` said when it was read last: it may be late."""
    newest_seen: int | None = field(default=None, repr=False)
    """The newest snapshot when it was looked for last."""
    pinned: dict[int, Snapshot] = field(default_factory=dict, repr=False)
    """Snapshots that a job has decided on: it reads these, also where their numbers are used again meanwhile.  So
    whoever looks whether a snapshot is still there asks for its bytes."""
    built: dict[int, Snapshot] = field(default_factory=dict, repr=False)
    """What the last commit of this handle made, and what that was built on: to describe it without reading it again."""
    _stamps: dict[int, tuple[int, int, str]] = field(default_factory=dict, repr=False)
    """The stamps of the files of schemas, as listed last: one that has another was recreated."""

    # ------------------------------------------------------------------------------- schemas
    def schema_ids(self) -> list[int]:
        """Ids of all schemas, ascending; empty when there is no table here.

        Raises:
            CorruptFileError: a folder is in place of one.
        """
        listed = self._numbered(layout.schema_folder(self.branch), "schema-")
        stamps = {id: info.stamp for id, info in listed.items()}
        for id in [
            id for id in self._schemas if not is_same_file(self._stamps.get(id), stamps.get(id))
        ]:
            del self._schemas[id]
        self._stamps = stamps
        return sorted(stamps)

    def schemas(self) -> list[TableSchema]:
        """All schemas, ascending, as they are now; empty when there is no table here."""
        return [self.schema(id) for id in self.schema_ids()]

    def schema(self, id: int) -> TableSchema:
        """The schema ``id``; an old one may live on the main branch only."""
        schema = self._schemas.get(id)
        if schema is None:
            path = layout.schema_path(id, self.branch)
            schema = schema_from_json(self.storage.read(path), path=path)
            self._schemas[id] = schema
        return schema

    def latest_schema(self) -> TableSchema:
        """The newest schema.

        Raises:
            NotFoundError: there is no table here.
        """
        ids = self.schema_ids()
        if not ids:
            raise NotFoundError(f"no table at {self.storage.uri}", name=self.storage.uri)
        return self.schema(ids[-1])

    def birth(self) -> str:
        """What tells the table that is here now from others: see ``position.source.birth_of``.

        Asked anew each time, by one request: a handle may outlive its table.

        Raises:
            NotFoundError: there is no table here.
        """
        id = _FIRST_SCHEMA
        try:
            body = self.storage.read(layout.schema_path(id, self.branch))
        except NotFoundError:
            ids = self.schema_ids()
            if not ids:
                raise NotFoundError(
                    f"no table at {self.storage.uri}", name=self.storage.uri
                ) from None
            id = ids[0]
            body = self.storage.read(layout.schema_path(id, self.branch))
        schema = schema_from_json(body, path=layout.schema_path(id, self.branch))
        return birth_of(body, schema.time_millis)

    def line_birth(self) -> str:
        """The birth that snapshots and schemas made here name (``line.FOLLOWS``); '': there is no table."""
        ids = self.schema_ids()
        return Opened.of(self.schema(ids[0])).birth if ids else ""

    # ----------------------------------------------------------------------------- snapshots
    def snapshot_ids(self) -> list[int]:
        """Ids of all snapshots that are there, ascending.

        Raises:
            CorruptFileError: a folder is in place of one.
        """
        return sorted(self._numbered(layout.snapshot_folder(self.branch), "snapshot-"))

    def snapshot_body(self, id: int) -> bytes:
        """The bytes of ``snapshot-<id>``."""
        return self.storage.read(layout.snapshot_path(id, self.branch))

    def snapshot(self, id: int) -> Snapshot:
        """The snapshot ``id``.

        Raises:
            NotFoundError: there is none; facts list the range that there is.
        """
        if id in self.pinned:
            return self.pinned[id]
        try:
            body = self.snapshot_body(id)
        except NotFoundError as error:
            ids = self.snapshot_ids()
            have = f"there are {ids[0]} to {ids[-1]}" if ids else "there are none"
            raise NotFoundError(
                f"no snapshot {id}: {have}; expired snapshots can be read through a tag, and "
                "'snapshot.num-retained.min' or 'snapshot.time-retained' keep more of them",
                name=str(id),
                available=ids[:1] + ids[-1:],
            ) from error
        return Snapshot.from_json(body, path=layout.snapshot_path(id, self.branch))

    def head_id(self) -> int | None:
        """Id of the newest snapshot, None for a table without any."""
        newest = newest_of(self)
        return newest[0] if newest else None

    def head(self) -> Snapshot | None:
        """The newest snapshot, None for a table without any."""
        head_and_digest = self.head_with_digest()
        return head_and_digest[0] if head_and_digest else None

    def head_with_digest(self) -> tuple[Snapshot, str] | None:
        """The newest snapshot, and the hash of its bytes."""
        newest = newest_of(self)
        if newest is None:
            return None
        id, body = newest
        path = layout.snapshot_path(id, self.branch)
        return Snapshot.from_json(body, path=path), digest(body)

    def head_after_seen(self) -> Snapshot | None:
        """The newest snapshot from the one on that the last commit of this handle made; None: that is not there.

        One request less than ``head``, because no hint is read.  It may be a snapshot that a rollback has just taken
        back, so only who finds out later asks for it.
        """
        if not self.seen:
            return None
        made = self.seen[-1]
        newest = _walked_from(self, made.id)
        if newest is None:
            return None
        id, body = newest
        if id == made.id and digest(body) != made.digest:
            return None
        return Snapshot.from_json(body, path=layout.snapshot_path(id, self.branch))

    def probable_head(self) -> Snapshot | None:
        """As ``head``, in fewer requests where this handle has committed: for who only tells of it."""
        return self.head_after_seen() or self.head()

    def has_snapshot(self, id: int) -> bool:
        """Whether the snapshot ``id`` is there."""
        return self.snapshot_if_there(id) is not None

    def snapshot_if_there(self, id: int) -> bytes | None:
        """The bytes of ``snapshot-<id>``; None: it is not there."""
        try:
            return self.snapshot_body(id)
        except NotFoundError:
            return None

    def earliest_id(self) -> int | None:
        """Id of the oldest snapshot that is there."""
        hinted = self._hint("EARLIEST")
        if hinted is not None and self.has_snapshot(hinted):
            return hinted
        ids = self.snapshot_ids()
        return ids[0] if ids else None

    def floor(self) -> int:
        """The smallest id that expiry has promised not to delete (``EARLIEST``).

        Without a hint: the smallest id that is there, and the first id if there is none.
        """
        hinted = self.hinted_floor()
        if hinted is not None:
            return hinted
        ids = self.snapshot_ids()
        return ids[0] if ids else FIRST_ID

    def hinted_head(self) -> int | None:
        """What ``LATEST`` says, in one request: it may be late; None where it is missing or no number."""
        return self._hint("LATEST")

    def hinted_floor(self) -> int | None:
        """What ``EARLIEST`` says; None where it is missing or no number."""
        self.floor_seen = self._hint("EARLIEST")
        return self.floor_seen

    # ----------------------------------------------------------------------------- manifests
    def manifest_list(self, name: str | None, size: int | None = None) -> list[ManifestMeta]:
        """The lines of a manifest list of ``size`` bytes; none for an absent name."""
        if name is None:
            return []
        path = layout.manifest_path(name)
        manifests: list[ManifestMeta] = _MANIFESTS.get(
            (self.storage.uri, path),
            lambda: decode_manifest_list(self.named_file(path, size), path=path),
        )
        return manifests

    def manifests(
        self, metas: Iterable[ManifestMeta], keep: Keep | None = None
    ) -> Iterator[list[ManifestEntry]]:
        """The entries of each of ``metas``, in order; with ``keep`` perhaps only those.

        A manifest that is asked for again is decoded whole, and remembered, unless it is large.  A store that is not on
        this machine is asked for several at a time.
        """
        for meta, load in self._loads(metas, self._known_entries):
            yield self._manifest(meta, keep, load)

    def entries(self, metas: Iterable[ManifestMeta]) -> Iterator[ManifestEntry]:
        """The entries of all ``metas``, in order."""
        return chain.from_iterable(self.manifests(metas))

    def _loads(
        self, metas: Iterable[ManifestMeta], known: Callable[[ManifestMeta], object]
    ) -> Iterator[tuple[ManifestMeta, Callable[[], bytes]]]:
        """Each of ``metas``, in order, and what gives its bytes: of those that are not ``known``, some are on their way."""
        if is_local(self.storage.uri):
            yield from ((meta, partial(self._manifest_body, meta)) for meta in metas)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:

            def on_its_way(meta: ManifestMeta) -> Callable[[], bytes]:
                load = partial(self._manifest_body, meta)
                # what is known is perhaps forgotten by then
                return load if known(meta) is not None else pool.submit(load).result

            rest = ((meta, on_its_way(meta)) for meta in metas)
            coming = deque(islice(rest, _AT_ONCE))
            while coming:
                yield coming.popleft()
                coming.extend(islice(rest, 1))

    def _known_entries(self, meta: ManifestMeta) -> list[ManifestEntry] | None:
        key = (self.storage.uri, layout.manifest_path(meta.file_name))
        entries: list[ManifestEntry] | None = _MANIFESTS.peek(key)
        return entries

    def _manifest_body(self, meta: ManifestMeta) -> bytes:
        return self.named_file(layout.manifest_path(meta.file_name), meta.file_size)

    def _manifest(
        self, meta: ManifestMeta, keep: Keep | None, load: Callable[[], bytes]
    ) -> list[ManifestEntry]:
        path = layout.manifest_path(meta.file_name)
        key = (self.storage.uri, path)
        if keep is not None and (
            _MANIFESTS.is_new(key) or (_is_large(meta) and _MANIFESTS.peek(key) is None)
        ):
            return decode_manifest(load(), path=path, keep=keep)
        entries: list[ManifestEntry] = _MANIFESTS.get(
            key, lambda: decode_manifest(load(), path=path)
        )
        return entries

    def read_manifest(self, meta: ManifestMeta) -> list[ManifestEntry]:
        """The entries of a manifest that nobody will ask for again, so it is not remembered.

        Files may lack keys, bounds and statistics.
        """
        known = self._known_entries(meta)
        if known is not None:
            return known
        path = layout.manifest_path(meta.file_name)
        return decode_manifest(self._manifest_body(meta), path=path, lean=True)

    def note_manifest(self, name: str, body: bytes) -> None:
        """Remember the manifest ``body``, which was just written: the next commit would fetch it."""
        self._note(name, body, decode_manifest)

    def note_manifest_list(self, name: str, body: bytes) -> None:
        """Remember the manifest list ``body``, which was just written: the next commit would fetch it."""
        self._note(name, body, decode_manifest_list)

    def _note(self, name: str, body: bytes, decode: Callable[..., list[Any]]) -> None:
        """Where fetching a small file takes longer than decoding it."""
        if len(body) <= _NOTED_MAX and not is_local(self.storage.uri):
            path = layout.manifest_path(name)
            _MANIFESTS.get((self.storage.uri, path), lambda: decode(body, path=path))

    def file_columns(self, meta: ManifestMeta) -> FileColumns:
        """The entries of a manifest as columns."""
        path = layout.manifest_path(meta.file_name)

        def load() -> FileColumns:
            entries = self._known_entries(meta)
            if entries is not None:
                return FileColumns.of(entries)
            return decode_file_columns(self._manifest_body(meta), path=path)

        columns: FileColumns = _COLUMNS.get((self.storage.uri, path), load)
        return columns

    def live_files(self, snapshot: Snapshot | None) -> FileColumns:
        """The live files of ``snapshot`` as columns: cheap where there are many."""
        metas = [] if snapshot is None else self.data_manifests(snapshot)
        return live_columns([self.file_columns(meta) for meta in metas])

    def highest(
        self, metas: Iterable[ManifestMeta], partitions: Collection[bytes] | None = None
    ) -> Iterator[HighestNumbers]:
        """The largest numbers of each bucket in each of ``metas``, in order; perhaps only of some ``partitions``.

        They are remembered, but not those of a few partitions in a large manifest: the others would have to be decoded.
        """

        def known(meta: ManifestMeta) -> object:
            return _COLUMNS.peek(self._highest_key(meta)) or self._known_entries(meta)

        for meta, load in self._loads(metas, known):
            if partitions is not None and known(meta) is None and _is_large(meta):
                yield highest_of(self._of_partitions(meta, load, frozenset(partitions)))
            else:
                yield _COLUMNS.get(self._highest_key(meta), partial(self._highest, meta, load))

    def _highest_key(self, meta: ManifestMeta) -> tuple[str, str, str]:
        return self.storage.uri, layout.manifest_path(meta.file_name), "highest"

    def _highest(self, meta: ManifestMeta, load: Callable[[], bytes]) -> HighestNumbers:
        entries = self._known_entries(meta)
        if entries is not None:
            return highest_of(entries)
        return decode_highest(load(), path=layout.manifest_path(meta.file_name))

    def _of_partitions(
        self, meta: ManifestMeta, load: Callable[[], bytes], wanted: frozenset[bytes]
    ) -> list[ManifestEntry]:
        def keep(heads: Sequence[Head]) -> list[bool]:
            return [head[0] in wanted for head in heads]

        return decode_manifest(load(), path=layout.manifest_path(meta.file_name), keep=keep)

    def data_manifests(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """The manifests whose folded entries are the live files of ``snapshot``, oldest first."""
        base = self.manifest_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
        return [*base, *self.delta_manifests(snapshot)]

    def delta_manifests(self, snapshot: Snapshot) -> list[ManifestMeta]:
        """The manifests of what ``snapshot`` itself adds and deletes."""
        return self.manifest_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def delta(self, snapshot: Snapshot) -> Iterator[ManifestEntry]:
        """What ``snapshot`` itself adds and deletes."""
        return self.entries(self.delta_manifests(snapshot))

    def changelog(self, snapshot: Snapshot) -> Iterator[ManifestEntry]:
        """The changelog files of ``snapshot``."""
        name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
        return self.entries(self.manifest_list(name, size))

    def named_file(self, path: str, size: int | None = None) -> bytes:
        """The bytes of ``path``, a file that a snapshot names.

        Raises:
            FilesExpiredError: it is gone, with its snapshot.
            CorruptFileError: it has not ``size`` bytes: Avro may be cut between blocks, and another
                file may lie in its place.
        """
        try:
            body = self.storage.read(path)
        except NotFoundError as error:
            raise FilesExpiredError.of(path) from error
        if size not in {None, len(body)}:
            problem = f"{len(body)} bytes instead of {size}"
            what = f"{path}: {problem}{way_out(path)}"
            raise CorruptFileError(what, path=path, problems=[problem])
        return body

    # --------------------------------------------------------------------------------- parts
    def _hint(self, which: str) -> int | None:
        try:
            body = self.storage.read(layout.hint_path("snapshot", which, self.branch))
        except NotFoundError:
            return None
        return decode_hint(body)

    def _numbered(self, folder: str, prefix: str) -> dict[int, FileInfo]:
        """The files of ``folder`` that are called ``prefix`` and a number, by that."""
        files: dict[int, FileInfo] = {}
        folders: dict[int, FileInfo] = {}
        for info in self.storage.list(folder):
            id = layout.numbered(info.path.rpartition("/")[2], prefix)
            if id is not None:
                (folders if info.is_dir else files)[id] = info
        for id, info in folders.items():
            if id not in files and self._is_folder(folder, info):  # an object store may have both
                raise in_place_of(f"{self.storage.uri}/{info.path}", "folder", "file")
        return files

    def _is_folder(self, parent: str, info: FileInfo) -> bool:
        """Whether what was listed as a folder is one.

        A server may list an object as a folder, empty, while it is written or deleted: MinIO keeps each in a folder of its own.
        """
        if any(True for _ in self.storage.walk(info.path)):
            return True
        return any(other.is_dir and other.path == info.path for other in self.storage.list(parent))


def _is_large(meta: ManifestMeta) -> bool:
    return meta.num_added_files + meta.num_deleted_files > _WHOLE_MAX


def is_same_file(before: tuple[int, int, str] | None, now: tuple[int, int, str] | None) -> bool:
    """Whether a file is the one that was read.

    A store that says neither an ETag nor a fine time may list two files of one second alike.
    """
    return before == now and now is not None and bool(now[-1])


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
    birth = metadata.line_birth()
    snapshot = Snapshot.from_json(body, path=layout.snapshot_path(id, metadata.branch))
    return bool(birth) and is_of_another_table(snapshot, birth)
