"""The routes of the tables page, asked as the page asks them: Airflow's own app, its log-in, a real warehouse."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.pages.cache import cache_folder, reading, writer_lock, writing
from table_core.errors import CorruptFileError
from table_core.table.api.opening import open_catalog
from tests.eventually import eventually
from tests.provider.dag_runs import run_text
from tests.provider.logged_in import token
from tests.tables import write_rows

pytestmark = pytest.mark.filterwarnings("default")
URI = "paimon://paimon_default/stall/fruit"
OF_TABLE = (
    *("", "/snapshots", "/history", "/levels", "/partitions", "/schemas", "/options", "/refs"),
    *("/maintenance", "/actions", "/sample"),
)
DAG = """
from airflow.sdk import DAG
from paimon_provider.assets import table_asset
from paimon_provider.operators.check import PaimonCheckOperator
from paimon_provider.operators.collect import PaimonCollectMetadataOperator
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.table import PaimonCreateTableOperator
from paimon_provider.operators.write import PaimonWriteOperator

with DAG("stall_dag"):
    create = PaimonCreateTableOperator(task_id="create", table="stall.fruit", primary_key=["dt", "id"],
        columns={"dt": "STRING NOT NULL", "id": "BIGINT NOT NULL", "n": "BIGINT"}, partition_by=["dt"],
        options={"bucket": "1", "changelog-producer": "lookup"})
    fill = PaimonWriteOperator(task_id="fill", table="stall.fruit", engine="local",
        sql="SELECT dt, id, 1 AS n FROM (VALUES ('a', 1), ('a', 2), ('b', 1)) AS t(dt, id)")
    compact = PaimonCompactOperator(task_id="compact", table="stall.fruit", engine="local", events="any")
    check = PaimonCheckOperator(task_id="check", table="stall.fruit", rules={"not_null": ["id"]})
    broken = PaimonCheckOperator(task_id="broken", table="stall.fruit", rules={"rows": [10, None], "unique": ["dt", "id"]})
    totals = PaimonCreateTableOperator(task_id="totals", table="stall.totals", primary_key=["dt"],
        columns={"dt": "STRING NOT NULL", "total": "BIGINT", "made": "INT"}, options={"bucket": "1"})
    add = PaimonWriteOperator(task_id="add", table="stall.totals", engine="local", sources={"f": {"table": "stall.fruit"}},
        sql="SELECT dt, sum(n * id) AS total, 1 AS made FROM f GROUP BY dt")
    collect = PaimonCollectMetadataOperator(task_id="collect", database="stall", trigger_rule="all_done")
    create >> fill >> compact >> check >> totals >> add >> broken >> collect
