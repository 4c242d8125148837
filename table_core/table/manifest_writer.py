"""Writes the metadata files that a snapshot names: manifest lists, manifests, index manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from table_core.commit import effects as fx
from table_core.commit import manifest_merge
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import encode_index_manifest
from table_core.ondisk.manifest import encode_manifest
from table_core.ondisk.manifest_list import encode_manifest_list, summarize
from table_core.options import keys_commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.access import TableAccess

__all__ = ["ManifestWriter"]


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
        except BaseException:
            self.access.storage.delete(self.written)
            raise

    def _write(self, effect: fx.WriteManifests) -> fx.Written:
        previous = effect.previous
        base, base_size = self._list(self._base(effect.head))
        if previous is not None and effect.same_delta:
            delta, delta_size = previous.delta_manifest_list, previous.delta_manifest_list_size
            log, log_size = previous.changelog_manifest_list, previous.changelog_manifest_list_size
        else:
            delta, delta_size = self._list(self._manifests(effect.delta))
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

    def _base(self, head: fx.Head | None) -> list[ManifestMeta]:
        """The manifests of ``head``, those merged that are due (spec 4.7)."""
        if head is None:
            return []
        metas = self.access.metadata.data_manifests(head.snapshot)
        merged: list[ManifestMeta] = []
        for group in manifest_merge.plan(metas, manifest_merge.Thresholds.of(self.access.options)):
            if not group.rewrite:
                merged.extend(group.manifests)
                continue
            entries = (
                e for m in group.manifests for e in self.access.metadata.manifest(m.file_name)
            )
            merged.extend(self._manifests(group.fold(fold_entries(entries))))
        return merged

    def _manifests(self, entries: Iterable[ManifestEntry]) -> list[ManifestMeta]:
        chosen = tuple(entries)
        if not chosen:
            return []
        name = self._name("manifest")
        body = encode_manifest(
            chosen, compression=self.access.options.get(keys_commit.MANIFEST_COMPRESSION)
        )
        self._store(name, body)
        types = [f.type for f in self.access.schema.partition_fields]
        return [summarize(chosen, name, len(body), types)]

    def _list(self, metas: Sequence[ManifestMeta]) -> tuple[str, int]:
        name = self._name("manifest-list")
        body = encode_manifest_list(
            metas, compression=self.access.options.get(keys_commit.MANIFEST_COMPRESSION)
        )
        self._store(name, body)
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
        self.access.storage.write(path, body)

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
