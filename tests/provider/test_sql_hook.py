"""``PaimonHook`` is a hook of Airflow's SQL: what it runs is embedded SQL, and what it ran before still runs.

Mutants: values of parameters are logged; a hint is taken for a comment; a verb is taken for SQL; a row is a commit.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import types
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from airflow.providers.common.compat.openlineage import facet
from airflow.providers.common.sql.hooks.handlers import fetch_all_handler
from airflow.providers.common.sql.hooks.sql import DbApiHook

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.runs.identity import RunIdentity
from table_core import dbapi
from table_core.errors import (
    ArgumentError,
    DataError,
    ErrorKind,
    NotFoundError,
    UnsupportedFeatureError,
)
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import states, xcom

HOSTILE = ["x' OR 1 = 1 --", "'; DROP TABLE shop.t; --", "\\' OR '1' = '1", ":city", '" OR "" = "']


def connect(monkeypatch: pytest.MonkeyPatch, folder: Path, **more: Any) -> None:
    document = {"conn_type": "paimon", "host": f"file://{folder}/wh", **more}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PaimonHook:
    connect(monkeypatch, tmp_path)
    hook = PaimonHook(schema="shop")
    hook.run("CREATE DATABASE shop")
    hook.run(
        "CREATE TABLE t (id BIGINT NOT NULL, city STRING, day DATE, amount DECIMAL(10, 2)) "
        "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"
    )
    hook.insert_rows(
        "t", [(1, "Oslo", dt.date(2026, 1, 1), Decimal("1.5")), (2, "Bergen", None, None)]
    )
    return hook


def ids(hook: PaimonHook, where: str = "id > 0", parameters: Any = None) -> list[int]:
    return sorted(id for (id,) in hook.get_records(f"SELECT id FROM t WHERE {where}", parameters))


def test_it_is_what_the_operators_of_common_sql_ask_for(hook: PaimonHook) -> None:
    assert isinstance(hook, DbApiHook)
    assert hook.get_first("SELECT amount, day FROM t WHERE id = :id", {"id": 1}) == (
        Decimal("1.50"),
        dt.date(2026, 1, 1),
    )
    several = (
        "SELECT id FROM t WHERE id = 1; -- a comment; and more\nSELECT city FROM t WHERE id = 2;"
    )
    taken = {"handler": fetch_all_handler, "split_statements": True}
    assert hook.run(several, **taken) == [("Bergen",)]
    assert hook.run(several, return_last=False, **taken) == [[(1,)], [("Bergen",)]]
    assert hook.run(["SELECT id FROM t WHERE id = 1"], handler=fetch_all_handler) == [[(1,)]]
    assert [column[0] for column in hook.last_description or ()] == ["id"]


def test_a_hint_of_a_split_statement_is_no_comment(hook: PaimonHook) -> None:
    hook.run("DELETE FROM t WHERE id = 1; DELETE FROM t WHERE id = 2", split_statements=True)
    hinted = "SELECT id FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ WHERE id > 0; /* none */"
    found = hook.run(hinted, handler=fetch_all_handler, split_statements=True)
    assert sorted(found) == [(1,), (2,)]
    assert ids(hook) == []


def test_a_verb_is_run_as_before(hook: PaimonHook) -> None:
    by_place = hook.run("compact", "shop.t", {}, engine="local")
    by_name = hook.run(action="compact", table="shop.t", args={}, engine="local")
    assert by_place["action"] == by_name["action"] == "compact"
    assert hook.run("compact", "shop.t", args={}, engine="local")["table"] == "shop.t"
    assert hook.run_job("compact", "shop.t", {}, engine="local")["action"] == "compact"
    with pytest.raises(NotFoundError, match="no table"):
        hook.run("compact", "shop.none", {}, engine="local")
    with pytest.raises(dbapi.DatabaseError):
        hook.run("compact")


def test_a_connection_also_has_what_the_catalog_has(hook: PaimonHook) -> None:
    connection = hook.get_conn()
    assert isinstance(connection, dbapi.Connection)
    assert connection.databases() == ["shop"]
    assert connection.table("shop.t").name == "shop.t"
    assert connection.cursor().execute("SELECT id FROM shop.t WHERE id = 2").fetchall() == [(2,)]
    with pytest.raises(AttributeError):
        connection.nothing_of_that_name  # noqa: B018


# ----------------------------------------------------------------------------- secrets and errors
def test_neither_values_nor_secrets_are_told(
    hook: PaimonHook,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connect(monkeypatch, tmp_path, password='{"secret": "planted-1"}')
    kept: list[Any] = []
    monkeypatch.setattr(
        "airflow.providers.common.sql.hooks.sql.send_sql_hook_lineage",
        lambda **told: kept.append(told),
    )
    hook = PaimonHook(schema="shop")
    hook.get_first("SELECT id FROM t WHERE city = :token", {"token": "planted-2"})
    hook.get_df("SELECT id FROM t WHERE city = :token", {"token": "planted-2"})
    for wrong in ("planted-1", "planted-2"):
        with pytest.raises(dbapi.ProgrammingError) as told:
            hook.run(f"SELECT `{wrong}` FROM t", parameters={"token": "planted-2"})
    logged = capsys.readouterr().out
    assert logged.count("parameters: token") == 4
    assert "planted" not in logged
    assert not kept, "lineage has no values"
    assert "planted" not in str(told.value)
    assert "planted" not in str(told.value.facts)
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_errors_have_their_kind_text_and_place(hook: PaimonHook) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="only Spark is sure") as refused:
        hook.get_records("SELECT\n concat(city, 'x') AS c FROM t")
    assert refused.value.kind is ErrorKind.UNSUPPORTED
    assert refused.value.facts["line"] == 2
    with pytest.raises(dbapi.ProgrammingError, match="line 1, column 15"):
        hook.run("DELETE FROM   missing WHERE id = 1")
    with pytest.raises(dbapi.ProgrammingError, match="takes one statement"):
        hook.run("SELECT id FROM t; SELECT id FROM t")
    with pytest.raises(dbapi.ProgrammingError, match="parameters are named"):
        hook.run("SELECT id FROM t", parameters=[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_parameter_is_a_value(hook: PaimonHook, text: str) -> None:
    assert ids(hook, "city = :city", {"city": text}) == []
    hook.run("DELETE FROM t WHERE city = :city", parameters={"city": text})
    hook.run("INSERT INTO t (id, city) VALUES (9, :city)", parameters={"city": text})
    hook.insert_rows("t", [(10, text)], ["id", "city"])
    assert ids(hook, "city = :city", {"city": text}) == [9, 10]
    assert ids(hook) == [1, 2, 9, 10]


# ------------------------------------------------------------------------------- rows and commits
def appended(hook: PaimonHook) -> int:
    """Commits that brought rows: a compaction may follow one."""
    return [one.commit_kind for one in hook.table("shop.t").snapshots()].count("APPEND")


def test_rows_are_inserted_as_one_commit_or_a_few(hook: PaimonHook) -> None:
    first = appended(hook)
    hook.insert_rows("shop.t", ((id, "x") for id in range(10, 25_010)), ["id", "city"])
    assert appended(hook) == first + 1, "one commit"
    hook.insert_rows("t", ((id, "y") for id in range(10, 15)), ["id", "city"], commit_every=2)
    assert appended(hook) == first + 4, "2, 2 and 1 rows"
    assert hook.get_first("SELECT count(*) AS n FROM t WHERE city = 'y'") == (5,)
    assert hook.get_first("SELECT count(*) AS n FROM t") == (25_002,)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"replace": True}, UnsupportedFeatureError, "keeps the newest row"),
        ({"fast": 1}, UnsupportedFeatureError, "insert_rows with fast="),
        ({"target_fields": ["id"]}, DataError, "row 0 has 2 values, and 1 are wanted"),
        ({"target_fields": ["id", "day"]}, DataError, "column 'day' of rows 0 to 0"),
        ({"target_fields": ["id", "dey"]}, ArgumentError, "no column 'dey'"),
    ],
)
def test_rows_that_do_not_fit_leave_nothing(
    hook: PaimonHook, arguments: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        hook.insert_rows("t", [(7, "x")], **arguments)
    assert ids(hook) == [1, 2]


def test_a_task_run_commits_its_statements_once(hook: PaimonHook) -> None:
    for _ in range(2):
        attempt = PaimonHook(schema="shop", identity=RunIdentity("me"))
        attempt.run("UPDATE t SET amount = amount + 1 WHERE id = 1")
        attempt.run("SELECT id FROM t WHERE id = 1")
        attempt.run("UPDATE t SET amount = amount + 10 WHERE id = 1")
    assert hook.get_first("SELECT amount FROM t WHERE id = 1") == (Decimal("12.50"),)


def test_lineage_is_of_the_tables_that_the_statements_name(
    hook: PaimonHook, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractors = types.SimpleNamespace(OperatorLineage=types.SimpleNamespace)
    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage.extractors", extractors)  # type: ignore[arg-type]
    for name in (
        "Dataset",
        "SchemaDatasetFacet",
        "SchemaDatasetFacetFields",
    ):  # real: test_openlineage
        monkeypatch.setattr(facet, name, types.SimpleNamespace)
    hook = PaimonHook(schema="shop")
    hook.run(
        "CREATE TABLE u (id BIGINT); INSERT INTO u WITH x AS (SELECT id FROM t) SELECT id FROM x;"
        "SELECT snapshot_id FROM u$snapshots; MERGE INTO shop.t USING u ON t.id = u.id "
        "WHEN MATCHED THEN UPDATE SET city = 'x'; CALL sys.compact(table => 'u');"
        "DELETE FROM t WHERE id = 77; SHOW TABLES",
        split_statements=True,
    )
    told = hook.get_openlineage_database_specific_lineage(None)
    names = [[one.name.rpartition("/")[2] for one in part] for part in (told.inputs, told.outputs)]
    assert names == [["t", "u"], ["u", "t"]]


def test_frames_come_from_arrow(hook: PaimonHook) -> None:
    sql, one = "SELECT id, amount FROM t WHERE id = :id", {"id": 1}
    frame = hook.get_df(sql, one)
    assert isinstance(frame, pd.DataFrame)
    assert frame["amount"].tolist() == [Decimal("1.50")]
    assert hook.get_df(sql, one, df_type="polars")["amount"].dtype == pl.Decimal(10, 2)
    hook.insert_rows("t", ((id, "x") for id in range(10, 15)), ["id", "city"])
    chunks = list(hook.get_df_by_chunks("SELECT id FROM t WHERE city = 'x'", chunksize=2))
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]
    with pytest.raises(ArgumentError, match="index_col='id' is not known"):
        hook.get_df(sql, one, index_col="id")
    with pytest.raises(UnsupportedFeatureError, match="use get_df"):
        hook.get_sqlalchemy_engine()


def test_what_the_connection_says_may_be_said_again_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, tmp_path, extra={"engine": "local"})
    assert PaimonHook(engine="local").warehouse.engine == "local"
    with pytest.raises(ArgumentError, match="engine of a hook differs"):
        _ = PaimonHook(engine="spark").warehouse
    with pytest.raises(ArgumentError, match="PaimonHook has no engin"):
        PaimonHook(engin="local")


# -------------------------------------------------------------------------------- inside Airflow
OPERATORS = """
from airflow.providers.common.sql.operators.sql import *
from airflow.providers.common.sql.sensors.sql import SqlSensor

