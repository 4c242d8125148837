"""Flows: positions, pending rows, races, crashes.

The flow of these tests counts what it was given: orders of known customers go into ``sales``, the
others wait in ``waiting``.  The oracle joins everything at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    OutcomeUnknownError,
    PositionDivergedError,
)
from table_core.jobs.embedded import EmbeddedEngine
from table_core.jobs.flow import run_flow
from table_core.ondisk import layout
from table_core.position.document import Positions
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.table.api.catalog import Catalog
from table_core.table.metadata.results import ResultDocument
from tests.sql_here import SqlHere
from tests.tables import foreign_commit, write_rows

ORDERS = pa.schema([("id", pa.int64()), ("customer", pa.int64()), ("amount", pa.int64())])
CUSTOMERS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string())])
SALES = pa.schema([pa.field("country", pa.string(), nullable=False), ("amount", pa.int64())])
SUMS = {"bucket": "1", "merge-engine": "aggregation", "fields.amount.aggregate-function": "sum"}
SHORT = {"snapshot.time-retained": "1 ms", "snapshot.num-retained.min": "1"}
EVERY = (
    "(SELECT id, customer, amount FROM orders UNION ALL SELECT id, customer, amount FROM waiting)"
)
FLOW = {
    "sources": {
        "orders": {"table": "d.orders", "mode": "changes"},
        "customers": {"table": "d.customers", "mode": "snapshot"},
    },
    "pending": {
        "table": "d.waiting",
        "sql": f"SELECT o.* FROM {EVERY} o ANTI JOIN customers c ON o.customer = c.id",
    },
    "sql": "SELECT c.country, CAST(sum(o.amount) AS BIGINT) AS amount "
    f"FROM {EVERY} o JOIN customers c ON o.customer = c.id GROUP BY 1",
}


class Shop:
    """Two sources, a pending table, a target, and what should be in it."""

    def __init__(self, engine: EmbeddedEngine | None = None) -> None:
        self.engine = engine or EmbeddedEngine()
        self.catalog = catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
        catalog.create_database("d")
        catalog.create_table("d.orders", ORDERS, options=SHORT)
        catalog.create_table("d.waiting", ORDERS, options=SHORT)
        one = {"bucket": "1", **SHORT}
        catalog.create_table("d.customers", CUSTOMERS, primary_key=("id",), options=one)
        catalog.create_table("d.sales", SALES, primary_key=("country",), options=SUMS | SHORT)
        self.all_orders: list[tuple[int, int, int]] = []
        self.all_customers: dict[int, str] = {}

    def table(self, name: str) -> tc.Table:
        return self.catalog.table(f"d.{name}")

    def put(self, name: str, rows: Mapping[str, list[Any]]) -> None:
        table = self.table(name)
        write_rows(table, pa.table(dict(rows), schema=table.arrow_schema))

    def order(self, *rows: tuple[int, int, int]) -> None:
        self.all_orders += rows
        ids, customers, amounts = map(list, zip(*rows, strict=True))
        self.put("orders", {"id": ids, "customer": customers, "amount": amounts})

    def customer(self, id: int, country: str) -> None:
        self.all_customers[id] = country
        self.put("customers", {"id": [id], "country": [country]})

    def run(
        self, commit: tc.CommitAs | None = None, catalog: Catalog | None = None
    ) -> ResultDocument:
        catalog = catalog or self.catalog
        target = catalog.table("d.sales")
        return run_flow(catalog, target, FLOW, commit or tc.CommitAs(), self.engine)

    def sales(self) -> dict[str, int]:
        rows = self.table("sales").read().to_arrow()
        return dict(zip(rows["country"].to_pylist(), rows["amount"].to_pylist(), strict=True))

    def snapshots(self, name: str = "sales") -> list[int]:
        return [snapshot.id for snapshot in self.table(name).snapshots()]

    def expire(self) -> None:
        for name in ("orders", "waiting", "customers", "sales"):
            self.table(name).expire_snapshots(retain_max=1, retain_min=1)

    def expected(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for _, customer, amount in self.all_orders:
            if (country := self.all_customers.get(customer)) is not None:
                found[country] = found.get(country, 0) + amount
        return found


@pytest.fixture
def shop() -> Shop:
    found = Shop()
    found.customer(1, "NL")
    found.order((1, 1, 10), (2, 2, 20))
    return found


@pytest.mark.parametrize("branch", [None, "b"])
def test_rows_that_wait_never_replace_those_of_the_target(shop: Shop, branch: str | None) -> None:
    shop.put("sales", {"country": ["DE"], "amount": [1]})
    if branch is not None:
        shop.table("sales").tags.create("t")
        shop.table("sales").branches.create(branch, tag="t")
    target = shop.catalog.table("d.sales", branch=branch)
    own = {**FLOW, "pending": {**FLOW["pending"], "table": "d.sales"}}
    with pytest.raises(ArgumentError, match=r"would replace all of d\.sales") as error:
        run_flow(shop.catalog, target, own, tc.CommitAs(), EmbeddedEngine())
    assert error.value.facts["argument"] == "pending"
    assert shop.sales() == {"DE": 1}


def test_orders_wait_for_their_customer_and_count_once(shop: Shop) -> None:
    first = shop.run()
    assert shop.sales() == shop.expected() == {"NL": 10}
    assert first.details["pending_rows"] == 1
    shop.order((3, 1, 5), (4, 3, 7))
    shop.customer(2, "FR")
    shop.run()
    assert shop.sales() == shop.expected() == {"NL": 15, "FR": 20}
    shop.customer(3, "FR")
    last = shop.run()
    assert shop.sales() == shop.expected() == {"NL": 15, "FR": 27}
    assert last.details["pending_rows"] == 0
    shop.order((5, 3, 1))
    shop.run()
    assert shop.sales() == shop.expected()


def test_a_run_with_nothing_new_makes_no_snapshot(shop: Shop) -> None:
    shop.run()
    before = shop.snapshots()
    done = shop.run()
    assert shop.snapshots() == before
    assert (done.rows_written, done.snapshot_after) == (0, before[-1])


def test_rows_that_all_have_to_wait_are_taken_once_though_the_source_expires(shop: Shop) -> None:
    """Nothing goes into the target, so only a snapshot without rows can keep the position."""
    shop.run()
    shop.order((3, 9, 9))
    shop.run()
    newest = shop.snapshots("orders")[-1]
    kept = Positions.parse(shop.table("sales").position("tc.flow.orders"))
    assert kept is not None
    assert [str(one.place) for one in kept] == [f"snapshot {newest}"]
    shop.order((4, 1, 1))
    shop.expire()
    shop.run()
    shop.expire()
    shop.customer(9, "DE")
    shop.run()
    assert shop.sales() == shop.expected()


def test_the_same_commit_again_changes_nothing(shop: Shop) -> None:
    name = tc.CommitAs(user="run-1", identifier=3)
    first = shop.run(name)
    shop.order((3, 1, 5))
    again = shop.run(name)
    assert again.details["replayed"]
    assert (again.snapshot_after, again.rows_written) == (first.snapshot_after, first.rows_written)
    assert shop.sales() == {"NL": 10}


def test_two_runs_from_one_position_are_one_commit_and_one_conflict(shop: Shop) -> None:
    class Overtaken(EmbeddedEngine):
        """Another run goes through between this one's pins and its commits."""

        def query(self, sql: str, views: Mapping[str, Any], parameters: Any = None) -> Any:
            rows = super().query(sql, views, parameters)
            if not shop.snapshots():
                shop.run()
            return rows

    with pytest.raises(CommitConflictError, match="expected None"):
        run_flow(shop.catalog, shop.table("sales"), FLOW, tc.CommitAs(), Overtaken())
    assert shop.sales() == shop.expected()
    shop.customer(2, "FR")
    shop.run()
    assert shop.sales() == shop.expected()


