"""A change report tells every change, whatever happens to its runs and its table."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from airflow.sdk.exceptions import AirflowFailException

from paimon_provider.operators.report import PaimonChangeReportOperator
from table_core.table.api.catalog import Catalog
from table_core.table.api.table import Table
from tests.tables import write_rows

SCHEMA = pa.schema([("name", pa.string()), ("n", pa.int64())])


class State(dict[str, Any]):
    def set(self, key: str, value: Any) -> None:
        self[key] = value


class Airflow:
    """What a run finds around it, and how the runs before it ended."""

    def __init__(self) -> None:
        self.states: defaultdict[Any, State] = defaultdict(State)
        self.ended: dict[str, str] = {}

    def run(self, run_id: str, *, fails: bool = False) -> int:
        """Rows on the page of this run."""
        self.ended[run_id] = "failed" if fails else "success"
        task = PaimonChangeReportOperator(
            task_id="report", table="shop.t", label_column="name", value_column="n"
        )
        ti = SimpleNamespace(
            dag_id="d",
            task_id="report",
            run_id=run_id,
            map_index=-1,
            xcom_push=lambda **_: None,
            get_task_states=lambda task_ids, run_ids, **_: {
                id: {task_ids[0]: self.ended[id]} for id in run_ids if id in self.ended
            },
        )
        context: Any = {"ti": ti, "asset_state_store": self.states}
        return int(task.execute(context)["rows"])


@pytest.fixture
def table(warehouse: Catalog) -> Table:
    warehouse.create_database("shop")
    return create(warehouse)


def create(warehouse: Catalog) -> Table:
    return warehouse.create_table("shop.t", SCHEMA, options={"bucket": "-1"})


def write(table: Table, *names: str) -> None:
    write_rows(table, pa.table({"name": list(names), "n": [1] * len(names)}, schema=SCHEMA))


def test_a_repeated_attempt_shows_the_same_changes_again(table: Table) -> None:
    airflow = Airflow()
    write(table, "a")
    assert airflow.run("1") == 1
    write(table, "b", "c")
    assert airflow.run("2", fails=True) == 2
    assert airflow.run("2") == 2, "not a page with nothing on it"
    assert airflow.run("3") == 0


def test_what_a_failed_run_has_shown_is_on_the_next_page(table: Table) -> None:
    airflow = Airflow()
    write(table, "a")
    airflow.run("1")
    write(table, "b")
    airflow.run("2", fails=True)
    write(table, "c")
    assert airflow.run("3") == 2


def test_a_table_made_anew_is_told_whole(table: Table, warehouse: Catalog) -> None:
    airflow = Airflow()
    write(table, "a")
    airflow.run("1")
    warehouse.drop_table("shop.t")
    anew = create(warehouse)
    for name in "wxyz":
        write(anew, name)
    assert airflow.run("2") == 4
    assert airflow.run("3") == 0


@pytest.mark.parametrize("kept", [1, {"from": 1, "to": 1, "run": "old"}])
def test_a_state_that_holds_no_position_is_refused_and_stays(table: Table, kept: Any) -> None:
    airflow = Airflow()
    write(table, "a")
    asset = PaimonChangeReportOperator(
        task_id="report", table="shop.t", label_column="name", value_column="n"
    ).inlets[0]
    airflow.states[asset]["report.d.report"] = kept
    with pytest.raises(AirflowFailException, match=r"no position of a reader|place of a snapshot"):
        airflow.run("1")
    assert airflow.states[asset]["report.d.report"] == kept