conn = dict(conn_id="paimon_default")
make = SQLExecuteQueryOperator(task_id="make", split_statements=True, **conn, sql='''
    CREATE DATABASE IF NOT EXISTS shop;
    CREATE TABLE shop.orders (id BIGINT, city STRING, day DATE);
    INSERT INTO shop.orders VALUES (1, 'Oslo', DATE '2026-01-01'), (2, 'Bergen', NULL);
''')
fetch = SQLExecuteQueryOperator(task_id="fetch", **conn, database="shop",
    sql="SELECT id, city FROM orders WHERE city = :city", parameters={"city": "{{ 'Os' ~ 'lo' }}"})
columns = SQLColumnCheckOperator(task_id="columns", table="shop.orders", **conn, column_mapping={
    "id": {"null_check": {"equal_to": 0}, "unique_check": {"equal_to": 0}, "min": {"geq_to": 1},
           "distinct_check": {"equal_to": 2}, "max": {"less_than": 9}},
    "city": {"unique_check": {"equal_to": 0}, "null_check": {"equal_to": 0}}})
table = SQLTableCheckOperator(task_id="table", table="shop.orders", **conn, checks={
    "rows": {"check_statement": "count(*) = 2"}, "ids": {"check_statement": "id > 0"}})
check = SQLCheckOperator(task_id="check", sql="SELECT count(*) AS n FROM shop.orders", **conn)
value = SQLValueCheckOperator(task_id="value", sql="SELECT count(*) AS n FROM shop.orders", pass_value=2, **conn)
threshold = SQLThresholdCheckOperator(task_id="threshold", sql="SELECT max(id) AS n FROM shop.orders",
    min_threshold=1, max_threshold="SELECT count(*) AS n FROM shop.orders", **conn)
