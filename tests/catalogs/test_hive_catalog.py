"""What a Hive metastore adds to a catalog: tables that are not ours, places of its own, locks, and its crashes.

Goal: nothing that is not a table of Paimon is touched; whatever dies between the metastore and the files is finished by
the same call; a metastore that is killed in the middle loses no commit and applies none twice.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    ArgumentError,
    ErrorKind,
    NotFoundError,
    StorageUnavailableError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.hive.objects import HiveColumn, HiveTable
from table_core.storage.stores.faults import Crash
from table_core.storage.stores.hive_lock import HiveLock
from table_core.storage.stores.hive_metastore import HiveMetastore, HiveSession
from tests.catalogs.hive.server import LOCK_S, HiveServer, hive_metastore
from tests.lanes import budget
from tests.servers import ROOT
from tests.tables import rows_of, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
PATIENT = {"commit.max-retries": "1000", "commit.max-retry-wait": "50 ms", "bucket": "-1"}
PROCESSES = budget("PROCESSES", ci=3, nightly=8)
COMMITS = budget("COMMITS", ci=10, nightly=100)
KILLS = budget("KILLS", ci=1, nightly=3)


@pytest.fixture(scope="module")
def server() -> Iterator[HiveServer]:
    with hive_metastore() as server:
        yield server


@pytest.fixture
def catalog(server: HiveServer) -> Iterator[tc.Catalog]:
    """With the database ``shop``, and without any table at first."""
    catalog = tc.open_catalog(str(server.warehouse), server.options())
    catalog.create_database("shop")
    yield catalog
    metastore = HiveMetastore(server.uri)
    with metastore.session() as session:
        for table in session.tables("shop"):
            session.drop_table("shop", table.name)
    catalog.drop_database("shop", cascade=True)
    subprocess.run(["rm", "-rf", str(server.warehouse / "shop.db")], check=True)


def add(table: tc.Table, *keys: int, **how: object) -> tc.Commit:
    return write_rows(table, pa.table({"k": list(keys), "v": list(keys)}, schema=SCHEMA), **how)


def of_parquet(server: HiveServer, name: str = "sales", **more: str) -> HiveTable:
    """A table of Hive's own, with a file, registered."""
    folder = server.warehouse / "shop.db" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-0").write_text("theirs")
    table = HiveTable(
        database="shop",
        name=name,
        location=f"file:{folder}",
        columns=(HiveColumn("k", "int"),),
        input_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        output_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        serde="org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        **more,  # type: ignore[arg-type]
    )
    with HiveMetastore(server.uri).session() as session:
        assert session.create_table(table)
    return table


def test_a_table_of_another_format_is_called_what_it_is_and_left_alone(
    catalog: tc.Catalog, server: HiveServer
) -> None:
    of_parquet(server)
    folder = server.warehouse / "shop.db" / "sales"
    catalog.create_table("shop.orders", SCHEMA)
    assert catalog.tables("shop") == ["orders"]
    assert catalog.others("shop") == {"sales": "a table of Parquet files"}
    for verb in (
        lambda: catalog.table("shop.sales"),
        lambda: catalog.create_table("shop.sales", SCHEMA),
        lambda: catalog.drop_table("shop.sales"),
        lambda: catalog.rename_table("shop.sales", "shop.sold"),
        lambda: catalog.rename_table("shop.orders", "shop.sales"),
    ):
        with pytest.raises(UnsupportedFeatureError, match="Parquet"):
            verb()
    with pytest.raises(ArgumentError, match="sales"):
        catalog.drop_database("shop", cascade=True)
    assert catalog.tables("shop") == ["orders"], "nothing was dropped"
    assert [f.name for f in folder.iterdir()] == ["part-0"]


def test_names_that_not_every_metastore_takes_are_refused(catalog: tc.Catalog) -> None:
    for name in ("Orders", "or-ders", "orders 2", "bestellung_ä", "x" * 129):
        with pytest.raises(ArgumentError):
            catalog.create_table(f"shop.{name}", SCHEMA)
    assert catalog.tables("shop") == []


def test_files_of_an_external_table_stay(catalog: tc.Catalog, server: HiveServer) -> None:
    options = server.options(**{"table.type": "external"})
    external = tc.open_catalog(str(server.warehouse), options)
    table = external.create_table("shop.orders", SCHEMA)
    add(table, 1)
    folder = server.warehouse / "shop.db" / "orders"
    before = sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))
    catalog.rename_table("shop.orders", "shop.kept")
    assert rows_of(catalog.table("shop.kept")) == [(1, 1)]
    add(catalog.table("shop.kept"), 2)
    catalog.alter_table("shop.kept", [tc.AddColumn("note", "STRING")])
    catalog.drop_table("shop.kept")
    assert catalog.tables("shop") == []
    after = {str(p.relative_to(folder)) for p in folder.rglob("*")}
    assert set(before) <= after
    assert tc.open_table(str(folder)).read().to_arrow().num_rows == 2
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("shop.orders", pa.schema([("x", pa.int32())]))


