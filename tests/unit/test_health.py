"""The numbers of a table and what follows from them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.health.buckets import FileShape, shape_of
from table_core.health.verdict import Measures, Thresholds, verdicts, worst
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
from table_core.ondisk.file_columns import FileColumns
from table_core.table.maintenance.tags import Tags
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("dt", pa.string()), pa.field("k", pa.int64(), nullable=False)])
HOUR_MS = 3_600_000


def create(**options: str) -> Any:
    catalog = new_catalog()
    given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("dt", "k"),
        partition_by=("dt",),
        options={"bucket": "1", "write-only": "true"} | given,
    )


def put(table: Any, dt: str, *keys: int) -> None:
    write_rows(table, pa.table({"dt": [dt] * len(keys), "k": list(keys)}, schema=SCHEMA))


def later(table: Any, ms: int) -> Any:
    return tc.Table(replace(table.access, clock=SetClock(table.access.clock.now_ms() + ms)))


def test_a_new_table_is_well() -> None:
    table = create()
    assert table.health().verdict == "ok"
    put(table, "a", 1)
    found = table.health()
    assert found.verdict == "ok"
    assert (found.measures.shape.files, found.measures.partitions) == (1, 1)
    assert found.measures.shape.read_amplification == 1.0
    assert json.loads(json.dumps(found.to_document()))["verdict"] == "ok"


def test_sorted_runs_make_compaction_due_and_urgent_until_it_is_done() -> None:
    table = create()
    for key in range(5):
        put(table, "a", key)
    put(table, "b", 1)
    found = table.health()
    assert found.of("compact").urgency == "due"
    assert found.of("compact").reasons == ("5 sorted runs in the worst bucket, due from 5 on",)
    assert found.worst_partitions[0] == {"dt": "a"}
    assert 4 < found.measures.shape.read_amplification < 5
    for key in range(3):
        put(table, "a", key)
    assert table.health().verdict == "urgent"
    assert table.health(sorted_runs_due=9, sorted_runs_urgent=20).of("compact").urgency == "ok"
    table.compact()
    found = table.health()
    assert found.of("compact").urgency == "ok"
    assert set(found.measures.shape.levels) == {5}


def test_a_stop_trigger_below_the_trigger_is_the_trigger_as_for_a_writer() -> None:
    table = create(num_sorted_run__compaction_trigger="3", num_sorted_run__stop_trigger="2")
    for key in range(2):
        put(table, "a", key)
    assert table.health().of("compact").urgency == "ok"
    put(table, "a", 2)
    assert table.health().of("compact").urgency == "urgent"


def test_old_snapshots_are_due_when_they_may_go() -> None:
    table = create(snapshot__num_retained__min="2")
    for key in range(4):
        put(table, "a", key)
    assert table.health().of("expire-snapshots").urgency == "ok"
    on = later(table, 2 * HOUR_MS)
    found = on.health()
    assert found.of("expire-snapshots").urgency == "due"
    assert 2 * HOUR_MS <= found.measures.oldest_snapshot_age_ms < 3 * HOUR_MS
    assert on.health(snapshots_urgent=4).of("expire-snapshots").urgency == "urgent"
    on.expire_snapshots()
    assert on.health().of("expire-snapshots").urgency == "ok"


def test_partitions_past_their_time_and_near_it() -> None:
    table = create(partition__expiration_time="3 d", partition__timestamp_formatter="yyyyMMdd")
    for dt in ("20260101", "20260105", "20260107", "never"):
        put(table, dt, 1)
    on = tc.Table(replace(table.access, clock=SetClock(1_767_873_600_000)))  # 2026-01-08 12:00 UTC
    measures = on.health().measures
    assert measures.partitions == 4
    assert measures.partitions_expired == 2
    assert measures.partitions_undated == 1
    assert measures.partitions_near_expiry == 0
    near = on.health(partitions_near_ms=3 * 24 * HOUR_MS)
    assert near.measures.partitions_near_expiry == 1
    assert near.of("expire-partitions").urgency == "due"
    on.expire_partitions()
    assert on.health().of("expire-partitions").urgency == "ok"


def test_tags_expire_when_their_time_is_over() -> None:
    table = create()
    put(table, "a", 1)
    tags = Tags(table.access)
    tags.create("short", time_retained="1 h")
    tags.create("long", time_retained="10 d")
    tags.create("ever")
    assert table.expire_tags().details["tags_kept"] == 3
    on = later(table, 2 * HOUR_MS)
    assert on.health().of("expire-tags").urgency == "due"
    said = on.expire_tags(dry_run=True).details
    assert (said["tags"], said["tags_kept"]) == (["short"], 2)
    assert tags.list() == ["ever", "long", "short"]
    assert on.expire_tags().details == said
    assert tags.list() == ["ever", "long"]
    on.expire_tags(older_than=on.access.clock.now_ms())
    assert tags.list() == ["ever"]


def test_an_unknown_threshold_is_refused() -> None:
    with pytest.raises(tc.errors.ArgumentError, match="sorted_runs_due"):
        create().health(runs=3)
    with pytest.raises(tc.errors.ArgumentError, match="expire-tags"):
        create().health().of("dance")


def test_deleted_rows_and_manifests_are_counted() -> None:
    limits = Thresholds()
    shape = FileShape(files=10, bytes=10, rows=100, delete_rows=10)
    found = Measures(
        shape=shape, keyed=True, deleted_by_vectors=15, manifests=30, manifest_entries=200
    )
    by_action = {v.action: v.urgency for v in verdicts(found, limits)}
    assert by_action["compact"] == "due"
    assert by_action["rewrite-manifests"] == "urgent"
    assert worst(verdicts(found, limits)) == "urgent"
    few = replace(found, manifests=29, deleted_by_vectors=0)
    assert worst(verdicts(few, limits)) == "ok"


FILES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 100)), max_size=20)


@given(FILES, st.booleans())
def test_shapes_count_what_a_list_counts(files: list[tuple[int, int, int]], keyed: bool) -> None:
    entries = [
        ManifestEntry(
            EntryKind.ADD,
            b"",
            bucket,
            3,
            DataFile(
                file_name=f"f{i}",
                file_size=size,
                row_count=1,
                min_sequence_number=0,
                max_sequence_number=0,
                schema_id=0,
                level=level,
            ),
        )
        for i, (bucket, level, size) in enumerate(files)
    ]
    found = shape_of(FileColumns.of(entries), keyed=keyed, small_bytes=50)
    assert found.files == found.rows == len(files)
    assert found.small_files == sum(size < 50 for _, _, size in files)
    for b in found.buckets:
        mine = [(level, i) for i, (bucket, level, _) in enumerate(files) if bucket == b.bucket]
        runs = len({(level, i if level == 0 else 0) for level, i in mine})
        assert b.sorted_runs == (runs if keyed else 1)
        assert b.files == len(mine)


def test_the_command_line_shows_them(tmp_path: Any) -> None:
    from typer.testing import CliRunner

    from table_core.cli.main import app

    catalog = new_catalog(tmp_path.as_uri())
    catalog.create_table("d.t", SCHEMA, primary_key=("dt", "k"), options={"bucket": "1"})
    run = CliRunner()
    for command in ("health", "remove-orphan-files", "expire-tags", "expire-changelogs"):
        done = run.invoke(app, [command, "d.t", "-w", str(tmp_path), "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["action"] == command
        assert run.invoke(app, [command, "d.t", "-w", str(tmp_path)]).exit_code == 0
