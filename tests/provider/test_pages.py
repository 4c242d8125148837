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
from tests.provider.logged_in import token


@pytest.fixture(scope="module")
def client(airflow_home: Path) -> Iterator[Any]:
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    (airflow_home / "reports").mkdir(exist_ok=True)
    (airflow_home / "reports" / "one.html").write_text("<h1>one</h1>")
    (airflow_home / "secret.html").write_text("not a report")
    with TestClient(create_app()) as client:
        yield client


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
def test_the_script_of_the_tables_page_is_for_those_who_see_assets(
    client: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from paimon_provider.pages import bundle

    built = tmp_path / "tables.js"
    monkeypatch.setattr(bundle, "_BUILT", built)
    assert client.get("/paimon/ui/tables.js").status_code == 401
    missing = client.get("/paimon/ui/tables.js", headers=token(client, "vera"))
    assert "run make ui" in missing.text
    assert 'globalThis["Paimon tables"]' in missing.text
    built.write_text("built = 1")
    answer = client.get("/paimon/ui/tables.js", headers=token(client, "vera"))
    assert (answer.status_code, answer.text) == (200, "built = 1")
    assert answer.headers["content-type"].startswith("text/javascript")
    kept = token(client, "vera") | {"If-None-Match": answer.headers["etag"]}
    assert client.get("/paimon/ui/tables.js", headers=kept).status_code == 304
    built.write_text("built = 2, and longer")
    assert client.get("/paimon/ui/tables.js", headers=kept).text == "built = 2, and longer"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("search", "view"),
    [("paimon://a/b/c&d", "table=paimon%3A%2F%2Fa%2Fb%2Fc%26d"), ("//evil.example", "search=%2F%2Fevil.example"), ("", "search=")],
)  # fmt: skip
def test_buttons_of_old_runs_lead_to_the_new_page(client: Any, search: str, view: str) -> None:
    assert client.get("/paimon/tables").status_code == 401
    answer = client.get(
        "/paimon/tables",
        params={"search": search},
        headers=token(client, "vera"),
        follow_redirects=False,
    )
    assert answer.status_code == 307
    assert answer.headers["location"] == f"../plugin/paimon-tables?{view}"


def test_airflow_accepts_the_parts_and_the_script_leaves_components_under_their_names() -> None:
    from airflow.api_fastapi.core_api.datamodels.plugins import ReactAppResponse

    from paimon_provider.pages.bundle import BUNDLE_PATH
    from paimon_provider.plugin import PaimonPlugin

    main = (Path(__file__).parents[2] / "provider" / "ui" / "src" / "main.tsx").read_text()
    parts = [ReactAppResponse.model_validate(part) for part in PaimonPlugin.react_apps]
    for part in parts:
        assert part.bundle_url == f"paimon/{BUNDLE_PATH}"
        assert f'"{part.name}"' in main
    assert {part.destination for part in parts} == {
        *("nav", "dag", "dag_run", "task", "task_instance", "base")
    }
    # Airflow drops a part whose route is another's
    assert len({part.url_route for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("version", "base_url", "address"),
    [((3, 1), "http://host:8080/blue/", "/blue/paimon/ui/tables.js"), ((3, 2), "", "/paimon/ui/tables.js"), ((3, 3), "http://host/blue", "paimon/ui/tables.js")],
)  # fmt: skip
def test_an_older_airflow_is_told_the_whole_path_of_the_script(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], base_url: str, address: str
) -> None:
    from paimon_provider import _compat

    monkeypatch.setattr(_compat, "AIRFLOW", version)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    assert _compat.script_address("paimon/ui/tables.js") == address


@pytest.mark.filterwarnings("default")
def test_every_route_asks_who_it_is(client: Any) -> None:
    from paimon_provider.pages.routes import app

    asked = [route.path for route in app.routes if hasattr(route, "path")]
    assert len(asked) > 20
    for path in asked:
        answer = client.get(f"/paimon{path.replace('{name}', 'one.html')}")
        assert answer.status_code == 401, path


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
