"""What every catalog owes, whoever keeps its names: folders, a database, a REST server, or a Hive metastore.

Goal: the same verbs give the same answers and the same errors, so that nobody above knows which one it is.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    NotFoundError,
    OutcomeUnknownError,
    TableError,
)
from tests.catalogs.hive.server import HiveServer, hive_metastore
from tests.catalogs.rest.server import WAREHOUSE, RestCatalogServer, rest_catalog
from tests.tables import rows_of, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
PATIENT = {"commit.max-retries": "1000", "commit.max-retry-wait": "50 ms"}
Opened = Callable[[], tc.Catalog]


@pytest.fixture(scope="module")
def server() -> Iterator[RestCatalogServer]:
    with rest_catalog() as server:
        yield server


@pytest.fixture(scope="module")
def metastore() -> Iterator[HiveServer]:
    with hive_metastore() as server:
        yield server


@pytest.fixture(params=["folders", "jdbc", "rest", "hive"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens the same catalog anew each time; it is empty at first."""
    if request.param in {"rest", "hive"}:
        where: str = WAREHOUSE
        if request.param == "rest":
            options = request.getfixturevalue("server").options()
        else:
            options = request.getfixturevalue("metastore").options()
            where = str(request.getfixturevalue("metastore").warehouse)
        yield lambda: tc.open_catalog(where, options)
        catalog = tc.open_catalog(where, options)
        for database in own_databases(catalog):
            for table in catalog.tables(database):  # else REST's server remembers their snapshots
                catalog.drop_table(f"{database}.{table}")
            catalog.drop_database(database)
        return
    names = f"jdbc:sqlite:{tmp_path / 'names.db'}"
    jdbc = {"metastore": "jdbc", "uri": names, "lock.enabled": "true"}
    yield lambda: tc.open_catalog(str(tmp_path / "wh"), jdbc if request.param == "jdbc" else None)


def own_databases(catalog: tc.Catalog) -> list[str]:
    """All but the one that every Hive metastore has."""
    return [name for name in catalog.databases() if name != "default"]


def add(table: tc.Table, *keys: int, **how: object) -> tc.Commit:
    rows = pa.table({"k": list(keys), "v": list(keys)}, schema=SCHEMA)
    return write_rows(table, rows, **how)


def test_databases_come_and_go(opened: Opened) -> None:
    catalog = opened()
    assert own_databases(catalog) == []
    catalog.create_database("shop")
    catalog.create_database("arts")
    catalog.create_database("shop", if_not_exists=True)
    with pytest.raises(AlreadyExistsError):
        catalog.create_database("shop")
    assert own_databases(opened()) == ["arts", "shop"]
    catalog.create_table("shop.orders", SCHEMA)
    with pytest.raises(ArgumentError, match="cascade"):
        catalog.drop_database("shop")
    catalog.drop_database("shop", cascade=True)
    with pytest.raises(NotFoundError):
        catalog.tables("shop")
    with pytest.raises(NotFoundError):
        catalog.drop_database("shop")
    catalog.drop_database("arts")
    assert own_databases(opened()) == []


def test_tables_come_and_go(opened: Opened) -> None:
    catalog = opened()
    catalog.create_database("shop")
    with pytest.raises(NotFoundError):
        catalog.create_table("none.orders", SCHEMA)
    table = catalog.create_table(
        "shop.orders", SCHEMA, primary_key=("k",), options={"bucket": "1"}, comment="what was sold"
    )
    assert opened().table("shop.orders").definition == table.definition
    assert (table.primary_key, table.definition.comment) == (("k",), "what was sold")
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("shop.orders", SCHEMA)
    catalog.create_table("shop.orders", SCHEMA, if_not_exists=True)
    catalog.create_table("shop.lines", SCHEMA)
    assert opened().tables("shop") == ["lines", "orders"]
    with pytest.raises(NotFoundError) as none:
        catalog.table("shop.sales")
    assert none.value.facts["available"] == ["lines", "orders"]
    catalog.drop_table("shop.lines")
    catalog.drop_table("shop.lines", if_exists=True)
    with pytest.raises(NotFoundError):
        catalog.drop_table("shop.lines")
    with pytest.raises(NotFoundError):
        catalog.rename_table("shop.lines", "shop.rows")
    catalog.create_table("shop.kept", SCHEMA)
    with pytest.raises(AlreadyExistsError):
        catalog.rename_table("shop.orders", "shop.kept")
    catalog.rename_table("shop.orders", "shop.sales")
    assert opened().tables("shop") == ["kept", "sales"]


def test_rows_that_are_committed_are_there_for_everybody(opened: Opened) -> None:
    catalog = opened()
    catalog.create_database("shop")
    table = catalog.create_table("shop.orders", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    assert table.latest_snapshot() is None
    for key in range(3):
        add(table, key)
    assert rows_of(opened().table("shop.orders")) == [(0, 0), (1, 1), (2, 2)]
    add(opened().table("shop.orders"), 3)
    assert len(rows_of(table)) == 4
    table.compact(strategy="full")
    assert rows_of(opened().table("shop.orders"))[3] == (3, 3)
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert ids == list(range(1, len(ids) + 1))


def test_a_commit_is_made_once_however_often_it_is_asked_for(opened: Opened) -> None:
    catalog = opened()
    catalog.create_database("shop")
    table = catalog.create_table("shop.orders", SCHEMA)
    how = {"commit": tc.CommitAs(user="loader", identifier=7)}
    first = add(table, 1, **how)
    again = add(opened().table("shop.orders"), 1, **how)
    assert again.replayed
    assert again.snapshot_ids == first.snapshot_ids
    assert rows_of(table) == [(1, 1)]


def test_a_table_that_is_made_anew_is_another_one(opened: Opened) -> None:
    catalog = opened()
    catalog.create_database("shop")
    old = catalog.create_table("shop.orders", SCHEMA)
    add(old, 1)
    catalog.drop_table("shop.orders")
    new = catalog.create_table("shop.orders", pa.schema([("name", pa.string())]))
    with pytest.raises(TableError):
        add(old, 2)
    assert new.read().to_arrow().num_rows == 0
    assert new.snapshots() == []


def test_of_writers_at_the_same_time_nobody_loses_a_row(opened: Opened) -> None:
    catalog = opened()
    catalog.create_database("shop")
    catalog.create_table("shop.orders", SCHEMA, options=PATIENT)
    together = threading.Barrier(4)

    def work(writer: int) -> None:
        table = opened().table("shop.orders")
        together.wait()
        for n in range(5):
            add(table, 10 * writer + n)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    table = opened().table("shop.orders")
    assert sorted(k for k, _ in rows_of(table)) == [10 * w + n for w in range(4) for n in range(5)]
    assert [s.id for s in table.snapshots()] == list(range(1, 21))


def test_of_those_who_create_one_table_one_does(opened: Opened) -> None:
    catalog = opened()
    catalog.create_database("shop")
    name = f"shop.t{uuid.uuid4().hex[:8]}"
    together = threading.Barrier(4)

    def create(_: int) -> bool:
        mine = opened()
        together.wait()
        try:
            mine.create_table(name, SCHEMA)
        except (AlreadyExistsError, OutcomeUnknownError):  # a server may fail over the second one
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(create, range(4))) == 1
    assert catalog.table(name).arrow_schema == SCHEMA
