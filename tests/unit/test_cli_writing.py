"""Goal: a table is made, filled, changed and compared by the command line alone, and what is wrong is named."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.clauses import clause_of
from table_core.cli.main import app
from table_core.errors import ArgumentError, DataError, NotFoundError, OptionError, SchemaError

CSV = "id,city,amount\n1,Oslo,10.50\n2,Bergen,\n3,,7\n"
ROWS = [
    {"id": 1, "city": "Oslo", "amount": "10.50"},
    {"id": 2, "city": "Bergen", "amount": None},
    {"id": 3, "city": None, "amount": "7.00"},
]


class Shell:
    """A folder, and commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, stdin: bytes | None = None) -> str:
        runner = CliRunner(env={"TABLE_CORE_WAREHOUSE": str(self.folder / "wh")})
        done = runner.invoke(app, words, input=stdin, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    def json(self, *words: str, stdin: bytes | None = None) -> Any:
        return json.loads(self.run(*words, "--json", stdin=stdin))

    def rows(self, *words: str) -> list[Any]:
        return [json.loads(line) for line in self.run("read", *words, "--json").splitlines()]

    def file(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def orders(shell: Shell) -> Shell:
    shell.run(
        *("create", "shop.orders", "--column", "id BIGINT NOT NULL", "--column", "city STRING"),
        *("--column", "amount DECIMAL(9, 2)", "--primary-key", "id", "-O", "bucket=1"),
    )
    return shell


def test_a_table_is_made_of_columns_in_a_new_warehouse(orders: Shell) -> None:
    told = orders.json("describe", "shop.orders")
    assert [(c["column"], c["type"]) for c in told["columns"]] == [
        ("id", "BIGINT NOT NULL"), ("city", "STRING"), ("amount", "DECIMAL(9, 2)")
    ]  # fmt: skip
    assert (told["primary_key"], told["options"]) == (["id"], {"bucket": "1"})
    again = ("create", "shop.orders", "--column", "x INT")
    with pytest.raises(tc.errors.AlreadyExistsError):
        orders.run(*again)
    assert orders.json(*again, "--if-not-exists")["details"]["created"] is False


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "csv.gz"])
def test_a_table_is_made_like_rows_and_takes_them(shell: Shell, ending: str) -> None:
    import gzip

    name = shell.folder / f"rows.{ending}"
    rows = pa.table({"id": [1, 2], "city": ["Oslo", None], "at": pa.array([0, 1], pa.date32())})
    if ending == "parquet":
        pq.write_table(rows, name)
    else:
        text = (
            "id,city,at\n1,Oslo,1970-01-01\n2,,1970-01-02\n" if "csv" in ending else
            '{"id": 1, "city": "Oslo", "at": "1970-01-01"}\n{"id": 2, "at": "1970-01-02"}\n'
        )  # fmt: skip
        name.write_bytes(gzip.compress(text.encode()) if ending[-1] == "z" else text.encode())
    shell.run("create", "d.t", "--like", str(name), "--column", "note STRING")
    done = shell.json("write", "d.t", str(name))
    assert done["rows_written"] == 2
    found = shell.rows("d.t")
    assert [row["city"] for row in found] == ["Oslo", None]
    assert [str(row["at"])[:10] for row in found] == ["1970-01-01", "1970-01-02"]
    assert found[0]["note"] is None


def test_a_table_is_made_like_another(shell: Shell) -> None:
    catalog = tc.open_catalog(str(shell.folder / "wh"))
    catalog.create_database("d")
    first = catalog.create_table(
        "d.first",
        pa.schema([pa.field("k", pa.int64(), nullable=False), ("m", pa.map_(pa.string(), pa.int32())), ("p", pa.string())]),
        primary_key=("k", "p"), partition_by=("p",), options={"bucket": "2"}, comment="of others",
    )  # fmt: skip
    catalog.alter_table("d.first", [tc.UpdateColumnComment("m", "what it is")])
    shell.run(
        "create", "d.second", "--like", str(first.uri.removeprefix("file://")) + "/schema/schema-1"
    )
    told = shell.file("told.json", shell.run("describe", "d.first", "--json"))
    shell.run("create", "d.third", "--like", told)
    one = shell.json("describe", "d.first")
    for name in ("second", "third"):
        other = shell.json("describe", f"d.{name}")
        for member in ("columns", "primary_key", "partition_by", "options", "comment"):
            assert other[member] == one[member], (name, member)