def test_a_table_moves_to_another_database_and_another_folder(
    catalog: tc.Catalog, server: HiveServer
) -> None:
    catalog.create_database("store", if_not_exists=True)
    add(catalog.create_table("shop.orders", SCHEMA), 1)
    catalog.rename_table("shop.orders", "store.sold")
    assert (catalog.tables("shop"), catalog.tables("store")) == ([], ["sold"])
    assert rows_of(catalog.table("store.sold")) == [(1, 1)]
    assert not (server.warehouse / "shop.db" / "orders").exists()
    assert (server.warehouse / "store.db" / "sold" / "schema" / "schema-0").exists()
    catalog.drop_database("store", cascade=True)
    assert "store" not in catalog.databases()


def test_the_metastore_may_not_name_any_folder_of_this_machine(
    catalog: tc.Catalog, server: HiveServer, tmp_path: Path
) -> None:
    elsewhere = tc.open_catalog(str(tmp_path / "wh"), None)
    elsewhere.create_database("d")
    add(elsewhere.create_table("d.t", SCHEMA), 7)
    catalog.create_table("shop.orders", SCHEMA)

    def moved(table: HiveTable) -> HiveTable:
        return replace(table, location=f"file:{tmp_path}/wh/d.db/t", table_type="EXTERNAL_TABLE")

    with HiveMetastore(server.uri).session() as session:
        assert session.change_table("shop", "orders", moved)
    assert rows_of(catalog.table("shop.orders")) == [(7, 7)]
    options = server.options(**{"local-tables.enabled": "false"})
    with pytest.raises(AccessDeniedError, match=r"local-tables\.enabled"):
        tc.open_catalog(str(server.warehouse), options).table("shop.orders")


def test_a_schema_that_the_metastore_does_not_take_is_told_and_shown_with_the_next(
    catalog: tc.Catalog, server: HiveServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Hive's own rule: no column may change its place or its type for a narrower one."""
    three = pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.int64())])
    catalog.create_table("shop.orders", three)
    with caplog.at_level(logging.WARNING):
        table = catalog.alter_table("shop.orders", [tc.DropColumn("b")])
    assert table.arrow_schema.names == ["a", "c"]
    assert "still shows the one before" in caplog.text
    assert columns(server) == ["a", "b", "c"]
    catalog.alter_table("shop.orders", [tc.DropColumn("c"), tc.AddColumn("b", "STRING")])
    assert columns(server) == ["a", "b"]


def columns(server: HiveServer) -> list[str]:
    table = HiveMetastore(server.uri).asked(lambda session: session.table("shop", "orders"))
    assert table is not None
    return [column.name for column in table.columns]


def test_of_those_who_change_a_schema_the_metastore_shows_what_came_last(
    catalog: tc.Catalog, server: HiveServer
) -> None:
    catalog.create_table("shop.orders", SCHEMA)
    together = threading.Barrier(3)

    def work(writer: int) -> None:
        mine = tc.open_catalog(str(server.warehouse), server.options())
        together.wait()
        for n in range(3):
            mine.alter_table("shop.orders", [tc.AddColumn(f"c{writer}_{n}", "INT")])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    names = catalog.table("shop.orders").arrow_schema.names
    assert len(names) == 11
    assert columns(server) == names


@dataclass
class Failing:
    """A metastore of which one call, counted from 0, ends the process: before it is done, or after."""

    inner: HiveMetastore
    at: int
    after: bool
    calls: list[str] = field(default_factory=list)

    @property
    def uri(self) -> str:
        return self.inner.uri

    @contextlib.contextmanager
    def session(self) -> Iterator[Any]:
        with self.inner.session() as session:
            yield FailingSession(session, self)

    def asked(self, ask: Callable[[HiveSession], Any]) -> Any:
        with self.session() as session:
            return ask(session)


@dataclass
class FailingSession:
    session: HiveSession
    failing: Failing

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: object) -> Any:
            failing = self.failing
            if len(failing.calls) > failing.at:
                raise Crash
            failing.calls.append(name)
            fails = len(failing.calls) == failing.at + 1
            if fails and not failing.after:
                raise Crash
            answer = getattr(self.session, name)(*arguments)
            if fails:
                raise Crash
            return answer

        return call


