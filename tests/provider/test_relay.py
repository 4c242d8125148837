"""A relay announces each partition once, whatever happens to the runs."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.operators.relay import PaimonRelayPartitionsOperator
from table_core.errors import ArgumentError
from table_core.table.catalog import Catalog
from table_core.table.table import Table

SCHEMA = pa.schema([("dt", pa.string()), ("n", pa.int64())])


class State(dict[str, Any]):
    """An asset's state, as far as it is used."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


class Events:
    def __init__(self) -> None:
        self.keys: list[str] = []
        self.extra: Any = None

    def add_partitions(self, keys: list[str]) -> None:
        self.keys += keys


class Airflow:
    """What a run of the task finds around it."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.state: defaultdict[Any, State] = defaultdict(State)

    def run(self, run_id: str, told: list[dict[str, Any]] | None = None) -> list[str]:
        task = PaimonRelayPartitionsOperator(task_id="relay", table="shop.t", **self.arguments)
        events: defaultdict[Any, Events] = defaultdict(Events)
        context: Any = {
            "ti": SimpleNamespace(dag_id="d", task_id="relay", run_id=run_id),
            "asset_state_store": self.state,
            "outlet_events": events,
            "triggering_asset_events": {
                "asset": [SimpleNamespace(extra={"payload": one}) for one in told or []]
            },
        }
        returned = task.execute(context)
        assert events[task.asset].keys == returned
        assert bool(task.outlets) == bool(returned), "nothing ready is no event"
        return returned


@pytest.fixture
def table(warehouse: Catalog) -> Table:
    warehouse.create_database("shop")
    return warehouse.create_table(
        "shop.t", SCHEMA, partition_by=("dt",), options={"bucket": "-1", "write-only": "true"}
    )


def write(table: Table, *days: str | None) -> None:
    with table.write() as writer:
        writer.write(pa.table({"dt": pa.array(days, pa.string()), "n": [1] * len(days)}))
        writer.commit()


def test_the_first_run_begins_where_its_events_do(table: Table) -> None:
    write(table, "a")
    write(table, "b", "c")
    airflow = Airflow()
    assert airflow.run("1", [{"snapshots": {"first": 2, "last": 2}}]) == ["dt=b", "dt=c"]
    assert airflow.run("2") == []
    assert Airflow().run("1") == [], "nobody told it of anything"


def test_a_repeated_attempt_announces_the_same_and_the_next_run_goes_on(table: Table) -> None:
    airflow = Airflow()
    assert airflow.run("1") == []
    write(table, "a", None)
    assert airflow.run("2") == airflow.run("2") == ["dt=a", "dt=__DEFAULT_PARTITION__"]
    write(table, "a")
    table.compact()
    assert airflow.run("3") == ["dt=a"]
    table.compact()
    assert airflow.run("4") == []


def test_what_expired_unread_counts_as_every_partition(table: Table) -> None:
    airflow = Airflow()
    write(table, "a")
    assert airflow.run("1") == []
    write(table, "b")
    write(table, "c")
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert airflow.run("2") == ["dt=a", "dt=b", "dt=c"]
    table.rollback_to(snapshot=3)
    assert airflow.run("3") == []


def test_marks_are_announced_when_they_are_new(table: Table) -> None:
    airflow = Airflow(ready="done")
    write(table, "a", "b", "c")
    assert airflow.run("1") == []
    table.mark_done([{"dt": "b"}])
    assert airflow.run("2") == ["dt=b"]
    assert airflow.run("3") == []
    table.mark_done([{"dt": "c"}])
    assert airflow.run("4") == ["dt=c"]
    assert airflow.run("4") == ["dt=c"]


def test_a_wrong_choice_is_an_error_in_the_dag() -> None:
    with pytest.raises(ArgumentError, match="none of changed, done"):
        PaimonRelayPartitionsOperator(task_id="r", table="a.b", ready="soon")
