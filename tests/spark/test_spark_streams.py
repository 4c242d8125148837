"""Goal: a stream on Spark gives every change once, and what it writes is there once.

Method: queries that take what is there and end (``availableNow``), started again on the same
checkpoint, against the rows that the embedded engine reads.  A lost answer is made by taking from
the checkpoint that a batch was committed: then Spark repeats it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import PositionDivergedError
from table_core.spark import ReadLimit, drain, register, write_batch
from table_core.spark._compat import STREAM_ADMISSION
from tests.spark.stream_tables import NAME, PATIENCE_S, changes, keyed, run, sink, write
from tests.tables import rows_of, write_rows

KINDS = {"+I": 1, "-U": -1, "+U": 1, "-D": -1}


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    register(spark, NAME)
    return spark


def kept(frame: Any, folder: Path, checkpoint: Path) -> Any:
    """The rows of each micro-batch in a folder of its own: over Connect the function runs on the server."""

    def keep(rows: Any, batch: int) -> None:
        rows.write.parquet(f"{folder}/{batch}")

    query = frame.writeStream.foreachBatch(keep)
    return query.option("checkpointLocation", str(checkpoint))


def test_changes_flow_from_table_to_table_once_across_restarts(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "input"})
    copy = keyed(catalog, "copy")
    checkpoint = tmp_path / "checkpoint"
    write(orders, ("+I", 1, "a"), ("+I", 2, "b"))
    write(orders, ("+U", 1, "c"), ("+I", 3, "d"))
    run(sink(changes(source, orders, **{"consumer-id": "copier"}), copy, checkpoint))
    assert rows_of(copy) == rows_of(orders) == [(1, "c"), (2, "b"), (3, "d")]
    write(orders, ("-D", 2, "b"))
    write(orders, ("+I", 2, "e"), ("-D", 3, "d"), ("+U", 1, "f"))
    run(sink(changes(source, orders, **{"consumer-id": "copier"}), copy, checkpoint))
    assert rows_of(copy) == rows_of(orders) == [(1, "f"), (2, "e")]
    assert orders.consumers.get("copier") == 3  # Spark tells what is done when it goes on
    before = copy.latest_snapshot()
    newest = max((checkpoint / "commits").iterdir(), key=lambda path: path.name)
    for lost in (newest, newest.with_name(f".{newest.name}.crc")):
        lost.unlink(missing_ok=True)
    run(sink(changes(source, orders), copy, checkpoint))
    assert copy.latest_snapshot() == before
    assert rows_of(copy) == rows_of(orders)


def test_a_checkpoint_may_move_but_not_be_deleted_or_taken_back(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    events, copy = (catalog.create_table(f"d.{name}", schema) for name in ("events", "copy"))
    checkpoint = tmp_path / "checkpoint"
    frame = source.readStream.format(NAME).load(events.uri)
    write(events, ("+I", 1, "a"))
    run(sink(frame, copy, checkpoint))
    saved, moved = tmp_path / "saved", tmp_path / "moved"
    shutil.copytree(checkpoint, saved)
    write(events, ("+I", 2, "b"))
    run(sink(frame, copy, checkpoint))
    shutil.move(checkpoint, moved)
    write(events, ("+I", 3, "c"))
    with pytest.raises(Exception, match="checkpoint was deleted"):
        run(sink(frame, copy, checkpoint))
    assert rows_of(copy) == [(1, "a"), (2, "b")]
    run(sink(frame, copy, moved))
    shutil.rmtree(moved)
    shutil.copytree(saved, moved)
    write(events, ("+I", 4, "d"))
    with pytest.raises(
        Exception, match=r"now brings batch \d+: the checkpoint was deleted, reverted"
    ):
        run(sink(frame, copy, moved))
    assert rows_of(copy) == [(1, "a"), (2, "b"), (3, "c")]


def copied_and_rolled_back(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> tuple[tc.Table, tc.Table, Any]:
    """Three batches of one row, ``saved`` is the checkpoint after the first, and the target is back there too."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    events, copy = (catalog.create_table(f"d.{name}", schema) for name in ("events", "copy"))
    checkpoint, saved = tmp_path / "checkpoint", tmp_path / "saved"
    frame = source.readStream.format(NAME).load(events.uri)
    for id in (1, 2, 3):
        write(events, ("+I", id, "a"))
        run(sink(frame, copy, checkpoint))
        if id == 1:
            shutil.copytree(checkpoint, saved)
    copy.rollback_to(snapshot=1)
    return events, copy, frame


