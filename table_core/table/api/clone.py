"""Copies one state of a table to a new table, files and all.

Data files come first, then schemas, the snapshot last: a copy that was cut short is no table or an
empty one, and the next run goes on from the files that are whole.  The copy begins with one
snapshot of its own; history, tags, branches and consumers stay behind.

The positions of what has fed the table come along, as they were in the state that is copied: the rows
and how far they go belong together.  From then on they are the copy's own.  So is its birth.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from table_core.commit.request import CommitPart
from table_core.errors import (
    AlreadyExistsError,
    CommitConflictError,
    NotFoundError,
    UnsupportedFeatureError,
)
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.properties import (
    BROUGHT_BACK_PROPERTY,
    CARRIED_PREFIX,
    COMMITS_PROPERTY,
    HISTORY_INCOMPLETE,
    HISTORY_PROPERTY,
    carried,
)
from table_core.ondisk.snapshot import FIRST_ID, CommitKind
from table_core.options import keys_files, keys_scan
from table_core.options.table import TableOptions
from table_core.scan.time_travel import resolve
from table_core.schema.document import schema_from_json, schema_to_json
from table_core.storage.stores.paths import is_local
from table_core.table.api.table import open_handle
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.maintenance.file_deletion import paths_of
from table_core.table.metadata.carried import snapshots_backwards
from table_core.table.metadata.describing import committed
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.progress import tell
from table_core.table.metadata.refs.needed_files import index_place
from table_core.table.metadata.refs.turns import between_turns
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.metadata.sharing import alone
from table_core.table.metadata.table_files import refuse_leftovers
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.timestamps import epoch_ms
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.ondisk.snapshot import Snapshot
    from table_core.ports import Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.table.api.catalog_view import CatalogView
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit
    from table_core.table.metadata.sharing import Share
    from table_core.table.metadata.timestamps import PointInTime

__all__ = ["clone_table", "state_of"]

_CHUNK_BYTES: Final = 8 << 20
_THREADS_MAX: Final = min(8, 2 * (os.cpu_count() or 1))


def clone_table(  # noqa: PLR0913 - as the verb on a catalog
    catalog: CatalogView,
    name: str,
    to_name: str,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
    to: CatalogView | None = None,
    dry_run: bool = False,
    commit: CommitAs | None = None,
    positions: bool = True,
    share: Share = alone,
    database_is_made: bool = False,
) -> ResultDocument:
    """See ``Catalog.clone_table``; files are copied by ``share``.

    ``database_is_made``: whoever asks makes the database of the copy, if this is no dry run.

    Raises:
        AlreadyExistsError: the target has rows, or other schemas, or is left of a table that was
            dropped, or is what would be copied.
        NotFoundError: no such table, state, or database of the copy.
        UnsupportedFeatureError: files lie outside the table, rows have ids, or some are of a fallback branch.
        CommitConflictError: the table is rolled back or fast-forwarded just now.
    """
    home = catalog if to is None else to
    if home.directory.makes_tables:
        raise UnsupportedFeatureError(
            f"{to_name!r} would be a copy in a catalog whose server makes the tables, which is not in this "
            "release: create the table there, and write the rows of the other one into it",
            feature="clone to a REST catalog",
        )
    database, table = home.split(to_name)
    # The database is made with the copies: a dry run of those has none yet.
    if not (dry_run and database_is_made) and database not in (names := home.databases()):
        raise NotFoundError(
            f"no database {database!r}; create it first: there are {names}",
            name=database,
            available=names,
        )
    access = catalog.table(name).access
    state = between_turns(access, partial(state_of, access, snapshot, tag, timestamp))
    target = home.root(database, table)
    if target.uri == access.storage.uri:
        raise AlreadyExistsError(f"{to_name!r} is the table that would be copied", name=to_name)
    refuse_leftovers(target, to_name)
    commit = (commit or CommitAs()).with_request(
        "clone", source=name, snapshot=snapshot, tag=tag, timestamp=timestamp
    )
    if positions and state is not None:
        commit = replace(commit, properties={**_positions(access, state), **commit.properties})
    done = _cloned(access, state, target, to_name, commit, None if dry_run else share)
    if not dry_run:
        home.directory.create_table(database, table, access.schema)
    return done


def _positions(access: TableAccess, state: Snapshot) -> dict[str, str]:
    """The carried properties that say how far the rows of ``state`` go."""
    before = snapshots_backwards(access, state.id - 1, FIRST_ID)
    history = carried(chain([state], before), access.metadata.floor)
    of_the_table = {BROUGHT_BACK_PROPERTY, COMMITS_PROPERTY}
    kept = {k: v for k, v in history.properties.items() if k not in of_the_table}
    return kept if history.complete else {**kept, HISTORY_PROPERTY: HISTORY_INCOMPLETE}


def state_of(
    access: TableAccess, snapshot: int | None, tag: str | None, timestamp: PointInTime | None
) -> Snapshot | None:
    """The state that the arguments name, the newest by default; None: the table is empty."""
    return resolve(
        TableOptions.parse({}),
        TableTimeline(access),
        snapshot=snapshot,
        tag=tag,
        timestamp_ms=None if timestamp is None else epoch_ms("timestamp", timestamp),
    ).snapshot


def _cloned(
    access: TableAccess,
    state: Snapshot | None,
    target: Storage,
    name: str,
    commit: CommitAs,
    share: Share | None,
) -> ResultDocument:
    """The copy, or what it would be where nobody shares in the work."""
    refuse_commits(access)  # its options would be those of the copy
    started_ms = access.clock.now_ms()
    plan = _Plan.of(access, state)
    done = _landed(access, target, name, plan, commit)
    if share is not None and done is None:
        work = partial(_copy_all, access, target)
        is_begun = bool(Metadata(target).schema_ids())  # by an earlier run of this
        for _ in share(work, list(plan.files.items()), lambda file: file[1]):
            pass
        made = _make_schemas(access, target, name, plan, is_begun=is_begun)
        try:
            done = _commit(access, target, name, plan, commit)
        except CommitConflictError as error:
            _take_back(target, made)
            raise _exists(name) from error
    details = {
        "source": access.name,
        "source_snapshot": state.id if state else None,
        "files_copied": len(plan.files),
        "schemas": list(plan.schemas),
        "positions": sorted(k for k in commit.properties if k.startswith(CARRIED_PREFIX)),
        "replayed": bool(done and done.replayed),
    }
    if done is not None:
        copy = open_handle(name, target, access.clock, access.ids, branch=None, options=None)
        return committed(copy.access, "clone", done, None, details, started_ms=started_ms)
    return ResultDocument(
        action="clone",
        table=name,
        files_after=len(plan.entries),
        bytes_after=sum(entry.file.file_size for entry in plan.entries),
        rows_written=sum(entry.file.row_count for entry in plan.entries),
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        dry_run=share is None,
        details=details,
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """What belongs to the state."""

    entries: tuple[ManifestEntry, ...]
    index: tuple[IndexEntry, ...]
    files: Mapping[str, int]
    """Paths of data, companion and index files, and about how large they are."""
    schemas: Mapping[int, bytes]
    """The documents of the schemas by number, ascending."""

    @classmethod
    def of(cls, access: TableAccess, state: Snapshot | None) -> _Plan:
        """What belongs to ``state``.

        Raises:
            NotFoundError: the table was dropped or renamed since it was opened.
            UnsupportedFeatureError: something that is not copied.
        """
        options = access.options.raw
        for feature in ("row-tracking.enabled", "data-evolution.enabled"):
            if options.get(feature) == "true":
                raise UnsupportedFeatureError(
                    f"{access.name} has {feature}: its rows have ids, which this release does "
                    "not copy",
                    feature=feature,
                )
        if fallback := options.get(keys_scan.SCAN_FALLBACK_BRANCH.key):
            raise UnsupportedFeatureError(
                f"{access.name} is read with its branch {fallback!r} "
                f"({keys_scan.SCAN_FALLBACK_BRANCH.key}), and branches are not copied: remove that option "
                "first, and copy the branch on its own",
                feature=keys_scan.SCAN_FALLBACK_BRANCH.key,
            )
        schemas = access.metadata.schema_ids()
        if state is None:
            return cls((), (), {}, _schemas(access, schemas))
        newest = access.head()
        if newest is None or state.id != newest.id:
            schemas = [id for id in schemas if id <= state.schema_id]
        entries = tuple(access.live_entries(state))
        index: tuple[IndexEntry, ...] = ()
        if state.index_manifest is not None:
            path = layout.manifest_path(state.index_manifest)
            index = tuple(decode_index_manifest(access.storage.read(path), path=path))
        files = {
            path: e.file.file_size
            for e in entries
            for path in paths_of(access, [(e.partition, e.bucket, e.file)])
        }
        files |= {index_place(access, entry): entry.file_size for entry in index}
        return cls(entries, index, files, _schemas(access, schemas))


def _schemas(access: TableAccess, ids: Iterable[int]) -> dict[int, bytes]:
    """The documents of the schemas ``ids``, read before any file is copied: the rows must not get those of another table.

    Raises:
        NotFoundError: the table was dropped or renamed since it was opened.
    """
    documents = {}
    for id in ids:
        path = layout.schema_path(id, access.branch)
        access.storage.refuse_links(path)
        documents[id] = access.storage.read(path)
    access.require_same()
    return documents


def _landed(
    access: TableAccess, target: Storage, name: str, plan: _Plan, commit: CommitAs
) -> Commit | None:
    """The copy, if this very commit made it; refuses a table that is there already."""
    there = Metadata(target)
    ids = there.schema_ids()
    if not ids:
        return None
    if there.head_id() is not None:
        handle = open_handle(name, target, access.clock, access.ids, branch=None, options=None)
        done = find_commit(handle.access, commit)
        if done is not None:
            return done
    same = all(
        _without_time(there.schema(id))
        == _without_time(schema_from_json(body, path=layout.schema_path(id)))
        for id, body in plan.schemas.items()
        if id in ids
    )
    if there.head_id() is not None or not same or not set(ids) <= set(plan.schemas):
        raise _exists(name)
    return None


def _without_time(schema: TableSchema) -> TableSchema:
    return replace(schema, time_millis=0)


def _exists(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"table {name!r} exists already: drop it first, or clone to another name", name=name
    )


def _make_schemas(
    access: TableAccess, target: Storage, name: str, plan: _Plan, *, is_begun: bool
) -> list[int]:
    """Create the schemas of the copy, the earliest first: whoever creates that makes the table.

    Raises:
        AlreadyExistsError: somebody has made a table of that name since; nothing was created.
    """
    made = []
    earliest = min(plan.schemas)
    for id, body in plan.schemas.items():
        is_earliest = id == earliest
        path = layout.schema_path(id)
        document = _born_anew(body, path, access.clock.now_ms()) if is_earliest else body
        if target.create(path, document):
            made.append(id)
        elif is_earliest and not is_begun:
            raise _exists(name)
    return made


def _take_back(target: Storage, made: Sequence[int]) -> None:
    """Delete the schemas that were created in a table which is another copy by now, and does not need them."""
    head = Metadata(target).head()
    used = -1 if head is None else head.schema_id
    target.delete([layout.schema_path(id) for id in made if id > used >= 0])


def _born_anew(schema: bytes, path: str, now_ms: int) -> bytes:
    """The earliest ``schema`` with the time of the copy: so that it is told from what it was made of."""
    return schema_to_json(replace(schema_from_json(schema, path=path), time_millis=now_ms))


def _commit(
    access: TableAccess, target: Storage, name: str, plan: _Plan, commit: CommitAs
) -> Commit | None:
    if not plan.entries and not commit.properties:
        return None
    handle = open_handle(name, target, access.clock, access.ids, branch=None, options=None)
    part = CommitPart(
        kind=CommitKind.APPEND, entries=plan.entries, index_added=plan.index, is_first=True
    )
    return commit_parts(handle.access, commit, append=part, force=True, upkeep=False, copied=True)


def _copy_all(access: TableAccess, target: Storage, files: Sequence[tuple[str, int]]) -> None:
    """Copy what is not there in full, some files at a time."""
    threads = access.options.get(keys_files.FILE_OPERATION_THREAD_NUM) or _THREADS_MAX
    paths = [path for path, _ in files]
    total, done = sum(size for _, size in files), 0
    with ThreadPoolExecutor(threads) as pool:
        copied = pool.map(partial(_copy, access, target), paths)
        for (_, size), _ in zip(files, copied, strict=True):
            done += size
            tell("copying", done, total)
    target.sync(paths)


def _copy(access: TableAccess, target: Storage, path: str) -> None:
    source = access.storage
    source.refuse_links(path)  # a copy has the rights of who copies
    target.refuse_links(path)
    with source.open_input(path) as stream:
        size = stream.size()
        if _size(target, path) == size:
            return
        # A local file grows as it is written, and another copy to this name would cut it short.
        drafted = layout.draft_path(path, access.ids.uuid()) if is_local(target.uri) else path
        with target.open_output(drafted) as made:
            while chunk := stream.read(_CHUNK_BYTES):
                made.write(chunk)
        if drafted != path:
            _name(target, drafted, path, size)


def _size(target: Storage, path: str) -> int | None:
    with contextlib.suppress(NotFoundError), target.open_input(path) as there:
        return int(there.size())
    return None


def _name(target: Storage, drafted: str, path: str, size: int) -> None:
    """Give a whole file of ``size`` bytes its name, unless another copy was first."""
    try:
        target.move(drafted, path)
    except AlreadyExistsError:
        if _size(target, path) == size:
            target.delete([drafted])
            return
        target.delete([path])  # cut short, by a release that wrote it in its place
        target.move(drafted, path)
