"""A pipeline from files through two flows: exact, branch by branch, alone on its tables, and ended behind a batch."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    CorruptFileError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.jobs.embedded import EmbeddedEngine
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.pipeline import run_pipeline
from table_core.jobs.pipeline_claims import claimed
from table_core.jobs.run import job_of, run_embedded
from table_core.ondisk.pipeline_claim import PipelineClaim, claim_path
from tests.eventually import eventually
from tests.unit.cdc.feed import event, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("country", pa.string()), ("amount", pa.int64())]
)
SALES = pa.schema(
    [pa.field("country", pa.string(), nullable=False), ("revenue", pa.int64()), ("n", pa.int64())]
)
SUMS = {f"fields.{name}.aggregate-function": "sum" for name in ("revenue", "n")}
PAID = "SELECT id, country, amount FROM orders"
BY_COUNTRY = """SELECT country, CAST(sum(amount) AS BIGINT) AS revenue, count(*) AS n FROM paid
WHERE amount > 0 GROUP BY country"""
POISONED = "SELECT country, CAST(country AS BIGINT) AS revenue, CAST(1 AS BIGINT) AS n FROM orders"


class Lake:
    """A warehouse, a folder of events, and the pipeline between them."""

    def __init__(self, folder: Path) -> None:
        self.events = folder / "events"
        self.events.mkdir()
        self.warehouse = f"file://{folder}/wh"
        self.catalog = tc.open_catalog(self.warehouse)
        self.catalog.create_database("shop")
        keyed = {"bucket": "1", "changelog-producer": "input"}
        self.catalog.create_table("shop.orders", ORDERS, primary_key=("id",), options=keyed)
        self.catalog.create_table("shop.paid", ORDERS, primary_key=("id",), options=keyed)
        for name in ("sales", "others"):
            self.catalog.create_table(
                f"shop.{name}",
                SALES,
                primary_key=("country",),
                options={"bucket": "1", "merge-engine": "aggregation", **SUMS},
            )
        self.put = 0

    def write(self, count: int) -> None:
        """So many new orders, of two countries in turn."""
        rows = [
            {"id": n, "country": "is" if n % 2 else "no", "amount": n}
            for n in range(self.put + 1, self.put + count + 1)
        ]
        self.put += count
        path = self.events / f"{self.put:06}.jsonl"
        path.with_suffix(".part").write_bytes(lines(*(event("c", after=row) for row in rows)))
        path.with_suffix(".part").rename(path)

    def hops(self, **sql: str) -> list[dict[str, Any]]:
        source = {"kind": "files", "uri": f"file://{self.events}/*.jsonl"}
        hops: list[dict[str, Any]] = [
            {
                "name": "orders",
                "action": "sync-table",
                "target": "shop.orders",
                "args": {"source": source},
            }
        ]
        flows = {"paid": ("orders", PAID), "sales": ("paid", BY_COUNTRY)}
        for name, text in sql.items():
            flows[name] = (flows[name][0] if name in flows else "orders", text)
        for name, (read, text) in flows.items():
            sources = {read: {"table": f"shop.{read}", "mode": "changes"}}
            args = {"sql": text, "sources": sources}
            hops.append({"name": name, "action": "write", "target": f"shop.{name}", "args": args})
        return hops

    def run(self, stop: threading.Event, hops: list[dict[str, Any]], **more: Any) -> Any:
        args = {"name": "sales", "hops": hops, "interval": "100 ms", **more}
        spec = JobSpec(action="pipeline", warehouse=self.warehouse, table="shop", args=args)
        engine = EmbeddedEngine(lambda stage, **facts: self.told.append((stage, facts)))
        return run_pipeline(job_of(spec, engine)[1], stop)

    told: list[tuple[str, dict[str, Any]]]

    @contextmanager
    def running(self, **sql: str) -> Iterator[Future[Any]]:
        """The pipeline, in a thread; it is stopped behind this block."""
        self.told, stop = [], threading.Event()
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.run, stop, self.hops(**sql))
            try:
                yield run
            finally:
                stop.set()

    def has(self, count: int, table: str = "sales", column: str = "n") -> None:
        """Wait until a table has counted so many orders."""
        eventually(lambda: self.counted(table, column) == count, f"{count} in {table}")

    def counted(self, table: str = "sales", column: str = "n") -> int:
        return sum(self.catalog.table(f"shop.{table}").read().to_arrow()[column].to_pylist())

    def is_exact(self) -> None:
        rows = self.catalog.table("shop.sales").read().to_arrow().to_pylist()
        assert {row["country"]: (row["revenue"], row["n"]) for row in rows} == {
            "is": (
                sum(range(1, self.put + 1, 2)),
                len(range(1, self.put + 1, 2)),
            ),
            "no": (sum(range(2, self.put + 1, 2)), len(range(2, self.put + 1, 2))),
        }


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_what_comes_goes_through_all_hops_and_a_drain_leaves_nothing_behind(lake: Lake) -> None:
    lake.write(10)
    with lake.running() as run:
        lake.has(10)
        for _ in range(3):
            lake.write(7)
            lake.has(lake.put)
        lake.write(5)  # of which nobody has heard when it is stopped
        eventually(lambda: lake.counted("orders", "id") == sum(range(1, lake.put + 1)), "orders")
    result = run.result(60)
    lake.is_exact()
    hops = result.details["hops"]
    assert {name: one["batches"] > 1 for name, one in hops.items()} == {
        "orders": True,
        "paid": True,
        "sales": True,
    }
    assert hops["paid"]["rows"] == lake.put


def test_a_flow_that_fails_stops_what_it_feeds_alone_and_is_told_once(lake: Lake) -> None:
    lake.write(4)
    with lake.running(others=POISONED) as run:
        lake.has(4)
        lake.write(4)
        lake.has(8)
    with pytest.raises(ArgumentError, match="SQL failed"):
        run.result(60)
    lake.is_exact()
    assert lake.counted("others") == 0
    stopped = [facts["hop"] for stage, facts in lake.told if stage == "stopped"]
    assert stopped == ["others"]


def test_a_source_that_fails_leaves_the_other_hops_at_work(lake: Lake) -> None:
    lake.write(4)
    with lake.running() as run:
        lake.has(4)
        (lake.events / "zzz.jsonl").write_bytes(b"no event\n")
        eventually(lambda: any(stage == "stopped" for stage, _ in lake.told), "the source stops")
        table = lake.catalog.table("shop.orders")
        lake.put += 1
        with table.write() as writer:  # what others write goes on through the flows
            writer.write(pa.table({"id": [5], "country": ["is"], "amount": [5]}, schema=ORDERS))
            writer.commit()
        lake.has(5)
    with pytest.raises(TableError, match=r"zzz\.jsonl"):
        run.result(60)
    lake.is_exact()


def test_the_same_flows_by_a_schedule_go_on_where_the_pipeline_was_and_it_where_they_were(
    lake: Lake,
) -> None:
    def scheduled() -> None:
        for hop in lake.hops():
            args = dict(hop["args"])
            if hop["action"] == "write":
                args["name"] = hop["name"]
            run_embedded(
                JobSpec(
                    action=hop["action"], warehouse=lake.warehouse, table=hop["target"], args=args
                )
            )

    for _ in range(2):
        lake.write(6)
        scheduled()
        lake.is_exact()
        lake.write(6)
        with lake.running() as run:
            lake.has(lake.put)
        run.result(60)
        lake.is_exact()


def test_it_ends_behind_a_batch_when_its_lifetime_is_over(lake: Lake) -> None:
    lake.told = []
    lake.write(3)
    lake.run(threading.Event(), lake.hops(), max_lifetime="2 s")
    lake.is_exact()


def test_two_of_one_pipeline_exclude_each_other_and_who_ended_excludes_nobody(lake: Lake) -> None:
    lake.write(2)
    with lake.running() as run:
        lake.has(2)
        with pytest.raises(CommitConflictError, match="pipeline 'sales' is run by process"):
            lake.run(threading.Event(), lake.hops())
        lake.write(2)
        lake.has(4)
    run.result(60)
    with claimed([lake.catalog.table("shop.sales")], "another"):
        pass
    lake.is_exact()


def test_a_run_whose_claim_cannot_be_read_any_more_ends(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("table_core.jobs.pipeline_claims.BEAT_MS", 50)
    table = lake.catalog.table("shop.sales")

    def is_refused() -> bool:
        try:
            claims.require()
        except CorruptFileError as error:
            return "claim-1" in str(error)
        return False

    with claimed([table], "sales") as claims:
        claims.require()
        table.access.storage.write(claim_path(1), b"{")
        eventually(is_refused, "the run says that its claim is no document")


def test_a_run_that_lost_its_claim_ends(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("table_core.jobs.pipeline_claims.BEAT_MS", 50)
    lake.write(2)
    with lake.running() as run:
        lake.has(2)
        storage = lake.catalog.table("shop.sales").access.storage
        other = PipelineClaim(pipeline="sales", token="other", machine="elsewhere", process=1)
        storage.write(claim_path(99), other.to_json())
        with pytest.raises(CommitConflictError, match="process 1 on elsewhere"):
            run.result(60)


def test_of_many_that_begin_at_once_one_runs(lake: Lake) -> None:
    tables = [lake.catalog.table(f"shop.{name}") for name in ("sales", "paid")]
    begin, over = threading.Barrier(4), threading.Event()

    def claims() -> bool:
        begin.wait()
        try:
            with claimed(tables, "sales"):
                over.wait(60)
        except CommitConflictError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(claims) for _ in range(4)]
        eventually(lambda: sum(run.done() for run in runs) == 3, "three are refused")
        over.set()
        assert sorted(run.result(60) for run in runs) == [False, False, False, True]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"action": "rollback"}, UnsupportedFeatureError, "'rollback' in a pipeline"),
        ({"args": {"sql": "SELECT 1", "nope": 1}}, ArgumentError, "'nope'"),
        ({"args": {"rows_uri": "file:///x"}}, ArgumentError, "has sql"),
        ({"name": "orders"}, ArgumentError, "two are called 'orders'"),
        ({"target": "shop.orders"}, ArgumentError, "in a circle"),
    ],
)
def test_hops_that_cannot_be_are_refused_with_their_number_and_name(
    lake: Lake, change: dict[str, Any], error: type[TableError], says: str
) -> None:
    lake.told = []
    hops = lake.hops()
    hops[1] |= change
    with pytest.raises(error, match=says):
        lake.run(threading.Event(), hops)


@pytest.mark.parametrize("name", ["until", "interval", "max_rows"])
def test_what_is_the_pipelines_own_is_refused_in_a_source(lake: Lake, name: str) -> None:
    lake.told = []
    hops = lake.hops()
    hops[0]["args"][name] = {"until": "now", "interval": "1 s", "max_rows": 5}[name]
    with pytest.raises(ArgumentError, match=f"{name} is the pipeline's own"):
        lake.run(threading.Event(), hops)


def test_sources_alone_are_no_pipeline(lake: Lake) -> None:
    lake.told = []
    with pytest.raises(ArgumentError, match="no flow among them"):
        lake.run(threading.Event(), lake.hops()[:1])
