"""What ``engine="auto"`` reads off the metadata: files that are crafted to be large, and are not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import StorageUnavailableError
from table_core.jobs import touched
from table_core.jobs.action import RunBy
from table_core.jobs.embedded import EmbeddedEngine
from table_core.jobs.engine_choice import AutoLimits, EngineChoice, Worker
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.registry import ACTIONS
from table_core.jobs.run import run_job
from table_core.jobs.touched import engine_of
from tests.tables import write_rows

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("dt", pa.string(), nullable=False)]
)
LARGE = 50_000_000


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    found = tc.open_catalog((tmp_path / "wh").as_uri())
    found.create_database("d")
    return found


def made(catalog: Any, name: str = "d.t", rows: int = 10, *, key: bool = True) -> Any:
    options = {"bucket": "1", "write-only": "true"} if key else {"bucket": "-1"}
    table = catalog.create_table(
        name,
        SCHEMA,
        primary_key=("id", "dt") if key else (),
        partition_by=("dt",),
        options=options,
    )
    for dt in ("a", "a", "b", "b") if key else ("a", "b"):
        put(table, dt, rows)
    return table


def put(table: Any, dt: str, rows: int = 10, told: int | None = None) -> None:
    """Write ``rows`` rows; with ``told``, say that they are so many and 40 bytes each."""
    writer = table.write()
    writer.write(pa.table({"id": range(rows), "dt": [dt] * rows}, schema=SCHEMA))
    result = writer.prepare()
    if told is not None:

        def larger(file: Any) -> Any:
            return replace(file, row_count=told, file_size=told * 40)

        changes = [replace(c, added=tuple(map(larger, c.added))) for c in result.changes]
        result = replace(result, changes=tuple(changes))
    table.commit([result])


def choice(
    catalog: Any, action: str, args: dict[str, Any], target: str = "d.t", **given: Any
) -> EngineChoice:
    spec = JobSpec(
        action=action, warehouse=catalog.warehouse, table=target, args=args, options=given
    )
    return engine_of(spec, AutoLimits(), lambda _: Worker(free_memory=8 << 30))


FLOW = {"sql": "SELECT id, dt FROM t", "sources": {"t": {"table": "d.t"}}, "task": "x"}
ON_T: dict[str, dict[str, Any]] = {
    "compact": {},
    "compact-database": {"strategy": "full"},
    "delete": {"where": "id = 1"},
    "update": {"values": {"dt": "'c'"}, "where": "id = 1"},
    "analyze": {},
    "write": FLOW,
    "merge-into": {
        "source": {"table": "d.t"},
        "on": ["id"],
        "when": [{"action": "matched-upsert"}],
    },
    "rescale": {"buckets": 2},
    "clone": {"source": "d.t"},
}


@pytest.mark.parametrize("action", ON_T)
def test_the_same_job_is_small_and_then_large(catalog: Any, action: str) -> None:
    table = made(catalog)
    target = {"compact-database": "d", "clone": "d.u", "write": "d.other"}.get(action, "d.t")
    if action == "write":
        made(catalog, "d.other")
    args = ON_T[action]
    found = choice(catalog, action, args, target)
    assert found.is_local, found.reason
    assert ("8" if action == "merge-into" else "4") + " files" in found.reason
    before = table.snapshots()
    put(table, "a", told=LARGE)
    found = choice(catalog, action, args, target)
    assert found.engine == "spark", found.reason
    assert "more than 5,000,000 rows" in found.reason
    assert len(table.snapshots()) == len(before) + 1, "nothing was done"
    assert table.system("consumers").to_arrow().num_rows == 0, "nothing is held"


def test_every_verb_that_tasks_can_do_says_what_it_touches() -> None:
    for action in ACTIONS.values():
        assert (action.touches is None) == (action.run_by is RunBy.PROCESS), action.name


@pytest.mark.parametrize(
    ("args", "engine"),
    [
        ({"partitions": [{"dt": "b"}]}, "local"),
        ({"where": "dt = 'b'"}, "local"),
        ({"partitions": [{"dt": "a"}]}, "spark"),
        ({"where": "dt >= 'a'"}, "spark"),
    ],
)
def test_only_the_partitions_count_that_are_named(
    catalog: Any, args: dict[str, Any], engine: str
) -> None:
    put(made(catalog), "a", told=LARGE)
    assert choice(catalog, "compact", args).engine == engine


def test_a_large_file_that_needs_no_compaction_does_not_count(catalog: Any) -> None:
    table = made(catalog, key=False)
    put(table, "c", told=LARGE)
    found = choice(catalog, "compact", {})
    assert found.is_local
    assert "0 files" in found.reason


def test_statistics_rule_files_out_of_a_statement(catalog: Any) -> None:
    put(made(catalog, key=False), "c", told=LARGE)
    assert choice(catalog, "delete", {"where": "id = 11"}).is_local
    assert choice(catalog, "delete", {"where": "id = 1"}).engine == "spark"


def test_a_flow_counts_the_changes_since_its_position(catalog: Any) -> None:
    source = made(catalog, key=False)
    put(source, "c", told=3_000_000)
    target = catalog.create_table("d.sums", SCHEMA, options={"bucket": "-1"})
    flow = {
        "sql": "SELECT id, dt FROM t",
        "sources": {"t": {"table": "d.t", "mode": "changes"}},
        "task": "x",
    }
    assert "3,000,020 rows" in choice(catalog, "write", flow, "d.sums").reason
    from table_core.jobs.pinning import pin

    pinned = pin(catalog, target, flow, target.latest_snapshot())
    write_rows(
        target,
        pa.table({"id": [1], "dt": ["x"]}, schema=SCHEMA),
        commit=tc.CommitAs(properties=pinned.kept.properties),
    )
    put(source, "d", rows=7)
    assert " 7 rows" in choice(catalog, "write", flow, "d.sums").reason


def test_sql_that_only_spark_is_sure_about_goes_to_spark(catalog: Any) -> None:
    made(catalog)
    args = {**FLOW, "sql": "SELECT id, upper(dt) AS dt FROM t"}
    found = choice(catalog, "write", args, "d.t")
    assert found.engine == "spark"
    assert "UPPER" in found.reason
    args = {**FLOW, "sql": "SELECT max(id) AS id, min(dt) AS dt FROM t AS at GROUP BY at.dt"}
    assert "DuckDB does not read it" in choice(catalog, "write", args).reason
    pending = {"table": "d.t", "sql": "SELECT id, concat(dt, 'x') AS dt FROM t", "view": "w"}
    assert choice(catalog, "write", {**FLOW, "pending": pending}).engine == "spark"


def test_rows_that_duckdb_may_not_hold_go_to_spark(catalog: Any) -> None:
    put(made(catalog, key=False), "c", told=1_000_000)
    limit = {"sql.memory-limit": "16 mb"}
    assert "sql.memory-limit" in choice(catalog, "write", FLOW, **limit).reason
    assert choice(catalog, "write", FLOW).is_local


def test_a_worker_with_little_memory_sends_what_does_not_fit(catalog: Any) -> None:
    put(made(catalog, key=False), "c", told=4_000_000)
    spec = JobSpec(action="write", warehouse=catalog.warehouse, table="d.t", args=FLOW)

    def with_free(memory: int) -> str:
        return engine_of(spec, AutoLimits(), lambda _: Worker(free_memory=memory)).engine

    assert with_free(8 << 30) == "local"
    assert with_free(700 << 20) == "spark"


def test_a_table_of_many_files_is_planned_on_spark(
    catalog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(catalog, key=False)
    monkeypatch.setattr(touched, "FILES_MAX", 1)
    found = choice(catalog, "compact", {})
    assert found.engine == "spark"
    assert "to plan 2 files" in found.reason


def test_what_cannot_be_judged_is_left_to_the_job(catalog: Any) -> None:
    assert "no table 'd.t'" in choice(catalog, "compact", {}).reason
    made(catalog)
    assert choice(catalog, "delete", {"where": "no_column = 1"}).is_local


def test_a_store_that_is_away_is_an_error(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made(catalog)

    def away(*_: object) -> None:
        raise StorageUnavailableError("away", path="x")

    monkeypatch.setattr(touched, "touched_by_compaction", away)
    with pytest.raises(StorageUnavailableError):
        choice(catalog, "compact", {})


def events(folder: Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    line = '{"before": null, "after": {"id": %d, "dt": "a"}, "op": "c"}\n'
    (folder / f"{count}.jsonl").write_text("".join(line % n for n in range(count)))


def test_a_sync_counts_the_files_that_are_ahead(catalog: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    events(folder, 500)
    source = {"kind": "files", "uri": f"{folder.as_uri()}/*.jsonl", "format": "debezium-json"}
    args = {"source": source, "primary_key": ["id"]}
    assert "1 files" in choice(catalog, "sync-table", args).reason
    whole = {**args, "source": {**source, "uri": folder.as_uri()}}
    assert "1 files" in choice(catalog, "sync-table", whole).reason
    spec = JobSpec(action="sync-table", warehouse=catalog.warehouse, table="d.t", args=args)
    run_job(spec, EmbeddedEngine())
    assert "0 files" in choice(catalog, "sync-table", args).reason
    events(folder, 9)
    assert "1 files" in choice(catalog, "sync-table", args).reason
    with (folder / "large.jsonl").open("wb") as file:
        file.truncate(1 << 30)  # a hole: it takes no room
    assert "more than 256 MB" in choice(catalog, "sync-table", args).reason or (
        "more than 5,000,000 rows" in choice(catalog, "sync-table", args).reason
    )


def test_nobody_knows_how_much_a_broker_has(catalog: Any) -> None:
    source = {"kind": "kafka", "servers": "127.0.0.1:1", "topics": "t", "format": "debezium-json"}
    found = choice(catalog, "sync-database", {"source": source}, "d")
    assert found.engine == "spark"
    table = made(catalog)
    write_rows(
        table,
        pa.table({"id": [1], "dt": ["a"]}, schema=SCHEMA),
        commit=tc.CommitAs(properties={"tc.source.position": "{}"}),
    )
    missing: Callable[[Any], Worker] = lambda names: Worker(missing=frozenset(names))  # noqa: E731
    spec = JobSpec(
        action="sync-database", warehouse=catalog.warehouse, table="d", args={"source": source}
    )
    assert "no confluent_kafka" in engine_of(spec, AutoLimits(), missing).reason
    assert choice(catalog, "sync-database", {"source": source}, "d").is_local


def test_files_are_loaded_by_one_process_on_either_engine(catalog: Any) -> None:
    made(catalog)
    found = choice(catalog, "write", {"rows_uri": "file:///tmp/none/*.parquet"})
    assert found.is_local
