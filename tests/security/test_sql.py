"""Attack: whoever sets a run's conf that is templated into SQL.  Goal: files, variables, code of the worker."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError
from table_core.jobs.embedded import EmbeddedEngine, SqlLimits
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.spark.verbs.sql_text import expression_of, query_of
from table_core.table.api.sql import sql_process
from tests.tables import write_rows

ROOT = str(Path(__file__).parents[2])
ORDERS = pa.table({"id": [1, 2], "country": ["NL", "o'x"]})


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("planted")
    (tmp_path / "secret.csv").write_text("a\nplanted\n")
    (tmp_path / "secret.json").write_text('{"a": "planted"}')
    duckdb.sql("SELECT 'planted' AS a").write_parquet(str(tmp_path / "secret.parquet"))
    monkeypatch.setenv("PLANTED", "planted")
    monkeypatch.chdir(tmp_path)
    return path


READS = [
    "SELECT content FROM read_text('{folder}/secret.txt')",
    "SELECT content FROM read_text('secret.txt')",
    "SELECT content::varchar FROM read_blob('/proc/self/environ')",
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM 'secret.parquet'",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM read_json('{folder}/secret.json')",
    "SELECT * FROM parquet_scan('{folder}/secret.parquet')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{folder}/secret.csv')",
    "SELECT * FROM read_text('file://{folder}/secret.txt')",
    "SELECT * FROM read_text('http://127.0.0.1:1/x')",
    "SELECT * FROM query('SELECT * FROM read_text(''{folder}/secret.txt'')')",
    "SELECT getenv('PLANTED')",
    "SELECT * FROM tables",
    "SELECT * FROM rows",
    "SELECT * FROM leaked_by_the_caller",
]
STATEMENTS = [
    "COPY (SELECT 'x') TO '{folder}/dag.py'",
    "COPY orders TO '{folder}/dag.csv'",
    "EXPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/x.db' AS x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "PRAGMA enable_external_access = true",
    "PRAGMA version",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1",
    "CREATE SECRET s (TYPE s3)",
    "EXPLAIN ANALYZE SELECT 1",
    "USE memory",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 'x') TO '{folder}/dag.py'",
    "COPY (SELECT 'x') TO '{folder}/dag.py'; SELECT 1",
    "PREPARE p AS SELECT 1",
    "",
    " ; -- nothing",
]


@pytest.mark.parametrize("sql", READS)
def test_a_query_reads_nothing_but_its_tables(sql: str, secret: Path) -> None:
    leaked_by_the_caller = pa.table({"a": ["planted"]})  # noqa: F841
    with pytest.raises(ArgumentError) as told:
        EmbeddedEngine().query_tables(sql.format(folder=secret.parent), {"orders": ORDERS})
    assert "planted" not in str(told.value)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_only_one_select_is_run(sql: str, secret: Path) -> None:
    before = sorted(os.listdir(secret.parent))
    with pytest.raises(ArgumentError, match="one SELECT"):
        EmbeddedEngine().query_tables(sql.format(folder=secret.parent), {"orders": ORDERS})
    assert sorted(os.listdir(secret.parent)) == before


@pytest.mark.parametrize("sql", ["SELECT '\ud800'", 5, None])
def test_what_is_no_text_is_refused(sql: Any) -> None:
    with pytest.raises(ArgumentError, match=r"no text|must be one"):
        EmbeddedEngine().query_tables(sql, {"orders": ORDERS})


def test_a_query_that_is_too_large_ends_with_an_error_and_not_with_the_worker() -> None:
    engine = EmbeddedEngine(limits=SqlLimits(memory="32 mb", disk="16 mb", threads=1))
    sql = "SELECT len(string_agg(md5(range::varchar), '')) FROM range(10000000)"
    with pytest.raises(ArgumentError, match=r"(?i)memory|temp"):
        engine.query_tables(sql, {})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM range(100000000000)",
        "SELECT repeat('x', 1000) AS x FROM range(100000000)",
        "FROM orders a, range(100000000000) b",
    ],
)
def test_rows_that_a_query_finds_are_bounded_too(sql: str) -> None:
    engine = EmbeddedEngine(limits=SqlLimits(memory="32 mb", disk="16 mb", threads=1))
    with pytest.raises(ArgumentError, match=r"sql\.memory-limit") as told:
        engine.query_tables(sql, {"orders": ORDERS})
    assert told.value.facts["argument"] == "sql"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 1500000000) AS v",
        "SELECT len(list(repeat('x', 10000000))) FROM range(1000)",
        pytest.param(
            "SELECT len(lpad('x', 900000000, 'y') || rpad('x', 900000000, 'y'))",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_one_huge_value_is_bounded_as_rows_are(sql: str) -> None:
    """DuckDB counts blocks, not the texts that a function makes: the process that runs it is bounded."""
    engine = EmbeddedEngine(limits=SqlLimits(memory="64 mb", disk="16 mb", threads=1))
    before = peak_of_children()
    with pytest.raises(ArgumentError, match=r"sql\.memory-limit") as told:
        engine.query_tables(sql, {})
    assert told.value.kind == "invalid"
    assert peak_of_children() <= max(before, 600 << 20)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(100000000000) a, range(100000) b WHERE a.range + b.range = 3",
        "SELECT levenshtein(repeat('ab', 500000), repeat('ba', 500000))",
    ],
)
def test_a_query_that_never_ends_is_ended_and_nothing_stays(sql: str) -> None:
    """The second one is a single call: DuckDB looks for interrupts only between calls."""
    engine = EmbeddedEngine(limits=SqlLimits(time="3 s", threads=1))
    begun = time.monotonic()
    with pytest.raises(ArgumentError, match=r"longer than 3 s.*sql\.time-limit"):
        engine.query_tables(sql, {"orders": ORDERS})
    assert time.monotonic() - begun < 60
    assert not [p for p in psutil.Process().children() if "sql_child" in " ".join(p.cmdline())]


@pytest.mark.parametrize("letters", [10, 66_000, 300_000])
def test_a_process_that_takes_no_query_is_an_error_of_the_query(
    letters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe holds 64 KiB: of a longer query a part is still to be written when the process ends."""
    child = tmp_path / "child.py"
    child.write_text("import os, time\ntime.sleep(0.2)\nos._exit(7)\n")
    monkeypatch.setattr(sql_process, "_CHILD", child)
    with pytest.raises(ArgumentError, match="its process ended with 7"):
        EmbeddedEngine().query_tables(f"SELECT '{'x' * letters}'", {})


