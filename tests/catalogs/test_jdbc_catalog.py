"""Tables whose names a database keeps, as Paimon's JDBC catalog keeps them.

Goal: the same verbs as in folders; two writers under the lock take turns; a lock that its holder
forgot is free after its lease.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    NotFoundError,
    OptionError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from table_core.storage.stores.jdbc import JdbcDatabase
from table_core.storage.stores.jdbc_lock import JdbcLock
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
Options = dict[str, str]


@pytest.fixture
def options(database_options: Options) -> Options:
    """A catalog of its own in the shared database."""
    return {**database_options, "catalog-key": uuid.uuid4().hex}


def lock_of(options: Options, *, timeout_ms: int = 5_000) -> JdbcLock:
    login = {k[len("jdbc.") :]: v for k, v in options.items() if k.startswith("jdbc.")}
    database = JdbcDatabase(options["uri"], login)
    lock = JdbcLock(database, options["catalog-key"], 50, timeout_ms, 0)
    lock.create_table()
    return lock


def add(table: tc.Table, n: int, **how: object) -> tc.Commit:
    return write_rows(table, pa.table({"k": [n], "v": [n]}, schema=table.arrow_schema), **how)


@pytest.mark.parametrize("cascade", [False, True])
def test_dropping_a_database_leaves_the_tables_of_another_catalog_there(
    options: Options, tmp_path: Path, *, cascade: bool
) -> None:
    """Two catalogs keep their names apart, and share the folders of the warehouse."""
    theirs = tc.open_catalog(str(tmp_path), options)
    theirs.create_database("shop")
    add(theirs.create_table("shop.orders", SCHEMA), 1)
    ours = tc.open_catalog(str(tmp_path), {**options, "catalog-key": uuid.uuid4().hex})
    ours.create_database("shop")
    if cascade:
        ours.create_table("shop.sales", SCHEMA)
    ours.drop_database("shop", cascade=cascade)
    assert ours.databases() == []
    assert not (tmp_path / "shop.db" / "sales").exists()
    assert theirs.table("shop.orders").read().to_arrow().num_rows == 1


def test_databases_and_tables_come_and_go(options: Options, tmp_path: Path) -> None:
    catalog = tc.open_catalog(str(tmp_path), options)
    assert catalog.databases() == []
    catalog.create_database("shop")
    catalog.create_database("shop", if_not_exists=True)
    with pytest.raises(AlreadyExistsError):
        catalog.create_database("shop")
    table = catalog.create_table("shop.orders", SCHEMA, primary_key=("k",))
    add(table, 1)
    assert (catalog.databases(), catalog.tables("shop")) == (["shop"], ["orders"])
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("shop.orders", SCHEMA, primary_key=("k",))
    catalog.create_table("shop.orders", SCHEMA, primary_key=("k",), if_not_exists=True)

    again = tc.open_catalog(str(tmp_path), options)
    again.rename_table("shop.orders", "shop.sales")
    assert again.tables("shop") == ["sales"]
    assert again.table("shop.sales").read().to_arrow().num_rows == 1
    again.alter_table("shop.sales", [tc.AddColumn("note", "STRING")])
    with pytest.raises(NotFoundError):
        catalog.table("shop.orders")
    with pytest.raises(ArgumentError):
        again.drop_database("shop")
    again.drop_table("shop.sales")
    assert not (tmp_path / "shop.db" / "sales").exists()
    again.drop_database("shop", cascade=True)
    assert catalog.databases() == []


def test_catalogs_of_two_keys_share_a_database_unseen(options: Options, tmp_path: Path) -> None:
    one = tc.open_catalog(str(tmp_path / "a"), options)
    two = tc.open_catalog(str(tmp_path / "b"), {**options, "catalog-key": uuid.uuid4().hex})
    one.create_database("shop")
    one.create_table("shop.orders", SCHEMA)
    assert two.databases() == []


def test_a_table_that_only_its_folder_knows_is_not_in_the_catalog(
    options: Options, tmp_path: Path
) -> None:
    folders = tc.open_catalog(str(tmp_path))
    folders.create_database("shop")
    folders.create_table("shop.orders", SCHEMA, primary_key=("k",))
    catalog = tc.open_catalog(str(tmp_path), options)
    catalog.create_database("shop")
    assert catalog.tables("shop") == []
    with pytest.raises(NotFoundError):
        catalog.table("shop.orders")
    with pytest.raises(AlreadyExistsError, match="files of another table"):
        catalog.create_table("shop.orders", pa.schema([("x", pa.int32())]))
    catalog.create_table("shop.orders", SCHEMA, primary_key=("k",))
    assert catalog.tables("shop") == ["orders"]


def test_names_are_lower_case(options: Options, tmp_path: Path) -> None:
    catalog = tc.open_catalog(str(tmp_path), options)
    with pytest.raises(ArgumentError, match="lower case"):
        catalog.create_database("Shop")


def test_writers_at_the_same_time_take_turns(options: Options, tmp_path: Path) -> None:
    catalog = tc.open_catalog(str(tmp_path), options)
    catalog.create_database("shop")
    catalog.create_table("shop.orders", SCHEMA, options={"commit.max-retries": "100"})

    def work(writer: int) -> None:
        table = tc.open_catalog(str(tmp_path), options).table("shop.orders")
        for n in range(5):
            add(table, 10 * writer + n)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    table = catalog.table("shop.orders")
    rows = table.read().to_arrow()["k"].to_pylist()
    assert sorted(rows) == sorted(10 * w + n for w in range(4) for n in range(5))
    assert [s.id for s in table.snapshots()] == list(range(1, 21))


def test_the_lock_lets_one_in_at_a_time(options: Options) -> None:
    lock, inside, most = lock_of(options, timeout_ms=60_000), 0, 0
    guard = threading.Lock()

    def work(_: int) -> None:
        nonlocal inside, most
        for _round in range(5):
            with lock.held("d.t"):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert most == 1
    with lock.held("d.t"), lock.held("d.other"):
        pass


def test_a_lock_that_is_held_is_unavailable_in_the_end(options: Options) -> None:
    second = lock_of(options, timeout_ms=100)
    with (
        lock_of(options).held("d.t"),
        pytest.raises(StorageUnavailableError, match="another writer holds it"),
        second.held("d.t"),
    ):
        pass


def test_a_forgotten_lock_is_free_after_its_lease(options: Options) -> None:
    first, second = lock_of(options, timeout_ms=1_000), lock_of(options, timeout_ms=20_000)
    with first.held("d.t"):
        started = time.monotonic()
        with second.held("d.t"):  # a lease of one second, kept in whole seconds
            assert 0.5 < time.monotonic() - started < 15
            # what the first one lets go of is not its own any more
    with lock_of(options, timeout_ms=200).held("d.t"):
        pass


def test_settings_travel_to_other_processes_without_showing_secrets(options: Options) -> None:
    database = JdbcDatabase("jdbc:postgresql://me:hunter2@db/x?password=hunter2", {"user": "a"})
    assert "hunter2" not in repr(database) + database.shown + repr(lock_of(options))
    lock = pickle.loads(pickle.dumps(lock_of(options)))
    with lock.held("d.t"):
        pass


def test_a_database_that_does_not_answer_is_unavailable() -> None:
    for kind in ("postgresql", "mysql"):
        with pytest.raises(StorageUnavailableError):
            JdbcDatabase(f"jdbc:{kind}://127.0.0.1:9/x", {"user": "a"}).rows("SELECT 1")


def test_what_is_missing_or_unknown_is_said() -> None:
    with pytest.raises(OptionError, match="uri"):
        tc.open_catalog("memory://j", {"metastore": "jdbc"})
    with pytest.raises(OptionError, match=r"lock\.path"):
        tc.open_catalog("memory://j", {"lock.type": "file"})
    with pytest.raises(OptionError, match=r"lock\.type"):
        tc.open_catalog("memory://j", {"lock.enabled": "true"})
    with pytest.raises(OptionError, match="metastore"):
        tc.open_catalog("memory://j", {"metastore": "folders"})
    with pytest.raises(UnsupportedFeatureError, match="glue"):
        tc.open_catalog("memory://j", {"metastore": "glue"})
    with pytest.raises(UnsupportedFeatureError, match="jdbc:oracle:x"):
        tc.open_catalog("memory://j", {"metastore": "jdbc", "uri": "jdbc:oracle:x"})