def test_a_target_that_was_rolled_back_stops_the_stream_that_would_not_bring_its_rows_again(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    events, copy, frame = copied_and_rolled_back(source, catalog, tmp_path)
    checkpoint, saved = tmp_path / "checkpoint", tmp_path / "saved"
    write(events, ("+I", 4, "a"))
    with pytest.raises(Exception, match="was rolled back") as told:
        run(sink(frame, copy, checkpoint))
    assert "start the query with a new checkpoint" in str(told.value)
    assert rows_of(copy) == [(1, "a")]
    shutil.rmtree(checkpoint)  # the query goes back with its target
    shutil.copytree(saved, checkpoint)
    for _ in range(2):
        run(sink(frame, copy, checkpoint))
        assert rows_of(copy) == [(1, "a"), (2, "a"), (3, "a"), (4, "a")]
    copy.rollback_to(snapshot=1)
    write(events, ("+I", 5, "a"))
    run(sink(frame, copy, checkpoint).option("commit-user", "on without them"))
    assert rows_of(copy) == [(1, "a"), (5, "a")]


def test_a_driver_that_died_between_commit_and_note_goes_on(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    events, copy = (catalog.create_table(f"d.{name}", schema) for name in ("events", "copy"))
    checkpoint, notes = tmp_path / "checkpoint", Path(copy.uri.removeprefix("file://")) / "stream"
    frame = source.readStream.format(NAME).load(events.uri)
    write(events, ("+I", 1, "a"))
    run(sink(frame, copy, checkpoint))
    (note,) = notes.iterdir()
    earlier = note.read_bytes()
    write(events, ("+I", 2, "a"))
    run(sink(frame, copy, checkpoint))
    assert note.read_bytes() != earlier
    note.write_bytes(earlier)
    newest = max((checkpoint / "commits").iterdir(), key=lambda path: path.name)
    for lost in (newest, newest.with_name(f".{newest.name}.crc")):
        lost.unlink(missing_ok=True)
    write(events, ("+I", 3, "a"))
    for _ in range(2):  # before 4.2 a run may only repeat the micro-batch that was killed
        run(sink(frame, copy, checkpoint))
    assert rows_of(copy) == [(1, "a"), (2, "a"), (3, "a")]


def test_a_query_that_goes_back_may_bring_no_rows_where_it_brought_some(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    events, copy, frame = copied_and_rolled_back(source, catalog, tmp_path)
    checkpoint, saved = tmp_path / "checkpoint", tmp_path / "saved"
    shutil.rmtree(checkpoint)
    shutil.copytree(saved, checkpoint)
    run(sink(frame.where("id > 4"), copy, checkpoint))
    for id in (4, 5):
        write(events, ("+I", id, "a"))
        run(sink(frame.where("id > 4"), copy, checkpoint))
    assert rows_of(copy) == [(1, "a"), (5, "a")]


def test_a_drain_goes_on_where_it_ended_in_batches_of_any_size(
    source: Any, catalog: tc.Catalog
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "input"})
    copy = keyed(catalog, "copy")
    write(orders, ("+I", 1, "a"), ("+I", 2, "b"))
    for expected in (1, 2, 0):
        done = drain(source, orders, copy, "copier", limit=ReadLimit(snapshots=1))
        assert done.details["batches"] == expected
        assert rows_of(copy) == rows_of(orders)
        if expected == 1:
            write(orders, ("-D", 2, "b"), ("+U", 1, "c"))
            write(orders, ("-D", 1, "c"), ("+I", 2, "d"))
    assert orders.consumers.get("drain-d.copy-copier") == 4
    changed = drain(source, orders, copy, "other", lambda rows: rows.where("id = 2"))
    assert (changed.details["batches"], changed.rows_written) == (1, 1)


def test_a_drain_says_that_its_source_was_rolled_back_however_far_that_has_grown_since(
    source: Any, catalog: tc.Catalog
) -> None:
    orders, copy = keyed(catalog, "orders"), keyed(catalog, "copy")
    for id in (1, 2, 3):
        write(orders, ("+I", id, "a"))
    drain(source, orders, copy, "copier")
    orders.rollback_to(snapshot=1)
    for id in (4, 5, 6):
        write(orders, ("+I", id, "b"))
    with pytest.raises(PositionDivergedError):
        drain(source, orders, copy, "copier")
    assert rows_of(copy) == [(1, "a"), (2, "a"), (3, "a")]


def numbered_alone(offsets: Path) -> None:
    """What releases before this one stored: the number of a snapshot."""
    newest = max((p for p in offsets.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
    *head, last = newest.read_text().splitlines()
    document = json.loads(last)
    assert document.pop("read")["id"] == document["snapshot"] - 1
    del document["birth"]
    newest.write_text("\n".join([*head, json.dumps(document)]))
    newest.with_name(f".{newest.name}.crc").unlink()


def rolled_back(catalog: tc.Catalog) -> None:
    catalog.table("d.orders").rollback_to(snapshot=1)


def rolled_back_and_grown(catalog: tc.Catalog) -> None:
    rolled_back(catalog)
    for id in (4, 5, 6):
        write(catalog.table("d.orders"), ("+I", id, "b"))


def made_anew(catalog: tc.Catalog) -> None:
    catalog.drop_table("d.orders")
    orders = keyed(catalog, "orders")
    for id in (4, 5, 6, 7):
        write(orders, ("+I", id, "b"))


def forwarded(catalog: tc.Catalog) -> None:
    orders = catalog.table("d.orders")
    orders.branches.create("other", snapshot=1)
    for id in (4, 5, 6):
        write(catalog.table("d.orders$branch_other"), ("+I", id, "b"))
    orders.branches.fast_forward("other")


@pytest.mark.parametrize("became", [rolled_back, rolled_back_and_grown, made_anew, forwarded])
def test_a_stream_that_is_started_again_says_that_its_source_is_another_one(
    source: Any, catalog: tc.Catalog, tmp_path: Path, became: Callable[[tc.Catalog], None]
) -> None:
    orders, copy = keyed(catalog, "orders"), keyed(catalog, "copy")
    for id in (1, 2, 3):
        write(orders, ("+I", id, "a"))
    run(sink(changes(source, orders), copy, tmp_path / "checkpoint"))
    became(catalog)
    for _ in range(2):
        with pytest.raises(Exception, match=r"nothing was read\. Decide: a new checkpoint"):
            run(sink(changes(source, orders), copy, tmp_path / "checkpoint"))
    assert rows_of(copy) == [(1, "a"), (2, "a"), (3, "a")]
    run(sink(changes(source, orders), copy, tmp_path / "new").option("commit-user", "new"))
    assert {*rows_of(catalog.table("d.orders"))} <= {*rows_of(copy)}


def test_a_stream_that_runs_says_that_its_source_was_rolled_back(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders, copy = keyed(catalog, "orders"), keyed(catalog, "copy")
    for id in (1, 2, 3):
        write(orders, ("+I", id, "a"))
    query = sink(changes(source, orders), copy, tmp_path / "checkpoint")
    started = query.trigger(processingTime="1 second").start()
    started.processAllAvailable()
    rolled_back(catalog)
    with pytest.raises(Exception, match="it was rolled back"):
        started.awaitTermination(PATIENCE_S)
    assert rows_of(copy) == [(1, "a"), (2, "a"), (3, "a")]


def test_a_stream_that_runs_ends_at_new_columns_and_goes_on_when_it_is_started_again(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    """Meanwhile its progress tells what is read and where it stands."""
    orders, copy = keyed(catalog, "orders"), keyed(catalog, "copy")
    write(orders, ("+I", 1, "a"), ("+I", 2, "a"))
    query = sink(changes(source, orders), copy, tmp_path / "checkpoint")
    started = query.trigger(processingTime="1 second").start()
    started.processAllAvailable()
    told = [one for one in started.recentProgress if one["numInputRows"]]
    assert [one["numInputRows"] for one in told] == [2]
    (stands,) = json.loads(told[0].json)["sources"]
    assert stands["endOffset"]["snapshot"] == 2
    catalog.alter_table("d.orders", [tc.AddColumn("n", "BIGINT"), tc.RenameColumn("v", "w")])
    rows = pa.table({"id": [3], "w": ["c"], "n": [7]})
    write_rows(catalog.table("d.orders"), rows)
    with pytest.raises(Exception, match="start the query again with the same checkpoint"):
        started.awaitTermination(PATIENCE_S)
    assert rows_of(copy) == [(1, "a"), (2, "a")]
    wider = changes(source, orders).withColumnRenamed("w", "v")
    run(sink(wider, copy, tmp_path / "checkpoint").option("write.merge-schema", "true"))
    assert rows_of(catalog.table("d.copy")) == [(1, "a", None), (2, "a", None), (3, "c", 7)]


def test_a_checkpoint_of_an_earlier_release_goes_on_and_knows_its_snapshot_from_then_on(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders, copy = keyed(catalog, "orders"), keyed(catalog, "copy")
    checkpoint = tmp_path / "checkpoint"
    write(orders, ("+I", 1, "a"))
    run(sink(changes(source, orders), copy, checkpoint))
    numbered_alone(checkpoint / "offsets")
    write(orders, ("+I", 2, "a"))
    run(sink(changes(source, orders), copy, checkpoint))
    assert rows_of(copy) == [(1, "a"), (2, "a")]
    rolled_back_and_grown(catalog)
    with pytest.raises(Exception, match="rolled back or fast-forwarded"):
        run(sink(changes(source, orders), copy, checkpoint))


def test_foreach_batch_writes_once_and_updates_come_that_way(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    events = catalog.create_table("d.events", schema)
    totals = catalog.create_table(
        "d.totals",
        pa.schema([pa.field("v", pa.string(), nullable=False), ("n", pa.int64())]),
        primary_key=("v",),
    )

    def save(frame: Any, batch: int) -> None:
        for _ in range(2):
            write_batch(frame, totals, batch, name="totals")

    counted = source.readStream.format(NAME).load(events.uri).groupBy("v").count()
    counted = counted.withColumnRenamed("count", "n")
    for round_ in range(2):
        write(events, ("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "a"))
        query = counted.writeStream.outputMode("update").foreachBatch(save)
        run(query.option("checkpointLocation", str(tmp_path / "checkpoint")))
        assert rows_of(totals) == [("a", 2 * round_ + 2), ("b", round_ + 1)]
    assert totals.latest_snapshot().id == 2


def test_a_query_of_totals_replaces_the_table_each_time(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    events = catalog.create_table("d.events", schema)
    totals = catalog.create_table("d.totals", pa.schema([("v", pa.string()), ("n", pa.int64())]))
    counted = source.readStream.format(NAME).load(events.uri).groupBy("v").count()
    counted = counted.withColumnRenamed("count", "n")
    for round_ in (1, 2, 3, 4):
        write(events, ("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "a"))
        run(sink(counted, totals, tmp_path / "checkpoint").outputMode("complete"))
        assert rows_of(totals) == [("a", 2 * round_), ("b", round_)]
        if round_ == 2:
            totals.rollback_to(snapshot=1)  # what it takes back comes again


def test_a_stream_creates_its_table_and_follows_new_columns(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    events = keyed(catalog, "events")
    write(events, ("+I", 1, "a"))
    rows = source.readStream.format(NAME).load(events.uri)
    made = f"{catalog.warehouse}/d.db/made"
    created = {"auto-create": "true", "primary-key": "id", "bucket": "1"}
    run(sink(changes(source, events), made, tmp_path / "first").options(**created))
    assert catalog.table("d.made").primary_key == ("id",)
    wider = rows.selectExpr("id", "v", "id * 2 AS n")
    with pytest.raises(Exception, match="alter_table"):
        run(sink(wider, made, tmp_path / "refused"))
    run(sink(wider, made, tmp_path / "wider").option("write.merge-schema", "true"))
    assert rows_of(catalog.table("d.made")) == [(1, "a", 2)]
    with pytest.raises(Exception, match="commit-user"):
        run(sink(rows, made, tmp_path / "named").option("commit-identifier", "7"))


def test_a_stream_reads_what_a_batch_reads(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "lookup"})
    write(orders, *(("+I", id, "x") for id in range(50)))
    write(orders, *(("+U", id, "y") for id in range(0, 50, 3)))
    orders.compact()
    frames = {
        "state": changes(source, orders, where="id < 40", columns="v,id"),
        "changes": changes(
            source, orders, **{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
        ),
    }
    found = {}
    for name, frame in frames.items():
        run(kept(frame, tmp_path / "rows" / name, tmp_path / name))
        read = [source.read.parquet(str(path)) for path in (tmp_path / "rows" / name).iterdir()]
        found[name] = sorted(tuple(row) for frame in read for row in frame.collect())
    assert found["state"] == sorted(("+I", v, id) for id, v in rows_of(orders) if id < 40)
    expected = orders.changes(after=0).to_arrow().to_pylist()
    assert found["changes"] == sorted(tuple(row.values()) for row in expected)
    assert sum(KINDS[row[0]] for row in found["changes"]) == 50
    batch = source.read.format(NAME).option("read.changelog", "true").options(columns="v,id")
    state = batch.load(orders.uri).where("id < 40")
    assert sorted(map(tuple, state.collect())) == found["state"]
    batch = source.read.format(NAME).option("read.changelog", "true")
    ranged = batch.option("incremental-between", f"0,{orders.latest_snapshot().id}").load(
        orders.uri
    )
    assert sorted(map(tuple, ranged.collect())) == found["changes"]


def test_what_a_stream_cannot_read_it_says(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "input"})
    write(orders, ("+I", 1, "a"))
    checkpoint = tmp_path / "checkpoint"
    plain = source.readStream.format(NAME).load(orders.uri)

    def start() -> None:
        query = plain.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        run(query)

    start()
    write(orders, ("-D", 1, "a"))
    with pytest.raises(Exception, match=r"read\.changelog=true"):
        start()
    write(orders, ("+I", 2, "a"))
    write(orders, ("+I", 3, "a"))
    orders.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(Exception, match=r"snapshot 2 has expired.*consumer-id"):
        start()


def test_a_micro_batch_is_bounded_where_spark_can_be_told(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "input"})
    for id in (1, 2, 3):
        write(orders, ("+I", id, "a"))
    limited = changes(
        source,
        orders,
        **{
            "scan.mode": "from-snapshot",
            "scan.snapshot-id": "1",
            "read.stream.maxSnapshotsPerTrigger": "1",
        },
    )
    query = kept(limited, tmp_path / "rows", tmp_path / "checkpoint")
    if STREAM_ADMISSION:
        run(query)
        batches = sorted((tmp_path / "rows").iterdir())
        assert [source.read.parquet(str(batch)).count() for batch in batches] == [1, 1, 1]
        return
    with pytest.raises(Exception, match=r"read\.stream.*drain"):
        run(query)