def test_the_process_of_a_query_ends_with_the_one_that_asked() -> None:
    program = (
        "import pyarrow as pa\n"
        "from table_core.jobs.embedded import EmbeddedEngine\n"
        "EmbeddedEngine().query_tables('SELECT count(*) FROM range(100000000000) a, range(9999)', {})\n"
    )
    asker = subprocess.Popen([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": ROOT})
    children: list[psutil.Process] = []
    while not children:
        assert asker.poll() is None
        children = psutil.Process(asker.pid).children()
        time.sleep(0.05)
    asker.kill()
    asker.wait()
    gone, alive = psutil.wait_procs(children, timeout=60)
    assert (len(gone), alive) == (1, [])


def test_a_query_sees_nothing_of_the_process_that_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "planted")
    seen = []
    popen = subprocess.Popen

    def watched(*args: Any, **more: Any) -> Any:
        seen.append(more["env"])
        return popen(*args, **more)

    monkeypatch.setattr(subprocess, "Popen", watched)
    EmbeddedEngine().query_tables("SELECT 1", {})
    assert "planted" not in str(seen)
    assert len(seen) == 1


def test_limits_that_are_none_are_refused_by_name() -> None:
    for key in ("memory-limit", "disk-limit", "time-limit", "threads"):
        for wrong in ("", "0", "-1", "soon", "1 fortnight", "∞"):
            with pytest.raises(ArgumentError, match=f"sql.{key}"):
                SqlLimits.of({f"sql.{key}": wrong})
    assert SqlLimits.of({"sql.time-limit": "3 s"}).time == "3 s"


def peak_of_children() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


@pytest.mark.parametrize("at", [0, 700_000])
def test_what_fails_at_a_later_row_is_an_error_of_the_query(at: int) -> None:
    sql = f"SELECT CASE WHEN range = {at} THEN error('mine') ELSE range END FROM range(1000000)"
    with pytest.raises(ArgumentError, match="mine"):
        EmbeddedEngine().query_tables(sql, {})


def test_values_are_bound_and_not_pasted() -> None:
    sql = "SELECT id FROM orders WHERE country = $country"
    engine = EmbeddedEngine()
    for given, ids in (("o'x", [2]), ("x' OR '1'='1", []), ("NL'; COPY", []), (None, [])):
        found = engine.query_tables(sql, {"orders": ORDERS}, {"country": given, "unused": 1})
        assert found["id"].to_pylist() == ids
    with pytest.raises(ArgumentError, match=r"\$country, which is not in parameters"):
        engine.query_tables(sql, {"orders": ORDERS})
    for wrong in ({"country": ["NL"]}, {"a b": 1}, {"": 1}, ["NL"], {"country": b"x"}):
        with pytest.raises(ArgumentError, match="parameters"):
            engine.query_tables(sql, {"orders": ORDERS}, wrong)  # type: ignore[arg-type]


def job(warehouse: Path, action: str, table: str, **args: Any) -> dict[str, Any]:
    return run_embedded(
        JobSpec(action=action, warehouse=warehouse.as_uri(), table=table, args=args)
    )


def test_flow_pending_check_and_merge_bind_parameters_and_read_no_file(
    tmp_path: Path, secret: Path
) -> None:
    catalog = tc.open_catalog((tmp_path / "wh").as_uri())
    catalog.create_database("d")
    for name in ("orders", "sales", "waiting"):
        catalog.create_table(f"d.{name}", ORDERS.schema)
    write_rows(catalog.table("d.orders"), ORDERS)
    catalog.create_table(
        "d.keyed",
        pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string())]),
        primary_key=("id",),
    )
    warehouse = tmp_path / "wh"
    sources = {"orders": {"table": "d.orders"}}
    leak = f"SELECT 1 AS id, content AS country FROM read_text('{secret}')"
    good = "SELECT * FROM orders WHERE country = $c"
    job(
        warehouse,
        "write",
        "d.sales",
        sql=good,
        sources=sources,
        parameters={"c": "o'x"},
        pending={"table": "d.waiting", "sql": "SELECT * FROM orders WHERE country <> $c"},
    )
    assert catalog.table("d.sales").read().to_arrow()["id"].to_pylist() == [2]
    assert catalog.table("d.waiting").read().to_arrow()["id"].to_pylist() == [1]
    when = [{"action": "not-matched-insert"}]
    merge = {"on": ["id"], "when": when, "parameters": {"c": "NL"}}
    job(warehouse, "merge-into", "d.keyed", source={"sql": good, "sources": sources}, **merge)
    assert catalog.table("d.keyed").read().to_arrow()["id"].to_pylist() == [1]
    rules = {"sql": "SELECT * FROM rows WHERE country = $c"}
    told = job(warehouse, "check", "d.orders", rules=rules, parameters={"c": "NL"}, fail=False)
    assert told["details"]["failed"] == 1
    for action, args in (
        ("write", {"sql": leak, "sources": sources}),
        ("write", {"sql": good, "parameters": {"c": ""}, "sources": sources,
                   "pending": {"table": "d.waiting", "sql": leak}}),
        ("check", {"rules": {"sql": leak}}),
        ("merge-into", {**merge, "source": {"sql": leak, "sources": sources}}),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match="disabled by configuration"):
            job(warehouse, action, "d.orders" if action == "check" else "d.keyed", **args)


