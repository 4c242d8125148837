"""Goal: from a Dag, a task, a run or an asset one click leads to the table, and from the table one leads back.

Method: Chromium clicks them on a live Airflow, whose own pages have our tabs.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.site import SALES, Site

TAB = "paimon-tables"


def through_tab(page: Page, destination: str) -> None:
    """Click our tab among Airflow's own, then the table in it; the table's page is there."""
    page.locator(f"a[href$='plugin/{TAB}-{destination}']").first.click()
    page.locator(".pt").get_by_role(
        "link", name="demo/shop/country_sales", exact=True
    ).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("country_sales")
    assert "/blue/plugin/paimon-tables?table=" in page.url


@pytest.mark.parametrize("destination", ["dag", "dag_run", "task", "task_instance"])
def test_a_tab_of_airflows_pages_leads_to_the_table(
    site: Site, open_page: Open, run_id: str, destination: str
) -> None:
    run, task = f"runs/{quote(run_id, safe='')}", "tasks/lemuria"
    place = {"dag": "", "dag_run": run, "task": task, "task_instance": f"{run}/{task}"}[destination]
    path = f"dags/sell/{place}".rstrip("/")
    page = open_page(path=f"{path}/plugin/{TAB}-{destination}")
    page.goto(f"{site.url}/{path}")
    through_tab(page, destination)


def test_the_table_leads_back_to_the_dag_the_task_and_the_run(
    site: Site, open_page: Open, run_id: str
) -> None:
    page = open_page(f"?table={quote(SALES, safe='')}")
    writer = page.locator(".pt-lineage").get_by_role("link", name="sell.lemuria")
    writer.click()
    page.wait_for_url(f"**/blue/dags/sell/runs/{quote(run_id, safe='')}/tasks/lemuria**")
    through_tab(page, "task_instance")
    page.locator(".pt-tiles").get_by_role("link", name="sell.lemuria").click()
    page.wait_for_url("**/blue/dags/sell/runs/**")


def test_an_asset_leads_to_its_table_and_its_events_to_their_snapshots(
    site: Site, open_page: Open, run_id: str
) -> None:
    page = open_page(f"?table={quote(SALES, safe='')}")
    page.get_by_role("link", name="Asset", exact=True).click()
    page.wait_for_url(re.compile(r".*/blue/assets/\d+"))
    line = page.get_by_role("complementary", name="Paimon table")
    expect(line.get_by_role("link", name=re.compile(r"snapshot \d+")).first).to_be_visible()
    line.get_by_role("link", name="demo/shop/country_sales", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("country_sales")
    expect(page.locator(".pt-asset")).to_have_count(0)


def test_who_may_not_see_assets_has_no_broken_pages(site: Site) -> None:
    """A part that cannot be loaded would show an error on every page of Airflow."""
    for user in ("admin", "uma", "vera"):
        assert site.ask("ui/tables.js", user=user)[0] == 200
    assert site.ask("ui/tables.js")[0] == 401
