"""Airflow itself runs a relay whose run fails behind its work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import HEAD, looked_up, run_text, states

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

SCHEMA = pa.schema([("dt", pa.date32()), ("n", pa.int64())])
DAG = (
    HEAD
    + """
import os

def behind(context, result=None):
    if os.environ.get("RELAY_FAILS"):
        raise RuntimeError("lost behind its work")

with DAG("relaying", default_args=dict(retries=0)):
    PaimonRelayPartitionsOperator(task_id="relay", table="shop.t", post_execute=behind)
    PaimonMarkPartitionDoneOperator(
        task_id="mark", table="shop.t", partitions=[{"dt": 20454}], announce_partitions=True
    )
"""
)


def keys(run: Any) -> list[tuple[str, str | None, dict[str, Any]]]:
    found = looked_up(
        "SELECT source_task_id, partition_key, extra FROM asset_event"
        " WHERE source_run_id = :run ORDER BY id",
        run=run.run_id,
    )
    return [(task, key, json.loads(extra)) for task, key, extra in found]


def test_no_partition_is_lost_and_one_partition_has_one_key(
    airflow_home: Path, warehouse: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.create_database("shop")
    table = warehouse.create_table("shop.t", SCHEMA, partition_by=("dt",), options={"bucket": "-1"})

    def write(*days: int) -> None:
        with table.write() as writer:
            rows = pa.table(
                {"dt": pa.array(days, pa.int32()).cast(pa.date32()), "n": [1] * len(days)}
            )
            writer.write(rows)
            writer.commit()

    write(20454)
    first = run_text(airflow_home, DAG, "relaying")
    assert states(first) == {"relay": "success", "mark": "success"}
    told = keys(first)
    assert [(task, key) for task, key, _ in told] == [("mark", "dt=2026-01-01")]

    write(20455)
    with monkeypatch.context() as failing:
        failing.setenv("RELAY_FAILS", "1")
        lost = run_text(airflow_home, DAG, "relaying")
    assert states(lost)["relay"] == "failed"
    assert not [key for task, key, _ in keys(lost) if task == "relay"]

    write(20456)
    after = run_text(airflow_home, DAG, "relaying")
    told = keys(after)
    relayed = [key for task, key, _ in told if task == "relay"]
    assert sorted(key or "" for key in relayed) == ["dt=2026-01-02", "dt=2026-01-03"]
    again = run_text(airflow_home, DAG, "relaying")
    assert not [key for task, key, _ in keys(again) if task == "relay"]
