"""The streamhouse's one file for two environments, each on an Airflow of its own whose processes run.

What is delivered is taken, tables and columns get other names without a row copied, and a day that breaks
a rule is stopped before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from demo import expected, generate
from table_core.table.api.table import Table
from tests.live.airflows import Live, running
from tests.servers import ROOT

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(1800)]

TARGETS = """\
targets:
  dev: {prefix: dev_, pipeline: {retries: 1}}
  prod: {pipeline: {retries: 3}}
"""
TABLES = "  default.orders:\n"
AUDITED = """\
checks:
  orders: {table: default.orders, range: {amount: [0, null]}}
"""
DAG_FILE = """\
from airflow.sdk import dag
from paimon_provider.declaration import load_dags

load_dags("streamhouse.yaml")
"""
MOVED = """\
moved: [{from: default.orders, to: default.bought}, {from: default.country_sales, to: default.sales}]
"""


def declared() -> str:
    text = (ROOT / "declarations" / "streamhouse.yaml").read_text() + AUDITED + TARGETS
    text = text.replace("pipeline:\n", "pipeline:\n  engine: local\n", 1)
    # What changes rows of an audited table comes before it is seen, so before what reads it.
    text = text.replace("after: [deliver_changes]", "after: [append_orders]")
    return text.replace(TABLES, f"{TABLES}    audit: true\n")


def moved(text: str) -> str:
    """Two tables and a column under other names, wherever they stand."""
    text = text.replace("last_order_time", "newest_order")
    for old, new in (("country_sales", "sales"), ("orders", "bought")):
        text = text.replace(f"default.{old}", f"default.{new}")
    column = "    moved: [{from: last_order_time, to: newest_order}]\n"
    return text.replace("  default.sales:\n", f"  default.sales:\n{column}") + MOVED


@dataclass
class House:
    """The streamhouse in one environment."""

    live: Live
    folder: Path
    database: str
    sales: str = "country_sales"

    @property
    def inbox(self) -> Path:
        return self.folder / "in"

    def deliver(self, rounds: range) -> dict[str, Any]:
        """Hand over input; the conf of a run that takes it."""
        number = generate.deliver(self.folder / "source", self.inbox, rounds)
        return {"input": str(self.inbox), "round": number}

    def declare(self, text: str, task: str) -> None:
        """Change the file; until Airflow has read it and knows ``task``."""
        (self.folder / "dags" / "streamhouse.yaml").write_text(text)

        def known() -> bool:
            tasks = self.live.airflow.get("/dags/streamhouse/tasks")["tasks"]
            return task in {one["task_id"] for one in tasks}

        self.live.wait(f"{task} is known", known)

    def table(self, name: str) -> Table:
        return self.live.catalog.table(f"{self.database}.{name}")

    def equals_the_computation(self) -> None:
        want = expected.expected(self.inbox)[-1]
        found = self.table(self.sales).read().to_arrow().sort_by("country")
        assert found.rename_columns(want.sales.column_names).to_pylist() == want.sales.to_pylist()
        assert self.table("customers").read().to_arrow().num_rows == want.customers
        assert self.table("waiting_orders").read().to_arrow().num_rows == want.waiting

    def data_files(self) -> dict[str, int]:
        """Each data file in the warehouse, and the number that its disk gave it."""
        return {p.name: p.stat().st_ino for p in (self.folder / "wh").rglob("bucket-*/data-*")}


@pytest.fixture(scope="module", params=["dev", "prod"])
def house(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp(request.param)
    generate.generate(folder / "source", customers=600, orders=4_000)
    files = {"streamhouse.yaml": declared(), "streamhouse_declared.py": DAG_FILE}
    environment = {
        "TABLE_CORE_TARGET": request.param,
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",
    }
    with running(folder, files, dags=3, environment=environment) as live:
        database = "dev_default" if request.param == "dev" else "default"
        yield House(live, folder, database)


def test_what_is_delivered_is_taken(house: House) -> None:
    house.live.well(
        "streamhouse", house.live.airflow.trigger("streamhouse", house.deliver(range(1, 4)))
    )
    house.equals_the_computation()
    assert {name.partition(".")[0] for name in house.live.catalog.databases()} == {house.database}


def test_a_bad_day_is_stopped_before_it_is_seen(house: House) -> None:
    conf = house.deliver(range(4, 5))
    file = min(house.inbox.glob("orders/round-04/*.parquet"))
    good = pq.read_table(file)
    at = good.column_names.index("amount")
    bad = good.set_column(at, good.field(at), pc.negate(good["amount"]))
    pq.write_table(bad, file)
    seen = {name: house.table(name).read().to_arrow() for name in ("orders", house.sales)}
    run = house.live.airflow.trigger("streamhouse", conf)
    states = house.live.ended("streamhouse", run)
    assert "failed" in states.values()
    assert {name: house.table(name).read().to_arrow() for name in seen} == seen
    pq.write_table(good, file)
    house.live.airflow.send("POST", f"/dags/streamhouse/dagRuns/{run}/clear", {"dry_run": False})
    house.live.well("streamhouse", run)
    house.equals_the_computation()


def test_a_moved_table_and_a_moved_column_copy_no_row(house: House) -> None:
    before, head = house.data_files(), house.table("orders").latest_snapshot()
    assert head is not None
    house.declare(moved(declared()), f"audit_{house.database}_bought_publish")
    house.sales = "sales"
    house.live.well(
        "streamhouse", house.live.airflow.trigger("streamhouse", house.deliver(range(5, 7)))
    )
    house.equals_the_computation()
    assert set(house.live.catalog.tables(house.database)) >= {"bought", "sales"}
    assert set(house.live.catalog.tables(house.database)) & {"orders", "country_sales"} == set()
    assert house.table("bought").snapshot(head.id) == head
    after = house.data_files()
    assert {name: after.get(name, number) for name, number in before.items()} == before
