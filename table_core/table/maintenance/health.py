"""Gathers the numbers of a table, from metadata alone, and judges them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError, FilesExpiredError
from table_core.expire.orphans import FLOOR_MS
from table_core.expire.partitions import PartitionExpiry, plan_partitions
from table_core.expire.undatable import never_dated
from table_core.health.buckets import shape_of
from table_core.health.verdict import Measures, Thresholds, Urgency, Verdict, verdicts, worst
from table_core.lsm.triggers import stop_trigger
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import DELETION_VECTORS, decode_index_manifest
from table_core.ondisk.partition_text import partition_text
from table_core.options import keys_files, keys_retention, keys_write
from table_core.table.maintenance.expire_partitions import partitions_of
from table_core.table.maintenance.expire_tags import expired_tags
from table_core.table.metadata.clocks import ahead_ms, warn_of_future
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_names
from table_core.table.metadata.refs.consumers import consumers
from table_core.table.metadata.refs.tags import tag_names, tagged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.ondisk.file_columns import FileColumns
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["Health", "health", "small_bytes", "thresholds"]

_MB: Final = 1024 * 1024
_TARGET_KEYED: Final = 128 * _MB
_TARGET_APPEND: Final = 256 * _MB
_WORST_SHOWN: Final = 20
_SAMPLE: Final = 64
"""Snapshots that are read to tell how many files history names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a table's metadata says of its state, and what to do about it."""

    table: str
    snapshot: int | None
    measures: Measures
    verdicts: tuple[Verdict, ...]
    """One for each action, with reasons."""
    seconds: float
    worst_partitions: tuple[Mapping[str, str | None], ...] = ()
    """Of the first of ``measures.shape.buckets``, in their order."""

    @property
    def verdict(self) -> Urgency:
        """``ok``, ``due`` or ``urgent``: the most urgent of all."""
        return worst(self.verdicts)

    def of(self, action: str) -> Verdict:
        """The verdict on one action, e.g. ``compact``."""
        for verdict in self.verdicts:
            if verdict.action == action:
                return verdict
        known = ", ".join(v.action for v in self.verdicts)
        raise ArgumentError(f"no verdict on {action!r}; there are {known}", argument="action")

    def to_document(self) -> dict[str, object]:
        """JSON-safe members."""
        measures, shape = self.measures, self.measures.shape
        numbers: dict[str, Any] = {
            f.name: getattr(measures, f.name)
            for f in dataclasses.fields(measures)
            if f.name not in {"shape", "keyed", "retention_advice"}
        }
        if not measures.newest_snapshot_ahead_ms:  # clocks agree, as nearly always
            del numbers["newest_snapshot_ahead_ms"]
        shown = zip(shape.buckets[:_WORST_SHOWN], self.worst_partitions, strict=False)
        return {
            "action": "health",
            "table": self.table,
            "snapshot": self.snapshot,
            "verdict": self.verdict.value,
            "actions": {
                v.action: {"verdict": v.urgency.value, "reasons": list(v.reasons)}
                for v in self.verdicts
            },
            "files": shape.files,
            "bytes": shape.bytes,
            "rows": shape.rows,
            "small_files": shape.small_files,
            "buckets": len(shape.buckets),
            "sorted_runs_max": shape.sorted_runs_max,
            "read_amplification": round(shape.read_amplification, 3),
            "deletion_ratio": round(measures.deletion_ratio, 4),
            "levels": {str(level): count for level, count in shape.levels.items()},
            "worst_buckets": [
                {
                    "partition": dict(texts),
                    "bucket": b.bucket,
                    "files": b.files,
                    "bytes": b.bytes,
                    "sorted_runs": b.sorted_runs,
                    "small_files": b.small_files,
                }
                for b, texts in shown
            ],
            **numbers,
            "seconds": self.seconds,
        }


def health(access: TableAccess, overrides: Mapping[str, float]) -> Health:
    """See ``Table.health``.

    Raises:
        ArgumentError: ``overrides`` names a threshold that there is not.
    """
    now_ms = access.clock.now_ms()
    limits = thresholds(access, overrides)
    head = access.head()
    live = access.metadata.live_files(head)
    keyed = access.schema.is_key_table
    shape = shape_of(live, keyed=keyed, small_bytes=small_bytes(access))
    measures = Measures(
        shape=shape,
        keyed=keyed,
        deleted_by_vectors=_deleted_by_vectors(access, head),
        **_history(access, head, now_ms),
        **_partition_counts(access, live, limits, now_ms),
        **_manifest_counts(access, head),
        orphans_estimated=_unnamed_metadata(access, now_ms),
    )
    return Health(
        table=access.name,
        snapshot=head.id if head else None,
        measures=measures,
        verdicts=verdicts(measures, limits),
        seconds=(access.clock.now_ms() - now_ms) / 1000,
        worst_partitions=tuple(
            dict(partition_text(access.schema, b.partition)) for b in shape.buckets[:_WORST_SHOWN]
        ),
    )


def small_bytes(access: TableAccess) -> int:
    """From which size on a file is not small: seven tenths of what the table writes."""
    keyed = access.schema.is_key_table
    target = access.options.get(keys_files.TARGET_FILE_SIZE) or (
        _TARGET_KEYED if keyed else _TARGET_APPEND
    )
    return target * 7 // 10


