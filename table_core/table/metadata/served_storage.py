"""The store of a table that a REST catalog serves: who wins a snapshot says the server.

Data files, manifests, hints and tags are files, as in any table.  A snapshot comes into being by the server's
commit, which compares the UUID of what it is built on; so ``create`` of one is that call, and the hint of the
newest one is the server's word.  The server writes the file itself, and drops members that it does not know: so
what it stored of ours reads as the bytes that were sent, by which a commit whose answer was lost is recognized.

Whatever else only a server may do, and this release does not ask of it, is refused here, where the file would be
made.  Source: ``org.apache.paimon.catalog.CatalogSnapshotCommit``, ``SnapshotLoaderImpl`` of 2.0.0.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from table_core.datatypes.wall_clock import WallClock
from table_core.errors import (
    CommitConflictError,
    CorruptFileError,
    NotFoundError,
    OutcomeUnknownError,
    UnsupportedFeatureError,
)
from table_core.ondisk import layout
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.hints import LATEST, encode_hint
from table_core.ondisk.line import FOLLOWS, Link, Turn
from table_core.ondisk.partition_text import partition_text
from table_core.ondisk.snapshot import FIRST_ID, Snapshot
from table_core.rest.documents import (
    PartitionStatistics,
    commit_request,
    has_succeeded,
    newest_id,
    rollback_request,
)
from table_core.rest.refusals import RefusedError
from table_core.rest.schema_changes import alter_request, is_same_schema
from table_core.schema.document import schema_from_json
from table_core.storage.stores.paths import joined
from table_core.storage.stores.wrapped import WrappedStorage
from table_core.table.metadata.documents import Metadata

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ports import Clock, Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.stores.rest_server import RestServer

__all__ = ["ServedLine", "ServedStorage", "served_line"]

_IN_BRANCH: Final = re.compile(r"(?:branch/branch-([^/]+)/)?([^/]+)/([^/]+)")
_MAIN: Final = layout.MAIN
_SENT_MAX: Final = 8
"""So many snapshots of ours are remembered as they were sent."""
_NO_SNAPSHOT: Final = "SNAPSHOT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLine:
    """The lines of snapshots of one table, as its server keeps them."""

    server: RestServer
    database: str
    table: str
    id: str
    """Of the table that was opened."""
    clock: Clock
    sent: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Bytes of snapshots that were sent, by their paths."""
    schemas: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Bytes of schemas that were asked for, by their paths: the server's own have another time."""

    @property
    def name(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.table}"

    def resource(self, branch: str, what: str) -> str:
        """``what`` of a branch."""
        table = self.table if branch == _MAIN else f"{self.table}$branch_{branch}"
        return self.server.resources.table(self.database, table, what)

    def newest(self, branch: str) -> int | None:
        """The id of the newest snapshot; None: there is none.

        Raises:
            NotFoundError: there is no such table.
        """
        path = self.resource(branch, "snapshot")
        try:
            return newest_id(self.server.get(path), path)
        except RefusedError as error:
            if error.refusal.resource_type == _NO_SNAPSHOT:
                return None
            raise error.refusal.error(self.name, self.server.uri) from None

    def alter(self, request: dict[str, object]) -> None:
        """Ask the server to change the schema.

        Raises:
            NotFoundError, ArgumentError, AlreadyExistsError ...: it does not; nothing was changed.
            OutcomeUnknownError: nobody says whether it did.
        """
        self._change(self.server.resources.table(self.database, self.table), request)

    def rollback(self, branch: str, snapshot: int, tag: str | None, newest: int) -> None:
        """Have ``snapshot``, or what ``tag`` keeps, be the newest one again, instead of ``newest``.

        Raises:
            NotFoundError: the server knows no such snapshot, tag or table; nothing was changed.
            OutcomeUnknownError: nobody says whether it was done.
        """
        self._change(self.resource(branch, "rollback"), rollback_request(snapshot, tag, newest))

    def _change(self, path: str, request: dict[str, object]) -> None:
        try:
            self.server.post(path, request)
        except RefusedError as error:
            raise error.refusal.error(self.name, self.server.uri) from None

    def remember(self, path: str, body: bytes) -> None:
        """Remember that ``body`` was sent."""
        self.sent[path] = body
        while len(self.sent) > _SENT_MAX:
            del self.sent[next(iter(self.sent))]

    def commit(
        self,
        branch: str,
        snapshot: Snapshot,
        base_uuid: str | None,
        statistics: list[PartitionStatistics],
    ) -> bool:
        """Ask the server to make ``snapshot`` the newest; False: another one is newer than its base.

        Raises:
            NotFoundError: the table that was opened is gone, whatever has its name by now.
            OutcomeUnknownError: nobody says whether it was made.
        """
        path = self.resource(branch, "commit")
        try:
            answer = self.server.post(
                path, commit_request(self.id, base_uuid, snapshot, statistics)
            )
        except RefusedError as error:
            raise error.refusal.error(self.name, self.server.uri) from None
        try:
            return has_succeeded(answer, path)
        except CorruptFileError as error:
            raise OutcomeUnknownError(
                f"{self.name}: the server answers to a commit with what does not say if it was made: {error}",
                user=snapshot.commit_user,
                id=snapshot.id,
                floor=None,
            ) from error