def test_files_and_standard_input_are_one_commit(orders: Shell) -> None:
    first = orders.file("a.csv", CSV)
    second = orders.file("b.jsonl", '{"id": 4, "amount": 1.5}\n')
    done = orders.json("write", "shop.orders", first, second)
    assert (done["snapshot_after"], done["details"]["files"], done["rows_written"]) == (1, 2, 4)
    orders.run("write", "shop.orders", "--format", "csv", stdin=b"id,city\n5,Moss\n")
    orders.run("write", "shop.orders", "-", "--format", "json", stdin=b'{"id": 6}\n')
    table = pa.table({"id": [7]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    orders.run("write", "shop.orders", "--format", "parquet", stdin=sink.getvalue())
    assert orders.rows("shop.orders")[:3] == ROWS
    assert [row["id"] for row in orders.rows("shop.orders")] == [1, 2, 3, 4, 5, 6, 7]


def test_what_was_read_can_be_written(orders: Shell) -> None:
    orders.run("write", "shop.orders", orders.file("a.csv", CSV))
    for format in ("csv", "json"):
        orders.run(
            "create",
            f"shop.{format}",
            "--like",
            orders.file("t", orders.run("describe", "shop.orders", "--json")),
        )
        rows = orders.run("read", "shop.orders", "--format", format)
        orders.run("write", f"shop.{format}", "--format", format, stdin=rows.encode())
        assert orders.rows(f"shop.{format}") == ROWS
    changes = orders.run("changes", "shop.orders", "--after", "0", "--json")
    orders.run(
        "write", "shop.csv", "--format", "json", "--overwrite", "table", stdin=changes.encode()
    )
    assert orders.rows("shop.csv") == ROWS


def test_rows_take_the_place_of_others(shell: Shell) -> None:
    shell.run(
        "create", "d.t", "--column", "id INT", "--column", "day STRING", "--partition-by", "day"
    )
    shell.run("write", "d.t", shell.file("1.csv", "id,day\n1,a\n2,b\n"))
    shell.run("write", "d.t", shell.file("2.csv", "id,day\n3,b\n"), "--overwrite", "partitions")
    assert [row["id"] for row in shell.rows("d.t", "--where", "true")] == [1, 3]
    shell.run("write", "d.t", shell.file("3.csv", "id,day\n4,a\n"), "--overwrite", "day=a")
    assert sorted(row["id"] for row in shell.rows("d.t")) == [3, 4]
    tried = shell.json(
        "write", "d.t", shell.file("4.csv", "id,day\n5,c\n"), "--overwrite", "table", "--dry-run"
    )
    assert (tried["dry_run"], tried["rows_written"], tried["snapshot_after"]) == (True, 1, 3)
    assert sorted(row["id"] for row in shell.rows("d.t")) == [3, 4]
    assert len(shell.json("files", "d.t")) == len(list(shell.folder.glob("wh/**/*.parquet"))) - 2
    shell.run("write", "d.t", shell.file("4.csv", "id,day\n5,c\n"), "--overwrite", "table")
    assert [row["id"] for row in shell.rows("d.t")] == [5]


def test_a_wrong_value_is_named_and_nothing_is_written(orders: Shell) -> None:
    good = orders.file("good.csv", CSV)
    bad = orders.file("bad.csv", "id,amount\n1,2\n\n2,much\n")
    for words, stdin, told in (
        ((good, bad), None, r"bad\.csv, line 4: column 'amount': 'much' is no DECIMAL\(9, 2\)"),
        (("--format", "csv"), b"id\nx\n", "^standard input, line 2: column 'id': 'x' is no BIGINT"),
        ((orders.file("null.jsonl", '{"id": 1}\n{"city": "x"}\n'),), None, r"null\.jsonl, line 2: column 'id' is NOT NULL"),
        ((orders.file("more.csv", "id,size\n"),), None, "names 'size', and the table has the columns id, city, amount"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=told):
            orders.run("write", "shop.orders", *words, stdin=stdin)
        with pytest.raises(DataError, match=told):
            orders.run("write", "shop.orders", *words, "--dry-run", stdin=stdin)
    assert orders.json("snapshots", "shop.orders") == []
    assert list(orders.folder.glob("wh/**/*.parquet")) == []


MERGE = ("merge-into", "shop.orders", "--on", "id", "--when", "matched-upsert")


def test_misuse_says_what_to_write(orders: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    here = orders.file("a.csv", CSV)
    for error, words, told in (
        (ArgumentError, ("write", "shop.orders"), "say --format csv, json or parquet"),
        (ArgumentError, ("write", "shop.orders", orders.file("rows.txt", CSV)), "ends in none of"),
        (ArgumentError, ("write", "shop.orders", here, "--format", "cvs"), "did you mean 'csv'"),
        (NotFoundError, ("write", "shop.orders", "nowhere.csv"), "no file nowhere.csv"),
        (ArgumentError, ("create", "d.t"), "a table needs a column"),
        (ArgumentError, ("create", "d.t", "--column", "id"), "write a name and a type"),
        (SchemaError, ("create", "d.t", "--column", "id BIGNT"), "BIGNT"),
        (OptionError, ("create", "d.t", "--column", "id INT", "-O", "buckt=1"), "did you mean 'bucket'"),
        (ArgumentError, ("create", "d.t", "--column", "id INT", "-O", "bucket"), "--option bucket: write key=value"),
        (NotFoundError, ("create", "d.t", "--like", "nowhere"), "no file nowhere"),
        (ArgumentError, ("update", "shop.orders", "--set", "amount", "--where", "true"), "--set amount: write key=value"),
        (ArgumentError, ("write", "shop.orders", here, "--commit-identifier", "1"), "without a user"),
        (ArgumentError, ("merge-into", "shop.orders", "--on", "id", "--when", "matched-upsert"), "name the rows by --source"),
        (ArgumentError, ("merge-into", "shop.orders", "--on", "id", "--when", "matched", "--source", here), "matched"),
        (ArgumentError, (*MERGE, "--source", here, "--view", "o=shop.orders"), "--view names a table for --sql"),
        (ArgumentError, (*MERGE, "--source", "shop.orders", "--format", "csv"), "--format is that of files"),
        (ArgumentError, (*MERGE, "--sql", "SELECT 1 AS id", "--format", "csv"), "--format is that of files"),
        (ArgumentError, ("read", "shop.orders", "--json", "--format", "csv"), "two formats"),
        (ArgumentError, ("changes", "shop.orders", "--json", "--format", "parquet"), "two formats"),
        (ArgumentError, ("follow", "shop.orders", "--json", "--format", "csv"), "two formats"),
        (ArgumentError, ("diff", "shop.orders", "1", "2", "--json", "--format", "csv"), "two formats"),
        (ArgumentError, ("diff", "shop.orders", "1", "2", "--what", "files", "--where", "id = 1"), "--where is for rows"),
        (ArgumentError, ("diff", "shop.orders", "1", "2", "--what", "schema", "-o", "x.csv"), "-o is for rows"),
        (ArgumentError, ("diff", "shop.orders", "1", "2", "--what", "options", "--format", "csv"), "--format is for rows"),
        (ArgumentError, ("position", "set", "shop.orders", "tc.x", "--text", "t", "--source", "shop.orders"), "stored as it is"),
        (ArgumentError, ("position", "set", "shop.orders", "tc.x", "--text", "t", "--reader", "r"), "stored as it is"),
    ):  # fmt: skip
        with pytest.raises(error, match=told.replace("(", r"\(")):
            orders.run(*words)


def test_a_named_commit_is_made_once(orders: Shell) -> None:
    words = (
        "write",
        "shop.orders",
        orders.file("a.csv", CSV),
        "--commit-user",
        "me",
        "--commit-identifier",
        "7",
    )
    more = ("--property", "load=1", "--watermark", "5")
    assert orders.json(*words, *more)["details"]["replayed"] is False
    assert orders.json(*words, *more)["details"]["replayed"] is True
    (snapshot,) = orders.json("snapshots", "shop.orders")
    assert (snapshot["user"], snapshot["identifier"], snapshot["watermark"]) == ("me", 7, 5)
    head = tc.open_catalog(str(orders.folder / "wh")).table("shop.orders").latest_snapshot()
    assert head is not None
    assert (head.properties or {})["load"] == "1"


def test_rows_are_changed_and_a_dry_run_counts_them(orders: Shell) -> None:
    orders.run("write", "shop.orders", orders.file("a.csv", CSV))
    up = (
        "update",
        "shop.orders",
        "--set",
        "amount = amount * 2",
        "--set",
        "city='Ås'",
        "--where",
        "id < 3",
    )
    assert orders.json(*up, "--dry-run")["details"]["rows"] == 2
    assert orders.rows("shop.orders") == ROWS
    assert orders.json(*up)["details"]["rows"] == 2
    assert orders.rows("shop.orders")[0] == {"id": 1, "city": "Ås", "amount": "21.00"}
    down = ("delete", "shop.orders", "--where", "city IS NULL")
    assert orders.json(*down, "--dry-run")["details"]["rows"] == 1
    assert orders.json("snapshots", "shop.orders")[-1]["id"] == 2
    orders.run(*down)
    assert [row["id"] for row in orders.rows("shop.orders")] == [1, 2]
    wrong = ("update", "shop.orders", "--set", "amount = 123456789", "--where", "true", "--dry-run")
    with pytest.raises(DataError):
        orders.run(*wrong)


@pytest.mark.parametrize("key", [True, False], ids=["key", "append"])
def test_a_merge_takes_files_a_table_or_a_query(shell: Shell, key: bool) -> None:
    shell.run(
        "create",
        "d.t",
        "--column",
        "id INT",
        "--column",
        "n INT",
        *(("--primary-key", "id", "-O", "bucket=1") if key else ()),
    )
    shell.run("write", "d.t", shell.file("t.csv", "id,n\n1,1\n2,2\n3,3\n"))
    source = shell.file("s.csv", "id,n\n2,20\n4,40\n")
    words = ("merge-into", "d.t", "--on", "id", "--when", "matched-upsert set n = source.n + target.n where source.n > 5",
             "--when", "not-matched-insert", "--when", "not-matched-by-source-delete where target.n = 3")  # fmt: skip
    tried = shell.json(*words, "--source", source, "--dry-run")
    counts = {"MatchedUpsert": 1, "NotMatchedInsert": 1, "NotMatchedBySourceDelete": 1}
    assert tried["details"]["rows_by_clause"] == counts
    assert tried["dry_run"] is True
    assert len(shell.rows("d.t")) == 3
    done = shell.json(*words, "--source", source)
    assert done["details"]["rows_by_clause"] == counts
    found = {row["id"]: row["n"] for row in shell.rows("d.t")}
    assert found == {1: 1, 2: 22, 4: 40}
    shell.run("create", "d.s", "--column", "id INT", "--column", "m INT")
    shell.run("write", "d.s", "--format", "json", stdin=b'{"id": 1, "m": 9}\n')
    by = ("merge-into", "d.t", "--on", "id=id", "--when", "matched-upsert set n = source.m")
    assert shell.json(*by, "--source", "d.s")["details"]["rows_by_clause"] == {"MatchedUpsert": 1}
    pytest.importorskip("duckdb")
    sql = ("--sql", "SELECT id, m + 1 AS m FROM s", "--view", "s=d.s")
    shell.run(*by, *sql)
    assert {row["id"]: row["n"] for row in shell.rows("d.t")} == {1: 10, 2: 22, 4: 40}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("matched-delete", {}),
        (" matched-delete  where source.gone ", {"condition": "source.gone"}),
        ("matched-upsert set a = f(source.a, ' where , set ') , b=1 WHERE a IN (SELECT x where y)",
         {"values": {"a": "f(source.a, ' where , set ')", "b": "1"}, "condition": "a IN (SELECT x where y)"}),
        ("not-matched-insert set `a b` = 'it''s, x'", {"values": {"a b": "'it''s, x'"}}),
    ],
)  # fmt: skip
def test_a_clause_is_read_as_it_is_said(text: str, found: dict[str, Any]) -> None:
    assert clause_of(text) == {"action": text.split()[0], **found}


@pytest.mark.parametrize(
    "text",
    ["matched-upsert a = 1", "matched-upsert set a", "matched-upsert set  = 1", "matched-delete where ",
     "matched-upsert set a = 1 set b = 2", "matched-upserts"],
)  # fmt: skip
def test_a_clause_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        clause_of(text)


def test_two_snapshots_are_compared(orders: Shell) -> None:
    catalog = tc.open_catalog(str(orders.folder / "wh"))
    orders.run("write", "shop.orders", orders.file("a.csv", CSV))
    catalog.alter_table(
        "shop.orders",
        [tc.RenameColumn("city", "town"), tc.AddColumn("note", "STRING"), tc.SetOption("snapshot.num-retained.min", "3")],
    )  # fmt: skip
    orders.run("write", "shop.orders", orders.file("b.csv", "id,town,amount\n1,Moss,1\n4,Ski,2\n"))
    orders.run("delete", "shop.orders", "--where", "id = 2")

    def diff(*words: str) -> list[Any]:
        told = orders.run("diff", "shop.orders", *words, "--json")
        return [json.loads(line) for line in told.splitlines()]

    rows = {(row["_ROW_KIND"], row["id"]) for row in diff("1", "3")}
    assert {id for _, id in rows} == {1, 2, 4}
    assert ("-D", 2) in rows
    (files,) = diff("1", "3", "--what", "files")
    assert [(one["change"], one["rows"]) for one in files] == [("added", 2), ("added", 1)]
    (backwards,) = diff("0", "1", "--what", "files")
    assert [one["change"] for one in backwards] == ["added"]
    assert diff("1", "2", "--what", "options") == [
        [{"option": "snapshot.num-retained.min", "before": None, "after": "3"}]
    ]
    assert diff("1", "2", "--what", "schema") == [
        [
            {"what": "column", "name": "town", "before": "city STRING", "after": "town STRING"},
            {"what": "column", "name": "note", "before": None, "after": "note STRING"},
        ]
    ]
    assert diff("2", "3", "--what", "schema") == [[]]
    with pytest.raises(NotFoundError):
        diff("1", "9", "--what", "files")


def test_options_are_shown_with_defaults_and_meanings(orders: Shell) -> None:
    (bucket,) = orders.json("options", "shop.orders")
    assert (bucket["option"], bucket["value"], bucket["default"]) == ("bucket", "1", "-1")
    every = {one["option"]: one for one in orders.json("options", "shop.orders", "--all")}
    assert (
        every["snapshot.time-retained"]["value"],
        every["snapshot.time-retained"]["default"],
    ) == (None, "1 h")
    assert all(one["meaning"] for one in every.values())
    shown = orders.run("options", "shop.orders", "--all", "--like", "snapshot.time-retained")
    assert "1 h (default)" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("drop-partitions", "shop.days", "--partition", "day=1,day=2"),
        ("mark-done", "shop.days", "--partition", "day=1,day=1"),
        ("mark-done", "shop.days", "--partition", '{"day": "1", "day": null}'),
        ("write", "shop.days", "-", "--format", "csv", "--overwrite", "day=1,day=2"),
        ("update", "shop.days", "--set", "n = 1", "--set", "n=2", "--where", "true"),
        ("read", "shop.days", "-O", "scan.mode=latest", "-O", "scan.mode=latest-full"),
        (
            *("merge-into", "shop.days", "--source", "shop.days", "--on", "day"),
            *("--when", "matched-upsert set n = 1, n = 2"),
        ),
    ],
)
def test_what_is_said_twice_is_no_slip_that_the_last_one_wins(
    shell: Shell, words: tuple[str, ...]
) -> None:
    columns = ("--column", "day STRING", "--column", "n INT", "--partition-by", "day")
    shell.run("create", "shop.days", *columns)
    with pytest.raises(ArgumentError, match="twice"):
        shell.run(*words, stdin=b"day,n\n1,1\n")


def test_json_names_a_partition_of_null_and_values_with_commas(shell: Shell) -> None:
    columns = ("--column", "city STRING", "--column", "n INT", "--partition-by", "city")
    shell.run("create", "shop.cities", *columns)
    lines = '{"n": 1}\n{"city": "a, b", "n": 2}\n{"city": "c", "n": 3}\n'
    shell.run("write", "shop.cities", "-", "--format", "json", stdin=lines.encode())
    replaced = ("--overwrite", '{"city": "a, b"}')
    shell.run(
        *("write", "shop.cities", "-", "--format", "json", *replaced),
        stdin=b'{"city": "a, b", "n": 4}',
    )
    shell.run("drop-partitions", "shop.cities", "--partition", '{"city": null}')
    assert sorted(row["n"] for row in shell.rows("shop.cities")) == [3, 4]
    for wrong in ('{"city": null', '{"city": {"a": 1}}', '{"town": null}'):
        with pytest.raises(ArgumentError):
            shell.run("drop-partitions", "shop.cities", "--partition", wrong)