REFUSED_ON_SPARK = [
    "SELECT * FROM parquet.`/etc/x`",
    "SELECT * FROM text.`file:///etc/hostname` UNION ALL SELECT * FROM orders",
    "SELECT * FROM orders JOIN json.`/x` USING (id)",
    "SELECT (SELECT max(value) FROM text.`/etc/hostname`)",
    "WITH x AS (SELECT * FROM csv.`/x`) SELECT * FROM x",
    "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM binaryFile.`/x`)",
    "SELECT * FROM spark_catalog.default.orders",
    "SELECT * FROM others",
    "SELECT * FROM IDENTIFIER('parquet.`/x`')",
    "SELECT IDENTIFIER('reflect')('a', 'b')",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT `reflect`('java.lang.System', 'getenv', 'HOME')",
    "SELECT system.builtin.java_method('java.lang.System', 'getenv')",
    "SELECT from_avro(x, '{}', map('avroSchemaUrl', '/etc/passwd')) FROM orders",
    "SELECT From_Avro(x, '{}', map(concat('avro', 'SchemaUrl'), '/etc/passwd')) FROM orders",
    "SELECT `from_xml`(x, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) FROM orders",
    "SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '/etc/passwd'))",
    "SELECT system.builtin.from_protobuf(x, 'M', '/etc/passwd') FROM orders",
    "SELECT to_protobuf(x, 'M', '/etc/passwd', map()) FROM orders",
    "SELECT try_reflect('java.lang.System', 'getenv')",
    "SELECT * FROM udtf(TABLE(orders))",
    "SELECT TRANSFORM(id) USING 'cat /etc/hostname' AS (x) FROM orders",
    "FROM orders SELECT TRANSFORM(id) USING 'sh'",
    "FROM orders MAP id USING 'sh' AS x",
    "FROM orders REDUCE id USING 'sh' AS x",
    "FROM orders INSERT OVERWRITE DIRECTORY '/x' SELECT *",
    "INSERT INTO orders SELECT 1",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
    "CREATE TABLE x USING csv LOCATION '/x' AS SELECT 1",
    "CREATE TEMPORARY FUNCTION f AS 'a.B' USING JAR '/x.jar'",
    "ADD JAR '/x.jar'",
    "LIST FILES",
    "SET spark.sql.variable.substitute = true",
    "RESET",
    "CACHE TABLE orders",
    "DESCRIBE orders",
    "SHOW TABLES",
    "EXPLAIN SELECT 1",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "BEGIN SELECT 1; END",
    "LOAD DATA INPATH '/x' INTO TABLE orders",
    "DROP VIEW orders",
    "SELECT 1; SELECT 2",
    "SELECT 1 -- \\\n/*\nUNION ALL SELECT value FROM text.`/x` --*/",
    "SELECT 1 \x00",
    "",
    "WITH others AS (SELECT * FROM others) SELECT * FROM others",
    "WITH a AS (SELECT * FROM others), others AS (SELECT 1) SELECT * FROM a",
    "SELECT * FROM others WHERE 1 IN (WITH others AS (SELECT 1 a) SELECT a FROM others)",
    "SELECT * FROM (WITH others AS (SELECT 1) SELECT * FROM others) JOIN others",
    "WITH a AS (WITH others AS (SELECT 1) SELECT * FROM others) SELECT * FROM a, others",
    "WITH RECURSIVE a AS (SELECT * FROM others), others AS (SELECT 1) SELECT * FROM a",
    "SELECT * FROM orders JOIN LATERAL read_files('/x')",
    "SELECT * FROM orders JOIN LATERAL python_worker_logs()",
    "SELECT * FROM orders, LATERAL sql_keywords()",
    "SELECT * FROM orders LATERAL VIEW made_by_others(id) t AS x",
    "SELECT /*+ BROADCAST((SELECT * FROM text.`/x`)) */ 1 FROM orders",
    "SELECT /*+ REPARTITION(3, (SELECT 1 FROM text.`/x`)) */ * FROM orders",
    "SELECT call_function('java_method', 'java.lang.System', 'getenv') FROM orders",
    "SELECT xpath_string('<!DOCTYPE a SYSTEM \"http://169.254.169.254/\"><a/>', 'a') FROM orders",
    "SELECT `xpath`(x, 'a') FROM orders",
    "SELECT system.builtin.XPath_Int(x, 'a') FROM orders",
    "SELECT (TABLE text.`/etc/x`)",
    "SELECT * FROM orders UNION ALL TABLE text.`/etc/x`",
    "FROM orders |> UNION ALL (SELECT * FROM text.`/x`)",
    "FROM orders |> JOIN text.`/x` ON true",
    "SELECT 1 /* /* */ */ FROM text.`/x`",
    "SELECT r'\\' FROM text.`/x` -- '",
    "SELECT * FROM (orders JOIN text.`/x`)",
]


