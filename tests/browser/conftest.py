"""A live Airflow below a path of its own, with real tables and three users, and a Chromium for each test."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.page_home import make_warehouse
from demo.airflow_home import AirflowHome
from demo.servers.machine import free_port
from tests.browser.pictures import Pictures
from tests.browser.site import DAGS, SALES, USERS, Site
from tests.servers import ROOT

BUNDLE = ROOT / "provider" / "paimon_provider" / "pages" / "ui" / "dist" / "tables.js"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [
        text
        for text, there in (
            ("Chromium", shutil.which("chromium")),
            ("the script of the page (make ui)", BUNDLE.exists()),
        )
        if not there
    ]
    if missing and not os.environ.get("BROWSER_REQUIRED"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"missing: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "dags").mkdir()
    for name, text in DAGS.items():
        (folder / "dags" / name).write_text(text)
    catalog = make_warehouse(folder)
    extra = {"warehouse": (folder / "warehouse").as_uri(), "catalog_name": "demo"}
    port = free_port()
    airflow = AirflowHome(
        folder / "home",
        folder / "dags",
        json.dumps({"conn_type": "paimon", "extra": extra}),
        port=port,
        address=f"http://127.0.0.1:{port}/blue",
    )
    users = ",".join(f"{user}:{role}" for user, role in USERS.items())
    airflow.environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"] = users
    # the API server reads plugins at its first task, which takes long where many processes run
    airflow.environment["AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT"] = "120"
    airflow.environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "provider")))
    airflow.start()
    try:
        airflow.wait("the Dags", lambda: len(airflow.get("/dags", limit=50)["dags"]) >= len(DAGS))
        found = Site(airflow, catalog)
        found.wait_for_tables()
        yield found
    finally:
        airflow.components.stop()


@pytest.fixture(scope="session")
def run_id(site: Site) -> str:
    """A run of a Dag that writes the table of sales, and that the page knows as the last one that wrote."""
    made = site.run("sell")
    site.run("collect")

    def known() -> bool:
        status, work = site.ask("api/work", user="admin", dag_id="sell", run_id=made)
        _, table = site.ask("api/table", user="admin", uri=SALES)
        wrote = status == 200 and any(one["snapshot_id"] for one in work["done"])
        return wrote and table["last_writer"]["by"] is not None

    site.airflow.wait("the page knows the run", known)
    return made


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=180_000)  # no test here is about time
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(site: Site, chromium: Browser) -> Iterator[Open]:
    """Opens the page of tables as a user; the test fails when the page told an error in its console."""
    contexts = []
    errors: list[str] = []

    def opened(
        query: str = "",
        *,
        user: str = "admin",
        scheme: str = "light",
        width: int = 1360,
        path: str = "plugin/paimon-tables",
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 850}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        context.set_default_timeout(180_000)
        context.add_cookies([{"name": "_token", "value": site.token(user), "url": site.url}])
        context.add_init_script(f"localStorage.setItem('theme', '{scheme}')")
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site.url}/{path}{query}")
        page.wait_for_selector(".pt h1, .pt h3, .pt [role=alert]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def pictures(chromium: Browser, tmp_path: Path) -> Pictures:
    return Pictures(chromium, tmp_path)
