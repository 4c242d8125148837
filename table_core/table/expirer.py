"""Carries out snapshot expiry: performs the effects of ``expire.protocol`` against a store."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from table_core.commit.protocol import drive
from table_core.errors import ArgumentError, CorruptFileError, FilesExpiredError, NotFoundError
from table_core.expire import plan as fx
from table_core.expire.changelogs import expire_changelogs as changelog_steps_of
from table_core.expire.protocol import expire_snapshots as steps_of
from table_core.expire.protocol import key_of
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, decode_hint, encode_hint
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.tag import Tag
from table_core.options import keys_scan
from table_core.table.consumers import consumers
from table_core.table.results import ResultDocument
from table_core.table.times import PointInTime, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.table.access import TableAccess

__all__ = ["expire_changelogs", "expire_snapshots"]


def expire_snapshots(
    access: TableAccess,
    *,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
    dry_run: bool,
) -> ResultDocument:
    """See ``Table.expire_snapshots``.

    Raises:
        ArgumentError: ``retain_max`` or ``retain_min`` below 1, or the first below the second.
    """
    started_ms = access.clock.now_ms()
    head = access.metadata.head()
    retention = _retention(access, retain_max, retain_min, older_than, max_deletes, dry_run)
    live = access.live_entries(head)
    done = drive(steps_of(retention), _Performer(access).perform)
    size = sum(entry.file.file_size for entry in live)
    id = head.id if head else None
    return ResultDocument(
        action="expire-snapshots",
        table=access.name,
        snapshot_before=id,
        snapshot_after=id,
        files_before=len(live),
        files_after=len(live),
        bytes_before=size,
        bytes_after=size,
        files_deleted=done.files_deleted,
        bytes_deleted=done.bytes_deleted,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        dry_run=dry_run,
        details={
            "snapshots_expired": list(done.snapshots),
            "earliest_snapshot": done.end,
            "metadata_files_deleted": done.metadata_deleted,
            "held_by": done.held_by.value if done.held_by else None,
            "unreadable": list(done.unreadable),
        },
    )


def expire_changelogs(
    access: TableAccess,
    *,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
    dry_run: bool,
) -> ResultDocument:
    """See ``Table.expire_changelogs``.

    Raises:
        ArgumentError: as ``expire_snapshots``.
    """
    started_ms = access.clock.now_ms()
    producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    own = fx.Retention.of_changelogs(
        access.options, has_producer=producer != "none", dry_run=dry_run
    )
    retention = _given(own, retain_max, retain_min, older_than, max_deletes)
    done = drive(changelog_steps_of(retention), _Performer(access).perform)
    head = access.metadata.head_id()
    return ResultDocument(
        action="expire-changelogs",
        table=access.name,
        snapshot_before=head,
        snapshot_after=head,
        files_deleted=done.files_deleted,
        bytes_deleted=done.bytes_deleted,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        dry_run=dry_run,
        details={
            "changelogs_expired": list(done.snapshots),
            "earliest_changelog": done.end or None,
            "metadata_files_deleted": done.metadata_deleted,
            "held_by": done.held_by.value if done.held_by else None,
            "unreadable": list(done.unreadable),
        },
    )


def _retention(
    access: TableAccess,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
    dry_run: bool,
) -> fx.Retention:
    producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    found = fx.Retention.of(access.options, has_producer=producer != "none", dry_run=dry_run)
    return _given(found, retain_max, retain_min, older_than, max_deletes)


def _given(
    found: fx.Retention,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
) -> fx.Retention:
    """``found`` with what the caller gave on top."""
    found = replace(
        found,
        retained_max=found.retained_max if retain_max is None else retain_max,
        retained_min=found.retained_min if retain_min is None else retain_min,
        deletes_max=found.deletes_max if max_deletes is None else max_deletes,
    )
    if older_than is not None:
        found = replace(found, older_than_ms=epoch_ms("older_than", older_than))
    if retain_max is not None and retain_min is None:
        found = replace(found, retained_min=min(found.retained_min, retain_max))
    if min(found.retained_max, found.retained_min) < 1 or found.retained_max < found.retained_min:
        raise ArgumentError(
            f"retain_max={found.retained_max} and retain_min={found.retained_min}: keep at least "
            "one snapshot, and no more at least than at most",
            argument="retain_max",
            value=found.retained_max,
        )
    return found


@dataclass(slots=True)
class _Performer:
    """Performs effects of one run."""

    access: TableAccess
    _live: tuple[tuple[str, str], dict[bytes, set[fx.FileKey]]] | None = field(
        init=False, default=None
    )

    @singledispatchmethod
    def perform(self, effect: fx.Effect) -> fx.Reply:
        """Carry out ``effect`` and give the reply that its docstring promises."""
        raise AssertionError(effect)

    @perform.register(fx.ReadBounds)
    def _bounds(self, _: fx.ReadBounds) -> fx.Bounds | None:
        metadata = self.access.metadata
        ids = metadata.snapshot_ids()
        if not ids:
            return None
        floor = metadata.floor()
        earliest = floor if floor in ids else ids[0]
        return fx.Bounds(
            earliest=earliest,
            latest=ids[-1],
            leftovers=tuple(id for id in ids if id < earliest),
            now_ms=self.access.clock.now_ms(),
        )

    @perform.register(fx.ReadSnapshot)
    def _snapshot(self, effect: fx.ReadSnapshot) -> Snapshot | None:
        path = layout.snapshot_path(effect.id, self.access.branch)
        try:
            return Snapshot.from_json(self.access.storage.read(path), path=path)
        except NotFoundError:
            return None

    @perform.register(fx.ReadConsumers)
    def _consumers(self, _: fx.ReadConsumers) -> int | None:
        return min(consumers(self.access).values(), default=None)

    @perform.register(fx.ReadPins)
    def _pins(self, _: fx.ReadPins) -> fx.Pins:
        tags = sorted(_tags(self.access, self.access.branch), key=lambda tag: tag.id)
        branches: list[Snapshot] = []
        for info in self.access.storage.list("branch"):
            name = info.path.rpartition("/")[2].removeprefix("branch-")
            if not info.is_dir or name == self.access.branch:
                continue
            branches.extend(_tags(self.access, name))
            first = type(self.access.metadata)(self.access.storage, name).earliest_id()
            if first is not None:
                path = layout.snapshot_path(first, name)
                branches.append(Snapshot.from_json(self.access.storage.read(path), path=path))
        return fx.Pins(tuple(tags), tuple(branches))

    @perform.register(fx.Promise)
    def _promise(self, effect: fx.Promise) -> None:
        floor = max(effect.end, self.access.metadata.hinted_floor() or 0)
        path = layout.hint_path("snapshot", "EARLIEST", self.access.branch)
        self.access.storage.write(path, str(floor).encode())

    @perform.register(fx.ReadEntries)
    def _entries(self, effect: fx.ReadEntries) -> Iterator[ManifestEntry] | None:
        metadata, snapshot = self.access.metadata, effect.snapshot
        name = (
            snapshot.changelog_manifest_list if effect.changelog else snapshot.delta_manifest_list
        )
        try:
            metas = metadata.manifest_list(name)
            for meta in metas:
                metadata.manifest(meta.file_name)
        except (CorruptFileError, FilesExpiredError):
            return None
        return (
            entry
            for meta in metas
            for entry in metadata.manifest(meta.file_name)
            if entry.kind is effect.kind
        )

    @perform.register(fx.ReadKept)
    def _kept(self, effect: fx.ReadKept) -> frozenset[fx.FileKey]:
        # By its lists and not by its id: a branch and a tag may number different states alike.
        state = (effect.snapshot.base_manifest_list, effect.snapshot.delta_manifest_list)
        if self._live is None or self._live[0] != state:
            found: dict[bytes, set[fx.FileKey]] = {}
            for entry in self.access.live_entries(effect.snapshot):
                found.setdefault(entry.partition, set()).add(key_of(entry))
            self._live = (state, found)
        held = self._live[1]
        return frozenset(key for key in effect.among if key in held.get(key[0], set()))

    @perform.register(fx.ReadMetadata)
    def _metadata(self, effect: fx.ReadMetadata) -> fx.Metadata:
        return _named(self.access, effect.snapshot, must_read=effect.must_read)

    @perform.register(fx.Delete)
    def _delete(self, effect: fx.Delete) -> None:
        schema, storage = self.access.schema, self.access.storage
        paths = list(effect.paths)
        for partition, bucket, file in effect.data:
            paths.append(layout.data_file_path(schema, partition, bucket, file))
            paths.extend(layout.extra_file_paths(schema, partition, bucket, file))
        storage.delete(paths)

    @perform.register(fx.KeepChangelog)
    def _keep_changelog(self, effect: fx.KeepChangelog) -> None:
        storage, branch, id = self.access.storage, self.access.branch, effect.snapshot.id
        storage.write(layout.changelog_path(id, branch), effect.snapshot.to_json())
        storage.write(layout.hint_path("changelog", "LATEST", branch), str(id).encode())
        earliest = layout.hint_path("changelog", "EARLIEST", branch)
        if not storage.exists(earliest):
            storage.write(earliest, str(id).encode())

    @perform.register(fx.DeleteSnapshot)
    def _delete_snapshot(self, effect: fx.DeleteSnapshot) -> None:
        self.access.storage.delete([layout.snapshot_path(effect.id, self.access.branch)])

    @perform.register(fx.ReadChangelogs)
    def _changelogs(self, _: fx.ReadChangelogs) -> fx.Changelogs | None:
        access = self.access
        listed = access.storage.list(layout.changelog_folder(access.branch))
        names = (info.path.rpartition("/")[2] for info in listed)
        ids = sorted(id for n in names if (id := layout.numbered(n, "changelog-")) is not None)
        latest = access.metadata.head_id()
        if not ids or latest is None:
            return None
        try:
            path = layout.hint_path("changelog", EARLIEST, access.branch)
            hinted = decode_hint(access.storage.read(path))
        except NotFoundError:
            hinted = None
        return fx.Changelogs(
            ids=tuple(ids),
            earliest=hinted if hinted in ids else ids[0],
            latest_snapshot=latest,
            now_ms=access.clock.now_ms(),
        )

    @perform.register(fx.ReadChangelog)
    def _changelog(self, effect: fx.ReadChangelog) -> Snapshot | None:
        path = layout.changelog_path(effect.id, self.access.branch)
        try:
            return Snapshot.from_json(self.access.storage.read(path), path=path)
        except NotFoundError:
            return None

    @perform.register(fx.PromiseChangelog)
    def _promise_changelog(self, effect: fx.PromiseChangelog) -> None:
        path = layout.hint_path("changelog", EARLIEST, self.access.branch)
        self.access.storage.write(path, encode_hint(effect.end))

    @perform.register(fx.DeleteChangelog)
    def _delete_changelog(self, effect: fx.DeleteChangelog) -> None:
        self.access.storage.delete([layout.changelog_path(effect.id, self.access.branch)])


def _tags(access: TableAccess, branch: str) -> Iterator[Snapshot]:
    for info in access.storage.list(layout.tag_folder(branch)):
        if info.path.rpartition("/")[2].startswith("tag-") and not info.is_dir:
            yield Tag.from_json(access.storage.read(info.path), path=info.path).snapshot


def _named(access: TableAccess, snapshot: Snapshot, *, must_read: bool) -> fx.Metadata:
    """The metadata files that ``snapshot`` names, with their sizes."""
    metadata = access.metadata

    def manifests(name: str | None, size: int | None) -> dict[str, int]:
        if name is None:
            return {}
        found = {layout.manifest_path(name): size or 0}
        try:
            metas = metadata.manifest_list(name)
        except (CorruptFileError, FilesExpiredError):
            if must_read:
                raise
            return found
        return found | {layout.manifest_path(m.file_name): m.file_size for m in metas}

    other: dict[str, int] = {}
    if snapshot.index_manifest is not None:
        path = layout.manifest_path(snapshot.index_manifest)
        other[path] = 0
        try:
            for entry in decode_index_manifest(access.storage.read(path), path=path):
                other[layout.index_path(entry.file_name)] = entry.file_size
        except (CorruptFileError, NotFoundError):
            if must_read:
                raise
    if snapshot.statistics is not None:
        other[layout.statistics_path(snapshot.statistics)] = 0
    base = manifests(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
    delta = manifests(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
    log = manifests(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)
    return fx.Metadata(state={**base, **delta}, changelog=log, other=other)
