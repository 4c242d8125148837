"""What works on every Airflow that is supported: run by ``make test-airflows`` on each of them."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import runpy
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

import paimon_provider
from paimon_provider import _compat
from paimon_provider._compat import Feature, RetryPolicy, has
from paimon_provider.assets import watched_table
from paimon_provider.declaration import load_dags
from paimon_provider.decorators import paimon_task
from paimon_provider.freshness import freshness_deadline
from paimon_provider.get_provider_info import get_provider_info
from paimon_provider.operators.partitions import PaimonMarkPartitionDoneOperator
from paimon_provider.operators.relay import PaimonRelayPartitionsOperator
from paimon_provider.operators.write import PaimonWriteOperator
from paimon_provider.triggers.wait import PaimonSnapshotWaitTrigger
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]
DECLARATIONS = Path(__file__).parents[2] / "declarations"


SMOKE = """
from airflow.sdk import DAG
from paimon_provider.decorators import paimon_task
from paimon_provider.operators.table import PaimonCreateTableOperator
from paimon_provider.operators.write import PaimonWriteOperator
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor

with DAG("smoke", schedule=None) as dag:
    create = PaimonCreateTableOperator(task_id="create", table="shop.orders", engine="local",
        columns={"id": "BIGINT NOT NULL"}, primary_key=["id"], options={"bucket": "1"})
    write = PaimonWriteOperator(task_id="write", table="shop.orders", engine="local",
        sql="SELECT CAST(7 AS BIGINT) AS id")
    seen = PaimonSnapshotSensor(task_id="seen", table="shop.orders", poke_interval=1)

    @paimon_task(tables={"orders": "shop.orders"}, writes=["shop.orders"])
    def decorated(orders, times, ti=None):
        orders.delete(where="id > 7")
        return orders.count() * times

    create >> write >> seen >> decorated(times=1)
"""


class Mine(RetryPolicy):
    """A user's own."""


def test_every_module_is_imported_and_every_name_that_airflow_asks_for_is_there() -> None:
    for module in pkgutil.walk_packages(paimon_provider.__path__, "paimon_provider."):
        importlib.import_module(module.name)
    info = get_provider_info()
    named = list(info["extra-links"])
    named += [one for uris in info["asset-uris"] for one in (uris["handler"], uris["factory"])]
    for name in named:
        module_name, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module_name), attribute)
    plugin = importlib.import_module("paimon_provider.plugin").PaimonPlugin
    assert [app["url_prefix"] for app in plugin.fastapi_apps] == ["/paimon"]
    assert len(plugin.listeners) == (not has(Feature.STATE_STORES))


def test_the_streamhouse_declaration_gives_its_dags(tmp_path: Path) -> None:
    for name in ("streamhouse.yaml", "streamhouse_declared.py"):
        shutil.copyfile(DECLARATIONS / name, tmp_path / name)
    dags = load_dags(tmp_path / "streamhouse.yaml")
    assert set(dags) == {"streamhouse", "streamhouse_report", "streamhouse_upkeep"}
    assert all(dag.tasks for dag in dags.values())


def test_mapped_and_decorated_tasks_are_parsed() -> None:
    with DAG("mapped", schedule=[watched_table("shop.orders")]):

        @paimon_task(tables={"orders": "shop.orders"})
        def count(orders: Any) -> int:
            return int(orders.read().to_arrow().num_rows)

        mapped = PaimonWriteOperator.partial(task_id="load", engine="local").expand(
            table=["shop.a", "shop.b"], sql=["SELECT 1", "SELECT 2"]
        )
        count() >> mapped
    assert len(mapped.partial_kwargs["outlets"]) == 2


def refusals() -> list[tuple[Feature, Any]]:
    """What needs more than the oldest Airflow, and how a Dag says it."""
    return [
        (Feature.RETRY_POLICIES, lambda: load(retry_policy=Mine())),
        (Feature.TRIGGERS_KILLED, lambda: load(deferrable=True)),
        (
            Feature.ASSET_PARTITIONS,
            lambda: PaimonRelayPartitionsOperator(task_id="t", table="shop.orders"),
        ),
        (
            Feature.ASSET_PARTITIONS,
            lambda: PaimonMarkPartitionDoneOperator(
                task_id="t",
                table="shop.orders",
                partitions=[{"dt": "a"}],
                announce_partitions=True,
            ),
        ),
        (
            Feature.DEADLINE_REFERENCES,
            lambda: freshness_deadline("shop.orders", within=timedelta(hours=1), callback=Callback),
        ),
    ]


def load(**more: Any) -> PaimonWriteOperator:
    return PaimonWriteOperator(task_id="load", table="shop.orders", sql="SELECT 1", **more)


def Callback() -> None:
    """Stands for a user's callback."""


@pytest.mark.parametrize(("feature", "made"), refusals())
def test_what_this_airflow_has_not_is_refused_by_name_when_the_dag_is_parsed(
    feature: Feature, made: Any
) -> None:
    if has(feature):
        pytest.skip("this Airflow has it")
    since = ".".join(map(str, _compat.SINCE[feature]))
    with pytest.raises(
        ArgumentError, match=rf"needs Airflow {since} or newer, which has {feature}"
    ):
        made()


def test_operators_sensor_and_trigger_work(airflow_home: Path, warehouse: Catalog) -> None:
    path = airflow_home / "dags" / "smoke.py"
    path.write_text(SMOKE)
    dag = runpy.run_path(str(path))["dag"]
    done = dag.test()
    states = {ti.task_id: str(ti.state) for ti in done.get_task_instances()}
    assert states == dict.fromkeys(("create", "write", "seen", "decorated"), "success")
    assert warehouse.table("shop.orders").read().to_arrow().to_pylist() == [{"id": 7}]

    trigger = PaimonSnapshotWaitTrigger(
        paimon_conn_id="paimon_default", table="shop.orders", after=0, poll_seconds=0.1
    )

    async def first() -> Any:
        async for event in trigger.run():
            return event.payload
        return None

    assert asyncio.run(first())["status"] == "found"
