"""The audit where rows look alike and are not, and where they look otherwise and are the same."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.audit import checksums, table_audit
from table_core.cdc.audit.dialect import MARIADB
from table_core.cdc.audit.spans import HashSpan, KeySpan, rows_in
from table_core.cdc.sync.audit import _AtSnapshot
from table_core.datatypes.kinds import Atomic, Root
from tests.cdc.audited_pair import Pair
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.sources import postgres_source


def swapped_alike() -> Iterator[tuple[int, str, int, str]]:
    """Pairs of rows whose CRC-32 have one sum, also where the two have swapped their values."""
    values = [f"{n * 2654435761 % (1 << 32):08x}" for n in range(300)]

    def sum_of(id: int, value: str, other: int, another: str) -> int:
        return sum(zlib.crc32(f"{i},8,{v}".encode()) for i, v in ((id, value), (other, another)))

    pairs = (
        (id, values[id % 300], other, values[other % 300])
        for id in range(100, 400)
        for other in range(id + 1, 400)
    )
    return (p for p in pairs if sum_of(*p) == sum_of(p[0], p[3], p[2], p[1]))


def test_two_rows_that_swapped_their_values_differ(mariadb: MariaDb, tmp_path: Path) -> None:
    pair = Pair(mariadb, tmp_path, "audit_swap")
    id, value, other, another = next(swapped_alike())
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))",
             f"INSERT INTO t VALUES ({id}, '{value}'), ({other}, '{another}')")  # fmt: skip
    pair.sync()
    pair.write([{"id": id, "v": another}, {"id": other, "v": value}])
    assert pair.audit()["differences"] == 2


NOT_AS_CAST = {
    "inet": "'10.0.0.1'", "of_char": "'ab'", "of_inet": "'::1'", "pair": "ROW(NULL, 1)",
    "double precision": "'Infinity'::float8 - 'Infinity'::float8", "cidr": "'10.0.0.0/8'",
    "real": "'Infinity'::float4 - 'Infinity'::float4", "money": "12.5", "character(3)": "'é'",
}  # fmt: skip


def test_types_whose_cast_is_not_what_the_server_prints(postgres: Postgres, tmp_path: Path) -> None:
    pair = Pair(postgres, tmp_path, "audit_casts")
    pair.sql("CREATE DOMAIN of_char AS char(5)", "CREATE DOMAIN of_inet AS inet",
             "CREATE TYPE pair AS (a int, b int)")  # fmt: skip
    columns = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(NOT_AS_CAST))
    pair.sql(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    insert = f"INSERT INTO t VALUES (%d, {', '.join(NOT_AS_CAST.values())})"
    pair.sql(insert % 1, "INSERT INTO t (id) VALUES (2)")
    pair.sync()
    pair.sql(insert % 3)
    details = pair.audit()["tables"]["lake.t"]
    assert (details["parts"], details["differences"], details["not_compared"]) == (0, 0, [])
    rows = {row["id"]: row for row in pair.catalog.table("lake.t").read().to_arrow().to_pylist()}
    pair.write([{**rows[1], "c3": None}])  # whose text is null by SQL's own rule
    assert [row["columns"] for row in pair.audit()["rows"]] == ["c3"]


def test_a_database_that_is_not_in_utf8(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql(
        "CREATE DATABASE western ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    try:
        source = tc.PostgresSource(**{**postgres_source(postgres, "public", "western"), "database": "western"})  # fmt: skip
        connection = source.connect()
        connection.rows("CREATE TABLE t (id VARCHAR(9) PRIMARY KEY, v TEXT)")
        connection.rows("INSERT INTO t VALUES ('ü', 'größer')")
        catalog = tc.open_catalog(f"file://{tmp_path}/wh")
        tc.sync_database(catalog, "lake", source)
        details: Any = tc.source_audit(catalog, ["lake.t"], source).details
        assert (details["differences"], details["tables"]["lake.t"]["parts"]) == (0, 0)
        connection.rows("SELECT pg_drop_replication_slot('western')")
        connection.close()
    finally:
        postgres.sql("DROP DATABASE western WITH (FORCE)")


def test_a_value_that_is_too_long_for_the_server_is_not_null(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    pair = Pair(mariadb, tmp_path, "audit_long")
    before = mariadb.sql("SELECT @@max_allowed_packet")[0][0]
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB)", "CREATE TABLE u (id INT PRIMARY KEY, v LONGTEXT)")  # fmt: skip
    mariadb.sql("SET GLOBAL max_allowed_packet = 1048576")
    try:
        pair.sql("INSERT INTO t VALUES (1, REPEAT('x', 700000)), (2, 'short')",
                 "INSERT INTO u VALUES (1, REPEAT('x', 1048576))")  # fmt: skip
        pair.sync()
        assert pair.audit("t", "u")["differences"] == 0
        pair.write([{"id": 1, "b": None}])
        assert [row["columns"] for row in pair.audit()["rows"]] == ["b"]
    finally:
        mariadb.sql(f"SET GLOBAL max_allowed_packet = {before}")


def test_digits_of_a_second_that_the_source_has_not(mariadb: MariaDb, tmp_path: Path) -> None:
    pair = Pair(mariadb, tmp_path, "audit_digits")
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, v DATETIME(6))",
             "INSERT INTO t VALUES (1, '2024-01-02 03:04:05.123')")  # fmt: skip
    pair.sync()
    pair.sql("ALTER TABLE t MODIFY v DATETIME(3)")
    pair.sync()
    assert pair.audit()["tables"]["lake.t"]["parts"] == 0
    (row,) = pair.catalog.table("lake.t").read().to_arrow().to_pylist()
    pair.write([{**row, "v": row["v"].replace(microsecond=123456)}])
    assert pair.audit()["differences"] == 1


def of_shards(pair: Pair, *first: str, second: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
    """An audit of the table that two databases feed."""
    pair.sql(*first)
    pair.server.sql(f"CREATE DATABASE {pair.name}_2", f"USE {pair.name}_2", *second)
    source = tc.MySqlSource(
        "127.0.0.1", "root", port=pair.server.port, databases=f"{pair.name}(_2)?"
    )

    def audit(**more: Any) -> dict[str, Any]:
        tc.sync_database(pair.catalog, "lake", source)
        return dict(tc.source_audit(pair.catalog, ["lake.t"], source, **more).details)

    return audit


def test_columns_of_shards(mariadb: MariaDb, tmp_path: Path) -> None:
    pair = Pair(mariadb, tmp_path, "audit_shards")
    audit = of_shards(
        pair,
        "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME(3), one INT)",
        "INSERT INTO t VALUES (1, '2024-01-02 03:04:05.5', 7)",
        second=("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME(3))",
                "INSERT INTO t VALUES (2, '2024-01-02 03:04:05.25')"),
    )  # fmt: skip
    details = audit()["tables"]["lake.t"]
    assert (details["parts"], details["not_compared"]) == (0, ["one"])
    rows = {row["id"]: row for row in pair.catalog.table("lake.t").read().to_arrow().to_pylist()}
    pair.write([{**rows[2], "at": None}])
    assert [row["columns"] for row in audit()["rows"]] == ["at"]


def test_the_rows_of_a_shard_that_was_dropped_stay(mariadb: MariaDb, tmp_path: Path) -> None:
    pair = Pair(mariadb, tmp_path, "audit_gone")
    made = "CREATE TABLE t (id INT PRIMARY KEY)"
    audit = of_shards(
        pair, made, "INSERT INTO t VALUES (1)", second=(made, "INSERT INTO t VALUES (2)")
    )
    audit()
    mariadb.sql("DROP TABLE audit_gone_2.t")
    details = audit(repair=True)
    assert details["tables"]["lake.t"]["skipped"] == "audit_gone_2.t: its source tables are gone"
    assert pair.catalog.table("lake.t").read().to_arrow()["id"].to_pylist() == [1, 2]


def test_a_row_that_is_here_twice_by_a_computed_key(mariadb: MariaDb, tmp_path: Path) -> None:
    pair = Pair(mariadb, tmp_path, "audit_twice")
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))", "INSERT INTO t VALUES (1, 'abc'), (2, 'x')")  # fmt: skip
    pair.catalog.create_database("lake")
    keywords: Any = {"computed_columns": ["part=substring(v,1)"]}
    source = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="audit_twice", tables="t")  # fmt: skip
    keyed: Any = {"primary_key": ["id", "part"], "partition_by": ["part"]}
    tc.sync_table(pair.catalog, "lake.t", source, **keyed, **keywords)
    pair.write([{"id": 1, "v": "abc", "part": "other"}])
    details: Any = tc.source_audit(pair.catalog, ["lake.t"], source, **keywords).details
    assert [row["kind"] for row in details["rows"]] == ["missing in source"]
    tc.source_audit(pair.catalog, ["lake.t"], source, repair=True, **keywords)
    after: Any = tc.source_audit(pair.catalog, ["lake.t"], source, **keywords).details
    assert after["differences"] == after["tables"]["lake.t"]["parts"] == 0
    rows = pair.catalog.table("lake.t").read().to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "v": "abc", "part": "bc"}, {"id": 2, "v": "x", "part": ""}]


def test_a_table_that_ignores_deletes_is_not_to_equal_its_source(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    pair = Pair(mariadb, tmp_path, "audit_ignores")
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    tc.sync_database(pair.catalog, "lake", pair.source, options={"ignore-delete": "true"})
    pair.sql("DELETE FROM t WHERE id = 2")
    details = pair.audit(repair=True)
    assert "ignores deletes" in details["tables"]["lake.t"]["skipped"]


@pytest.mark.parametrize("change", ["TRUNCATE t", "ALTER TABLE t ALTER v TYPE bigint"])
def test_a_table_that_is_rewritten_behind_the_snapshot(
    postgres: Postgres, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(postgres, tmp_path, "audit_rewritten_" + change[:2].lower())
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 5), (2, 6)")
    pair.sync()
    is_level, changed = _AtSnapshot.is_level, list[str]()

    def then_changed(self: _AtSnapshot) -> bool:
        level = is_level(self)
        if not changed:
            pair.sql(change)
            changed.append(change)
        return level

    monkeypatch.setattr(_AtSnapshot, "is_level", then_changed)
    details = pair.audit(repair=True)
    assert changed
    assert (details["differences"], details["repaired"], details["left"]) == (0, [], [])
    there = 0 if change.startswith("TRUNCATE") else 2
    assert pair.catalog.table("lake.t").read().to_arrow().num_rows == there


def test_names_that_sql_and_drivers_take_for_something_else(
    server: MariaDb | Postgres, tmp_path: Path
) -> None:
    pair = Pair(server, tmp_path, "audit_names")
    quote, name = ('"', 'a%s{}"`') if isinstance(server, Postgres) else ("`", 'a%s{}"`')
    quoted = quote + name.replace(quote, quote * 2) + quote
    pair.sql(f"CREATE TABLE t ({quoted} VARCHAR(9) PRIMARY KEY, v INT)", "INSERT INTO t VALUES ('k', 1), ('%', 2)")  # fmt: skip
    pair.sync()
    assert pair.audit()["tables"]["lake.t"]["parts"] == 0
    pair.write([{name: "k", "v": 3}])
    assert pair.audit(repair=True)["repaired"] == ["lake.t"]
    assert pair.audit()["differences"] == 0


@pytest.fixture(params=["mariadb", "postgres"])
def server(request: pytest.FixtureRequest) -> MariaDb | Postgres:
    one: MariaDb | Postgres = request.getfixturevalue(request.param)
    return one


def test_many_bytes_are_summed_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [("x" * (n * 37 % 900) + str(n)) for n in range(500)]
    wanted = [zlib.crc32(text.encode()) for text in texts]
    monkeypatch.setattr(checksums, "_AT_ONCE", 2000)
    assert checksums.crc32_of(pa.array(["", *texts]).slice(1)).tolist() == wanted
    monkeypatch.setattr(table_audit, "_BATCH_BYTES", 3000)
    batch = pa.RecordBatch.from_pydict({"text": texts})
    parts = list(table_audit._light(batch))
    assert pa.Table.from_batches(parts) == pa.Table.from_batches([batch])
    assert all(part.nbytes <= 3000 or part.num_rows == 1 for part in parts)
    assert np.mean([part.num_rows for part in parts]) > 1


@pytest.mark.parametrize("divided", ["numbers", "hashes"])
def test_a_part_is_divided_down_to_single_keys(divided: str) -> None:
    keys = [*range(0, 400, 3), 7, 7, 7]
    batch = pa.RecordBatch.from_pydict({"id": pa.array(keys, pa.int64())})
    canonical = MARIADB.canonical("bigint", Atomic(Root.BIGINT))
    assert canonical is not None
    is_number = divided == "numbers"
    span = KeySpan("id", 0, 399, 100) if is_number else HashSpan({"id": canonical}, 4)
    left, single = [(table_audit.Part(span, range(4), len(keys)), batch)], []
    while left:
        part, within = left.pop()
        rows = rows_in(part.span, part.slots, MARIADB, within)
        ids = rows["id"].to_pylist()
        pieces = part.divided(3) if len(set(ids)) > 1 else ()
        assert pieces or len(set(ids)) <= 1
        left += [(piece, rows) for piece in pieces]
        single += [] if pieces else ids
    assert sorted(single) == sorted(keys)


@pytest.mark.parametrize("key", ["BIGINT", "VARCHAR(20)"])
def test_a_part_of_many_bytes_is_compared_in_pieces(
    mariadb: MariaDb, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, sizes, shipped = 4_000, [], table_audit.TableAudit.pieces

    def noted(self: table_audit.TableAudit, part: table_audit.Part) -> Iterator[Any]:
        for here, there in shipped(self, part):
            sizes.append(max(sum(b.nbytes for b in here), sum(len(row[1]) for _, row in there)))
            yield here, there

    pair = Pair(mariadb, tmp_path, f"audit_bytes_{key[:3].lower()}")
    pair.sql(f"CREATE TABLE t (id {key} PRIMARY KEY, v VARCHAR(900))")
    pair.fill("t", "{n}", "repeat('x', {n} % 400)", rows=600)
    pair.sync()
    monkeypatch.setattr(table_audit, "_PART_BYTES", most)
    monkeypatch.setattr(table_audit.TableAudit, "pieces", noted)
    rows = pair.catalog.table("lake.t").read().to_arrow().to_pylist()[:100]
    pair.write([{**row, "v": row["v"] + "!"} for row in rows])
    assert pair.audit()["differences"] == 100
    assert len(sizes) > 10
    assert max(sizes) <= most
    assert pair.audit(repair=True)["repaired"] == ["lake.t"]
    assert pair.audit()["differences"] == 0
