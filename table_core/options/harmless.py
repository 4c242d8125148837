"""Options of Apache Paimon that change nothing here, each with the reason.

They are taken, stored for Paimon and passed over: whatever they say, the rows that we read and the
files that we write are right.

Source: ``org.apache.paimon.CoreOptions``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.options import keys_engine

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HARMLESS", "HARMLESS_PATTERN"]

_BLOB: Final = "only BLOB columns use it, and tables with BLOB columns are refused"
_CHAIN: Final = "only chain tables use it, and they are refused"
_EVOLVED: Final = "only tables with data evolution use it, and they are refused"
_FORMAT_TABLE: Final = "only format tables use it, and they are refused"
_INDEX: Final = "global indexes only speed searches up; reads here return all rows without them"
_MATERIALIZED: Final = "only the engine that refreshes a materialized table uses it"
_CALLBACK: Final = (
    "it is an argument of a callback, and commits to tables with callbacks are refused"
)
_SHREDDED: Final = "VARIANT columns are written whole, which every reader understands"
_VECTOR: Final = "only searches by vector or text use it"
_SPREAD: Final = "it says how tasks of Paimon's engine share the work"
_ENGINE: Final = "it tunes Paimon's own engine"
_REASONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (_ENGINE, tuple(getattr(keys_engine, name).key for name in keys_engine.__all__)),
    (
        _BLOB,
        (
            "blob-as-descriptor",
            "blob-compaction.enabled",
            "blob-descriptor-field",
            "blob-descriptor.source-table",
            "blob-field",
            "blob-view-field",
            "blob-view.resolve.enabled",
            "blob-write-null-on-fetch-failure",
            "blob-write-null-on-missing-file",
            "blob.copy-buffer-size",
            "blob.split-by-file-size",
            "blob.target-file-size",
            "lookup.blob-as-descriptor",
        ),
    ),
    (
        _CHAIN,
        (
            "chain-table.chain-partition-keys",
            "chain-table.split.key-range-enabled",
            "chain-table.streaming.merge-snapshot",
            "scan.fallback-delta-branch",
            "scan.fallback-snapshot-branch",
        ),
    ),
    (
        _EVOLVED,
        (
            "data-evolution.compaction.rewrite-row-ids",
            "data-evolution.merge-into.file-pruning",
            "data-evolution.merge-into.source-persist",
            "data-evolution.reassign.skip-contiguous-row-count",
            "data-evolution.row-id-conflict-rewrite.max-size",
            "data-evolution.row-sidecar.enabled",
            "data-evolution.row-sidecar.max-selected-rows",
            "data-evolution.row-sidecar.max-selection-ratio",
        ),
    ),
    (
        _FORMAT_TABLE,
        (
            "format-table.commit-hive-sync-url",
            "format-table.file.compression",
            "format-table.implementation",
            "format-table.partition-path-only-value",
            "format-table.scan.list-parallelism",
        ),
    ),
    (
        _INDEX,
        (
            "full-text-index.search-mode",
            "global-index.build.max-parallelism",
            "global-index.build.max-shard",
            "global-index.column-update-action",
            "global-index.enabled",
            "global-index.external-path",
            "global-index.row-count-per-shard",
            "global-index.search-mode",
            "global-index.thread-num",
            "scalar-index.search-mode",
            "vector-index.search-mode",
        ),
    ),
    (
        _MATERIALIZED,
        (
            "materialized-table.definition-query",
            "materialized-table.interval-freshness",
            "materialized-table.interval-freshness.time-unit",
            "materialized-table.logical-refresh-mode",
            "materialized-table.refresh-handler-bytes",
            "materialized-table.refresh-handler-description",
            "materialized-table.refresh-mode",
            "materialized-table.refresh-status",
        ),
    ),
    (_CALLBACK, ("commit.callback.#.param", "tag.callback.#.param")),
    (
        _SHREDDED,
        (
            "variant.inferShreddingSchema",
            "variant.shredding.adaptive.maxInferBufferRow",
            "variant.shredding.adaptive.retentionRatio",
            "variant.shredding.inferenceMode",
            "variant.shredding.maxInferBufferRow",
            "variant.shredding.maxSchemaDepth",
            "variant.shredding.maxSchemaWidth",
            "variant.shredding.minFieldCardinalityRatio",
            "variant.shreddingSchema",
        ),
    ),
    (_VECTOR, ("vector-search.distribute.enabled", "vector-search.lateral-join.batch-size")),
    (_SPREAD, ("partition.sink-strategy",)),
    (
        "only incremental clustering uses it, and commits to tables with that are refused",
        (
            "clustering.history-partition.idle-to-full-sort",
            "clustering.history-partition.limit",
            "clustering.incremental.mode",
            "clustering.incremental.optimize-write",
        ),
    ),
    (
        "only a vector file format uses it, and commits to tables with that are refused",
        ("vector.target-file-size",),
    ),
    (
        "a vector column has its own type, which is refused by name",
        ("vector-field",),
    ),
    (
        "only a wait for others uses it, and commits to tables with that are refused",
        ("visibility-callback.check-interval", "visibility-callback.timeout"),
    ),
    (
        "only an action of that name uses it, and such actions are refused",
        (
            "partition.mark-done-action.custom.class",
            "partition.mark-done-action.http.params",
            "partition.mark-done-action.http.url",
        ),
    ),
    (
        "only external paths use it, and commits to tables with those are refused",
        (
            "data-file.external-paths.specific-fs",
            "data-file.external-paths.strategy",
            "data-file.external-paths.weights",
        ),
    ),
    (
        "compacting rows that expire soon only costs time",
        ("compaction.skip-expired-partitions",),
    ),
    (
        "the audit log and the binlog set it for themselves",
        ("key-value.sequence_number.enabled",),
    ),
    (
        "row ids are consecutive within each file, however files are ordered",
        ("row-tracking.partition-group-on-commit",),
    ),
    (
        "a read of the fallback branch that fails always fails here",
        ("scan.fallback-branch.read-fail-fast",),
    ),
    (
        "a read here creates no tag; if its files expire, it raises an error",
        ("scan.plan-auto-tag-for-read.time-retained",),
    ),
    ("the rows of a bucket always keep their order", ("bucket-append-ordered",)),
    ("a commit always waits for its compaction", ("commit.force-compact", "lookup-wait")),
    (
        "a DELETE always writes the deleted rows, so the changelog has them",
        ("delete.force-produce-changelog",),
    ),
    (
        "each write says whether it replaces partitions or the table",
        ("dynamic-partition-overwrite",),
    ),
    ("lookup files are sorted", ("lookup.hash-load-factor",)),
    ("rows are written as they come", ("write.batch-size",)),
    (
        "rows wait until a compaction assigns their buckets",
        ("postpone.batch-write-fixed-bucket",),
    ),
    ("existing files always say where the numbers continue", ("write.sequence-number-init-mode",)),
    ("a consumer moves only after the rows were read, whichever value it has", ("consumer.mode",)),
    (
        "the schema names the keys, and it was moved there when the table was created",
        ("partition", "primary-key"),
    ),
    ("what is stored is the same with and without it", ("manifest.merge-optimize.enabled",)),
    ("it is a hint to another engine", ("scan.remove-normalize",)),
    ("it is used only when a table is opened by its path, and never stored", ("auto-create",)),
)
HARMLESS: Final[Mapping[str, str]] = {key: reason for reason, keys in _REASONS for key in keys}
"""Every such option, and why it is harmless."""
HARMLESS_PATTERN: Final = re.compile(
    r"(commit|tag)\.callback\..+\.param|metadata\.iceberg\..+|fields\..+\.pk-[a-z-]+\.index\..+"
)
"""Those whose names hold a name: arguments of what ``refused`` stops."""