@pytest.mark.parametrize("sql", REFUSED_ON_SPARK)
def test_on_spark_a_query_names_nothing_but_its_views(sql: str) -> None:
    with pytest.raises(ArgumentError, match="SQL must be"):
        query_of(sql, ["orders"])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM orders",
        "SELECT * FROM Orders o, `orders` p",
        "WITH a AS (SELECT * FROM orders), b AS (SELECT * FROM a) SELECT * FROM b UNION SELECT * FROM a",
        "WITH a AS (SELECT 1) SELECT * FROM (SELECT * FROM (SELECT * FROM A) JOIN orders)",
        "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT * FROM t",
        "WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT (SELECT max(1) FROM a) FROM a",
        "WITH a AS (SELECT 1) (SELECT * FROM a UNION SELECT * FROM a)",
        "FROM orders |> WHERE id > 1 |> SELECT id",
        "SELECT /*+ BROADCAST(o) */ o.id, explode(array(1)) FROM orders o",
        "FROM orders SELECT id",
        "VALUES (1), (2)",
        "SELECT * FROM VALUES (1) AS t(x)",
        "SELECT * FROM range(3)",
        "SELECT * FROM orders LATERAL VIEW explode(array(1)) e AS y",
        "SELECT x.y.z, s['k'] FROM orders AS x WHERE id IN (SELECT id FROM orders)",
        "SELECT transform(array(1), x -> x + 1) FROM orders",
        "SELECT 'reflect(', \"parquet.`x`\" FROM orders -- parquet.`/x`",
        "SELECT * FROM orders PIVOT (sum(id) FOR country IN ('NL'))",
        "SELECT from_xml(x, 'a INT'), from_avro(x, '{}') FROM orders",
        "SELECT 1;",
    ],
)
def test_on_spark_what_is_a_query_goes_through_as_it_is(sql: str) -> None:
    assert query_of(sql, ["orders"]) == (sql, {})


