"""Goal: what speaks DB-API 2.0 works on tables, and no parameter ever becomes SQL."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import table_core as tc
from table_core import dbapi
from table_core.errors import (
    CommitConflictError,
    CorruptFileError,
    DataError,
    ErrorKind,
    NotFoundError,
    OutcomeUnknownError,
    SqlError,
    StorageUnavailableError,
    TableError,
)
from table_core.table.api.table import Table

IDS = "SELECT id FROM d.orders"
HOSTILE = [
    "x' OR 1 = 1 --",
    "x'; DROP TABLE d.orders; --",
    "\\' OR '1' = '1",
    '" OR "" = "',
    "') OR TRUE OR city IN ('",
    ":city",
    "$city",
    "?",
    "/* */ OR true",
    "x\x00' OR 1 = 1 --",
    "ʼ OR 1 = 1",
]


@pytest.fixture
def cursor(catalog: tc.Catalog, here: None) -> dbapi.Cursor:
    return dbapi.connect(catalog, database="d").cursor()


def ids(cursor: dbapi.Cursor, where: str = "true", **parameters: Any) -> list[int]:
    rows = cursor.execute(f"{IDS} WHERE {where}", parameters or None).fetchall()
    return sorted(id for (id,) in rows)


def test_the_module_says_what_pep_249_wants() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "named")
    names = (
        "Error InterfaceError DatabaseError DataError OperationalError IntegrityError InternalError"
    )
    for name in [*names.split(), "ProgrammingError", "NotSupportedError", "Warning"]:
        assert getattr(dbapi.Connection, name) is getattr(dbapi, name)
    assert dbapi.Date(2026, 1, 2) == dt.date(2026, 1, 2)
    assert dbapi.TimestampFromTicks(0).date() == dbapi.DateFromTicks(0)
    assert dbapi.TimestampFromTicks(0).time() == dbapi.TimeFromTicks(0)
    assert dbapi.Binary(b"a") == b"a"


def test_a_description_has_names_types_precision_and_null(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT id, city, amount, paid, dt FROM orders")
    assert cursor.description is not None
    assert [(c[0], c[4], c[5], c[6]) for c in cursor.description] == [
        ("id", None, None, False),
        ("city", None, None, True),
        ("amount", 10, 2, True),
        ("paid", None, None, True),
        ("dt", None, None, True),
    ]
    kinds = [column[1] for column in cursor.description]
    assert kinds == [pa.int64(), pa.string(), pa.decimal128(10, 2), pa.bool_(), pa.date32()]
    every = (dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID)
    of = {"STRING": dbapi.STRING, "NUMBER": dbapi.NUMBER, "DATETIME": dbapi.DATETIME}
    for kind, name in zip(kinds, ["NUMBER", "STRING", "NUMBER", "NUMBER", "DATETIME"], strict=True):
        assert [one for one in every if kind == one] == [of[name]]
        assert [one for one in every if kind != one] == [one for one in every if one != of[name]]


def test_rows_are_taken_one_by_one_some_and_all(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT id, amount, dt FROM orders ORDER BY id")
    assert cursor.fetchone() == (1, D("10.50"), dt.date(2026, 1, 1))
    assert [id for id, *_ in cursor.fetchmany()] == [2]
    assert [id for id, *_ in cursor.fetchmany(5)] == [3, 4]
    assert (cursor.fetchone(), cursor.fetchmany(2), cursor.fetchall()) == (None, [], [])
    assert [id for id, *_ in cursor.execute("SELECT id, qty FROM orders ORDER BY id")] == [
        1,
        2,
        3,
        4,
    ]
    assert cursor.rowcount == -1


def test_rows_of_many_batches_keep_their_order(cursor: dbapi.Cursor) -> None:
    cursor.execute("CREATE TABLE many (n BIGINT)")
    cursor.execute("INSERT INTO many VALUES " + ", ".join(f"({n})" for n in range(3000)))
    cursor.execute("SELECT n FROM many")
    assert cursor.fetchmany(1030) == [(n,) for n in range(1030)]
    assert cursor.fetchall() == [(n,) for n in range(1030, 3000)]


def test_columns_of_one_name_stay_two(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT id AS n, qty AS n FROM orders WHERE id = 4")
    assert cursor.fetchall() == [(4, -4)]


def test_a_result_as_arrow_is_whole_or_refused(cursor: dbapi.Cursor) -> None:
    query = "SELECT id, city FROM orders WHERE id < 3"
    rows = cursor.execute(query).fetch_arrow_table()
    assert rows.sort_by("id").to_pydict() == {"id": [1, 2], "city": ["Oslo", "Oslo"]}
    assert cursor.execute(query).fetch_record_batch().read_all().sort_by("id") == rows.sort_by("id")
    assert cursor.execute("SELECT id FROM orders WHERE id = 9").fetch_arrow_table().num_rows == 0
    cursor.execute(query).fetchone()
    with pytest.raises(dbapi.ProgrammingError, match="fetched as tuples"):
        cursor.fetch_arrow_table()


def test_a_change_is_committed_at_once_and_says_what_it_did(cursor: dbapi.Cursor) -> None:
    cursor.execute("DELETE FROM orders WHERE id = :id", {"id": 1})
    assert cursor.description is None
    assert cursor.result is not None
    assert cursor.result.action == "delete"
    for fetch in (cursor.fetchone, cursor.fetchall, cursor.fetchmany, cursor.fetch_arrow_table):
        with pytest.raises(dbapi.ProgrammingError, match="no rows to fetch"):
            fetch()
    cursor.connection.commit()
    with pytest.raises(dbapi.NotSupportedError, match="each statement is committed"):
        cursor.connection.rollback()
    assert ids(cursor) == [2, 3, 4]
    assert cursor.result is None, "a query has done nothing"


def test_many_parameters_run_a_statement_many_times(cursor: dbapi.Cursor) -> None:
    cursor.executemany("INSERT INTO Cities VALUES (:c, NULL)", [{"c": "Bodø"}, {"c": "Åre"}])
    cursor.execute("SELECT city FROM Cities WHERE country IS NULL")
    assert sorted(cursor.fetchall()) == [("Bodø",), ("it's",), ("Åre",)]
    with pytest.raises(dbapi.ProgrammingError, match="give no rows"):
        cursor.executemany(IDS, [{}])


def test_a_session_keeps_what_use_and_set_say(catalog: tc.Catalog, here: None) -> None:
    with dbapi.connect(catalog) as connection, connection.cursor() as cursor:
        with pytest.raises(dbapi.ProgrammingError, match="in which database"):
            cursor.execute("SELECT id FROM orders")
        cursor.execute("USE d")
        assert connection.cursor().execute("SELECT id FROM orders").fetchone() is not None


def test_what_is_closed_is_refused(catalog: tc.Catalog, here: None) -> None:
    with dbapi.connect(catalog) as connection, connection.cursor() as other:
        cursor = connection.cursor()
        cursor.execute(IDS)
        cursor.close()
        cursor.close()
        for use in (
            lambda: cursor.execute(IDS),
            cursor.fetchone,
            lambda: cursor.executemany("", []),
        ):
            with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
                use()
        other.execute(IDS)
    connection.close()
    for use in (
        connection.commit,
        connection.rollback,
        connection.cursor,
        lambda: dbapi.Cursor(connection).execute(IDS),
    ):
        with pytest.raises(dbapi.InterfaceError, match="the connection is closed"):
            use()


# ------------------------------------------------------------------------------------- parameters
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_parameter_is_a_value_and_nothing_else(cursor: dbapi.Cursor, text: str) -> None:
    assert ids(cursor, "city = :city", city=text) == [], "pushed to the files"
    assert ids(cursor, "coalesce(city, '') = :city", city=text) == [], "computed"
    cursor.execute("SELECT count(*) AS n FROM orders WHERE city = :city", {"city": text})
    assert cursor.fetchall() == [(0,)]
    before = ids(cursor)
    cursor.execute("DELETE FROM orders WHERE city = :city", {"city": text})
    assert ids(cursor) == before == [1, 2, 3, 4]
    if "\x00" in text:
        return
    cursor.execute("UPDATE Cities SET country = :text WHERE city = 'Oslo'", {"text": text})
    cursor.execute("INSERT INTO Cities VALUES (:text, 'XX')", {"text": text})
    cursor.execute("SELECT city, country FROM Cities WHERE city = 'Oslo' OR country = 'XX'")
    assert sorted(cursor.fetchall()) == sorted([("Oslo", text), (text, "XX")])
    for city in ("city", "coalesce(city, 'none')"):
        cursor.execute(f"SELECT country FROM Cities WHERE {city} = :text", {"text": text})
        assert cursor.fetchall() == [("XX",)], "the very same text"


def test_a_backslash_in_a_pattern_is_refused_bound_or_not(cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="a pattern of LIKE has a backslash"):
        cursor.execute("SELECT city FROM Cities WHERE city LIKE :p", {"p": "a\\_b"})
    with pytest.raises(dbapi.NotSupportedError, match="a text in the SQL has a backslash"):
        cursor.execute("SELECT city FROM Cities WHERE city LIKE 'a\\\\_b'")


def test_a_parameter_is_no_name_of_a_table_and_no_statement(cursor: dbapi.Cursor) -> None:
    for statement in ("SELECT id FROM :t", "DELETE FROM :t", "DROP TABLE :t", ":t"):
        with pytest.raises(dbapi.DatabaseError) as told:
            cursor.execute(statement, {"t": "d.orders"})
        assert told.value.kind in {ErrorKind.INVALID, ErrorKind.UNSUPPORTED}, statement
    assert ids(cursor) == [1, 2, 3, 4]


TIMES = """CREATE TABLE times (id INT, d DATE, amount DECIMAL(20, 4), b BINARY, plain TIMESTAMP_NTZ, zoned TIMESTAMP,
  name STRING)"""
MOMENT = dt.datetime(2026, 3, 29, 1, 2, 3, 4)
OSLO = dt.timezone(dt.timedelta(hours=2))
TYPED: dict[str, Any] = {
    "d": dt.date(2026, 1, 31),
    "amount": D("-12345678.9000"),
    "b": b"\x00'; --\xff",
    "plain": MOMENT,
    "zoned": MOMENT.replace(tzinfo=OSLO),
    "name": "it's",
}


@pytest.fixture
def times(catalog: tc.Catalog) -> dbapi.Cursor:
    """Two rows that only parameters have written, read by the process of SQL itself."""
    cursor = dbapi.connect(catalog, database="d").cursor()
    cursor.execute(TIMES)
    insert = "INSERT INTO times VALUES (:id, :d, :amount, :b, :plain, :zoned, :name)"
    cursor.executemany(insert, [{"id": 1, **TYPED}, {"id": 2, **dict.fromkeys(TYPED)}])
    return cursor


def test_values_of_every_type_come_back_as_they_were_bound(times: dbapi.Cursor) -> None:
    for query in ("SELECT * FROM times WHERE id = 1", "SELECT DISTINCT * FROM times WHERE id = 1"):
        times.execute(query)
        assert times.fetchall() == [(1, *TYPED.values())]
        assert times.description is not None
        assert [column[1] for column in times.description[1:6]] == [
            pa.date32(),
            pa.decimal128(20, 4),
            pa.binary(),
            pa.timestamp("us"),
            pa.timestamp("us", "UTC"),
        ]
    bound = ", ".join(f":{name} AS {name}" for name in TYPED)
    times.execute(f"SELECT {bound}, count(*) AS n FROM times", TYPED)
    assert times.fetchall() == [(*TYPED.values(), 2)], "computed"


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("op", ["=", "<>", "<", ">=", "IN (:x)", "BETWEEN :x AND :x"])
def test_values_of_every_type_are_compared_with_their_columns(
    times: dbapi.Cursor, here: None, name: str, op: str
) -> None:
    value, wanted = TYPED[name], [] if op in {"<>", "<"} else [1]
    test = f"{name} {op}" if ":x" in op else f"{name} {op} :x"
    assert ids_of(times, test, value) == wanted, "pushed to the files"
    assert ids_of(times, f"({test}) IS TRUE", value) == wanted, "computed"
    if name != "name":
        assert times.execute(f"DELETE FROM times WHERE {test}", {"x": value}).description is None
        assert ids_of(times, "id > :x", 0) == sorted({1, 2} - set(wanted)), "by the verb"


def ids_of(cursor: dbapi.Cursor, where: str, value: object) -> list[int]:
    cursor.execute(f"SELECT id FROM times WHERE {where}", {"x": value})
    return sorted(id for (id,) in cursor.fetchall())


def test_subclasses_of_other_libraries_are_bound_as_what_they_are(
    times: dbapi.Cursor, here: None
) -> None:
    assert ids_of(times, "(zoned = :x) IS TRUE", pd.Timestamp(TYPED["zoned"])) == [1]
    assert ids_of(times, "(plain = :x) IS TRUE", pd.Timestamp(MOMENT)) == [1]
    assert ids_of(times, "(b = :x) IS TRUE", bytearray(TYPED["b"])) == [1]
    assert ids_of(times, "(amount > :x) IS TRUE", D("-1E+8")) == [1]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("name = :x", dt.date(2026, 1, 1)),
        ("name = :x", b"it's"),
        ("plain = :x", MOMENT.replace(tzinfo=OSLO)),
        ("zoned = :x", MOMENT),
        ("d = :x", MOMENT),
        ("id = :x", dt.date(2026, 1, 1)),
        ("b = :x", dt.date(2026, 1, 1)),
        ("d = :x OR :x = '2026-01-01'", dt.date(2026, 1, 1)),
        ("coalesce(d, :x) = d", dt.date(2026, 1, 1)),
        ("CAST(:x AS STRING) = name", MOMENT),
        ("d = :x AND b = X'00'", dt.date(2026, 1, 1)),
    ],
)
def test_a_typed_value_beside_another_type_is_left_to_spark(
    times: dbapi.Cursor, here: None, where: str, value: object
) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="only Spark is sure"):
        times.execute(f"SELECT id FROM times WHERE {where}", {"x": value})


def test_pandas_reads_by_the_interface(times: dbapi.Cursor, here: None) -> None:
    sql = "SELECT id, d, amount, zoned FROM times WHERE zoned >= :since ORDER BY id"
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pd.read_sql(  # type: ignore[call-overload]
            sql, times.connection, params={"since": TYPED["zoned"]}, coerce_float=False
        )
    assert frame["amount"].tolist() == [TYPED["amount"]]
    assert frame["zoned"].tolist() == [pd.Timestamp(TYPED["zoned"])]
    with (
        pytest.warns(UserWarning, match="SQLAlchemy"),
        pytest.raises(dbapi.ProgrammingError, match="no column 'no'"),
    ):
        pd.read_sql("SELECT no FROM times", times.connection)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({}, "not in the parameters"),
        (["Oslo"], "parameters are named"),
        ("Oslo", "parameters are named"),
        ({"city": dt.time(1)}, "is no text, number, truth value, date, time, bytes or None"),
        ({"city": ["Oslo"]}, "is no text, number, truth value, date, time, bytes or None"),
        ({"city": D("NaN")}, "is no finite number"),
        ({"city": D("1E+38")}, "is a number of more than 38 digits"),
        ({"city": pd.Timestamp("2026-01-01 00:00:00.000000001")}, "is no time in microseconds"),
        ({"city": pd.NaT}, "is no time in microseconds"),
        ({"city OR 1=1": "Oslo", "city": "Oslo"}, "is no name"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    cursor: dbapi.Cursor, parameters: Any, why: str
) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=why):
        cursor.execute(f"{IDS} WHERE city = :city", parameters)


def test_one_statement_is_run_at_a_time(cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="takes one statement"):
        cursor.execute(f"{IDS}; DROP TABLE d.orders")
    assert ids(cursor) == [1, 2, 3, 4]


# ----------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("error", "of"),
    [
        (SqlError("x", line=3), dbapi.ProgrammingError),
        (NotFoundError("x"), dbapi.ProgrammingError),
        (DataError("x"), dbapi.DataError),
        (CommitConflictError("x"), dbapi.OperationalError),
        (StorageUnavailableError("x"), dbapi.OperationalError),
        (OutcomeUnknownError("x"), dbapi.OperationalError),
        (CorruptFileError("x"), dbapi.InternalError),
    ],
)
def test_an_error_has_the_class_of_its_kind(
    cursor: dbapi.Cursor, monkeypatch: pytest.MonkeyPatch, error: TableError, of: type[dbapi.Error]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Table, "truncate", fail)
    with pytest.raises(dbapi.DatabaseError) as told:
        cursor.execute("TRUNCATE TABLE orders")
    assert (type(told.value), told.value.kind, told.value.facts) == (of, error.kind, error.facts)
    assert told.value.__cause__ is error
    again = pickle.loads(pickle.dumps(told.value))
    assert (str(again), again.kind, again.facts) == (str(told.value), error.kind, error.facts)


def test_every_kind_of_error_has_a_class() -> None:
    assert set(dbapi._OF_KIND) == set(ErrorKind)


def test_an_error_points_at_its_place(cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.NotSupportedError) as told:
        cursor.execute("SELECT\n  concat(city, 'x') AS c FROM orders")
    assert told.value.facts["line"] == 2
    with pytest.raises(dbapi.ProgrammingError, match="line 1, column 16"):
        cursor.execute("SELECT id FROM missing")
    with pytest.raises(dbapi.NotSupportedError):
        dbapi.connect("sftp://x/wh")
    with pytest.raises(dbapi.ProgrammingError, match="an open catalog has its own"):
        dbapi.connect(cursor.connection.session._context.catalog, storage_options={"a": "b"})  # type: ignore[arg-type]


def test_rows_that_cannot_be_read_are_errors_of_the_fetch(
    cursor: dbapi.Cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: tc.Scan) -> Any:
        raise StorageUnavailableError("the store is away")
        yield

    monkeypatch.setattr(tc.Scan, "to_batches", broken)
    cursor.execute("SELECT id FROM orders")
    with pytest.raises(dbapi.OperationalError, match="the store is away"):
        cursor.fetchone()
    with pytest.raises(dbapi.OperationalError, match="the store is away"):
        cursor.execute("SELECT id FROM orders").fetch_arrow_table()
    reader = cursor.execute("SELECT id FROM orders").fetch_record_batch()
    with pytest.raises(dbapi.OperationalError, match="the store is away"):
        reader.read_all()


# ---------------------------------------------------------------------------------------- commits
def test_each_change_commits_under_the_name_that_it_is_given(
    catalog: tc.Catalog, here: None
) -> None:
    def attempt() -> list[object]:
        names = iter(range(10))
        connection = dbapi.connect(
            catalog, database="d", commit_as=lambda: tc.CommitAs(user="run", identifier=next(names))
        )
        done = []
        with connection.cursor() as cursor:
            for text in (
                "INSERT INTO orders (id, city) VALUES (9, 'Bergen')",
                "SELECT id FROM orders",
                "UPDATE orders SET qty = coalesce(qty, 0) + 1 WHERE id = 9",
            ):
                cursor.execute(text)
                if cursor.result is not None:
                    done.append(cursor.result.snapshot_after)
        return done

    first = attempt()
    assert attempt() == first
    rows = dbapi.connect(catalog).cursor().execute("SELECT qty FROM d.orders WHERE id = 9")
    assert rows.fetchall() == [(1,)]


def test_a_warehouse_is_opened_by_its_place(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path / "wh") as connection:
        connection.cursor().execute("CREATE DATABASE shop")
    rows = dbapi.connect((tmp_path / "wh").as_uri()).cursor().execute("SHOW DATABASES").fetchall()
    assert rows == [("shop",)]
