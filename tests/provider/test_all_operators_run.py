"""Every operator and sensor of the contract, run by Airflow (``dag.test``) on a real warehouse."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.triggers.wait import PaimonWaitTrigger
from table_core.table.catalog import Catalog
from table_core.table.results import CommitAs
from tests.provider.dag_runs import HEAD, events_of, states, xcom

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

FILL = """
create = PaimonCreateTableOperator(task_id="create", table="shop.orders", primary_key=["dt", "id"],
    columns={"dt": "STRING NOT NULL", "id": "BIGINT NOT NULL", "n": "BIGINT"}, partition_by=["dt"],
    options={"bucket": "1"})
fill = PaimonWriteOperator(task_id="fill", table="shop.orders", engine="local",
    sql="SELECT dt, id, 1 AS n FROM (VALUES ('a', 1), ('a', 2), ('b', 1), ('c', 1)) AS t(dt, id)")
create >> fill
"""


def rows(warehouse: Catalog, table: str = "shop.orders") -> list[tuple[Any, ...]]:
    found = warehouse.table(table).read().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_the_contract_is_there() -> None:
    space: dict[str, Any] = {}
    exec(HEAD, space)
    text = (
        "CreateTable AlterTable Write SyncTable MergeInto Delete Update Compact ExpireSnapshots "
        "ExpirePartitions ExpireChangelogs RemoveOrphanFiles CreateTag DeleteTag ExpireTags "
        "CreateBranch DeleteBranch FastForward Rollback DropPartition MarkPartitionDone Analyze "
        "Health SyncDatabase CompactDatabase Rescale Clone"
    )
    for name in text.split():
        assert f"Paimon{name}Operator" in space
    for name in ("Snapshot", "Partition", "Freshness", "Watermark", "Tag"):
        assert f"Paimon{name}Sensor" in space


def test_rows_partitions_and_statistics(
    run: Callable[..., Any], warehouse: Catalog, airflow_home: Path
) -> None:
    body = (
        FILL
        + """
alter = PaimonAlterTableOperator(task_id="alter", table="shop.orders",
    changes=[{"change": "AddColumn", "name": "note", "type": "STRING"}])
update = PaimonUpdateOperator(task_id="update", table="shop.orders", values={"n": "n + 41"}, where="dt = 'a'")
delete = PaimonDeleteOperator(task_id="delete", table="shop.orders", where="id = 2")
drop = PaimonDropPartitionOperator(task_id="drop", table="shop.orders", partitions=[{"dt": "c"}])
done = PaimonMarkPartitionDoneOperator(task_id="done", table="shop.orders", partitions=[{"dt": "b"}])
analyze = PaimonAnalyzeOperator(task_id="analyze", table="shop.orders", columns=["n"], events="any")
partition = PaimonPartitionSensor(task_id="partition", table="shop.orders", partition={"dt": "b"}, done=True)
fresh = PaimonFreshnessSensor(task_id="fresh", table="shop.orders", within="1 h")
fill >> alter >> update >> delete >> drop >> done >> analyze >> partition >> fresh
"""
    )
    ran = run(body)
    assert set(states(ran).values()) == {"success"}, states(ran)
    assert rows(warehouse) == [("a", 1, 42, None), ("b", 1, 1, None)]
    assert xcom(ran, "update")["rows_written"] == 2
    assert xcom(ran, "partition")["rows"] == 1
    assert xcom(ran, "partition")["done_ms"]
    assert xcom(ran, "fresh")["age_seconds"] < 600
    told = {task: extra for task, _, extra in events_of(ran, airflow_home)}
    assert set(told) == {"fill", "update", "delete", "done", "analyze"}
    assert told["done"]["partitions"] == [{"dt": "b"}]
    assert told["update"]["partitions"] == [{"dt": "a"}]


def test_tags_and_branches(run: Callable[..., Any], warehouse: Catalog, airflow_home: Path) -> None:
    body = (
        FILL
        + """
tag = PaimonCreateTagOperator(task_id="tag", table="shop.orders", tag="first", time_retained="1 ms")
wait = PaimonTagSensor(task_id="wait", table="shop.orders", tag="first")
branch = PaimonCreateBranchOperator(task_id="branch", table="shop.orders", branch="try", from_head=True)
more = PaimonWriteOperator(task_id="more", table="shop.orders$branch_try", engine="local", events="none",
    sql="SELECT 'd' AS dt, CAST(1 AS BIGINT) AS id, CAST(7 AS BIGINT) AS n")
