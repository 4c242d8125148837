"""What the schema validation of Apache Paimon 2.0.0 refuses, and what it takes.

Facts from ``SchemaValidationTest``, ``SchemaManagerTest``, ``CreateTableITCase`` and ``CatalogTableITCase``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import table_core as tc
from tests.upstream.play import area, case, shape, unmade
from tests.upstream.steps import alter, put, refused, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.upstream.play import Case, Shape

__all__ = ["CASES"]

KEYED = shape("k INT, v INT, s STRING, ts TIMESTAMP(3)", key="k", bucket="1")
PLAIN = shape("k INT, v INT, s STRING, ts TIMESTAMP(3)")
PARTED = shape("k INT, v INT, p STRING", key="k, p", partition="p", bucket="1")
CROSS = shape("k INT, v INT, p STRING", key="k", partition="p")
NESTED = shape(
    "k INT, r ROW<a INT, b STRING>, m MAP<STRING, INT>, i MAP<INT, INT>, l ARRAY<INT>, b BYTES"
)
SEVEN = shape("k INT, a INT, b INT, g INT, c INT, d INT, h INT", key="k", bucket="1")

Options = dict[str, str]
Row = tuple[str, "Shape", Options, str]

REFUSED: tuple[Row, ...] = (
    # ----------------------------------------------------------------------------- keys and buckets
    ("a primary key of ROW is refused", shape("k ROW<a INT>, v INT", key="k"), {}, "'k'"),
    ("a primary key of MAP is refused", shape("k MAP<INT, INT>, v INT", key="k"), {}, "'k'"),
    ("a primary key of ARRAY is refused", shape("k ARRAY<INT>, v INT", key="k"), {}, "'k'"),
    ("a primary key of MULTISET is refused", shape("k MULTISET<INT>, v INT", key="k"), {}, "'k'"),
    ("a partition column of ARRAY is refused", shape("k INT, p ARRAY<INT>", partition="p"), {}, "'p'"),
    ("a partition column of ROW is refused", shape("k INT, p ROW<a INT>", partition="p"), {}, "'p'"),
    ("a primary key column must exist", shape("k INT", key="x"), {}, "'x'"),
    ("a partition column must exist", shape("k INT", partition="x"), {}, "'x'"),
    ("a primary key names a column once", shape("k INT, v INT", key="k, k"), {}, "'k'"),
    ("a partition names a column once", shape("k INT, v INT", partition="k, k"), {}, "'k'"),
    ("a column has one name", shape("k INT, k INT"), {}, "'k'"),
    ("a key of partition columns alone is refused", shape("k INT, v INT", key="k", partition="k"), {}, "partition"),
    ("bucket 0 is refused", KEYED, {"bucket": "0"}, "bucket"),
    ("bucket -3 is refused", KEYED, {"bucket": "-3"}, "bucket"),
    ("postpone needs a primary key", PLAIN, {"bucket": "-2"}, "primary key"),
    ("bucket-key with bucket -1 is refused", PLAIN, {"bucket": "-1", "bucket-key": "k"}, "bucket-key"),
    ("a bucket key must exist", PLAIN, {"bucket": "2", "bucket-key": "x"}, "'x'"),
    ("a bucket key of ROW is refused", NESTED, {"bucket": "2", "bucket-key": "r"}, "'r'"),
    ("a bucket key of MAP is refused", NESTED, {"bucket": "2", "bucket-key": "m"}, "'m'"),
    ("a bucket key is part of the primary key", KEYED, {"bucket-key": "v"}, "bucket-key"),
    ("a bucket key holds no partition column", PARTED, {"bucket-key": "p"}, "bucket-key"),
    ("mod needs one whole number as key", KEYED, {"bucket-function.type": "mod", "bucket-key": "s"}, "mod"),
    ("full compaction has no meaning without buckets", PLAIN, {"full-compaction.delta-commits": "3"}, "full-compaction.delta-commits"),
    ("the name _KEY_k is reserved", shape("_KEY_k INT"), {}, "_KEY_k"),
    ("the name _SEQUENCE_NUMBER is reserved", shape("_SEQUENCE_NUMBER INT"), {}, "_SEQUENCE_NUMBER"),
    ("the name _VALUE_KIND is reserved", shape("_VALUE_KIND INT"), {}, "_VALUE_KIND"),
    ("the name _LEVEL is reserved", shape("_LEVEL INT"), {}, "_LEVEL"),
    ("the name rowkind is reserved", shape("rowkind STRING"), {}, "rowkind"),
    ("the name _ROW_ID is reserved", shape("_ROW_ID BIGINT"), {}, "_ROW_ID"),
    # ------------------------------------------------------------------------------ producers
    ("a producer needs a primary key (input)", PLAIN, {"changelog-producer": "input"}, "primary key"),
    ("a producer needs a primary key (lookup)", PLAIN, {"changelog-producer": "lookup"}, "primary key"),
    ("a producer needs a primary key (full)", PLAIN, {"changelog-producer": "full-compaction"}, "primary key"),
    ("an unknown producer is refused", KEYED, {"changelog-producer": "always"}, "changelog-producer"),
    ("overwrites are not streamed with lookup", KEYED, {"changelog-producer": "lookup", "streaming-read-overwrite": "true"}, "streaming-read-overwrite"),
    ("overwrites are not streamed with full-compaction", KEYED, {"changelog-producer": "full-compaction", "streaming-read-overwrite": "true"}, "streaming-read-overwrite"),
    ("overwrites of append tables have an option of their own", PLAIN, {"streaming-read-overwrite": "true"}, "streaming-read-append-overwrite"),
    ("lookup has no full compaction by commits", KEYED, {"changelog-producer": "lookup", "full-compaction.delta-commits": "2"}, "full-compaction.delta-commits"),
    ("sequence numbers are of key tables", PLAIN, {"table-read.sequence-number.enabled": "true"}, "table-read.sequence-number.enabled"),
    # ------------------------------------------------------------------------------ retention
    ("target-file-row-num is at least 1", PLAIN, {"target-file-row-num": "0"}, "target-file-row-num"),
    ("snapshot.num-retained.min is at least 1", KEYED, {"snapshot.num-retained.min": "0"}, "snapshot.num-retained.min"),
    ("the most snapshots are not below the least", KEYED, {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "4"}, "snapshot.num-retained"),
    ("changelog.num-retained.min is at least 1", KEYED, {"changelog.num-retained.min": "0"}, "changelog.num-retained.min"),
    ("the most changelogs are not below the least", KEYED, {"changelog.num-retained.min": "5", "changelog.num-retained.max": "4"}, "changelog.num-retained"),
    ("the most changelogs are not below the least snapshots", KEYED, {"changelog.num-retained.max": "4"}, "changelog.num-retained.max"),
    # ------------------------------------------------------------------------------ engines
    ("an unknown engine is refused", KEYED, {"merge-engine": "newest"}, "merge-engine"),
    ("first-row has no input producer", KEYED, {"merge-engine": "first-row", "changelog-producer": "input"}, "first-row"),
    ("first-row has no full-compaction producer", KEYED, {"merge-engine": "first-row", "changelog-producer": "full-compaction"}, "first-row"),
    ("first-row has no sequence field", KEYED, {"merge-engine": "first-row", "sequence.field": "v"}, "sequence.field"),
    ("first-row needs no deletion vectors", KEYED, {"merge-engine": "first-row", "deletion-vectors.enabled": "true"}, "deletion"),
    ("a sequence field must exist", KEYED, {"sequence.field": "x"}, "'x'"),
    ("a sequence field is named once", KEYED, {"sequence.field": "v,v"}, "'v'"),
    ("a sequence field has no aggregate function", KEYED, {"merge-engine": "aggregation", "sequence.field": "v", "fields.v.aggregate-function": "sum"}, "'v'"),
    ("no sequence field where keys cross partitions", CROSS, {"sequence.field": "v"}, "sequence.field"),
    ("a function must exist", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "average"}, "average"),
    ("the default function must exist", KEYED, {"merge-engine": "aggregation", "fields.default-aggregate-function": "average"}, "average"),
    ("sum does not take STRING", KEYED, {"merge-engine": "aggregation", "fields.s.aggregate-function": "sum"}, "sum"),
    ("listagg does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}, "listagg"),
    ("max does not take BOOLEAN", shape("k INT, v BOOLEAN", key="k", bucket="1"), {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}, "max"),
    ("min does not take BOOLEAN", shape("k INT, v BOOLEAN", key="k", bucket="1"), {"merge-engine": "aggregation", "fields.v.aggregate-function": "min"}, "min"),
    ("bool_or does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "bool_or"}, "bool_or"),
    ("bool_and does not take STRING", KEYED, {"merge-engine": "aggregation", "fields.s.aggregate-function": "bool_and"}, "bool_and"),
    ("collect does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "collect"}, "collect"),
    ("merge_map does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "merge_map"}, "merge_map"),
    ("nested_update does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "nested_update"}, "nested_update"),
    ("rbm32 does not take STRING", KEYED, {"merge-engine": "aggregation", "fields.s.aggregate-function": "rbm32"}, "rbm32"),
    ("hll_sketch does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "hll_sketch"}, "hll_sketch"),
    ("theta_sketch does not take INT", KEYED, {"merge-engine": "aggregation", "fields.v.aggregate-function": "theta_sketch"}, "theta_sketch"),
    ("an option of a column that is not there is refused", KEYED, {"fields.x.aggregate-function": "sum"}, "'x'"),
    ("an option of a member of a ROW is refused", shape("k INT, r ROW<a INT>", key="k", bucket="1"), {"merge-engine": "aggregation", "fields.r.a.aggregate-function": "sum"}, "r.a"),
    ("rowkind.field must exist", KEYED, {"rowkind.field": "x"}, "'x'"),
    ("a group protects columns that exist", SEVEN, {"merge-engine": "partial-update", "fields.g.sequence-group": "a,x"}, "'x'"),
    ("a group is ordered by columns that exist", SEVEN, {"merge-engine": "partial-update", "fields.x.sequence-group": "a"}, "'x'"),
    ("a group of two is ordered by columns that exist", SEVEN, {"merge-engine": "partial-update", "fields.g,x.sequence-group": "a"}, "'x'"),
    ("a column is in one group", SEVEN, {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h.sequence-group": "b"}, "'b'"),
    ("a column is in one group of several columns", SEVEN, {"merge-engine": "partial-update", "fields.g,c.sequence-group": "a,b", "fields.h,d.sequence-group": "b"}, "'b'"),
    ("a key column is in no group", SEVEN, {"merge-engine": "partial-update", "fields.g.sequence-group": "k"}, "'k'"),
    ("a function of a partial update needs a group", SEVEN, {"merge-engine": "partial-update", "fields.a.aggregate-function": "sum"}, "sequence group"),
    ("ignore-delete and remove-record-on-delete exclude each other", SEVEN, {"merge-engine": "partial-update", "ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}, "remove-record-on-delete"),
    ("groups and remove-record-on-delete exclude each other", SEVEN, {"merge-engine": "partial-update", "fields.g.sequence-group": "a", "partial-update.remove-record-on-delete": "true"}, "remove-record-on-delete"),
    ("remove-record-on-sequence-group names a sequence column", SEVEN, {"merge-engine": "partial-update", "fields.g.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "a"}, "remove-record-on-sequence-group"),
    ("nested-sequence-field needs nested-key", shape("k INT, l ARRAY<ROW<a INT, b INT>>", key="k", bucket="1"), {"merge-engine": "aggregation", "fields.l.aggregate-function": "nested_update", "fields.l.nested-sequence-field": "b"}, "nested-key"),
    ("nested-key-null-strategy needs nested-key", shape("k INT, l ARRAY<ROW<a INT, b INT>>", key="k", bucket="1"), {"merge-engine": "aggregation", "fields.l.aggregate-function": "nested_update", "fields.l.nested-key-null-strategy": "merge"}, "nested-key"),
    # ------------------------------------------------------------------------------ expiry of records
    ("record-level.time-field must exist", KEYED, {"record-level.expire-time": "1 s", "record-level.time-field": "x"}, "'x'"),
    ("record-level.expire-time needs a field", KEYED, {"record-level.expire-time": "1 s"}, "record-level.time-field"),
    ("a STRING is no time of a record", KEYED, {"record-level.expire-time": "1 s", "record-level.time-field": "s"}, "'s'"),
    # ------------------------------------------------------------------------------ deletion vectors, ordering
    ("deletion vectors exclude full-compaction", KEYED, {"deletion-vectors.enabled": "true", "changelog-producer": "full-compaction"}, "full-compaction"),
    ("ordering by snapshots needs a key", PLAIN, {"sequence.snapshot-ordering": "true", "write-only": "true"}, "sequence.snapshot-ordering"),
    ("ordering by snapshots excludes sequence.field", KEYED, {"sequence.snapshot-ordering": "true", "write-only": "true", "sequence.field": "v"}, "sequence"),
    ("ordering by snapshots needs write-only", KEYED, {"sequence.snapshot-ordering": "true"}, "sequence.snapshot-ordering"),
    # ------------------------------------------------------------------------------ startup of scans
    ("from-timestamp needs a time", KEYED, {"scan.mode": "from-timestamp"}, "scan.timestamp"),
    ("from-timestamp has one time", KEYED, {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1", "scan.timestamp": "2023-01-01"}, "scan.timestamp"),
    ("from-timestamp excludes a snapshot", KEYED, {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1", "scan.snapshot-id": "1"}, "scan.snapshot-id"),
    ("from-timestamp excludes a tag", KEYED, {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1", "scan.tag-name": "a"}, "scan.tag-name"),
    ("from-timestamp excludes a range", KEYED, {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1", "incremental-between": "1,2"}, "incremental-between"),
    ("from-snapshot needs a state", KEYED, {"scan.mode": "from-snapshot"}, "scan.snapshot-id"),
    ("from-snapshot has one state", KEYED, {"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "scan.tag-name": "a"}, "scan.snapshot-id"),
    ("from-snapshot excludes a time", KEYED, {"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "scan.timestamp-millis": "1"}, "scan.timestamp-millis"),
    ("from-snapshot-full needs a snapshot", KEYED, {"scan.mode": "from-snapshot-full"}, "scan.snapshot-id"),
    ("from-snapshot-full excludes a tag", KEYED, {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1", "scan.tag-name": "a"}, "scan.tag-name"),
    ("from-file-creation-time needs its time", KEYED, {"scan.mode": "from-file-creation-time"}, "scan.file-creation-time-millis"),
    ("from-file-creation-time excludes a snapshot", KEYED, {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "1", "scan.snapshot-id": "1"}, "scan.snapshot-id"),
    ("incremental needs a range", KEYED, {"scan.mode": "incremental"}, "incremental-between"),
    ("incremental has one range", KEYED, {"scan.mode": "incremental", "incremental-between": "1,2", "incremental-between-timestamp": "1,2"}, "incremental-between"),
    ("incremental excludes a snapshot", KEYED, {"scan.mode": "incremental", "incremental-between": "1,2", "scan.snapshot-id": "1"}, "scan.snapshot-id"),
    ("two ranges without a mode are refused", KEYED, {"incremental-between": "1,2", "incremental-between-timestamp": "1,2"}, "incremental-between"),
    ("full excludes a snapshot", KEYED, {"scan.mode": "full", "scan.snapshot-id": "1"}, "scan.snapshot-id"),
    ("latest excludes a time", KEYED, {"scan.mode": "latest", "scan.timestamp-millis": "1"}, "scan.timestamp-millis"),
    ("latest-full excludes a tag", KEYED, {"scan.mode": "latest-full", "scan.tag-name": "a"}, "scan.tag-name"),
    ("compacted-full excludes a range", KEYED, {"scan.mode": "compacted-full", "incremental-between": "1,2"}, "incremental-between"),
    ("a snapshot and a time contradict each other", KEYED, {"scan.snapshot-id": "1", "scan.timestamp-millis": "1"}, "scan."),
    ("an unknown mode is refused", KEYED, {"scan.mode": "sometimes"}, "scan.mode"),
    # ------------------------------------------------------------------------------ files and indexes
    ("avro has no TIMESTAMP(9)", shape("k INT, t TIMESTAMP(9)"), {"file.format": "avro"}, "avro"),
    ("avro has no TIMESTAMP_LTZ(9)", shape("k INT, t TIMESTAMP_LTZ(9)"), {"file.format": "avro"}, "avro"),
    ("avro has no TIMESTAMP(7), by level either", shape("k INT, t TIMESTAMP(7)", key="k", bucket="1"), {"file.format.per.level": "0:avro"}, "avro"),
    ("an unknown format is refused", PLAIN, {"file.format": "xls"}, "xls"),
    ("an index is of a column that exists", PLAIN, {"file-index.bloom-filter.columns": "x"}, "'x'"),
    ("a bitmap index is of a column that exists", PLAIN, {"file-index.bitmap.columns": "k,x"}, "'x'"),
    ("a member index is of a MAP", NESTED, {"file-index.bloom-filter.columns": "k[a]"}, "k"),
    ("a member index is of a MAP with text keys", NESTED, {"file-index.bloom-filter.columns": "i[a]"}, "i"),
    ("a bloom filter does not take ARRAY", NESTED, {"file-index.bloom-filter.columns": "l"}, "bloom-filter"),
    ("a bloom filter does not take ROW", NESTED, {"file-index.bloom-filter.columns": "r"}, "bloom-filter"),
    ("a bit-sliced index does not take STRING", PLAIN, {"file-index.bsi.columns": "s"}, "bsi"),
    ("a bitmap does not take MAP", NESTED, {"file-index.bitmap.columns": "m"}, "bitmap"),
    ("an unknown index is refused", PLAIN, {"file-index.magic.columns": "k"}, "magic"),
    # ------------------------------------------------------------------------------ rows, features
    ("row tracking excludes a key", KEYED, {"row-tracking.enabled": "true"}, "row-tracking.enabled"),
    ("row tracking excludes fixed buckets", PLAIN, {"row-tracking.enabled": "true", "bucket": "2", "bucket-key": "k"}, "row-tracking.enabled"),
    ("data evolution needs row tracking", PLAIN, {"data-evolution.enabled": "true"}, "data-evolution.enabled"),
    ("incremental clustering excludes a key", KEYED, {"clustering.incremental": "true", "clustering.columns": "v"}, "clustering.incremental"),
    ("manifests are sorted by partitions", PLAIN, {"manifest-sort.enabled": "true"}, "partition"),
    ("manifests are sorted by a partition column", PARTED, {"manifest-sort.enabled": "true", "manifest-sort.partition-field": "v"}, "'v'"),
    ("an upsert key excludes a primary key", KEYED, {"upsert-key": "v"}, "upsert-key"),
    ("an upsert key must exist", PLAIN, {"upsert-key": "x"}, "upsert-key"),
    ("vector-field is of a VECTOR", PLAIN, {"vector-field": "v"}, "vector-field"),
    ("vector-field must exist", PLAIN, {"vector-field": "x"}, "vector-field"),
    ("blob-field is of a BLOB", NESTED, {"blob-field": "b"}, "blob-field"),
    ("blob-descriptor-field is of a BLOB", NESTED, {"blob-descriptor-field": "b"}, "blob-descriptor-field"),
    ("blob-view-field is of a BLOB", NESTED, {"blob-view-field": "b"}, "blob-view-field"),
    ("a map layout is of a MAP", NESTED, {"fields.k.map.storage-layout": "shared-shredding"}, "map.storage-layout"),
    ("a shredded map has text keys", NESTED, {"fields.i.map.storage-layout": "shared-shredding"}, "STRING NOT NULL"),
    ("a shredded map is not avro", shape("k INT, m MAP<STRING NOT NULL, INT>"), {"fields.m.map.storage-layout": "shared-shredding", "file.format": "avro"}, "avro"),
    ("clustered keys need columns", KEYED, {"pk-clustering-override": "true", "deletion-vectors.enabled": "true"}, "pk-clustering-override"),
    ("clustered keys need deletion vectors", KEYED, {"pk-clustering-override": "true", "clustering.columns": "v"}, "pk-clustering-override"),
    ("clustered keys exclude aggregation", KEYED, {"pk-clustering-override": "true", "clustering.columns": "v", "deletion-vectors.enabled": "true", "merge-engine": "aggregation"}, "pk-clustering-override"),
    ("clustered keys exclude a sequence field", KEYED, {"pk-clustering-override": "true", "clustering.columns": "v", "deletion-vectors.enabled": "true", "sequence.field": "v"}, "pk-clustering-override"),
    ("clustered keys exclude the lookup producer", KEYED, {"pk-clustering-override": "true", "clustering.columns": "v", "deletion-vectors.enabled": "true", "changelog-producer": "lookup"}, "pk-clustering-override"),
    ("an index of keys needs deletion vectors", KEYED, {"pk-btree.index.columns": "v"}, "pk-b"),
    ("an index of keys needs a key", PLAIN, {"pk-btree.index.columns": "v"}, "pk-b"),
    ("an index of keys is of a column that exists", KEYED, {"pk-bitmap.index.columns": "x", "deletion-vectors.enabled": "true"}, "pk-b"),
    ("a column has one index of keys", KEYED, {"pk-bitmap.index.columns": "v", "pk-btree.index.columns": "v", "deletion-vectors.enabled": "true"}, "pk-b"),
    ("a chain table needs a key", PLAIN, {"chain-table.enabled": "true"}, "chain-table.enabled"),
    ("a chain table needs partitions", KEYED, {"chain-table.enabled": "true"}, "chain-table.enabled"),
    ("at least one row is looked at to shred a VARIANT", PLAIN, {"variant.shredding.maxInferBufferRow": "0"}, "maxInferBufferRow"),
    ("the share of a shredded member is at most 1", PLAIN, {"variant.shredding.minFieldCardinalityRatio": "2"}, "minFieldCardinalityRatio"),
    ("an option that nobody knows is refused with the nearest", PLAIN, {"bukcet": "1"}, "bucket"),
    ("a number must be one", KEYED, {"bucket": "two"}, "bucket"),
    ("a length of time must be one", KEYED, {"snapshot.time-retained": "soon"}, "snapshot.time-retained"),
    ("a size must be one", KEYED, {"target-file-size": "big"}, "target-file-size"),
)  # fmt: skip
TAKEN: tuple[tuple[str, Shape, Options], ...] = (
    ("each engine is taken with a key (deduplicate)", KEYED, {"merge-engine": "deduplicate"}),
    ("each engine is taken with a key (partial-update)", KEYED, {"merge-engine": "partial-update"}),
    ("each engine is taken with a key (aggregation)", KEYED, {"merge-engine": "aggregation"}),
    ("each engine is taken with a key (first-row)", KEYED, {"merge-engine": "first-row"}),
    ("first-row takes the lookup producer", KEYED, {"merge-engine": "first-row", "changelog-producer": "lookup"}),
    ("a record's time is INT", KEYED, {"record-level.expire-time": "1 s", "record-level.time-field": "v"}),
    ("a record's time is TIMESTAMP, and may be NULL", KEYED, {"record-level.expire-time": "1 s", "record-level.time-field": "ts"}),
    ("deletion vectors go with the input producer", KEYED, {"deletion-vectors.enabled": "true", "changelog-producer": "input"}),
    ("deletion vectors go with the lookup producer", KEYED, {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"}),
    ("several sequence fields are taken", KEYED, {"sequence.field": "v,ts"}),
    ("from-timestamp with its time is taken", KEYED, {"scan.mode": "from-timestamp", "scan.timestamp-millis": "1"}),
    ("a snapshot alone decides the mode", KEYED, {"scan.snapshot-id": "1"}),
    ("incremental with its range is taken", KEYED, {"scan.mode": "incremental", "incremental-between": "1,2"}),
    ("a key without its partition column is taken with bucket -1", CROSS, {}),
    ("mod of one INT key is taken", KEYED, {"bucket-function.type": "mod"}),
    ("manifests sorted by a partition column are taken", PARTED, {"manifest-sort.enabled": "true", "manifest-sort.partition-field": "p"}),
    ("an index of a member of a MAP is taken", NESTED, {"file-index.bloom-filter.columns": "m[a]"}),
    ("avro by level with TIMESTAMP(6) is taken", shape("k INT, t TIMESTAMP(6)", key="k", bucket="1"), {"file.format.per.level": "0:avro"}),
    ("row tracking of a plain table is taken", PLAIN, {"row-tracking.enabled": "true"}),
    ("a function that is the default is taken", KEYED, {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_non_null_value"}),
    ("a group of two sequence columns is taken", SEVEN, {"merge-engine": "partial-update", "fields.g,h.sequence-group": "a,b"}),
    ("no more than the newest snapshots are kept", KEYED, {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}),
    ("streams of overwrites go with the input producer", KEYED, {"changelog-producer": "input", "streaming-read-overwrite": "true"}),
)  # fmt: skip


def _made() -> Iterator[Case]:
    for promise, table, options, words in REFUSED:
        yield case(promise, table, unmade(words), options=options)
    for promise, options in (
        ("a key without its partition column is taken with fixed buckets", {"bucket": "1"}),
        ("a key without its partition column is taken with postponed buckets", {"bucket": "-2"}),
    ):
        yield case(promise, CROSS, rows(), options=options, missing="lacks partition columns")
    for promise, table, options in TAKEN:
        looks = () if _reads_a_part(options) else (rows(),)
        missing = "m[a]" if "m[a]" in options.values() else ""
        yield case(promise, table, *looks, options=options, missing=missing)


def _reads_a_part(options: Mapping[str, str]) -> bool:
    return any(key.startswith(("scan.", "incremental")) for key in options)


ALTERED: tuple[tuple[str, Shape, str, str, str], ...] = (
    ("the engine of rows that are there stays", KEYED, "merge-engine", "first-row", "merge-engine"),
    ("the bucket key of rows that are there stays", PARTED, "bucket-key", "k", "bucket-key"),
    ("the primary key is no option to set", KEYED, "primary-key", "v", "primary-key"),
    ("the partition is no option to set", KEYED, "partition", "v", "partition"),
    ("a table with fixed buckets stays one", KEYED, "bucket", "-1", "bucket"),
    ("set later, first-row's producer is checked too", KEYED.with_options({"merge-engine": "first-row"}), "changelog-producer", "input", "first-row"),
    ("set later, a start without its time is refused", KEYED, "scan.mode", "from-timestamp", "scan.timestamp"),
    ("set later, a sequence field must exist", KEYED, "sequence.field", "x", "'x'"),
    ("set later, the least snapshots are at least 1", KEYED, "snapshot.num-retained.min", "0", "snapshot.num-retained.min"),
    ("set later, an index is of a column that exists", PLAIN, "file-index.bitmap.columns", "x", "'x'"),
    ("set later, a producer needs a key", PLAIN, "changelog-producer", "input", "primary key"),
    ("set later, a vector is a VECTOR", PLAIN, "vector-field", "v", "vector-field"),
)  # fmt: skip


def _altered() -> Iterator[Case]:
    for promise, table, key, value, words in ALTERED:
        width = len(table.fields)
        row = (1, 1, "p", None)[:width]
        yield case(
            promise,
            table,
            put(row),
            refused(alter(tc.SetOption(key, value)), words),
            rows(row),
        )


CASES = area("Option validation", _made(), _altered())
