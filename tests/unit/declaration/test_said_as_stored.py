"""Goal: validate, plan and apply say the same, and say all of it.

Method: documents that each went wrong once: files that jobs read and validate refused, plans that kept back what apply
stores, a table that is renamed a second time, columns that a merge key brings, names that nobody can see or store.
"""

from __future__ import annotations

import itertools
import json

import pyarrow as pa
import pytest

from table_core.datatypes.text import type_text
from table_core.declaration import applying
from table_core.declaration.compare import Action
from table_core.declaration.document import faults_of, parse
from table_core.declaration.signed_plan import is_plan, opened, written
from table_core.errors import DataError
from table_core.table.api.catalog import Catalog
from table_core.table.api.checks import check
from table_core.table.api.opening import open_catalog
from tests.tables import write_rows

HEAD = "version: 1\nname: shop\n"
_NUMBERS = itertools.count()


@pytest.fixture
def catalog() -> Catalog:
    return open_catalog(f"memory://{next(_NUMBERS)}-said")


def told(text: str) -> list[str]:
    return [one.message for one in faults_of(HEAD + text)]


TABLE = "tables:\n  a.t:\n    columns: {id: INT}\n"


@pytest.mark.parametrize("files", ["in/*.csv", "in/*.jsonl.gz", "in/x.CSV", "in/*.parquet", "in/*"])
def test_files_that_a_job_reads_can_be_declared(files: str) -> None:
    assert told(f"{TABLE}sources:\n  s: {{table: a.t, rows_uri: '{files}'}}\n") == []


def test_files_whose_names_tell_no_format_are_refused_unless_it_is_said() -> None:
    step = "sources:\n  s: {{table: a.t, rows_uri: 'in/*.txt'{}}}\n"
    assert any("say which format it is" in one for one in told(TABLE + step.format("")))
    assert told(TABLE + step.format(", rows_format: csv")) == []
    assert any("expected one of" in one for one in told(TABLE + step.format(", rows_format: orc")))


def test_a_plan_says_what_apply_stores_of_a_new_table_and_a_new_column(catalog: Catalog) -> None:
    table = (
        f"{HEAD}tables:\n  a.t:\n    comment: All orders\n    options: {{bucket: 1}}\n"
        "    primary_key: [id]\n    columns:\n      id: INT NOT NULL\n"
    )
    described = "      n: {type: INT, default: '5', comment: How many}\n"
    [made] = applying.plan(parse(table + described), catalog)
    assert made.told == (
        "+ id INT NOT NULL",
        "+ n INT, default '5', comment 'How many'",
        "+ option bucket = 1",
        "+ comment 'All orders'",
    )
    applying.apply(applying.plan(parse(table), catalog), catalog)
    [added] = applying.plan(parse(table + described), catalog)
    assert added.told == ("+ n INT, default '5', comment 'How many'",)


TWICE = "moved: [{from: a.t, to: a.u}, {from: a.u, to: a.v}]\n"


@pytest.mark.parametrize("there", ["a.t", "a.u", "a.v"])
@pytest.mark.parametrize("moved", [TWICE, "moved: [{from: a.u, to: a.v}, {from: a.t, to: a.u}]\n"])
def test_a_table_is_renamed_a_second_time(catalog: Catalog, there: str, moved: str) -> None:
    catalog.create_database("a")
    catalog.create_table(there, pa.schema([("id", pa.int32())]))
    text = f"{moved}tables:\n  a.v:\n    columns: {{id: INT}}\n"
    assert told(text) == []
    applying.apply(applying.plan(parse(HEAD + text), catalog), catalog)
    assert catalog.tables("a") == ["v"]
    assert applying.plan(parse(HEAD + text), catalog)[0].action is Action.NONE


@pytest.mark.parametrize("there", ["t", "u", "v"])
@pytest.mark.parametrize(
    "moved", ["[{from: t, to: u}, {from: u, to: v}]", "[{from: u, to: v}, {from: t, to: u}]"]
)
def test_a_column_is_renamed_a_second_time(catalog: Catalog, there: str, moved: str) -> None:
    catalog.create_database("a")
    catalog.create_table("a.t", pa.schema([("id", pa.int32()), (there, pa.int32())]))
    text = f"tables:\n  a.t:\n    moved: {moved}\n    columns: {{id: INT, v: INT}}\n"
    assert told(text) == []
    applying.apply(applying.plan(parse(HEAD + text), catalog), catalog)
    assert [one.name for one in catalog.table("a.t").definition.fields] == ["id", "v"]