def thresholds(access: TableAccess, overrides: Mapping[str, float]) -> Thresholds:
    """Those of the table, with ``overrides`` in their place.

    Raises:
        ArgumentError: ``overrides`` names one that there is not.
    """
    known = {f.name for f in dataclasses.fields(Thresholds)}
    unknown = sorted(set(overrides) - known)
    if unknown:
        raise ArgumentError(
            f"no thresholds {unknown}; there are {', '.join(sorted(known))}",
            argument="thresholds",
            value=unknown,
        )
    trigger = access.options.get(keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER)
    urgent = stop_trigger(access.options)
    own: dict[str, Any] = {"sorted_runs_due": trigger, "sorted_runs_urgent": urgent}
    return Thresholds(**own | dict(overrides))


def _deleted_by_vectors(access: TableAccess, head: Snapshot | None) -> int:
    if head is None or head.index_manifest is None:
        return 0
    path = layout.manifest_path(head.index_manifest)
    return sum(
        range_.cardinality or 0
        for entry in decode_index_manifest(access.storage.read(path), path=path)
        if entry.index_type == DELETION_VECTORS
        for range_ in entry.ranges or ()
    )


def _history(access: TableAccess, head: Snapshot | None, now_ms: int) -> dict[str, Any]:
    metadata, options = access.metadata, access.options
    history: dict[str, Any] = {
        "schemas": len(metadata.schema_ids()),
        "tags": len(tag_names(access)),
        "tags_expired": len(expired_tags(access)),
        "branches": len(branch_names(access)),
        "consumers": len(consumers(access)),
    }
    ids = metadata.snapshot_ids()
    if head is None or not ids:
        return history
    warn_of_future(access, head)
    most = options.get(keys_retention.SNAPSHOT_NUM_RETAINED_MAX)
    least = options.get(keys_retention.SNAPSHOT_NUM_RETAINED_MIN)
    age_ms = options.get(keys_retention.SNAPSHOT_TIME_RETAINED)
    successor = metadata.snapshot(ids[1]) if len(ids) > 1 else head
    old = len(ids) > least and successor.time_millis < now_ms - age_ms
    return history | {
        "snapshots": len(ids),
        "snapshots_expirable": len(ids) > most or old,
        "oldest_snapshot_age_ms": now_ms - metadata.snapshot(ids[0]).time_millis,
        "newest_snapshot_age_ms": now_ms - head.time_millis,
        "newest_snapshot_ahead_ms": ahead_ms(access, head),
    }


def _partition_counts(
    access: TableAccess, live: FileColumns, limits: Thresholds, now_ms: int
) -> dict[str, Any]:
    if not access.schema.partition_keys:
        return {}
    partitions = partitions_of(access, live)
    expiry = PartitionExpiry.of(access.options)
    if expiry is None:
        return {"partitions": len(partitions)}
    local_ms, near_ms = access.wall_clock.shown(now_ms), limits.partitions_near_ms
    now = plan_partitions(partitions, expiry, now_local_ms=local_ms, now_ms=now_ms)
    soon = plan_partitions(
        partitions, expiry, now_local_ms=local_ms + near_ms, now_ms=now_ms + near_ms
    )
    expired = len(now.expired) + now.left
    return {
        "partitions": len(partitions),
        "partitions_expired": expired,
        "partitions_near_expiry": len(soon.expired) + soon.left - expired,
        "partitions_undated": len(now.undated),
        "retention_advice": never_dated(access.schema, expiry) or "",
    }


def _manifest_counts(access: TableAccess, head: Snapshot | None) -> dict[str, Any]:
    metas = access.metadata.data_manifests(head) if head else []
    return {
        "manifests": len(metas),
        "manifest_bytes": sum(meta.file_size for meta in metas),
        "manifest_entries": sum(m.num_added_files + m.num_deleted_files for m in metas),
    }


def _unnamed_metadata(access: TableAccess, now_ms: int) -> int:
    """About how many files in ``manifest/`` nothing names.  Rests of data files come with them.

    Of a long history some snapshots are read, evenly spread, and stand for all.
    """
    metadata = access.metadata
    old = sum(
        0 < info.modified_ms < now_ms - FLOOR_MS
        for info in access.storage.list(layout.MANIFEST_FOLDER)
    )
    if not old:
        return 0
    named: set[str] = set()
    own = 0
    branches = [layout.MAIN, *branch_names(access)]
    histories = [(m, m.snapshot_ids()) for m in (Metadata(access.storage, b) for b in branches)]
    read = [(m, ids[:: max(1, len(ids) // _SAMPLE)]) for m, ids in histories]
    states = [(m, m.snapshot(id)) for m, ids in read for id in ids]
    states += [(metadata, tagged(access, name).snapshot) for name in tag_names(access)]
    for of, snapshot in states:
        before = len(named)
        named |= _named(of, snapshot)
        own += len(named) - before
    unread = sum(len(ids) for _, ids in histories) - sum(len(ids) for _, ids in read)
    expected = len(named) + unread * own // max(len(states), 1)
    return max(0, old - expected)


def _named(metadata: Metadata, snapshot: Snapshot) -> set[str]:
    lists = (
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.changelog_manifest_list,
    )
    names = {name for name in (*lists, snapshot.index_manifest) if name is not None}
    for name in lists:
        try:
            names.update(meta.file_name for meta in metadata.manifest_list(name))
        except FilesExpiredError:
            continue  # expired since, or the changelog of a tag
    return names
