"""Paimon's HiveCatalog and ours on one metastore.

Goal: what either creates, changes or renames is the other's too; the metastore shows a table of ours exactly as it
shows one of Paimon's; and under the lock of the metastore nothing that either commits is lost.

``ROUNDS`` commits each; the night takes 100.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from both_write import paimon_writes, require_rows_of_both
from judge import Judge, JudgeError

import table_core as tc
from table_core.hive.objects import HiveTable
from table_core.storage.stores.hive_metastore import HiveMetastore
from tests.catalogs.hive.server import HiveServer, hive_metastore, jars
from tests.lanes import budget
from tests.tables import write_rows

pytestmark = pytest.mark.interop

ROUNDS = budget("ROUNDS", ci=8, nightly=100)
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
TURNS = {"commit.max-retries": "1000", "commit.max-retry-wait": "200 ms", "write-only": "true"}
OF_THE_METASTORE = {
    "numFiles",
    "totalSize",
    "transient_lastDdlTime",
    "last_modified_by",
    "last_modified_time",
}
"""Parameters that it sets itself."""


@pytest.fixture(scope="module")
def server() -> Iterator[HiveServer]:
    with hive_metastore() as server:
        yield server


@pytest.fixture(scope="module")
def theirs(server: HiveServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    judge = Judge(tmp_path_factory.mktemp("judge") / "log", more=jars())
    yield judge
    judge.close()


@pytest.fixture
def ours(server: HiveServer) -> tc.Catalog:
    return tc.open_catalog(str(server.warehouse), server.options())


def add(table: tc.Table, key: int) -> tc.Commit:
    return write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))


def shown(server: HiveServer, name: str) -> HiveTable:
    """A table as the metastore shows it, without what differs between any two tables."""
    database, _, table = name.partition(".")
    known = HiveMetastore(server.uri).asked(lambda session: session.table(database, table))
    assert known is not None
    parameters = {k: v for k, v in known.parameters.items() if k not in OF_THE_METASTORE}
    assert known.location == f"file:{server.warehouse}/{database}.db/{table}"
    return replace(known, name="", location=None, created_s=0, parameters=parameters)


LIST = {"type": "ARRAY", "element": "DECIMAL(5, 1)"}
COLUMNS = [
    ("k", "INT NOT NULL"),
    ("dt", "STRING NOT NULL"),
    ("flag", "BOOLEAN"),
    ("t", "TINYINT"),
    ("s", "SMALLINT"),
    ("n", "BIGINT"),
    ("f", "FLOAT"),
    ("d", "DOUBLE"),
    ("price", "DECIMAL(10, 2)"),
    ("c", "CHAR(3)"),
    ("long_c", "CHAR(300)"),
    ("vc", "VARCHAR(5)"),
    ("long_vc", "VARCHAR(70000)"),
    ("b", "BINARY(4)"),
    ("vb", "BYTES"),
    ("day", "DATE"),
    ("at", "TIME(3)"),
    ("ts", "TIMESTAMP(6)"),
    ("ltz", "TIMESTAMP_LTZ(3)"),
    ("list", LIST),
    ("m", {"type": "MAP", "key": "STRING", "value": LIST}),
    ("r", {"type": "ROW", "fields": [{"id": 0, "name": "a", "type": LIST}]}),
]


def test_the_metastore_shows_a_table_of_ours_as_one_of_paimons(
    theirs: Judge, ours: tc.Catalog, server: HiveServer
) -> None:
    one = theirs.table(server.warehouse, "alike.theirs", server.options())
    options = {"bucket": "2", "snapshot.num-retained.max": "30"}
    one.create(
        COLUMNS,
        primary_key=["k", "dt"],
        partition_by=["dt"],
        **options,
    )
    made = ours.table("alike.theirs").definition
    two = ours.create_table(
        "alike.ours", made.fields, primary_key=("k", "dt"), partition_by=("dt",), options=options
    )
    assert two.definition.fields == made.fields
    assert shown(server, "alike.ours") == shown(server, "alike.theirs")

    one.alter([["add", "note", "STRING", "r"], ["option", "snapshot.num-retained.max", "40"]])
    ours.alter_table(
        "alike.ours",
        [tc.AddColumn("note", "STRING"), tc.SetOption("snapshot.num-retained.max", "40")],
    )
    assert shown(server, "alike.ours") == shown(server, "alike.theirs")
    assert "40" in shown(server, "alike.ours").parameters.values()
    one.alter([["no option", "snapshot.num-retained.max"]])
    ours.alter_table("alike.ours", [tc.RemoveOption("snapshot.num-retained.max")])
    assert shown(server, "alike.ours") == shown(server, "alike.theirs")


def test_each_sees_what_the_other_makes(
    theirs: Judge, ours: tc.Catalog, server: HiveServer
) -> None:
    ours.create_database("one")
    ours.create_table("one.a", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    a = theirs.table(server.warehouse, "one.a", server.options())
    a.write([["+I", 1, 1]])
    assert ours.table("one.a").read().to_arrow().to_pylist() == [{"k": 1, "v": 1}]
    add(ours.table("one.a"), 2)
    assert sorted(row[1] for row in a.read()) == [1, 2]

    ours.alter_table("one.a", [tc.AddColumn("note", "STRING")])
    a.write([["+I", 3, 3, "theirs"]])
    a.alter([["rename", "note", "remark"], ["add", "n", "INT", "remark"]])
    rows = ours.table("one.a").read().to_arrow().sort_by("k").to_pylist()
    assert rows[2] == {"k": 3, "v": 3, "remark": "theirs", "n": None}
    assert [c.name for c in shown(server, "one.a").columns] == ["k", "v", "remark", "n"]

    theirs.table(server.warehouse, "one.b", server.options()).create([("k", "INT")], bucket="-1")
    assert ours.tables("one") == ["a", "b"]
    ours.rename_table("one.b", "one.c")
    assert theirs.table(server.warehouse, "one.c", server.options()).read() == []
    with pytest.raises(JudgeError):
        theirs.table(server.warehouse, "one.b", server.options()).read()
    ours.drop_database("one", cascade=True)
    with pytest.raises(JudgeError):
        a.read()


@pytest.mark.parametrize("key", [(), ("k",)], ids=["append", "key"])
def test_under_the_lock_nothing_is_lost(
    theirs: Judge, ours: tc.Catalog, server: HiveServer, key: tuple[str, ...]
) -> None:
    name = f"both{len(key)}.t"
    ours.create_database(name.partition(".")[0])
    settings = {**TURNS, "bucket": "1" if key else "-1"}
    table = ours.create_table(name, SCHEMA, primary_key=key, options=settings)
    peer = theirs.table(server.warehouse, name, server.options())
    with paimon_writes(peer, ROUNDS):
        for n in range(ROUNDS):
            add(table, n)
    require_rows_of_both(table, peer, ROUNDS)