def test_a_move_that_ends_nowhere_or_in_a_circle_is_named() -> None:
    nowhere = "moved: [{from: a.x, to: a.y}, {from: a.y, to: a.z}]\n"
    assert any("no declared table" in one for one in told(nowhere + TABLE))
    circle = "moved: [{from: a.x, to: a.y}, {from: a.y, to: a.x}]\n"
    assert any("no declared table" in one for one in told(circle + TABLE))


def test_two_of_the_names_of_a_table_are_never_made_one(catalog: Catalog) -> None:
    catalog.create_database("a")
    for name in ("a.t", "a.u"):
        catalog.create_table(name, pa.schema([("id", pa.int32())]))
    declaration = parse(f"{HEAD}{TWICE}tables:\n  a.v:\n    columns: {{id: INT}}\n")
    [plan] = applying.plan(declaration, catalog)
    assert plan.action is Action.REFUSED
    assert "a.t and a.u are both there" in plan.refused[0]


def test_zero_and_minus_zero_are_one_value_of_unique(catalog: Catalog) -> None:
    catalog.create_database("a")
    table = catalog.create_table("a.t", pa.schema([("x", pa.float64()), ("n", pa.int32())]))
    write_rows(table, pa.table({"x": [0.0, -0.0, 1.0], "n": pa.array([1, 1, 1], pa.int32())}))
    with pytest.raises(DataError, match="unique x"):
        check(table, {"unique": ["x"]})
    with pytest.raises(DataError, match="unique x, n"):
        check(table, {"unique": ["x", "n"]})


def test_columns_of_a_merge_key_stand_where_it_stands() -> None:
    text = (
        "definitions:\n  audit: &audit {made_at: TIMESTAMP(3), made_by: STRING}\n"
        "tables:\n  a.t:\n    columns: {id: INT, <<: *audit, note: STRING}\n"
        "  a.u:\n    columns: {<<: *audit, made_by: INT, id: INT}\n"
    )
    tables = parse(HEAD + text).tables
    assert list(tables["a.t"].columns) == ["id", "made_at", "made_by", "note"]
    assert dict(tables["a.u"].columns) == {"made_at": "TIMESTAMP(3)", "made_by": "INT", "id": "INT"}
    assert list(tables["a.u"].columns) == ["made_at", "made_by", "id"]


def test_a_plan_that_narrows_says_so(catalog: Catalog) -> None:
    catalog.create_database("a")
    catalog.create_table("a.t", pa.schema([("id", pa.int64())]))
    [plan] = applying.plan(parse(HEAD + TABLE), catalog, allow=["narrow"])
    assert plan.told == ("~ id: BIGINT -> INT",)
    applying.apply([plan], catalog)
    assert type_text(catalog.table("a.t").definition.fields[0].type) == "INT"


def test_a_plan_file_that_another_tool_has_written_anew_is_a_plan(catalog: Catalog) -> None:
    declaration = parse(HEAD + TABLE)
    plans = applying.plan(declaration, catalog)
    text = written(declaration, plans, warehouse="file:///w", allow=[], digest="x")
    anew = json.dumps(json.loads(text), sort_keys=True)
    for one in (text, anew, f"\n {anew}"):
        assert is_plan(one)
        assert opened(one)[0].tables.keys() == declaration.tables.keys()
    assert not is_plan(HEAD + TABLE)
    assert not is_plan('{"version": 1, "name": "n", "tables": {}}')
    assert not is_plan("{broken")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a." + "t" * 260, "at most 255 bytes"),
        ("d" * 260 + ".t", "at most 255 bytes"),
        ('"a.t\\u202Ecod"', "cannot be seen"),
    ],
)
def test_a_name_that_nobody_can_store_or_see_is_refused(name: str, says: str) -> None:
    assert any(says in one for one in told(f"tables:\n  {name}:\n    columns: {{id: INT}}\n"))
