"""``init``: a first declaration of what is there, of which nothing is left to do."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from table_core.cli import parquet_folder
from table_core.cli.main import app
from table_core.datatypes.text import parse_type
from table_core.declaration.document import faults_of, parse
from table_core.declaration.foreign_words import type_hint
from table_core.errors import (
    ArgumentError,
    DataError,
    NotFoundError,
    SchemaError,
    UnsupportedFeatureError,
)


def write(path: Path, schema: dict[str, pa.DataType], *rows: tuple[object, ...]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [
        pa.array(list(column), kind) for column, kind in zip(columns, schema.values(), strict=True)
    ]
    pq.write_table(pa.table(dict(zip(schema, arrays, strict=True))), path)


def init(folder: Path, *words: str) -> str:
    done = CliRunner().invoke(app, ["init", str(folder), "--parquet", *words])
    if done.exception is not None:
        raise done.exception
    return done.output


def test_a_folder_of_parquet_becomes_tables_of_which_nothing_is_left_to_do(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    deep = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.decimal128(5, 1)))])
    write(
        lake / "orders" / "dt=2026-01-01" / "h=07" / "a.parquet",
        {"id": pa.int32(), "n": pa.int8()},
        (1, 1),
    )
    write(
        lake / "orders" / "dt=2026-01-02" / "h=8" / "b.parquet",
        {
            "id": pa.int64(),
            "Country Name": pa.string(),
            "deep": deep,
            "m": pa.map_(pa.string(), pa.date32()),
        },
        (2, "is", None, None),
    )
    write(
        lake / "orders" / "dt=__HIVE_DEFAULT_PARTITION__" / "h=8" / "c.parquet",
        {"id": pa.int64()},
        (3,),
    )
    write(
        lake / "shop" / "customers.parquet", {"name": pa.string(), "at": pa.timestamp("us", "UTC")}
    )
    write(lake / "root.parquet", {"yes": pa.bool_()}, (True,))
    write(lake / "_tmp" / "broken.parquet", {"yes": pa.int8()}, (1,))
    (lake / "readme.txt").write_text("no Parquet")
    text = init(lake, "--name", "first", "--database", "raw")
    assert faults_of(text) == []
    tables = parse(text).tables
    assert {name: dict(table.columns) for name, table in tables.items()} == {
        "raw.orders": {
            "id": "BIGINT",
            "n": "TINYINT",
            "Country Name": "STRING",
            "deep": "ROW<`x` INT, `y` ARRAY<DECIMAL(5, 1)>>",
            "m": tables["raw.orders"].columns["m"],
            "dt": "DATE",
            "h": "STRING",
        },
        "raw.lake": {"yes": "BOOLEAN"},
        "raw.shop": {"name": "STRING", "at": tables["raw.shop"].columns["at"]},
    }
    assert tables["raw.orders"].partition_by == ("dt", "h")
    assert all(table.primary_key == () for table in tables.values())

    (tmp_path / "first.yaml").write_text(text)
    where = ("-w", str(tmp_path / "wh"))
    assert CliRunner().invoke(app, ["apply", str(tmp_path / "first.yaml"), *where]).exit_code == 0
    planned = CliRunner().invoke(
        app, ["plan", str(tmp_path / "first.yaml"), *where, "--json", "--detailed-exitcode"]
    )
    assert planned.exit_code == 0, planned.output
    assert {one["action"] for one in json.loads(planned.output)["tables"]} == {"none"}
    again = CliRunner().invoke(
        app, ["init", str(tmp_path / "wh"), "--out", str(tmp_path / "again.yaml")]
    )
    assert again.exit_code == 0
    planned = CliRunner().invoke(app, ["plan", str(tmp_path / "again.yaml"), "--json"])
    found = json.loads(planned.output)
    assert ({one["action"] for one in found["tables"]}, found["only_there"]) == ({"none"}, [])


def test_a_key_is_proposed_only_where_it_is_asked_for_and_tells_rows_apart(tmp_path: Path) -> None:
    kinds = {"twice": pa.int64(), "hole": pa.int32(), "id": pa.int32(), "text": pa.string()}
    write(tmp_path / "t" / "p=1" / "a.parquet", kinds, (1, 1, 1, "a"), (1, None, 2, "b"))
    write(tmp_path / "t" / "p=2" / "b.parquet", kinds | {"id": pa.int64()}, (2, 3, 3, "c"))
    write(tmp_path / "u" / "a.parquet", {"n": pa.int64()}, (1,), (1,))
    assert "primary_key" not in init(tmp_path)
    text = init(tmp_path, "--keys")
    table = parse(text).tables["default.t"]
    assert (table.primary_key, table.columns["id"]) == (("p", "id"), "BIGINT NOT NULL")
    assert "# proposed: no two of 3 rows have the same id" in text
    assert "default.u:  # no column tells its rows apart" in text
    assert faults_of(text) == []


def test_a_key_of_a_part_of_the_rows_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "t" / "a.parquet", {"id": pa.int32()}, (1,), (2,))
    write(tmp_path / "t" / "b.parquet", {"id": pa.int64()}, (2,))
    assert "no column tells its rows apart" in init(tmp_path, "--keys")
    monkeypatch.setattr(parquet_folder, "_ROWS_MAX", 1)
    assert "no two of the first 2 rows have the same id" in init(tmp_path, "--keys")


@pytest.mark.parametrize("other", ["a_b", "A b", "a/b-"])
def test_folders_of_one_name_are_not_mixed_up(other: str, tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "dt=1" / "x.parquet", {"n": pa.int64()}, (1,))
    write(tmp_path / "a" / "b" / "dt=2" / "x.parquet", {"n": pa.int64()}, (1,))
    assert "default.a_b" in init(tmp_path)
    write(tmp_path / other / "dt=1" / "x.parquet", {"n": pa.int64()}, (1,))
    with pytest.raises(SchemaError, match=r"would both be the table a_b"):
        init(tmp_path)


@pytest.mark.parametrize("words", [(), ("--keys",)])
def test_files_that_cannot_be_one_table_are_told(words: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path / "t" / "a.parquet", {"n": pa.int64()}, (1,))
    write(tmp_path / "t" / "b.parquet", {"n": pa.string()}, ("x",))
    with pytest.raises(
        SchemaError, match=r"'n' is BIGINT in t/a.parquet and STRING in t/b.parquet"
    ):
        init(tmp_path, *words)
    write(tmp_path / "t" / "b.parquet", {"n": pa.float64()}, (0.5,))
    with pytest.raises(SchemaError, match="no type holds both"):
        init(tmp_path)
    write(tmp_path / "t" / "p=1" / "b.parquet", {"n": pa.int64()}, (1,))
    (tmp_path / "t" / "b.parquet").unlink()
    with pytest.raises(SchemaError, match="files lie in folders of"):
        init(tmp_path)
    write(tmp_path / "w" / "b.parquet", {"took": pa.duration("s")}, (1,))
    (tmp_path / "t" / "a.parquet").unlink()
    with pytest.raises(UnsupportedFeatureError, match=r"w/b.parquet: column 'took'"):
        init(tmp_path)
    (tmp_path / "w" / "b.parquet").write_text("PAR1 it is not")
    with pytest.raises(DataError, match=r"w/b.parquet"):
        init(tmp_path)
    with pytest.raises(NotFoundError, match="no Parquet below"):
        init(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    done = CliRunner().invoke(app, ["init", str(tmp_path / "empty")])
    assert "of Parquet files say --parquet" in str(done.exception)


@pytest.mark.parametrize("other", ["t/b.parquet", "t/ID=2/a.parquet"])
def test_columns_that_differ_in_case_alone_are_told_by_init(other: str, tmp_path: Path) -> None:
    write(tmp_path / "t" / "a.parquet", {"id": pa.int64()}, (1,))
    inner = {"Id": pa.int64()} if "=" not in other else {"id": pa.int64()}
    if "=" in other:
        (tmp_path / "t" / "a.parquet").unlink()
    write(tmp_path / other, inner, (1,))
    with pytest.raises(SchemaError, match="differ in case alone"):
        init(tmp_path)


@pytest.mark.parametrize("out", ["", "nowhere/a.yaml", "a.txt/b.yaml"])
@pytest.mark.parametrize(
    "words", [("plan", "--out"), ("validate", "--compile"), ("validate", "--pools")]
)
def test_a_file_that_cannot_be_written_is_named(
    words: tuple[str, str], out: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").touch()
    file, target = tmp_path / "f.yaml", tmp_path / out
    file.write_text(
        "version: 1\nname: a\nwarehouse: ./w\npool: {name: p, slots: 1}\ntables: {s.t: {columns: {id: INT}}}\n"
    )
    done = CliRunner().invoke(app, [words[0], str(file), words[1], str(target)])
    assert isinstance(done.exception, ArgumentError)
    assert f"{target} cannot be written" in str(done.exception)


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("list<int>", "ARRAY<INT>"),
        ("Array(Nullable(Int64))", "ARRAY<BIGINT>"),
        ("array(LowCardinality(Nullable(String)))", "ARRAY<STRING>"),
        ("text[][]", "ARRAY<ARRAY<STRING>>"),
        ("list<number(10,2)>", "ARRAY<DECIMAL(10, 2)>"),
        ("REPEATED<int8>", "ARRAY<BIGINT>"),
    ],
)
def test_a_list_of_another_database_is_told_with_what_is_in_it(foreign: str, ours: str) -> None:
    assert type_hint(foreign) == f"; write {ours}"
    parse_type(ours)


def test_a_hint_to_a_type_never_fails() -> None:
    for text in (
        "",
        "<>",
        "list<",
        "array(" * 50 + "int" + ")" * 50,
        "[]" * 100,
        "x" * 10_000,
        "list<>[]",
    ):
        assert isinstance(type_hint(text), str)