sensor = SqlSensor(task_id="sensor", sql="SELECT count(*) AS n FROM shop.orders WHERE city = :city",
    parameters={"city": "Oslo"}, poke_interval=0.1, timeout=5, **conn)
wrong = SQLCheckOperator(task_id="wrong", sql="SELECT count(*) AS n FROM shop.orders WHERE id > 5", **conn)

@task.sql(conn_id="paimon_default")
def decorated():
    return "SELECT max(city) AS c FROM shop.orders"

make >> [fetch, columns, table, check, value, threshold, sensor, wrong, decorated()]
"""


@pytest.mark.airflow
@pytest.mark.filterwarnings("default")
def test_the_operators_of_common_sql_run_in_airflow(
    run: Callable[..., Any], warehouse: Catalog
) -> None:
    dag_run = run(OPERATORS)
    good = "make fetch columns table check value threshold sensor decorated"
    assert states(dag_run) == {**dict.fromkeys(good.split(), "success"), "wrong": "failed"}
    for task_id, row in (("fetch", [1, "Oslo"]), ("decorated", ["Oslo"])):
        assert [one["__data__"] for one in xcom(dag_run, task_id)] == [row], (
            "tuples, as XCom has them"
        )
    assert warehouse.table("shop.orders").latest_snapshot().id == 1
