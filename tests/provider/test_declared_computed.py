"""Computed columns of a declaration, as its Dag's tasks write them: by a query, from files, by a sync."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import run_text, states

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

CALLS = "columns: {{id: BIGINT NOT NULL, made: BIGINT, y: {{type: INT NOT NULL, computed: year(made)}}, code: {{type: STRING, computed: 'substring(name, 0, 2)'}}, name: STRING}}"
SHOP = f"""\
version: 1
name: calls
pipeline: {{{{engine: local, retries: 0}}}}
tables:
  c.synced: {{{{primary_key: [id, y], partition_by: [y], options: {{{{bucket: 1}}}}, {CALLS}}}}}
  c.files: {{{{{CALLS}}}}}
  c.query: {{{{audit: true, primary_key: [id], options: {{{{bucket: 1}}}}, {CALLS}}}}}
sources:
  sync: {{{{table: c.synced, sync: {{{{kind: files, uri: "{{folder}}/e/*.jsonl", format: debezium-json}}}}}}}}
  load: {{{{table: c.files, rows_uri: "{{folder}}/r/*.jsonl", rows_position: tc.files.calls}}}}
flows:
  query: {{{{table: c.query, reads: {{{{f: {{{{table: c.files, mode: changes}}}}}}}}, sql: "SELECT id, made, name FROM f"}}}}
checks:
  years: {{{{table: c.query, not_null: [y]}}}}
"""


def test_a_query_files_and_a_sync_compute_the_same(
    tmp_path: Path, airflow_home: Path, warehouse: Catalog
) -> None:
    given = [{"id": n, "made": n * 86_400 * 200, "name": f"{n}éx"} for n in range(10)]
    given.append({"id": 10, "made": 0, "name": None})
    events = [{"before": None, "after": row, "op": "c"} for row in given]
    for folder, lines in (("e", events), ("r", given)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    file = tmp_path / "calls.yaml"
    file.write_text(SHOP.format(folder=f"file://{tmp_path}"))
    body = (
        "from airflow.sdk import DAG\nfrom paimon_provider.declaration import load_dags\n"
        f"globals().update(load_dags({str(file)!r}))\n"
    )
    done = run_text(airflow_home, body, "calls")
    assert set(states(done).values()) == {"success"}, states(done)
    wanted = [
        {**row, "y": 1970 + row["made"] // 86_400 // 365, "code": row["name"] and row["name"][:2]}
        for row in given
    ]
    for name in ("c.synced", "c.files", "c.query"):
        rows = warehouse.table(name).read().to_arrow().sort_by("id").to_pylist()
        assert rows == [{key: row[key] for key in rows[0]} for row in wanted], name
