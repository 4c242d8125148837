"""Every way to change rows, on every kind of table: each number that a task announces is what the table says.

The Dags are those that a live Airflow runs beside each other, with kills (``tests/live``).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from table_core.table.api.catalog import Catalog
from tests.lanes import sampled
from tests.live.announced import Event, compared
from tests.live.forty_dags import CASES, DAYS, Case, dag_file, make_tables
from tests.provider.dag_runs import looked_up

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

EVENTS = """
SELECT a.uri, e.source_dag_id, e.source_task_id, e.source_run_id, e.source_map_index, e.extra
FROM asset_event e JOIN asset a ON a.id = e.asset_id WHERE e.source_dag_id = :dag ORDER BY e.id
"""


@pytest.mark.parametrize("case", sampled(CASES, 10), ids=lambda case: case.name)
def test_what_a_task_announces_is_what_its_table_says(
    case: Case, airflow_home: Path, warehouse: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"catalog_name": "demo"}
    document = {"conn_type": "paimon", "host": warehouse.warehouse, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    begun = make_tables(warehouse, dict.fromkeys((case.name, "append_write")))
    path = airflow_home / "dags" / f"{case.name}.py"
    path.write_text(dag_file([case]))
    try:
        bag = DagBag(str(path))
        assert not bag.import_errors, bag.import_errors
        for day in DAYS[:2]:
            done = bag.dags[case.name].test(
                logical_date=datetime.fromisoformat(day).replace(tzinfo=UTC)
            )
            assert str(done.state) == "success"
    finally:
        path.unlink()
    told = looked_up(EVENTS, dag=case.name)
    events = [Event(uri, tuple(source), json.loads(text)) for uri, *source, text in told]
    assert len(events) >= 2
    wrong = compared(warehouse, begun, events, {})
    assert wrong == [], "\n".join(wrong)