look = PaimonFastForwardOperator(task_id="look", table="shop.orders", branch="try", dry_run=True)
forward = PaimonFastForwardOperator(task_id="forward", table="shop.orders", branch="try")
again = PaimonFastForwardOperator(task_id="again", table="shop.orders", branch="try", events="none")
drop = PaimonDeleteBranchOperator(task_id="drop", table="shop.orders", branch="try")
back = PaimonRollbackOperator(task_id="back", table="shop.orders", tag="first")
expire = PaimonExpireTagsOperator(task_id="expire", table="shop.orders")
gone = PaimonDeleteTagOperator(task_id="gone", table="shop.orders", tag="first")
fill >> tag >> wait >> branch >> more >> look >> forward >> again >> drop >> back >> expire >> gone
"""
    )
    ran = run(body)
    assert set(states(ran).values()) == {"success"}, states(ran)
    assert xcom(ran, "wait")["snapshot_id"] == 1
    assert xcom(ran, "look")["dry_run"]
    assert xcom(ran, "look")["details"]["snapshots"] == [2]
    assert xcom(ran, "forward")["snapshot_after"] == 2
    assert not xcom(ran, "forward")["details"]["replayed"]
    assert xcom(ran, "again")["details"]["replayed"]
    assert xcom(ran, "back")["snapshot_after"] == 1
    table = warehouse.table("shop.orders")
    assert (table.branches.list(), table.tags.list()) == ([], [])
    assert len(rows(warehouse)) == 4
    assert [task for task, _, _ in events_of(ran, airflow_home)] == ["fill", "forward"]


def test_whole_databases_copies_and_buckets(
    run: Callable[..., Any], warehouse: Catalog, tmp_path: Path, airflow_home: Path
) -> None:
    (tmp_path / "1.jsonl").write_text(
        "".join(
            json.dumps(
                {"before": None, "after": {"id": n}, "op": "c", "source": {"db": "d", "table": t}}
            )
            + "\n"
            for t in ("x", "y")
            for n in (1, 2)
        )
    )
    body = (
        FILL
        + """
sync = PaimonSyncDatabaseOperator(task_id="sync", database="{{ 'raw' }}", engine="local",
    source={"kind": "files", "uri": "{{ dag_run.conf['folder'] }}/*.jsonl", "format": "debezium-json"},
    settings={"primary_key": ["id"], "options": {"bucket": "1"}})
compact = PaimonCompactDatabaseOperator(task_id="compact", database="raw", strategy="full")
clone = PaimonCloneOperator(task_id="clone", source="raw.x", table="copy.x", events="any")
rescale = PaimonRescaleOperator(task_id="rescale", table="shop.orders", buckets="2")
manifests = PaimonRewriteManifestsOperator(task_id="manifests", table="shop.orders")
fill >> sync >> compact >> clone >> rescale >> manifests
"""
    )
    ran = run(body, folder=tmp_path.as_uri())
    assert set(states(ran).values()) == {"success"}, states(ran)
    assert rows(warehouse, "copy.x") == rows(warehouse, "raw.y") == [(1,), (2,)]
    assert len(xcom(ran, "compact")["details"]["tables"]) == 2
    assert warehouse.table("shop.orders").options["bucket"] == "2"
    assert len(rows(warehouse)) == 4
    assert "clone" in {task for task, _, _ in events_of(ran, airflow_home)}


def test_main_that_went_on_is_not_lost(run: Callable[..., Any], warehouse: Catalog) -> None:
    more = (
        'engine="local", sql="SELECT \'d\' AS dt, CAST(1 AS BIGINT) AS id, CAST(7 AS BIGINT) AS n"'
    )
    body = f"""
{FILL}
branch = PaimonCreateBranchOperator(task_id="branch", table="shop.orders", branch="try", from_head=True)
theirs = PaimonWriteOperator(task_id="theirs", table="shop.orders$branch_try", {more}, events="none")
ours = PaimonWriteOperator(task_id="ours", table="shop.orders", {more})
forward = PaimonFastForwardOperator(task_id="forward", table="shop.orders", branch="try", retries=2)
fill >> branch >> theirs >> ours >> forward
"""
    ran = run(body)
    assert states(ran)["forward"] == "failed"
    head = warehouse.table("shop.orders").latest_snapshot()
    assert head is not None
    assert head.id == 2


def test_upkeep_runs_what_health_calls_due(run: Callable[..., Any], warehouse: Catalog) -> None:
    body = (
        FILL
        + """
