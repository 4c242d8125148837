"""The Dag of the guide, as it stands there, over days of data."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.attempts import of_file

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

GUIDE = Path(__file__).parents[2] / "docs" / "airflow-guide.md"
BUCKET = "/data/orders/"


def test_the_guides_dag_loads_every_day(
    airflow_home: Path, warehouse: Catalog, tmp_path: Path
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (text,) = [block for block in blocks if 'DAG("orders"' in block]
    assert BUCKET in text
    days = [f"2026-02-0{n}" for n in (1, 2, 3)]
    for day in days:
        folder = tmp_path / "orders" / day
        folder.mkdir(parents=True)
        for part in range(2):
            rows = {"id": [2 * part, 2 * part + 1], "dt": [day] * 2, "amount": [Decimal(1)] * 2}
            pq.write_table(pa.table(rows), folder / f"part-{part}.parquet")
    # Airflow keeps Dags by their name, and other tests have an "orders" too.
    text = text.replace(BUCKET, f"{tmp_path}/orders/").replace('DAG("orders"', 'DAG("guide_orders"')
    text = text.replace('DAG("after_orders"', 'DAG("guide_after_orders"')
    with of_file(airflow_home, text, "guide_orders") as runs:
        for day in (*days, days[1]):
            if day in runs.ids():
                runs.clear("load", run_id=day)
            else:
                runs.create(day, at=datetime.fromisoformat(day).replace(tzinfo=UTC))
            states = runs.finish(day)
            assert states.pop("compact") in {"skipped", "success"}
            assert set(states.values()) == {"success"}, (day, states)
            loaded = runs.xcom("load", day)["rows_written"]
            assert loaded == (4 if runs.tries("load", day) == 1 else 0), day
    table = warehouse.table("shop.orders")
    found = table.read().to_arrow().group_by("dt").aggregate([("id", "count")]).to_pylist()
    assert sorted((row["dt"], row["id_count"]) for row in found) == [(day, 4) for day in days]