"""


@pytest.fixture(scope="module")
def page(airflow_home: Path) -> Iterator[Callable[..., Any]]:
    """Ask a route as ada; the warehouse was filled by a Dag, and its metadata collected."""
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    from paimon_provider.pages import warehouses
    from paimon_provider.pages.refresher import REFRESHER

    uri = f"file://{airflow_home}/page-wh"
    document = {"conn_type": "paimon", "host": uri}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
        warehouses._CONNECTIONS.clear()
        ran = run_text(airflow_home, DAG, "stall_dag")
        assert str(ran.state) == "success"
        patch.setattr(REFRESHER, "every_s", 0.1)
        with TestClient(create_app()) as client:

            def ask(path: str, user: str = "ada", **query: Any) -> Any:
                bearer = token(client, user)
                return client.get(f"/paimon/api{path}", params=query, headers=bearer)

            ask.client = client  # type: ignore[attr-defined]  # for who asks as nobody
            eventually(lambda: ask("/overview").json()["collected_at"], "the cache is filled")
            yield ask
        REFRESHER.stop()


def test_nobody_is_answered_without_a_log_in(page: Any) -> None:
    for path in (
        "/tables",
        "/overview",
        *(f"/table{name}" for name in (*OF_TABLE, "/snapshot", "/compare", "/live")),
    ):
        answer = page.client.get(f"/paimon/api{path}", params={"uri": URI})
        assert answer.status_code == 401, path
        assert answer.json()["error"]["kind"] == "unauthenticated"


def test_the_list_has_a_line_a_table(page: Any) -> None:
    answer = page("/tables", search="STALL.fr", user="vera")
    assert answer.headers["cache-control"] == "no-store, private"
    found = answer.json()
    assert found["total"] == 1
    assert (found["collector_known"], found["collector_error"]) == (True, None)
    assert found["collector"] == {
        "dag_id": "stall_dag",
        "table": "airflow.table_metadata",
        "conn_id": "paimon_default",
    }
    (line,) = found["tables"]
    assert line["uri"] == URI
    assert (line["kind"], line["rows"], line["partitions"]) == ("primary-key", 3, 2)
    assert line["health"] == "ok"
    assert line["freshness_s"] < 600
    assert datetime.fromisoformat(line["collected_at"]) <= datetime.now(UTC)
    assert line["events_24h"] >= 1
    assert page("/overview").json()["tables"] >= 1
    assert page("/tables", health="bad").json()["tables"] == []
    assert page("/tables", database="nothing").json()["total"] == 0


def test_a_table_is_told_with_all_that_is_known(page: Any) -> None:
    found = page("/table", uri=URI).json()
    assert found["primary_key"] == ["dt", "id"]
    assert found["changelog_producer"] == "lookup"
    assert [field["name"] for field in found["fields"]] == ["dt", "id", "n"]
    assert found["read_it"]["sql"].startswith("SELECT `dt`, `id`, `n`\nFROM `stall`.`fruit`")
    snapshots = page("/table/snapshots", uri=URI, limit=2).json()
    assert [s["id"] for s in snapshots["snapshots"]] == [snapshots["total"], snapshots["total"] - 1]
    older = page("/table/snapshots", uri=URI, before=2).json()["snapshots"]
    assert [s["id"] for s in older] == [1]
    assert older[0]["rows_added"] == 3
    one = page("/table/snapshot", uri=URI, id=1).json()
    assert {b["partition"] for b in one["by_bucket"]} == {"dt=a", "dt=b"}
    both = page("/table/compare", uri=URI, **{"from": 1, "to": 2}).json()
    assert [p["partition"] for p in both["by_partition"]] == ["dt=a", "dt=b"]
    assert page("/table/history", uri=URI, points=2).json()["rows"][0] == 3
    assert page("/table/levels", uri=URI).json()["total"] == 2
    assert page("/table/levels", uri=URI, partition="dt=a").json()["total"] == 1
    assert page("/table/partitions", uri=URI, sort="-rows").json()["partitions"][0]["values"] == {
        "dt": "a"
    }
    assert page("/table/schemas", uri=URI).json()["schemas"][0]["changes"] == []
    options = page("/table/options", uri=URI).json()["options"]
    assert options[0]["set"]
    assert next(o for o in options if o["key"] == "bucket")["value"] == "1"
    assert page("/table/refs", uri=URI).json() == {"tags": [], "branches": [], "consumers": []}
    assert page("/table/actions", uri=URI).json()["dag_id"] is None


def test_rows_are_for_who_may_read_the_dag_that_created_the_table(
    page: Any, monkeypatch: Any
) -> None:
    from airflow.api_fastapi.app import get_auth_manager

    found = page("/table/sample", uri=URI, limit=2).json()
    assert [c["name"] for c in found["columns"]] == ["dt", "id", "n"]
    assert found["rows"] == [["a", "1", "1"], ["a", "2", "1"]]
    told = page("/table", uri=URI).json()["rows_right"]
    assert (told["source"], told["dags"]) == ("creation", ["stall_dag"])
    monkeypatch.setattr(get_auth_manager(), "get_authorized_dag_ids", lambda **_: {"of_others"})
    refused = page("/table/sample", uri=URI)
    assert refused.status_code == 403
    assert refused.json()["error"]["kind"] == "invalid"
    assert not page("/table", uri=URI).json()["may_read_rows"]
    assert page("/table/live", uri=URI).status_code == 403
    monkeypatch.setenv("AIRFLOW__PAIMON__ROWS_OF", '{"stall.*": "of_others"}')
    assert page("/table/sample", uri=URI).status_code == 200
    assert page("/table", uri=URI).json()["rows_right"]["source"] == "configuration"
    monkeypatch.setenv("AIRFLOW__PAIMON__ROWS_OF", "{")
    assert page("/table/sample", uri=URI).json()["error"]["facts"]["argument"] == "rows_of"


def test_runs_are_told_to_who_may_read_their_dags(page: Any, monkeypatch: Any) -> None:
    from airflow.api_fastapi.app import get_auth_manager

    manager = get_auth_manager()
    monkeypatch.setattr(manager, "get_authorized_dag_ids", lambda **_: {"stall_dag"})
    runs = page("/table/maintenance", uri=URI).json()["runs"]
    assert [(run["action"], run["by"]["task_id"]) for run in runs] == [("compact", "compact")]
    assert runs[0]["files_before"] is not None
    table = page("/table", uri=URI).json()
    assert table["last_writer"]["by"]["dag_id"] == "stall_dag"
    by_rule = {one["name"]: one for one in table["quality"]}
    assert by_rule["not_null id"]["passed"]
    assert page("/tables").json()["collector"]["dag_id"] == "stall_dag"
    first = page("/table/snapshot", uri=URI, id=1).json()
    assert first["by"]["task_id"] == "fill"
    monkeypatch.setattr(manager, "get_authorized_dag_ids", lambda **_: {"another"})
    told = json.dumps(
        [page(f"/table{name}", uri=URI).json() for name in ("", "/snapshots", "/maintenance")]
    )
    assert "stall_dag" not in told


def test_a_check_that_failed_its_task_is_seen_with_its_rule_and_time(page: Any) -> None:
    by_rule = {one["name"]: one for one in page("/table", uri=URI).json()["quality"]}
    failed = by_rule["rows [10, None]"]
    assert (failed["passed"], failed["by"]["task_id"]) == (False, "broken")
    assert failed["rows_failed"] == 3
    assert failed["at"].endswith("Z")
    assert by_rule["not_null id"]["passed"]


def test_columns_are_told_with_the_columns_that_the_sql_made_them_of(page: Any) -> None:
    lineage = page("/table", uri="paimon://paimon_default/stall/totals").json()["lineage"]
    assert lineage["columns"] == [
        {"to": "dt", "from": [{"uri": URI, "column": "dt"}]},
        {"to": "total", "from": [{"uri": URI, "column": "id"}, {"uri": URI, "column": "n"}]},
    ]


def test_a_dag_a_task_and_a_run_lead_to_their_tables(page: Any, monkeypatch: Any) -> None:
    whole = page("/work", dag_id="stall_dag").json()
    (tie,) = (tie for tie in whole["tables"] if tie["uri"] == URI)
    assert tie["roles"] == ["writes"]
    assert tie["line"]["rows"] == 3
    assert {"create", "fill", "compact"} <= set(tie["tasks"])
    told = {one["by"]["task_id"]: one for one in whole["done"] if one["uri"] == URI}
    assert (told["fill"]["action"], told["fill"]["snapshot_id"]) == ("write", 2)
    assert told["check"]["snapshot_id"] is None
    run_id = told["fill"]["by"]["run_id"]
    one = page("/work", dag_id="stall_dag", run_id=run_id, task_id="fill", map_index=-1).json()
    assert [deed["by"]["task_id"] for deed in one["done"]] == ["fill"]
    assert one["tables"][0]["tasks"] == ["fill"]
    assert page("/work", dag_id="stall_dag", run_id="another").json()["done"] == []
    assert page("/work", dag_id="stall_dag", task_id="none").json()["tables"] == []
    asset_id = page("/table", uri=URI).json()["asset_id"]
    asset = page("/asset", id=asset_id).json()
    assert (asset["uri"], asset["line"]["name"]) == (URI, "fruit")
    assert asset["events"][0]["by"]["dag_id"] == "stall_dag"
    from airflow.api_fastapi.app import get_auth_manager

    monkeypatch.setattr(get_auth_manager(), "get_authorized_dag_ids", lambda **_: {"another"})
    assert page("/work", dag_id="stall_dag").status_code == 404
    assert "stall_dag" not in page("/asset", id=asset_id).text


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/work", {}, 422),
        ("/work", {"dag_id": "none"}, 404),
        ("/work", {"dag_id": "stall_dag", "map_index": "x"}, 422),
        ("/asset", {"id": 10**9}, 404),
        ("/asset", {"id": -1}, 422),
        ("/table", {}, 422),
        ("/table", {"uri": "paimon://a/b/none"}, 404),
        ("/table", {"uri": "x" * 4000}, 422),
        ("/table", {"uri": "file:///etc/passwd"}, 404),
        ("/tables", {"sort": "line"}, 422),
        ("/tables", {"health": "'; DROP TABLE line"}, 422),
        ("/tables", {"limit": 100_000}, 422),
        ("/tables", {"offset": -1}, 422),
        ("/table/snapshot", {"uri": URI, "id": 999}, 404),
        ("/table/snapshot", {"uri": URI, "id": "a"}, 422),
        ("/table/compare", {"uri": URI, "from": 2, "to": 1}, 422),
        ("/table/partitions", {"uri": URI, "sort": "x"}, 422),
        ("/table/live", {"uri": URI, "agg": "avg"}, 422),
        ("/table/live", {"uri": URI, "by": "dt", "agg": "sum"}, 422),
        ("/nothing", {}, 404),
    ],
)
def test_what_is_wrong_is_refused_in_one_form(
    page: Any, path: str, query: Any, status: int
) -> None:
    answer = page(path, **query)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"kind", "message", "facts"}
    assert len(answer.text) < 6_000


def test_without_a_collector_the_page_knows_what_airflow_knows(page: Any) -> None:
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session

    uri = "paimon://elsewhere/k%C3%A4se/brie"
    variants = (uri, f"{uri}?on=changes", f"{uri}$branch_try")
    with create_session() as session:
        for one in variants:
            session.add(AssetModel(name=one, uri=one))
        session.flush()
        for one in variants[:2]:
            asset = session.query(AssetModel).filter_by(uri=one).one()
            session.add(AssetEvent(asset_id=asset.id, extra={"snapshot_id": 7}))
    line = eventually(lambda: page("/tables", search="brie").json()["tables"], "the table")[0]
    assert page("/tables", search="brie").json()["total"] == 1, (
        "variants are in the line of their table"
    )
    assert (line["uri"], line["database"], line["rows"], line["health"]) == (
        uri,
        "k\u00e4se",
        None,
        "unknown",
    )
    assert line["collected_at"] is None, "nobody has collected its database"
    assert [v["label"] for v in line["variants"]] == ["branch try", "on=changes"]
    eventually(
        lambda: page("/tables", search="brie").json()["tables"][0]["events_24h"] == 2, "both events"
    )
    told = page("/table", uri=uri).json()
    assert (told["fields"], told["comment"], told["snapshot_id"]) == ([], None, None)
    assert page("/table/snapshots", uri=uri).json() == {"total": 0, "snapshots": []}
    assert page("/table/options", uri=uri).json() == {"options": []}
    assert page("/table/sample", uri=uri).status_code == 404


def test_what_is_collected_later_is_seen_and_what_is_dropped_is_gone(
    page: Any, airflow_home: Path
) -> None:
    catalog = open_catalog(f"file://{airflow_home}/page-wh")
    table = catalog.create_table(
        "stall.later", pa.schema([("n", pa.int64())]), options={"bucket": "-1"}
    )
    for at in range(2):
        write_rows(table, pa.table({"n": [at]}))
    catalog.collect_metadata("stall", "airflow.table_metadata", "paimon_default")
    uri = "paimon://paimon_default/stall/later"
    eventually(
        lambda: page("/table/snapshots", uri=uri).json().get("total") == 2, "the second snapshot"
    )
    broken = catalog.create_table(
        "stall.broken", pa.schema([("n", pa.int64())]), options={"bucket": "-1"}
    )
    write_rows(broken, pa.table({"n": [1]}))
    catalog.root("stall", "broken").write("snapshot/snapshot-1", b"{")
    with pytest.raises(CorruptFileError):
        catalog.collect_metadata("stall", "airflow.table_metadata", "paimon_default")

    def line() -> Any:
        found = page("/tables", search="stall.broken").json()["tables"]
        return found[0] if found else {"health": None}

    eventually(lambda: line()["health"] == "bad", "a table that cannot be read is in bad health")
    assert line()["badges"][0]["code"] == "unreadable"
    catalog.drop_table("stall.broken")
    catalog.drop_table("stall.later")
    told = page("/table/sample", uri=uri).json()["error"]
    assert "no table stall.later any more" in told["message"]
    assert "fruit" not in str(told), "others are not named"
    catalog.collect_metadata("stall", "airflow.table_metadata", "paimon_default")
    eventually(lambda: page("/table", uri=uri).status_code == 404, "the table goes")


def test_the_cache_is_for_its_owner_and_a_damaged_one_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__PAIMON__CACHE_FOLDER", str(tmp_path / "cache"))
    with reading() as db:
        assert db is None
    writing().close()
    folder = cache_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in folder.iterdir()} == {0o600}
    for damage in (b"no database" * 1000, b""):
        for path in folder.iterdir():
            path.unlink()
        (folder / "tables.db").write_bytes(damage)
        with closing(writing()) as db:
            assert db.execute("SELECT count(*) FROM line").fetchone() == (0,)
    with closing(sqlite3.connect(folder / "tables.db")) as db:
        db.execute("PRAGMA user_version = 99")
    with reading() as db:
        assert db is None
    writing().close()
    with reading() as db:
        assert db is not None


def test_of_two_processes_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__PAIMON__CACHE_FOLDER", str(tmp_path / "cache"))
    with writer_lock() as first, writer_lock() as second:
        assert (first, second) == (True, False)
    with writer_lock() as again:
        assert again
