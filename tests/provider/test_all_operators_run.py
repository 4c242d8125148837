"""Every operator and sensor of the contract, run by Airflow (``dag.test``) on a real warehouse."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.triggers.wait import PaimonWaitTrigger
from table_core.table.api.catalog import Catalog
from table_core.table.metadata.results import CommitAs
from tests.provider.dag_runs import HEAD, states, xcom
from tests.tables import write_rows

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
        "Health SyncDatabase CompactDatabase Rescale Clone RelayPartitions"
    )
    for name in text.split():
        assert f"Paimon{name}Operator" in space
    for name in ("Snapshot", "Partition", "Freshness", "Watermark", "Tag"):
        assert f"Paimon{name}Sensor" in space


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
        write_rows(
            table,
            pa.table({"dt": ["c"], "n": [1]}),
            commit=CommitAs(watermark=5 if step == 2 else None),
        )

    started: defaultdict[str, threading.Event] = defaultdict(threading.Event)
    original = PaimonWaitTrigger.run

    async def run_trigger(self: PaimonWaitTrigger) -> Any:
        started[type(self).__name__].set()
        async for event in original(self):
            yield event

    def act() -> None:
        for name, step in (("SnapshotWait", 0), ("Watermark", 2), ("Tag", 3)):
            assert started[f"Paimon{name}Trigger"].wait(180)
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
