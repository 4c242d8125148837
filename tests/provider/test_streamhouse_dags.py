"""The example Dags parse, stay small, and load no engine while they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

DAGS = Path(__file__).parents[2] / "dags"


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(str(DAGS))


def test_all_of_them_parse(bag: DagBag) -> None:
    assert bag.import_errors == {}
    names = {"streamhouse", "streamhouse_report", "streamhouse_upkeep", "table_metadata"}
    assert names | {"paimon_table_actions"} <= set(bag.dags)


def test_each_is_short() -> None:
    for path in DAGS.glob("streamhouse*.py"):
        assert path.read_text().count("\n") < 130, path


def test_parsing_loads_no_engine() -> None:
    code = f"""
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag({str(DAGS)!r})
assert not bag.import_errors, bag.import_errors
print("\\nheavy", *sorted({{"pyspark", "pyarrow", "pandas"}} & set(sys.modules)))
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.splitlines()[-1] == "heavy"


def test_the_report_is_woken_by_the_watcher_of_the_table_that_the_pipeline_fills(
    bag: DagBag,
) -> None:
    pipeline, report = bag.dags["streamhouse"], bag.dags["streamhouse_report"]
    (asset,) = report.timetable.asset_condition.objects
    (watcher,) = asset.watchers
    assert watcher.trigger.serialize()[1]["on"] == "changes"
    announced = {
        outlet.uri
        for task in pipeline.tasks
        for outlet in task.outlets
        if outlet.uri.endswith("/country_sales")
    }
    assert announced == {"paimon://demo/default/country_sales"}
    assert {f"{uri}?on=changes" for uri in announced} == {asset.uri}
    writers = [
        t for t in pipeline.tasks if t.outlets[0].uri in announced and t.action != "create-table"
    ]
    assert {t.events for t in writers if t.action != "expire-snapshots"} == {"none"}
