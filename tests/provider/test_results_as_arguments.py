"""A task's result or a mapped value as an argument is taken, or refused where it is written.

Method: every operator and sensor, every argument that has a check: what is templated takes a result, in a plain task, in a mapped
task group, and in ``partial``; what is not says so, with a way out.  A Dag of them is run by Airflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from airflow.sdk import DAG, BaseOperator, task, task_group

from paimon_provider.operators.analyze import PaimonAnalyzeOperator
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import states
from tests.provider.test_operators import NEEDED

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@task
def name() -> str:
    return "shop.orders"


def of_task(**arguments: Any) -> dict[str, Any]:
    return {key: name.override(task_id=f"of_{key}")() for key in arguments}


def made(cls: type[BaseOperator], **more: Any) -> BaseOperator:
    needed = NEEDED.get(cls, {})
    table = {} if "database" in needed else {"table": "shop.orders"}
    return cls(**{"task_id": "t", **table, **needed, **more})


@pytest.mark.parametrize("cls", NEEDED, ids=lambda c: c.__name__)
def test_what_is_templated_takes_a_result_and_what_is_not_says_so(cls: type[BaseOperator]) -> None:
    plain = made(cls)
    checked = {
        {"dry_run_only": "dry_run"}.get(name, name)
        for name in vars(plain).keys() & set(cls.checks)  # type: ignore[attr-defined]
    }
    checked -= {"outlets", *(["table"] if "database" in NEEDED[cls] else [])}
    refused = {argument for argument in checked if is_refused(cls, argument)}
    assert refused == checked - set(plain.template_fields)


def is_refused(cls: type[BaseOperator], argument: str) -> bool:
    with DAG("d"):
        try:
            made(cls, **of_task(**{argument: None}))
        except ArgumentError as error:
            if "is not templated; templated are" not in str(error):
                return False  # what else it wants beside this one
            assert f".expand({argument}=…)" in str(error)
            return True
    return False


@pytest.mark.parametrize(
    "cls", [PaimonCompactOperator, PaimonAnalyzeOperator, PaimonSnapshotSensor]
)
def test_a_mapped_group_and_partial_take_it(cls: type[BaseOperator]) -> None:
    needed = NEEDED.get(cls, {})
    with DAG("d") as dag:

        @task_group
        def each_one(table: str) -> None:
            cls(task_id="in_group", table=table, **needed)

        each_one.expand(table=["shop.orders", "shop.customers"])
        cls.partial(task_id="partial", **needed).expand(table=name.override(task_id="other")())
    assert {"each_one.in_group", "partial"} <= set(dag.task_ids)


def test_what_a_task_returns_is_the_table(run: Callable[..., Any], warehouse: Catalog) -> None:
    warehouse.create_database("shop")
    table = warehouse.create_table("shop.orders", pa.schema([("id", pa.int64())]))
    for n in range(3):
        with table.write() as writer:
            writer.write(pa.table({"id": [n]}))
            writer.commit()
    done = run(
        """
@task
def name():
    return "shop.orders"
@task_group
def upkeep(table):
    PaimonCompactOperator(task_id="compact", table=table, engine="local", strategy="full")
PaimonAnalyzeOperator(task_id="analyze", table=name(), engine="local")
upkeep.expand(table=["shop.orders"])
"""
    )
    assert set(states(done).values()) == {"success"}
    assert warehouse.table("shop.orders").latest_snapshot() is not None