def crashes(*, runs_before: int) -> Iterator[tuple[int, Shop]]:
    """A flow that died at its nth changing call, for every n."""
    total = nth = 1
    while nth <= total:
        shop = Shop(SqlHere())
        shop.customer(1, "NL")
        shop.order((1, 1, 10), (2, 2, 20))
        for _ in range(runs_before):
            shop.run()
        shop.order((3, 1, 5), (4, 3, 7))
        shop.customer(2, "FR")
        seen = 0

        def decide(call: Call, nth: int = nth) -> Fault | None:
            nonlocal seen
            seen += call.name in {"create", "write", "delete"}
            return Fault.CRASH_AFTER if seen == nth else None

        faulty = replace(shop.catalog, storage=FaultyStorage(shop.catalog.storage, Faults(decide)))
        try:
            shop.run(tc.CommitAs(user="run-2"), faulty)
        except Crash:
            total = nth + 1
        yield nth, shop
        nth += 1


@pytest.mark.parametrize("runs_before", [0, 1])
def test_a_run_that_dies_anywhere_is_finished_by_its_retry(runs_before: int) -> None:
    steps = 0
    for nth, shop in crashes(runs_before=runs_before):
        shop.order((5, 1, 100))  # the retry pins newer sources than the run that died
        shop.order((6, 1, 200))
        shop.expire()
        shop.run(tc.CommitAs(user="run-2"))
        shop.expire()
        shop.run(tc.CommitAs(user="run-3"))
        assert shop.sales() == shop.expected(), nth
        shop.customer(3, "DE")
        shop.run(tc.CommitAs(user="run-4"))
        assert shop.sales() == shop.expected(), nth
        steps += 1
    assert steps > 10


