"""A task's result or a mapped value as an argument is taken, or refused where it is written.

Method: every operator and sensor, every argument that has a check: what is templated takes a result, in a plain task, in a mapped
task group, and in ``partial``; what is not says so, with a way out.  A Dag of them is run by Airflow.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from airflow.sdk import DAG, BaseOperator, task, task_group
from airflow.serialization.serialized_objects import DagSerialization

from paimon_provider.operators.analyze import PaimonAnalyzeOperator
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import states
from tests.provider.needed_arguments import NEEDED
from tests.tables import write_rows

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@task
def name() -> str:
    return "shop.orders"


@task
def source() -> Any:
    return ["shop.orders"]


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
        for name in vars(plain).keys() & set(cls.shapes)  # type: ignore[attr-defined]
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


def _serialised(dag: DAG) -> dict[str, Any]:
    """As Airflow's database keeps it."""
    kept: dict[str, Any] = json.loads(json.dumps(DagSerialization.to_dict(dag)))
    return kept


@pytest.mark.parametrize("cls", NEEDED, ids=lambda c: c.__name__)
def test_every_argument_in_every_way_is_kept_in_airflows_database_and_read_back_equal(
    cls: type[BaseOperator],
) -> None:
    """As a template, as a result, mapped by ``expand``, and fixed by ``partial``; of each that may be one."""
    needed = NEEDED.get(cls, {})
    needed = ({} if "database" in needed else {"table": "shop.orders"}) | needed
    templated = [name for name in made(cls).template_fields if name != "spark_conf"]
    refused: list[str] = []

    def kept(make: Callable[..., Any], argument: str) -> None:
        try:
            make()
        except ArgumentError as error:  # what is written beside it contradicts a value of any kind
            assert "is not templated" not in str(error)
            refused.append(argument)

    with DAG("d", params={"x": "y"}) as dag:
        for name in templated:
            kept(partial(made, cls, task_id=f"text_{name}", **{name: "{{ params.x }}"}), name)
            result = source.override(task_id=f"of_{name}")()
            kept(partial(made, cls, task_id=f"result_{name}", **{name: result}), name)
            rest = {key: value for key, value in needed.items() if key != name}
            expand = cls.partial(task_id=f"mapped_{name}", **rest).expand
            kept(partial(expand, **{name: source.override(task_id=f"m_{name}")()}), name)
    assert len(set(refused)) < len(templated)
    document = _serialised(dag)
    back = DagSerialization.from_dict(document)
    assert set(back.task_ids) == set(dag.task_ids)
    for name in set(templated) - set(refused):
        assert getattr(back.get_task(f"text_{name}"), name) == "{{ params.x }}"
        shown = str(getattr(back.get_task(f"result_{name}"), name))
        assert (
            shown
            == f"{{{{ task_instance.xcom_pull(task_ids='of_{name}', dag_id='d', key='return_value') }}}}"
        )
        assert f"of_{name}" in back.get_task(f"result_{name}").upstream_task_ids
        assert f"m_{name}" in back.get_task(f"mapped_{name}").upstream_task_ids
    fields = [one["__var"] for one in document["dag"]["tasks"]]
    again = [one["__var"] for one in _serialised(dag)["dag"]["tasks"]]
    assert fields == again


def test_what_a_task_returns_is_the_table(run: Callable[..., Any], warehouse: Catalog) -> None:
    warehouse.create_database("shop")
    table = warehouse.create_table("shop.orders", pa.schema([("id", pa.int64())]))
    for n in range(3):
        write_rows(table, pa.table({"id": [n]}))
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