health = PaimonHealthOperator(task_id="health", table="shop.orders", thresholds={"small_files_due": 1, "sorted_runs_due": 1},
    follow={"compact": "compact", "expire-tags": "tags"}, otherwise="rest")
compact = PaimonCompactOperator(task_id="compact", table="shop.orders", engine="local")
tags = PaimonExpireTagsOperator(task_id="tags", table="shop.orders")
rest = PaimonExpireChangelogsOperator(task_id="rest", table="shop.orders")
fill >> health >> [compact, tags, rest]
after = PaimonHealthOperator(task_id="after", table="shop.orders", follow={"expire-tags": "more"}, otherwise="orphans")
more = PaimonExpireTagsOperator(task_id="more", table="shop.orders")
orphans = PaimonRemoveOrphanFilesOperator(task_id="orphans", table="shop.orders", dry_run=True)
compact >> after >> [more, orphans]
"""
    )
    ran = run(body)
    found = states(ran)
    assert {name for name, state in found.items() if state == "skipped"} == {"tags", "rest", "more"}
    assert found["compact"] == found["orphans"] == "success"
    assert xcom(ran, "health")["actions"]["compact"]["verdict"] in {"due", "urgent"}


@pytest.mark.parametrize("more", ["", ", start_from_trigger=True"])
def test_sensors_wait_in_the_triggerer(
    run: Callable[..., Any], warehouse: Catalog, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What three of them wait for comes when they are in the triggerer; two find it at once."""
    common = f'table="shop.late", deferrable=True, poke_interval=0.2{more})'
    body = f"""
snapshot = PaimonSnapshotSensor(task_id="snapshot", after="{{{{ 0 }}}}", {common}
partition = PaimonPartitionSensor(task_id="partition", partition={{"dt": "{{{{ 'c' }}}}"}}, {common}
fresh = PaimonFreshnessSensor(task_id="fresh", within="{{{{ 600 }}}}", {common}
watermark = PaimonWatermarkSensor(task_id="watermark", at="1970-01-01T00:00:00Z", {common}
tag = PaimonTagSensor(task_id="tag", tag="{{{{ 'x' }}}}", {common}
snapshot >> watermark >> [partition, fresh] >> tag
"""

    def later(step: int) -> None:
        if step == 0:
            schema = pa.schema([("dt", pa.string()), ("n", pa.int64())])
            warehouse.create_database("shop")
            warehouse.create_table(
                "shop.late", schema, partition_by=("dt",), options={"bucket": "-1"}
            )
        table = warehouse.table("shop.late")
        if step == 3:
            table.tags.create("x")
            return
        with table.write(commit=CommitAs(watermark=5 if step == 2 else None)) as writer:
            writer.write(pa.table({"dt": ["c"], "n": [1]}))
            writer.commit()

    started: defaultdict[str, threading.Event] = defaultdict(threading.Event)
    original = PaimonWaitTrigger.run

    async def run_trigger(self: PaimonWaitTrigger) -> Any:
        started[type(self).__name__].set()
        async for event in original(self):
            yield event

    def act() -> None:
        for name, step in (("SnapshotWait", 0), ("Watermark", 2), ("Tag", 3)):
            assert started[f"Paimon{name}Trigger"].wait(90)
            later(step)

    monkeypatch.setattr(PaimonWaitTrigger, "run", run_trigger)
    threading.Thread(target=act, daemon=True).start()
    ran = run(body)
    assert set(started) == {f"Paimon{n}Trigger" for n in ("SnapshotWait", "Watermark", "Tag")}
    assert set(states(ran).values()) == {"success"}, states(ran)
    assert xcom(ran, "snapshot")["snapshot_id"] == 1
    assert xcom(ran, "partition")["partition"] == {"dt": "c"}
    assert xcom(ran, "watermark") == {"table": "shop.late", "snapshot_id": 2, "watermark_ms": 5}
    assert xcom(ran, "tag")["snapshot_id"] == 2
    assert xcom(ran, "fresh")["snapshot_id"] == 2
