"""Goal: the page of tables works in Airflow as people use it, and shows nobody what they may not see.

Method: Chromium walks it on a live Airflow that is served below a path, as three users, light and dark.
"""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.pictures import Pictures
from tests.browser.site import SALES, USERS, Site
from tests.servers import ROOT

AXE = ROOT / "provider" / "ui" / "node_modules" / "axe-core" / "axe.min.js"
OF_SALES = f"?table={quote(SALES, safe='')}"
AT_HUMAN_SPEED_MS = 250
"""Between two keys: each may have changed the address by then."""
HOSTILE = "<script>alert(1)<"
TABS = (
    *("overview", "snapshots", "live", "levels", "partitions", "schema", "options", "refs"),
    *("maintenance", "quality", "sample", "read", "actions"),
)


def settled(page: Page) -> None:
    """Wait until the page neither waits for its first data nor for newer ones."""
    page.wait_for_function("!document.querySelector('.pt-loading, .pt-stale')")


def serious(page: Page) -> list[str]:
    """What axe finds in our part of the page that keeps people out."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run('.pt')")
    return [
        f"{fault['id']}: {[node['html'][:200] for node in fault['nodes']][:3]}"
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]


@pytest.mark.usefixtures("run_id")  # the pictures show that a task wrote last, and which
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_walk_from_the_list_to_a_table(
    site: Site, open_page: Open, pictures: Pictures, scheme: str
) -> None:
    page = open_page(scheme=scheme)
    row = page.get_by_role("row").filter(
        has=page.get_by_role("link", name="country_sales", exact=True)
    )
    expect(row).to_contain_text("shop")
    assert page.evaluate("document.documentElement.classList.contains('dark')") == (
        scheme == "dark"
    )
    faults = {"list": serious(page)}
    pictures.take(page, f"tables-list-{scheme}.png")
    page.get_by_role("link", name="country_sales", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("country_sales")
    assert "/blue/plugin/paimon-tables?table=" in page.url
    for tab in TABS:
        page.locator(f"#pt-tab-{tab}").click()
        settled(page)
        assert page.locator(".pt-panel > *").count() > 0
        faults[tab] = serious(page)
        if tab in {"overview", "snapshots"} and scheme == "light":
            pictures.take(page, f"table-{tab}-{scheme}.png")
    assert {tab: found for tab, found in faults.items() if found} == {}


def test_searching_sorting_and_filtering_are_in_the_address(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("country_s", delay=AT_HUMAN_SPEED_MS)
    page.wait_for_url("**search=country_s**")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("country_s")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Size").click()
    page.wait_for_url("**sort=-bytes**")
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("columnheader", name="Size")).to_have_attribute(
        "aria-sort", "descending"
    )


def test_the_tabs_are_walked_by_keyboard(open_page: Open) -> None:
    page = open_page(OF_SALES)
    page.locator("#pt-tab-overview").focus()
    for tab in TABS[1:4]:
        page.keyboard.press("ArrowRight", delay=AT_HUMAN_SPEED_MS)
        expect(page.locator(f"#pt-tab-{tab}")).to_be_focused()
        page.wait_for_url(f"**tab={tab}**")


def test_a_commit_moves_the_bars_and_its_rows_scroll_by(
    site: Site, open_page: Open, pictures: Pictures
) -> None:
    page = open_page(f"{OF_SALES}&tab=live&by=country&value=revenue&agg=sum", scheme="dark")
    page.get_by_text("live", exact=True).wait_for()
    site.sell("Atlantis", 3_000.0)
    expect(page.locator(".pt-race-name").filter(has_text="Atlantis")).to_be_visible()
    expect(page.locator(".pt-change").filter(has_text="Atlantis").first).to_be_visible()
    site.sell("Atlantis", 1_500.0)
    expect(page.locator(".pt-race-number").filter(has_text="4.5K")).to_be_visible()
    pictures.take(page, "table-live-dark.png")
    page.get_by_role("button", name="Pause").click()
    site.sell("Lemuria", 900.0)
    expect(page.get_by_role("button", name="waiting")).to_be_visible()
    assert page.locator(".pt-change").filter(has_text="Lemuria").count() == 0
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".pt-change").filter(has_text="Lemuria").first).to_be_visible()


def test_an_action_is_previewed_and_then_done(site: Site, open_page: Open) -> None:
    def snapshots() -> int:
        return len(list(site.catalog.table("shop.country_sales").snapshots()))

    before = snapshots()
    assert before > 30
    kept = before - 20  # one expiry deletes at most 50 snapshots
    page = open_page(f"{OF_SALES}&tab=actions&action=expire_snapshots")
    page.get_by_label("retain max").fill("five")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("This is a whole number.")).to_be_visible()
    page.get_by_label("retain max").fill(str(kept))
    page.get_by_label("retain min").fill("1")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="nothing is changed yet")).to_be_visible()
    assert snapshots() == before
    assert serious(page) == []
    page.get_by_role("button", name="do it now").click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    assert snapshots() == kept


def test_a_viewer_may_look_and_not_act(site: Site, open_page: Open) -> None:
    page = open_page(f"{OF_SALES}&tab=actions&action=compact", user="vera")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("You may not start this Dag")
    assert site.airflow.get("/dags/paimon_table_actions/dagRuns", limit=50)["total_entries"] <= 2


def test_two_snapshots_are_compared(open_page: Open) -> None:
    page = open_page(f"{OF_SALES}&tab=snapshots")
    boxes = page.get_by_role("checkbox")
    boxes.nth(0).check()
    boxes.nth(2).check()
    page.get_by_role("button", name="Compare #").click()
    expect(page.get_by_role("heading", name="compared with")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="compared with")).to_have_count(0)


def test_the_colours_follow_airflow_while_the_page_is_open(open_page: Open) -> None:
    page = open_page(scheme="light")
    colour = "getComputedStyle(document.querySelector('.pt-tile')).backgroundColor"
    light = page.evaluate(colour)
    page.evaluate("document.documentElement.classList.replace('light', 'dark')")
    assert page.evaluate(colour) != light


def test_names_comments_and_rows_with_markup_are_text(site: Site, open_page: Open) -> None:
    page = open_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    for tab in TABS:
        page.locator(f"#pt-tab-{tab}").click()
        settled(page)
        assert page.locator(".pt script, .pt img").count() == 0
    page.locator("#pt-tab-sample").click()
    expect(page.get_by_text("<script>alert(2)</script>")).to_be_visible()


def test_our_part_needs_no_unsafe_inline_of_a_policy(site: Site, open_page: Open) -> None:
    """Airflow sends no policy, so one that only reports is added to its page."""
    page = open_page()
    page.add_init_script(
        "window.faults = []; document.addEventListener('securitypolicyviolation', "
        "(e) => window.faults.push([e.violatedDirective, e.sourceFile]))"
    )

    def with_policy(route: object) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        policy = "default-src 'self'; script-src 'self'; style-src 'self'"
        headers = {**answer.headers, "content-security-policy-report-only": policy}
        route.fulfill(response=answer, headers=headers)  # type: ignore[attr-defined]

    page.route("**/plugin/paimon-tables**", with_policy)
    for tab in ("overview", "snapshots", "live", "partitions"):
        page.goto(f"{site.url}/plugin/paimon-tables{OF_SALES}&tab={tab}")
        page.wait_for_selector(".pt-panel")
        settled(page)
        ours = [f for f in page.evaluate("window.faults") if "ui/tables.js" in (f[1] or "")]
        assert ours == [], tab


@pytest.mark.filterwarnings("default")
def test_nobody_sees_a_route_without_a_login(site: Site) -> None:
    from paimon_provider.pages.routes import app

    paths = sorted({route.path.lstrip("/") for route in app.routes if hasattr(route, "methods")})
    assert len(paths) > 15
    for path in paths:
        assert site.ask(path.replace("{name}", "one.html"), uri=SALES)[0] == 401, path


@pytest.mark.parametrize("user", USERS)
def test_each_user_sees_what_airflow_lets_them(site: Site, open_page: Open, user: str) -> None:
    page = open_page(OF_SALES, user=user)
    expect(page.get_by_role("heading", level=1)).to_have_text("country_sales")
    assert site.ask("api/tables", user=user)[0] == 200


@pytest.mark.parametrize("width", [390, 820])
def test_it_can_be_read_on_a_phone(open_page: Open, width: int) -> None:
    page = open_page(OF_SALES, width=width)
    settled(page)
    page_width = page.evaluate(
        "document.querySelector('.pt').scrollWidth - document.querySelector('.pt').clientWidth"
    )
    assert page_width <= 0
