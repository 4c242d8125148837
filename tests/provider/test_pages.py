"""Reports are served by the plugin, to those who may see assets.

The app is Airflow's own, with its log-in, and the plugin in its plugins folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paimon_provider.pages.reports_folder import report_name, report_path, write_report
from table_core.errors import ArgumentError


@pytest.fixture(scope="module")
def client(airflow_home: Path) -> Iterator[Any]:
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    (airflow_home / "reports").mkdir(exist_ok=True)
    (airflow_home / "reports" / "one.html").write_text("<h1>one</h1>")
    (airflow_home / "secret.html").write_text("not a report")
    with TestClient(create_app()) as client:
        yield client


def token(client: Any, user: str) -> dict[str, str]:
    login = {"username": user, "password": f"{user}-1815"}
    answer = client.post("/auth/token", json=login).json()
    return {"Authorization": f"Bearer {answer['access_token']}"}


@pytest.mark.filterwarnings("default")
def test_only_those_who_are_logged_in_see_reports(client: Any) -> None:
    assert client.get("/paimon/reports/one.html").status_code == 401
    for user in ("ada", "vera"):
        answer = client.get("/paimon/reports/one.html", headers=token(client, user))
        assert (answer.status_code, answer.text) == (200, "<h1>one</h1>")
        assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "path", ["/paimon/reports/two.html", "/paimon/reports/..%2Fsecret.html", "/paimon/docs", "/paimon/openapi.json"]
)  # fmt: skip
def test_nothing_else_is_served(client: Any, path: str) -> None:
    assert client.get(path, headers=token(client, "ada")).status_code == 404


@pytest.mark.filterwarnings("default")
def test_tables_are_listed_with_their_newest_event(client: Any, airflow_home: Path) -> None:
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session

    extra = {"snapshot_id": 7, "kinds": {"APPEND": 1}, "rows": {"append": 1200}}
    extra |= {"result": {"action": "write", "rows_written": 1200, "seconds": 1.5}}
    with create_session() as session:
        for name in ("orders", "<b>odd", "k%C3%A4ufe"):
            session.add(
                AssetModel(name=f"paimon://demo/stall/{name}", uri=f"paimon://demo/stall/{name}")
            )
        session.flush()
        asset = session.query(AssetModel).filter_by(uri="paimon://demo/stall/orders").one()
        for at, document in enumerate(({"snapshot_id": 6}, extra)):
            event = AssetEvent(
                asset_id=asset.id, extra=document, source_dag_id="d", source_run_id="r"
            )
            event.source_task_id = f"t{at}"
            event.source_map_index = -1
            session.add(event)
            session.flush()
    assert client.get("/paimon/tables").status_code == 401
    page = client.get("/paimon/tables", headers=token(client, "vera")).text
    assert "demo/stall/orders" in page
    assert all(told in page for told in ("d.t1", "<td>7</td>", "append 1,200", "1,200 rows"))
    assert "<b>odd" not in page
    assert "&lt;b&gt;odd" in page
    found = client.get("/paimon/tables?search=nothing%25", headers=token(client, "ada")).text
    assert "No table has been announced" in found
    for search in ("K\u00e4u", "k%C3%A4ufe"):
        got = client.get("/paimon/tables", params={"search": search}, headers=token(client, "ada"))
        assert "demo/stall/k\u00e4ufe" in got.text
        assert "orders" not in got.text


def test_airflow_accepts_the_view() -> None:
    from airflow.api_fastapi.core_api.datamodels.plugins import ExternalViewResponse

    from paimon_provider.plugin import PaimonPlugin

    (view,) = PaimonPlugin.external_views
    assert ExternalViewResponse.model_validate(view).href == "/paimon/tables"


def test_names_are_plain_file_names() -> None:
    name = report_name("dag", "manual__2026-01-01T00:00:00+00:00", "../report", -1)
    assert name.startswith("dag-manual__2026-01-01T00_00_00_00_00-.._report--1-")
    assert report_path(name).parent.name == "reports"
    for bad in ("../x.html", ".x.html", "x.txt", "a/b.html", ""):
        with pytest.raises(ArgumentError):
            report_path(bad)


@pytest.mark.filterwarnings("default")
def test_a_report_needs_the_right_to_read_its_dag(
    client: Any, airflow_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.api_fastapi.app import get_auth_manager

    write_report("mine-1.html", "mine", "<h1>rows of mine</h1>")
    write_report("other-1.html", "other", "<h1>rows of other</h1>")
    asked: list[Any] = []

    def only_mine(
        *, method: str, user: Any, access_entity: Any = None, details: Any = None
    ) -> bool:
        asked.append((method, details.id))
        return bool(details.id == "mine")

    monkeypatch.setattr(get_auth_manager(), "is_authorized_dag", only_mine)
    login = {"username": "vera", "password": "vera-1815"}
    bearer = {
        "Authorization": f"Bearer {client.post('/auth/token', json=login).json()['access_token']}"
    }
    for path in ("/paimon/reports/mine-1.html", "/paimon/tables"):
        assert client.get(path).status_code == 401
    mine = client.get("/paimon/reports/mine-1.html", headers=bearer)
    assert (mine.status_code, mine.text) == (200, "<h1>rows of mine</h1>")
    assert mine.headers["cache-control"] == "no-store, private"
    other = client.get("/paimon/reports/other-1.html", headers=bearer)
    assert other.status_code == 403
    assert "rows" not in other.text
    (airflow_home / "reports" / "unknown.html").write_text("rows of nobody")
    assert client.get("/paimon/reports/unknown.html", headers=bearer).status_code == 403
    for query in ("?dag_id=mine", "?dag_id=~", "?dag_id="):
        answer = client.get(f"/paimon/reports/unknown.html{query}", headers=bearer)
        assert answer.status_code == 403, "who asks does not say whose report it is"
    assert asked == [("GET", "mine"), ("GET", "other"), *[("GET", "~")] * 4]
    for name in ("mine-1.json", "..%2F..%2Fx.html", "none.html"):
        assert client.get(f"/paimon/reports/{name}", headers=bearer).status_code in (403, 404)
