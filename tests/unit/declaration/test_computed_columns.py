"""Computed columns of declared tables: true in every row, or refused by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.declaration import applying
from table_core.declaration.compare import Action
from table_core.declaration.document import faults_of, parse
from table_core.declaration.manifest import compiled, head_of
from table_core.errors import ArgumentError, DataError, TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.table.api.opening import open_catalog

TABLE = """\
version: 1
name: shop
tables:
  a.raw: {columns: {id: BIGINT, at: TIMESTAMP(3)}}
  a.t:
    columns: {id: BIGINT NOT NULL, at: TIMESTAMP(3), y: {type: BIGINT NOT NULL, computed: year(at)}}
"""
QUERY = "{table: a.t, reads: {raw: a.raw}, sql: "


def told(text: str) -> list[str]:
    return [diagnostic.message for diagnostic in faults_of(text, "f")]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("flows:\n  f: " + QUERY + "'SELECT id, at FROM raw'}", None),
        ("flows:\n  f: " + QUERY + "'SELECT * FROM raw'}", None),
        (
            "flows:\n  f: " + QUERY + "'SELECT *, 1 AS Y FROM raw'}",
            "which a.t computes: leave it out",
        ),
        ("flows:\n  f: {table: a.t, run: delete, with: {where: y = 1}}", None),
        (
            "flows:\n  f: {table: a.t, run: update, with: {values: {id: '1'}, where: id = 1}}",
            "run: update would leave y as computed before",
        ),
        (
            "flows:\n  f: {table: a.t, merge: {source: {table: a.raw}, on: [id], when: [{action: "
            "matched-delete}]}}",
            "merge does not compute y",
        ),
        (
            "flows:\n  f: {table: a.raw, sql: 'SELECT id, at FROM t', pending: {table: a.t, sql: "
            "'SELECT id, at FROM t'}}",
            "rows that wait have no computed columns, as a.t has",
        ),
        (
            "sources:\n  s: {table: a.t, sync: {kind: files, uri: x}, with: {computed_columns: "
            "['y=month(at)']}}",
            "'y' is computed as a.t declares it",
        ),
        (
            "    primary_key: [id]\n    options: {merge-engine: partial-update}",
            "merge-engine partial",
        ),
        ("    primary_key: [id]\n    options: {merge-engine: aggregation}", "merge-engine aggreg"),
        ("    primary_key: [id]\n    options: {merge-engine: first-row}", None),
        ("    partition_by: [y]", None),
        (
            "    partition_by: [y]\nflows:\n  f: {table: a.t, rows_uri: x, overwrite: {y: 2026}}",
            "'y' is computed of each row: overwrite: partitions",
        ),
        (
            "    primary_key: [id, y]\n  a.n: {primary_key: [n], columns: {n: {type: TIMESTAMP_LTZ(3), "
            "computed: now()}}}",
            "now() differs each time",
        ),
        (
            "external:\n  o.t: {columns: {y: {type: INT, computed: year(at)}}}",
            "unknown member 'comp",
        ),
    ],
)
def test_what_would_make_a_computed_column_untrue_is_refused_by_name(
    more: str, wanted: str | None
) -> None:
    found = told(TABLE + more + "\n")
    assert found == [] if wanted is None else [one for one in found if wanted in one], found


def test_the_steps_that_make_rows_have_them_also_from_the_first_line_of_a_manifest() -> None:
    more = (
        "sources:\n  s: {table: a.t, sync: {kind: files, uri: x}}\n  u: {table: a.t, rows_uri: x}\n"
        f"flows:\n  f: {QUERY}SELECT 1}}\n  d: {{table: a.t, run: compact}}\n  r: {{table: a.raw, sql: SELECT 1}}\n"
    )
    head = head_of(compiled(parse(TABLE + more), "d").partition("\n")[0], "d")
    assert head is not None
    made = {step.name: step.computed for step in head.steps}
    assert made == {**dict.fromkeys("suf", ("y=year(at)",)), "d": (), "r": ()}


def test_the_plan_shows_them_and_that_rows_that_are_there_do_not_have_one_that_is_added(
    tmp_path: Path,
) -> None:
    catalog = open_catalog(f"file://{tmp_path}")
    plain = parse(re.sub(r", y: .*", "}", TABLE))
    nullable = parse(TABLE.replace("BIGINT NOT NULL, computed", "BIGINT, computed"))
    made = {one.table: one for one in applying.plan(nullable, catalog)}
    assert made["a.t"].told[2] == "+ y BIGINT = year(at)"
    applying.apply(applying.plan(plain, catalog), catalog)
    added = {one.table: one for one in applying.plan(nullable, catalog)}
    assert added["a.t"].told == ("+ y BIGINT = year(at); NULL in rows that are there",)
    applying.apply(list(added.values()), catalog)
    assert {one.action for one in applying.plan(nullable, catalog)} == {Action.NONE}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    catalog = open_catalog(f"file://{tmp_path}/wh")
    made = parse(TABLE + "    partition_by: [y]\n    options: {bucket: -1}\n")
    applying.apply(applying.plan(made, catalog), catalog)

    def run(**args: Any) -> list[tuple[Any, ...]]:
        args = {"computed_columns": ["y=year(at)"], **args}
        run_embedded(JobSpec(action="write", warehouse=catalog.storage.uri, table="a.t", args=args))
        rows = catalog.table("a.t").read().to_arrow().select(["id", "y"])
        return sorted(tuple(row.values()) for row in rows.to_pylist())

    return run


def test_files_and_queries_get_them_and_partitions_follow(write: Any, tmp_path: Path) -> None:
    times = pa.array([0, 1_790_000_000_000_000], pa.timestamp("us"))
    pq.write_table(
        pa.table({"at": times, "id": pa.array([1, 2], pa.int32())}), tmp_path / "a.parquet"
    )
    (tmp_path / "b.jsonl").write_text('{"id": 3, "at": "2024-02-29T23:59:59"}\n')
    assert write(rows_uri=f"file://{tmp_path}/a.parquet") == [(1, 1970), (2, 2026)]
    assert write(rows_uri=f"file://{tmp_path}/b.jsonl") == [(1, 1970), (2, 2026), (3, 2024)]
    again = write(
        sql="SELECT CAST(4 AS INT) AS id, TIMESTAMP '2026-01-01 00:00:00' AS at",
        overwrite="partitions",
    )
    assert again == [(1, 1970), (3, 2024), (4, 2026)]


@pytest.mark.parametrize(
    ("args", "error", "told"),
    [
        (
            {"sql": "SELECT 1 AS id, now()::TIMESTAMP AS at, 1 AS y"},
            DataError,
            "is computed, and the",
        ),
        ({"sql": "SELECT 1 AS id, NULL AS at"}, DataError, "'y' is NOT NULL"),
        ({"sql": "SELECT 1 AS id, 'x' AS at"}, DataError, "'at', row 0"),
        (
            {"sql": "SELECT 1 AS id", "computed_columns": ["y=year(a)"]},
            ArgumentError,
            "no column 'a'",
        ),
        (
            {"sql": "SELECT 1 AS id", "computed_columns": ["z=year(at)"]},
            ArgumentError,
            "no such column",
        ),
        ({"rows_uri": "file:///x.jsonl", "computed_columns": ["y"]}, ArgumentError, "write name="),
    ],
)
def test_rows_that_cannot_have_them_are_refused_and_nothing_is_written(
    write: Any, args: dict[str, Any], error: type[TableError], told: str
) -> None:
    with pytest.raises(error, match=told):
        write(**args)


@pytest.mark.parametrize(
    "function", ["year(v)", "date_format(v, yyyy)", "upper(v)", "truncate(v, 2)"]
)
@pytest.mark.parametrize(
    "given", ["DECIMAL(9, 2)", "DOUBLE", "BOOLEAN", "TIME(3)", "BYTES", "ARRAY<INT>", "ROW<a INT>"]
)
@pytest.mark.parametrize("makes", ["INT", "STRING", "ARRAY<INT>"])
def test_what_a_function_does_not_take_is_told_by_name(
    function: str, given: str, makes: str
) -> None:
    columns = f"v: '{given}', c: {{type: '{makes}', computed: '{function}'}}"
    found = told(f"version: 1\nname: shop\ntables:\n  a.t: {{columns: {{{columns}}}}}\n")
    takes = function == "upper(v)" and makes == "STRING" and "<" not in given
    assert takes or all("column 'c'" in one for one in found)
    assert bool(found) is not takes


def test_nothing_is_cut_to_a_multiple_of_0() -> None:
    columns = "v: INT, c: {type: INT, computed: 'truncate(v, 0)'}"
    (found,) = told(f"version: 1\nname: shop\ntables:\n  a.t: {{columns: {{{columns}}}}}\n")
    assert "give a width of at least 1" in found