def test_positions_survive_the_commits_of_other_writers_and_expiry(shop: Shop) -> None:
    shop.run()
    for _ in range(3):
        foreign_commit(shop.table("sales"))
    expired = shop.table("sales").expire_snapshots(retain_max=1)
    assert expired.details["held_by"] == "position"
    shop.order((3, 1, 5))
    shop.run()
    assert shop.sales() == shop.expected()


def test_a_position_whose_snapshots_are_gone_is_an_unknown_outcome_and_no_start_from_zero(
    shop: Shop,
) -> None:
    shop.run()
    sales = shop.table("sales")
    ids = shop.snapshots()
    foreign_commit(sales)
    foreign_commit(sales)
    sales.access.storage.delete([layout.snapshot_path(id, "main") for id in ids])
    shop.order((3, 1, 5))
    with pytest.raises(OutcomeUnknownError, match=r"tc\.flow\."):
        shop.run()


def test_changes_that_expired_before_they_were_read_are_an_error(shop: Shop) -> None:
    shop.run()
    for id in range(10, 13):
        shop.order((id, 1, 1))
    orders = shop.table("orders")
    for info in list(orders.access.storage.list("consumer")):
        orders.access.storage.delete([info.path])
    shop.expire()
    with pytest.raises(PositionDivergedError, match="expired"):
        shop.run()
    assert shop.sales() == {"NL": 10}


def test_a_first_run_tells_row_kinds_too(shop: Shop) -> None:
    flow = {**FLOW, "pending": None, "sql": "SELECT _ROW_KIND AS country, 1 AS amount FROM orders"}
    run_flow(shop.catalog, shop.table("sales"), flow, tc.CommitAs(), EmbeddedEngine())
    assert shop.sales() == {"+I": 2}


def test_a_flow_without_sources_writes_what_its_sql_says(shop: Shop) -> None:
    flow = {"sql": "SELECT 'XX' AS country, 1 AS amount"}
    run_flow(shop.catalog, shop.table("sales"), flow, tc.CommitAs(), EmbeddedEngine())
    assert shop.sales() == {"XX": 1}
