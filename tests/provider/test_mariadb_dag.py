"""The Dag that keeps a MariaDB database in step, against a real server."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from table_core.table.api.opening import open_catalog
from tests.cdc.servers import MariaDb

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]
PATH = Path(__file__).parents[2] / "dags" / "mariadb_sync.py"


def rows(catalog: Any, table: str) -> list[Any]:
    found = catalog.table(table).read(columns=["id", "name"]).to_arrow().sort_by("id")
    return [tuple(row.values()) for row in found.to_pylist()]


def test_every_run_brings_the_tables_up_to_the_server(
    airflow_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := MariaDb.missing():
        pytest.skip(why)
    uri = f"file://{tmp_path}/wh"
    document = {"conn_type": "paimon", "extra": {"warehouse": uri, "catalog_name": "demo"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    catalog = open_catalog(uri)
    with MariaDb() as server:
        told = {"conn_type": "mysql", "host": "127.0.0.1", "port": server.port, "login": "root"}
        monkeypatch.setenv("AIRFLOW_CONN_SHOP_MARIADB", json.dumps(told))
        for shard in (1, 2):
            server.sql(
                f"CREATE DATABASE shop_{shard}",
                f"CREATE TABLE shop_{shard}.people (id INT PRIMARY KEY, name VARCHAR(20))",
                f"INSERT INTO shop_{shard}.people VALUES ({shard}, 'first')",
            )
        copy = airflow_home / "dags" / PATH.name
        copy.write_text(PATH.read_text())
        spec = importlib.util.spec_from_file_location("mariadb_sync", copy)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)

        def run() -> None:
            done = module.dag.test()
            states = {ti.task_id: str(ti.state) for ti in done.get_task_instances()}
            assert set(states.values()) == {"success"}, states

        run()
        assert rows(catalog, "shop.people") == [(1, "first"), (2, "first")]
        server.sql(
            "INSERT INTO shop_1.people VALUES (3, 'new')",
            "UPDATE shop_2.people SET name = 'changed'",
            "ALTER TABLE shop_1.people ADD COLUMN age INT NOT NULL DEFAULT 5",
            "TRUNCATE shop_1.people",
            "INSERT INTO shop_1.people VALUES (4, 'after', 6)",
        )
        run()
        assert rows(catalog, "shop.people") == [(2, "changed"), (4, "after")]
        copy.unlink()