def served_line(storage: Storage) -> ServedLine | None:
    """What the server of the table at ``storage`` keeps; None: no server does."""
    return storage.line if isinstance(storage, ServedStorage) else None


@dataclass(frozen=True)
class ServedStorage(WrappedStorage):
    """The store ``inner`` of the table of ``line``."""

    line: ServedLine
    folder: str = ""
    """Where its root is below that of the table."""

    def within(self, path: str) -> ServedStorage:
        """The folder ``path`` of the same table."""
        return ServedStorage(self.inner.within(path), self.line, joined(self.folder, path))

    def create(self, path: str, body: bytes) -> bool:
        """As the store within; a snapshot is made by the server.

        Raises:
            CommitConflictError: a snapshot's base was taken back; nothing was made.
            UnsupportedFeatureError: only the server may make this, and it is not asked in this release.
        """
        branch, folder, name = self._parts(path)
        if folder == "snapshot" and layout.numbered(name, "snapshot-") is not None:
            return self._commit(branch, path, body)
        if folder == "schema":
            return self._alter(branch, path, body)
        if folder == layout.LINE_FOLDER and layout.numbered(name, "turn-") is not None:
            self._refuse(f"a {Turn.from_json(body, path=path).verb}")
        return self.inner.create(path, body)

    def write(self, path: str, body: bytes, *, durable: bool = True) -> None:
        """As the store within; the hint of the newest snapshot is the server's business."""
        _, folder, name = self._parts(path)
        if folder == "snapshot" and name == LATEST:
            return
        if folder == "schema" or (folder == "snapshot" and layout.numbered(name, "snapshot-")):
            self._refuse(f"{name} that is written anew")
        self.inner.write(path, body, durable=durable)

    def read(self, path: str) -> bytes:
        """As the store within; the hint of the newest snapshot is what the server says."""
        branch, folder, name = self._parts(path)
        if folder == "snapshot" and name == LATEST:
            id = self.line.newest(branch)
            if id is None:
                raise NotFoundError(f"{self.line.name} has no snapshot", name=path, available=[])
            return encode_hint(id)
        body = self.inner.read(path)
        if folder == "schema":
            return self.line.schemas.get(joined(self.folder, path), body)
        sent = self.line.sent.get(joined(self.folder, path))
        return sent if sent is not None and _is_same(body, sent, path) else body

    def delete(self, paths: Iterable[str]) -> int:
        """As the store within, but no schema."""
        listed = list(paths)
        if any(self._parts(path)[1] == "schema" for path in listed):
            self._refuse("a schema that is deleted")
        return self.inner.delete(listed)

    def _parts(self, path: str) -> tuple[str, str, str]:
        """Branch, folder and file of ``path``; '' where it is another kind of path."""
        match = _IN_BRANCH.fullmatch(joined(self.folder, path))
        return (match[1] or _MAIN, match[2], match[3]) if match else (_MAIN, "", "")

    def _refuse(self, what: str) -> NoReturn:
        raise UnsupportedFeatureError(
            f"{self.line.name}: {what} is not in this release for a table that a REST catalog serves. Nothing was "
            "changed: use Paimon's own client for it",
            feature=f"{what} of a table of a REST catalog",
        )

    def _commit(self, branch: str, path: str, body: bytes) -> bool:
        snapshot = Snapshot.from_json(body, path=path)
        base = self._base(snapshot, path)
        statistics = self._statistics(snapshot, branch)
        self.line.remember(joined(self.folder, path), body)
        if self.line.commit(branch, snapshot, None if base is None else base.uuid, statistics):
            return True
        if not self.inner.exists(path):
            raise self._taken_back(snapshot)
        return False

    def _alter(self, branch: str, path: str, body: bytes) -> bool:
        """Ask the server for the changes that lead to the schema ``body``; False: another one has its number.

        Raises:
            CommitConflictError: the schema was changed meanwhile, and the changes came after that.
            OutcomeUnknownError: nobody says whether it was changed.
        """
        wanted = schema_from_json(body, path=path)
        if branch != _MAIN or wanted.id == 0:
            self._refuse("a schema of a branch")
        if wanted.extra.keys() - {FOLLOWS}:
            self._refuse("a change of the schema under the name of a commit")
        before = layout.schema_path(wanted.id - 1)
        known = schema_from_json(self.inner.read(before), path=before)
        if self.inner.exists(path):
            return False
        try:
            self.line.alter(alter_request(known, wanted))
        except OutcomeUnknownError:
            if not self.inner.exists(path):
                raise
        stored = self._stored_schema(path)
        if stored is None or not is_same_schema(stored, wanted):
            raise self._altered_otherwise(wanted.id)
        self.line.schemas[path] = body
        return True

    def _stored_schema(self, path: str) -> TableSchema | None:
        try:
            return schema_from_json(self.inner.read(path), path=path)
        except NotFoundError:
            return None

    def _altered_otherwise(self, id: int) -> CommitConflictError:
        problem = f"schema {id} is not what was asked for: somebody else changed the schema at the same time"
        return CommitConflictError(
            f"{self.line.name}: {problem}. Look at the newest schema: it has their changes, and perhaps these too",
            table=self.line.name,
            head_id=None,
            conflicts=[problem],
        )

    def _base(self, snapshot: Snapshot, path: str) -> Snapshot | None:
        """What ``snapshot`` was built on; None: nothing.

        Raises:
            CommitConflictError: it is not there any more, or another one has its number.
        """
        if snapshot.id == FIRST_ID:
            return None
        before = f"{path.rpartition('/')[0]}/snapshot-{snapshot.id - 1}"
        try:
            base = Snapshot.from_json(self.inner.read(before), path=before)
        except NotFoundError:
            raise self._taken_back(snapshot) from None
        link = Link.of(snapshot)
        if link is not None and link.before != base.delta_manifest_list:
            raise self._taken_back(snapshot)
        return base

    def _taken_back(self, snapshot: Snapshot) -> CommitConflictError:
        problem = f"snapshot {snapshot.id - 1}, which this was built on, is not the newest any more"
        return CommitConflictError(
            f"{self.line.name}: {problem}: somebody has rolled the table back. Nothing was committed: look at "
            "it, then write again",
            table=self.line.name,
            head_id=None,
            conflicts=[problem],
        )

    def _statistics(self, snapshot: Snapshot, branch: str) -> list[PartitionStatistics]:
        """What the commit does to each partition."""
        metadata = Metadata(self.inner, branch)
        by_partition: defaultdict[bytes, list[ManifestEntry]] = defaultdict(list)
        for entry in metadata.delta(snapshot):
            by_partition[entry.partition].append(entry)
        schema = metadata.schema(snapshot.schema_id)
        moment = WallClock(self.line.clock.local_offset_ms).moment
        statistics = []
        for partition, entries in by_partition.items():
            signs = [-1 if entry.kind is EntryKind.DELETE else 1 for entry in entries]
            files = [entry.file for entry in entries]
            statistics.append(
                PartitionStatistics(
                    spec=partition_text(schema, partition),
                    record_count=sum(s * f.row_count for s, f in zip(signs, files, strict=True)),
                    file_size_in_bytes=sum(
                        s * f.file_size for s, f in zip(signs, files, strict=True)
                    ),
                    file_count=sum(signs),
                    last_file_creation_time=max(moment(f.creation_time_ms or 0) for f in files),
                    total_buckets=entries[-1].total_buckets,
                )
            )
        return statistics


def _is_same(stored: bytes, sent: bytes, path: str) -> bool:
    """Whether the server made ``stored`` of what was ``sent``: the names of its manifest lists are nobody else's."""
    theirs, ours = (Snapshot.from_json(body, path=path) for body in (stored, sent))
    return theirs.state == ours.state and theirs.commit_user == ours.commit_user