def test_on_spark_parameters_are_bound_outside_of_texts_and_comments_only() -> None:
    sql = "SELECT '$a', id FROM orders WHERE c = $a AND d > $b_2 -- $a"
    text, given = query_of(sql, ["orders"], {"a": "x' OR 1=1", "b_2": 3, "c": None})
    assert text == "SELECT '$a', id FROM orders WHERE c = :a AND d > :b_2 -- $a"
    assert given == {"a": "x' OR 1=1", "b_2": 3}
    with pytest.raises(ArgumentError, match="not in parameters"):
        query_of("SELECT $nope FROM orders", ["orders"])


@pytest.mark.parametrize(
    "sql",
    [
        "(SELECT max(value) FROM text.`/etc/hostname`)",
        "source.id IN (SELECT id FROM others)",
        "1 FROM text.`/etc/hostname`",
        "reflect('java.lang.System', 'getenv', 'HOME') = 'x'",
        "1; DROP TABLE x",
        "EXISTS (SELECT 1 FROM parquet.`/x`)",
    ],
)
def test_on_spark_a_clause_of_a_merge_is_an_expression_over_its_columns(sql: str) -> None:
    with pytest.raises(ArgumentError, match="SQL must be"):
        expression_of(sql)
    good = "source.n > 3 AND target.`x y` IS NULL OR coalesce(source.s['k'], 'a') = 'b'"
    assert expression_of(good) == good