VERBS: dict[str, Callable[[tc.Catalog], object]] = {
    "create": lambda c: c.create_table("shop.fresh", SCHEMA, options={"bucket": "-1"}),
    "drop": lambda c: c.drop_table("shop.orders"),
    "rename": lambda c: c.rename_table("shop.orders", "shop.sold"),
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_a_process_that_ends_between_the_metastore_and_the_files_leaves_what_ends_when_asked_again(
    catalog: tc.Catalog, verb: str, after: bool
) -> None:
    crashes = 0
    for at in range(100):
        if "orders" not in catalog.tables("shop"):
            add(catalog.create_table("shop.orders", SCHEMA, options={"bucket": "-1"}), 1)
        failing = Failing(catalog.names.metastore, at, after)  # type: ignore[union-attr]
        broken = replace(catalog, names=replace(catalog.names, metastore=failing))
        try:
            VERBS[verb](broken)
        except Crash:
            crashes += 1
        with contextlib.suppress(NotFoundError, AlreadyExistsError):  # it was done already
            VERBS[verb](catalog)
        names = {"create": ["fresh", "orders"], "drop": [], "rename": ["sold"]}[verb]
        assert catalog.tables("shop") == names, (at, failing.calls)
        for name in names:
            want = [] if name == "fresh" else [(1, 1)]
            assert rows_of(catalog.table(f"shop.{name}")) == want
        if verb != "drop":
            catalog.drop_table(f"shop.{'fresh' if verb == 'create' else 'sold'}")
        if len(failing.calls) <= at:
            break
    assert crashes > 3


def test_a_lock_that_is_held_is_unavailable_in_the_end(server: HiveServer) -> None:
    metastore = HiveMetastore(server.uri)
    with HiveLock(metastore, 50, 5_000).held("d.t"):
        with (
            pytest.raises(StorageUnavailableError, match="another writer holds it"),
            HiveLock(metastore, 50, 100).held("d.t"),
        ):
            pass
        with HiveLock(metastore, 50, 5_000).held("d.other"):
            pass
    with HiveLock(metastore, 50, 5_000).held("d.t"):
        pass


HOLDER = """
import sys, time
from table_core.storage.stores.hive_lock import HiveLock
from table_core.storage.stores.hive_metastore import HiveMetastore
with HiveLock(HiveMetastore(sys.argv[1]), 50, 5_000).held("d.dead"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_killed_writer_is_free_when_the_metastore_forgets_it(
    server: HiveServer,
) -> None:
    with started(HOLDER, server.uri) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    began = time.monotonic()
    with HiveLock(HiveMetastore(server.uri), 200, 6 * LOCK_S * 1000).held("d.dead"):
        assert time.monotonic() - began > LOCK_S / 4


@contextlib.contextmanager
def started(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


WRITER = """
import sys, time
import pyarrow as pa
import table_core as tc
from table_core.errors import ErrorKind, TableError
uri, warehouse, user, first, count = sys.argv[1:]
again = {ErrorKind.UNAVAILABLE, ErrorKind.UNKNOWN_OUTCOME, ErrorKind.CONFLICT}
options = {"metastore": "hive", "uri": uri, "lock.enabled": "true"}
for n in range(int(first), int(first) + int(count)):
    while True:
        try:
            table = tc.open_catalog(warehouse, options).table("shop.orders")
            rows = pa.table({"k": [n], "v": [n]}, schema=table.arrow_schema)
            with table.write(commit=tc.CommitAs(user=user, identifier=n)) as writer:
                writer.write(rows)
                writer.commit()
            break
        except TableError as error:
            if error.kind not in again:
                raise
            time.sleep(0.2)
    print(n, flush=True)
"""


def test_a_metastore_that_is_killed_and_started_again_loses_no_commit(
    catalog: tc.Catalog, server: HiveServer
) -> None:
    catalog.create_table("shop.orders", SCHEMA, options=PATIENT)
    count = COMMITS
    with contextlib.ExitStack() as running:
        writers = [
            running.enter_context(
                started(
                    WRITER, server.uri, str(server.warehouse), f"w{n}", str(1000 * n), str(count)
                )
            )
            for n in range(PROCESSES)
        ]
        for _ in range(KILLS):
            assert writers[0].stdout is not None
            writers[0].stdout.readline()
            server.kill()
            server.start()
        for writer in writers:
            writer.communicate(timeout=500)
            assert writer.returncode == 0
    table = catalog.table("shop.orders")
    want = sorted(1000 * n + k for n in range(PROCESSES) for k in range(count))
    assert sorted(k for k, _ in rows_of(table)) == want
    assert [s.id for s in table.snapshots()] == list(range(1, len(want) + 1))


def test_names_that_come_and_go_at_the_same_time_stay_whole(
    catalog: tc.Catalog, server: HiveServer
) -> None:
    """What is refused is refused by an error of ours, and every name that is left leads to its table."""
    together = threading.Barrier(4)
    kinds: set[ErrorKind] = set()

    def work(worker: int) -> None:
        mine = tc.open_catalog(str(server.warehouse), server.options())
        verbs: list[Callable[[], object]] = [
            lambda: mine.create_table("shop.a", SCHEMA, options={"bucket": "-1"}),
            lambda: mine.rename_table("shop.a", "shop.b"),
            lambda: mine.alter_table("shop.b", [tc.SetOption("snapshot.time-retained", "3 h")]),
            lambda: mine.drop_table("shop.b"),
        ]
        together.wait()
        for n in range(8):
            try:
                verbs[(n + worker) % 4]()
            except TableError as error:
                kinds.add(error.kind)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert ErrorKind.CORRUPT not in kinds
    for name in ("a", "b"):
        with contextlib.suppress(AlreadyExistsError):
            catalog.create_table(f"shop.{name}", SCHEMA, options={"bucket": "-1"})
        assert catalog.table(f"shop.{name}").read().to_arrow().num_rows == 0
        catalog.drop_table(f"shop.{name}")
    assert catalog.tables("shop") == []
