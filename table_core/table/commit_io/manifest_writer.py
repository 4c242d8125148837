"""Writes the metadata files that a snapshot names: manifest lists, manifests, index manifest."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from table_core.commit import effects as fx
from table_core.commit import manifest_merge
from table_core.errors import OptionError, TableError
from table_core.ondisk import layout
from table_core.ondisk.binary_row import decode_row, sort_key
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.index_manifest import encode_index_manifest
from table_core.ondisk.manifest import encode_manifest, fold_entries
from table_core.ondisk.manifest_list import encode_manifest_list, summarize
from table_core.options import keys_commit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from table_core.datatypes.kinds import DataType
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess

__all__ = ["ManifestWriter"]

_log = logging.getLogger(__name__)
_FIRST: Final = keys_commit.MANIFEST_SORT_PARTITION_FIELD
_ENTRIES_MAX: Final = 30_000
"""Entries that are encoded at once: about 8 MB at the usual 250 bytes."""
_ENTRIES_MIN: Final = 1_000
"""Paimon looks at the size of a manifest after so many entries only."""


@dataclass(slots=True)
class ManifestWriter:
    """Writes the metadata files of one attempt."""

    access: TableAccess
    uuid: str
    numbers: Iterator[int]
    written: list[str] = field(init=False, default_factory=list)

    def write(self, effect: fx.WriteManifests) -> fx.Written:
        """See ``effects.WriteManifests``."""
        try:
            return self._write(effect)
        except TableError:
            self._forget()
            raise

    def _forget(self) -> None:
        try:
            self.access.storage.delete(self.written)
        except TableError as error:
            _log.warning("%s: metadata files are left over: %s", self.access.name, error)

    def _write(self, effect: fx.WriteManifests) -> fx.Written:
        previous = effect.previous
        rewritten = effect.delta if effect.rewrites else ()
        deletes = sum(entry.kind is EntryKind.DELETE for entry in rewritten)
        base, base_size = self._list(self.base(effect.head, deletes=deletes))
        if previous is not None and effect.same_delta:
            delta, delta_size = previous.delta_manifest_list, previous.delta_manifest_list_size
            log, log_size = previous.changelog_manifest_list, previous.changelog_manifest_list_size
        else:
            delta, delta_size = self._list(self._manifests(self._trimmed(effect.delta)))
            log, log_size = None, None
            if effect.changelog:
                log, log_size = self._list(self._manifests(effect.changelog))
        index = effect.head.snapshot.index_manifest if effect.head else None
        if effect.index is not None:
            index = self._index(effect.index)
        kept = self._reconcile(previous, same_delta=effect.same_delta)
        self.access.storage.sync(self.written)
        return fx.Written(
            base_manifest_list=base,
            base_manifest_list_size=base_size,
            delta_manifest_list=delta,
            delta_manifest_list_size=delta_size,
            changelog_manifest_list=log,
            changelog_manifest_list_size=log_size,
            index_manifest=index,
            files=(*kept, *self.written),
            time_ms=self.access.clock.now_ms(),
            uuid=self.access.ids.uuid(),
        )

    def base(self, head: fx.Head | None, *, deletes: int = 0) -> list[ManifestMeta]:
        """The manifests of ``head``, those merged that are due (format 4.7); see ``plan``."""
        if head is None:
            return []
        order = self._order()
        metas = self.access.metadata.data_manifests(head.snapshot)
        plan = manifest_merge.plan(metas, self._sizes(), deletes=deletes)
        if isinstance(plan, manifest_merge.FullMerge):
            return self._full(plan, order)
        merged: list[ManifestMeta] = []
        for group in plan.groups:
            if not group.rewrite:
                merged.extend(group.metas)
                continue
            folded = fold_entries(self.access.metadata.entries(group.metas))
            merged.extend(self._manifests((*folded.live.values(), *folded.deletes.values())))
        return merged

    def _full(
        self, plan: manifest_merge.FullMerge, order: Callable[[ManifestEntry], Any] | None
    ) -> list[ManifestMeta]:
        """Drop every DELETE and what it cancels; untouched full-size manifests stay unread."""
        deletes = [
            entry
            for entry in self.access.metadata.entries(plan.with_deletes)
            if entry.kind is EntryKind.DELETE
        ]
        partitions = {entry.partition for entry in deletes}
        kept, to_read = plan.keep(lambda meta: self._may_hold(meta, partitions))
        if len(to_read) <= 1:
            return list(plan.metas)
        deleted = {entry.identity for entry in deletes}
        merged, left = list(kept), []
        for meta, listed in zip(to_read, self.access.metadata.manifests(to_read), strict=True):
            entries = manifest_merge.rewrite_full(
                meta, listed, deleted=deleted, target_bytes=plan.target_bytes
            )
            if entries is None:
                merged.append(meta)
            else:
                left.extend(entries)
        if order is not None:
            left.sort(key=order)
        return [*merged, *self._manifests(left)]

    def _order(self) -> Callable[[ManifestEntry], Any] | None:
        """By partition, with ``manifest-sort.enabled``: a manifest then spans few of them.

        Raises:
            OptionError: ``manifest-sort.partition-field`` is no partition column.
        """
        options, fields = self.access.options, self.access.schema.partition_fields
        if not options.get(keys_commit.MANIFEST_SORT_ENABLED):
            return None
        names, first = [f.name for f in fields], options.get(_FIRST)
        if first is not None and first not in names:
            raise OptionError(
                f"{self.access.name}: {_FIRST.key} is {first!r}, which is no partition column: "
                f"there are {names}",
                option=_FIRST.key,
                value=first,
            )
        places = sorted(range(len(fields)), key=lambda i: names[i] != first)
        types = [f.type for f in fields]

        @cache
        def key(partition: bytes) -> tuple[object, ...]:
            values = decode_row(types, partition, path="partition")
            return sort_key([types[i] for i in places], [values[i] for i in places])

        return lambda entry: (key(entry.partition), entry.bucket)

    def _may_hold(self, meta: ManifestMeta, partitions: set[bytes]) -> bool:
        """Whether, by its partition bounds, a manifest could hold a file of ``partitions``."""
        types = [f.type for f in self.access.schema.partition_fields]
        if not types or not partitions:
            return bool(partitions)
        low, high = (
            decode_row(types, row, path=meta.file_name)
            for row in (meta.partition_stats.min_values, meta.partition_stats.max_values)
        )
        if len(low) != len(types) or None in low or None in high:
            return True
        first, last = _comparables(types, low), _comparables(types, high)
        for partition in partitions:
            values = decode_row(types, partition, path="partition")
            inside = (
                value is None or a <= key <= b
                for a, key, b, value in zip(
                    first, _comparables(types, values), last, values, strict=True
                )
            )
            if all(inside):
                return True
        return False

    def _sizes(self) -> manifest_merge.MergeSizes:
        return manifest_merge.MergeSizes.of(self.access.options)

    def _manifests(self, entries: Iterable[ManifestEntry]) -> list[ManifestMeta]:
        """Write ``entries``, in manifests that end once they reach the target size."""
        left, metas, size = tuple(entries), [], _ENTRIES_MAX
        while left:
            body = self._encoded(left[:size])
            if len(body) > self._sizes().target_bytes and size > _ENTRIES_MIN:
                entry_bytes = len(body) / len(left[:size])
                fitting = int(self._sizes().target_bytes / entry_bytes) // _ENTRIES_MIN + 1
                if fitting * _ENTRIES_MIN < len(left[:size]):
                    size = fitting * _ENTRIES_MIN
                    body = self._encoded(left[:size])
            metas.append(self._manifest(left[:size], body))
            left = left[size:]
        return metas

    def _trimmed(self, delta: Iterable[ManifestEntry]) -> Iterable[ManifestEntry]:
        """What ``manifest.delete-file-drop-stats`` leaves: nobody prunes by files that go."""
        if not self.access.options.get(keys_commit.MANIFEST_DELETE_FILE_DROP_STATS):
            return delta
        return [e.without_stats() if e.kind is EntryKind.DELETE else e for e in delta]

    def _encoded(self, chosen: Sequence[ManifestEntry]) -> bytes:
        compression = self.access.options.get(keys_commit.MANIFEST_COMPRESSION)
        return encode_manifest(chosen, compression=compression)

    def _manifest(self, chosen: Sequence[ManifestEntry], body: bytes) -> ManifestMeta:
        name = self._name("manifest")
        self._store(name, body)
        self.access.metadata.note_manifest(name, body)
        types = [f.type for f in self.access.schema.partition_fields]
        return summarize(chosen, name, len(body), types)

    def _list(self, metas: Sequence[ManifestMeta]) -> tuple[str, int]:
        name = self._name("manifest-list")
        body = encode_manifest_list(
            metas, compression=self.access.options.get(keys_commit.MANIFEST_COMPRESSION)
        )
        self._store(name, body)
        self.access.metadata.note_manifest_list(name, body)
        return name, len(body)

    def _index(self, index: tuple[Any, ...]) -> str | None:
        if not index:
            return None
        name = self._name("index-manifest")
        self._store(name, encode_index_manifest(index))
        return name

    def _name(self, prefix: str) -> str:
        return f"{prefix}-{self.uuid}-{next(self.numbers)}"

    def _store(self, name: str, body: bytes) -> None:
        path = layout.manifest_path(name)
        self.written.append(path)
        self.access.storage.write(path, body, durable=False)  # ``write`` syncs all at once

    def _reconcile(self, previous: fx.Written | None, *, same_delta: bool) -> tuple[str, ...]:
        """Delete what an earlier attempt wrote and nothing needs; what is left of it."""
        if previous is None:
            return ()
        kept: set[str] = set()
        if same_delta:
            for name in (previous.delta_manifest_list, previous.changelog_manifest_list):
                if name is not None:
                    kept.add(layout.manifest_path(name))
                    metas = self.access.metadata.manifest_list(name)
                    kept |= {layout.manifest_path(meta.file_name) for meta in metas}
        self.access.storage.delete([path for path in previous.files if path not in kept])
        return tuple(path for path in previous.files if path in kept)


def _comparables(types: Sequence[DataType], values: Sequence[Any]) -> list[tuple[object, ...]]:
    """Every value on its own, comparable."""
    return [sort_key([type_], [value]) for type_, value in zip(types, values, strict=True)]
