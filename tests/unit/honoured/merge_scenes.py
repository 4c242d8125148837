"""Options of merges, compaction, buckets and buffers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import table_core as tc
from tests.unit.honoured.commit_scenes import error_of
from tests.unit.honoured.scenes import SCHEMA, files, made, put, shows

Options = Mapping[str, str]
KINDS = SCHEMA.append(pa.field("_ROW_KIND", pa.string()))


def found(table: Any) -> list[Any]:
    """Key and value of each row."""
    read = table.read().to_arrow().sort_by("k")
    return list(zip(read["k"].to_pylist(), read["v"].to_pylist(), strict=True))


def put_kinds(table: Any, *changes: tuple[str, int, int]) -> None:
    """Commit changes, each a kind (``+I``, ``-U``, ``+U``, ``-D``), a key and a value."""
    with table.write() as writer:
        for kind, key, value in changes:
            columns = {"k": [key], "v": [value], "dt": ["a"], "_ROW_KIND": [kind]}
            writer.write(pa.table(columns, schema=KINDS))
        writer.commit()


def live(table: Any) -> list[dict[str, Any]]:
    return table.system("files").to_arrow().to_pylist()


@shows("merge-engine", "first-row", [(1, 11)], [(1, 1)])
def engine(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    put(table, [1], plus=10)
    return found(table)


@shows("sequence.field", "v", [(1, 1)], [(1, 11)])
def sequence(options: Options) -> Any:
    table = made(options)
    put(table, [1], plus=10)
    put(table, [1])
    return found(table)


@shows("sequence.field.sort-order", "descending", [(1, 11)], [(1, 1)])
def sequence_order(options: Options) -> Any:
    table = made(options, sequence__field="v")
    put(table, [1], plus=10)
    put(table, [1])
    return found(table)


@shows("fields.default-aggregate-function", "sum", [(1, 11)], [(1, 12)])
def default_function(options: Options) -> Any:
    table = made({"merge-engine": "aggregation", "fields.dt.aggregate-function": "max", **options})
    put(table, [1])
    put(table, [1], plus=10)
    return found(table)


def _after_delete(options: Options, engine: str) -> Any:
    table = made({"merge-engine": engine, **options})
    put(table, [1, 2])
    error = error_of(lambda: put_kinds(table, ("-D", 1, 1)))
    return error or found(table)


@shows("ignore-delete", "true", [(2, 2)], [(1, 1), (2, 2)])
def ignored_deletes(options: Options) -> Any:
    return _after_delete(options, "deduplicate")


@shows("ignore-update-before", "true", [(2, 2)], [(1, 1), (2, 2)])
def ignored_before(options: Options) -> Any:
    table = made(options)
    put(table, [1, 2])
    put_kinds(table, ("-U", 1, 1))
    return found(table)


@shows("aggregation.remove-record-on-delete", "true", "DataError", [(2, 2)])
def aggregated_deletes(options: Options) -> Any:
    more = {"fields.dt.aggregate-function": "max", "fields.v.aggregate-function": "max"}
    return _after_delete({**more, **options}, "aggregation")


@shows("partial-update.remove-record-on-delete", "true", "DataError", [(2, 2)])
def updated_deletes(options: Options) -> Any:
    return _after_delete(options, "partial-update")


@shows("rowkind.field", "dt", [(1, 1)], [])
def kind_of_column(options: Options) -> Any:
    table = made(options)
    put(table, [1], dt="-D")
    return found(table)


def _changes(options: Options, *values: int) -> list[str]:
    table = made({"changelog-producer": "lookup", **options})
    for plus in values:
        put(table, [1], plus=plus)
    return [str(kind) for kind in table.changes(after=0).to_arrow()["_ROW_KIND"].to_pylist()]


@shows("changelog-producer", "input", 0, 1)
def producer(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return len(files(table, "changelog-"))


@shows("changelog-producer.row-deduplicate", "true", 3, 1)
def deduplicated(options: Options) -> Any:
    return len(_changes(options, 0, 0))


@shows("changelog-producer.row-deduplicate-ignore-fields", "v", 3, 1)
def deduplicated_but(options: Options) -> Any:
    return len(_changes({"changelog-producer.row-deduplicate": "true", **options}, 0, 10))


@shows("full-compaction.delta-commits", "1", [0], [5])
def full_compactions(options: Options) -> Any:
    table = made({"num-levels": "6", **options})
    put(table, [1])
    return sorted(one["level"] for one in live(table))


@shows("num-levels", "3", [5], [2])
def levels(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    put(table, [1])
    table.compact()
    return sorted(one["level"] for one in live(table))


@shows("num-sorted-run.compaction-trigger", "2", 3, "fewer")
def run_trigger(options: Options) -> Any:
    table = made(options)
    for _ in range(3):
        put(table, [1])
    return len(live(table)) if len(live(table)) == 3 else "fewer"


@shows("compaction.max-size-amplification-percent", "1", 3, 1)
def amplification(options: Options) -> Any:
    """The newer runs are half of the oldest: more than one percent, less than twice as much."""
    table = made(
        {"num-sorted-run.compaction-trigger": "3", "compaction.size-ratio": "0", **options}
    )
    put(table, range(20_000))
    put(table, range(9_000))
    table.compact(strategy="minor")
    put(table, range(100))
    return len(live(table))


@shows("compaction.force-rewrite-all-files", "true", True, False)
def rewritten(options: Options) -> Any:
    """A full compaction of what is one run already."""
    table = made(options)
    for _ in range(2):
        put(table, range(10))
    table.compact()
    before = {one["file_path"] for one in live(table)}
    table.compact()
    return before == {one["file_path"] for one in live(table)}


@shows("compaction.min.file-num", "2", 3, 1)
def append_files(options: Options) -> Any:
    table = made(options, keys=(), write_only="true")
    for key in range(3):
        put(table, [key])
    table.compact(strategy="minor")
    return len(live(table))


@shows("compaction.delete-ratio-threshold", "0.9", [5], [10])
def deleted_ratio(options: Options) -> Any:
    """A large file half of whose rows are gone is written anew."""
    more = {"target-file-size": "1 b", "deletion-vectors.enabled": "true"}
    table = made({**more, "compaction.min.file-num": "1", **options}, keys=())
    put(table, range(10))
    table.delete("k < 5")
    table.compact(strategy="minor")
    return [one["record_count"] for one in live(table)]


@shows("deletion-vectors.enabled", "true", 0, 1)
def vectors(options: Options) -> Any:
    table = made(options, keys=())
    put(table, range(10))
    table.delete("k = 3")
    return len(files(table, "index/index-"))


@shows("dynamic-bucket.target-row-num", "2", 1, "many")
def rows_of_a_bucket(options: Options) -> Any:
    return _dynamic(options)


@shows("dynamic-bucket.assigner-parallelism", "3", 1, "many")
def assigners(options: Options) -> Any:
    return _dynamic(options)


@shows("dynamic-bucket.initial-buckets", "1", "many", 1)
def first_buckets(options: Options) -> Any:
    return _dynamic({"dynamic-bucket.assigner-parallelism": "3", **options})


@shows("dynamic-bucket.max-buckets", "1", "many", 1)
def most_buckets(options: Options) -> Any:
    return _dynamic({"dynamic-bucket.target-row-num": "2", **options})


def _dynamic(options: Options) -> Any:
    table = made({"bucket": "-1", **options})
    for start in range(0, 30, 10):
        put(table, range(start, start + 10))
    assert len(found(table)) == 30
    buckets = len({one["bucket"] for one in live(table)})
    return buckets if buckets == 1 else "many"


@shows("postpone.default-bucket-num", "3", 1, 3)
def postponed(options: Options) -> Any:
    return _postponed({"postpone.default-bucket-num": "1", **options})


@shows("postpone.target-row-num-per-bucket", "10", 1, "many")
def postponed_rows(options: Options) -> Any:
    return _postponed(options)


@shows("postpone.target-size-per-bucket", "100 b", 1, "many")
def postponed_size(options: Options) -> Any:
    return _postponed(options)


def _postponed(options: Options) -> Any:
    table = made({"bucket": "-2", **options})
    put(table, range(100))
    table.compact()
    assert len(found(table)) == 100
    buckets = len({one["bucket"] for one in live(table)})
    return buckets if buckets == 1 or "postpone.default-bucket-num" in options else "many"


@shows("overwrite-upgrade", "false", 5, 0)
def upgraded(options: Options) -> Any:
    """What replaces all rows of a bucket has nothing to be merged with."""
    table = made(options)
    put(table, [1])
    put(table, [2], overwrite="table")
    return live(table)[0]["level"]


@shows("partition.expiration-strategy", "update-time", 1, 2)
def expiry_strategy(options: Options) -> Any:
    table = made(
        {
            "partition.expiration-time": "7 d",
            "partition.timestamp-formatter": "yyyy-MM-dd",
            "write-only": "true",
            **options,
        },
        keys=(),
        by=("dt",),
    )
    put(table, [1], dt="2020-01-01")
    put(table, [1], dt="2999-01-01")
    table.expire_partitions()
    return len(found(table))


@shows("row-tracking.enabled", "true", None, 3)
def row_ids(options: Options) -> Any:
    table = made(options, keys=())
    put(table, range(3))
    return table.latest_snapshot().next_row_id or None


@shows("disable-explicit-type-casting", "true", None, "SchemaError")
def casting(options: Options) -> Any:
    catalog, _ = _catalog(options)
    change = tc.UpdateColumnType("v", "INT")
    return error_of(lambda: catalog.alter_table("d.t", [change]))


@shows("alter-column-null-to-not-null.disabled", "false", "SchemaError", None)
def nullability(options: Options) -> Any:
    catalog, _ = _catalog(options)
    change = tc.UpdateColumnNullability("v", False)
    return error_of(lambda: catalog.alter_table("d.t", [change]))


@shows("add-column-before-partition", "true", ["k", "v", "dt", "n"], ["k", "v", "n", "dt"])
def before_partition(options: Options) -> Any:
    catalog, _ = _catalog(options, by=("dt",))
    catalog.alter_table("d.t", [tc.AddColumn("n", "INT")])
    return catalog.table("d.t").arrow_schema.names


def _catalog(options: Options, by: tuple[str, ...] = ()) -> tuple[Any, Any]:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    table = catalog.create_table(
        "d.t", SCHEMA, partition_by=by, options={"bucket": "-1", **options}
    )
    return catalog, table


@shows("deletion-vectors.modifiable", "true", "OptionError", None)
def modifiable(options: Options) -> Any:
    catalog, table = _catalog(options)
    put(table, [1])
    change = tc.SetOption("deletion-vectors.enabled", "true")
    return error_of(lambda: catalog.alter_table("d.t", [change]))
