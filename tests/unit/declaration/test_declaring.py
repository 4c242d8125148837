"""A declaration is read with every fault at its place, compared with the warehouse, and made so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from table_core.cli.main import app
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.declaration import applying, manifest
from table_core.declaration.compare import Action
from table_core.declaration.cron import spread
from table_core.declaration.document import faults_of, parse
from table_core.declaration.grammar import json_schema
from table_core.declaration.graph import selected
from table_core.declaration.located import read_yaml
from table_core.declaration.model import Declaration
from table_core.declaration.order import among
from table_core.errors import ArgumentError, SchemaError
from table_core.schema.change import AddColumn
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog

ROOT = Path(__file__).parents[3]
STREAMHOUSE = ROOT / "declarations" / "streamhouse.yaml"
SHOP = """\
version: 1
name: shop
tables:
  a.orders:
    columns: {id: BIGINT NOT NULL, amount: "DECIMAL(12, 2)"}
    primary_key: [id]
    options: {bucket: 2}
"""


DEEP = (
    "  a.b: {columns: {x: INT",
    "checks:\n  c:",
    "flows:\n  f: {table: a.orders, reads",
    "sources:",
    "pipeline:",
)
"""Beginnings of what ``validate`` alone looks at: reading the file is quicker without."""


def told(text: str) -> list[str]:
    return [str(diagnostic) for diagnostic in faults_of(text, "f")]


@pytest.mark.parametrize(
    ("more", "diagnostics"),
    [
        pytest.param("  b: {columns: {x: INT}}\n", ["f:8:3: 'b' is no database.table"], id="name"),
        pytest.param(
            "  a.b: {columns: {x: INTT, y: MAP}, primary_keys: [x]}\n",
            ["f:8:37: unknown member 'primary_keys'; did you mean 'primary_key'?"],
            id="member",
        ),
        pytest.param(
            "  a.b: {columns: {x: INTT, y: TEXT}}\n",
            [
                "f:8:22: column 'x': not a type: 'INTT'",
                "f:8:31: column 'y': not a type: 'TEXT'",
            ],
            id="types",
        ),
        pytest.param(
            "  a.b: {columns: {x: INT}, options: {bucket: 1, buckets: 2}}\n",
            ["f:8:49: unknown option 'buckets' (did you mean 'bucket'?)"],
            id="option",
        ),
        pytest.param(
            "flows:\n  f: {table: a.x, sql: S, run: compact, after: [g]}\n",
            ["f:9:6: give one of sync, sql, rows_uri, merge, run; found sql, run"],
            id="two verbs",
        ),
        pytest.param(
            "flows:\n  f: {table: a.x, sql: S, after: [g]}\ntriggers:\n"
            "  t: {table: a.y, flows: [h], on: all}\n",
            [
                "f:9:3: table 'a.x' is not declared",
                "f:9:27: no source or flow 'g'",
                "f:11:35: expected one of changes, append, overwrite, delete, compact, any, "
                "found 'all'",
            ],
            id="choice",
        ),
        pytest.param(
            "flows:\n  f: {table: a.x, sql: S, after: [g]}\ntriggers:\n  t: {table: a.y, flows: [h]}\n",
            [
                "f:9:3: table 'a.x' is not declared",
                "f:9:27: no source or flow 'g'",
                "f:11:3: table 'a.y' is not declared",
                "f:11:19: no source or flow 'h'",
            ],
            id="names that lead nowhere",
        ),
        pytest.param(
            "flows:\n  f: {table: a.orders, run: compact, after: [g]}\n"
            "  g: {table: a.orders, run: compact, after: [f]}\n",
            ["f:8:1: these wait for each other: f, g"],
            id="cycle",
        ),
        pytest.param(
            "flows:\n  f: {table: a.orders, run: compct}\n"
            "upkeep: {policy: {thresholds: {small_files: 3}}}\n",
            [
                "f:9:29: expected one of analyze, compact",
                "f:10:32: unknown member 'small_files'; did you mean 'small_files_due'?",
            ],
            id="actions and thresholds",
        ),
        pytest.param(
            "flows:\n  f: {table: a.orders, run: compact, with: {strategy: big, were: x}}\n"
            "  g: {table: a.orders, run: delete}\n"
            "  h: {table: a.orders, run: expire-snapshots, with: {retain_max: many, retries: 2}}\n"
            "  i: {table: a.orders, sql: SELECT 1, with: {where: x}}\n"
            "  j: {table: a.orders, run: update, with: {where: x, values: 3}}\n",
            [
                "f:9:55: expected one of full, minor, found 'big'",
                "f:9:60: unknown member 'were'; did you mean 'where'?",
                "f:10:6: run: delete: 'with' must have where",
                "f:11:66: expected a whole number of at least 1 or a template, found 'many'",
                "f:12:46: unknown member 'where'",
                "f:13:62: expected a mapping, found 3",
            ],
            id="arguments",
        ),
        pytest.param("  a.b: [\n", ["f:9:1: no YAML"], id="no YAML"),
        pytest.param("name: again\n", ["f:8:1: 'name' is there twice"], id="twice"),
        pytest.param(
            "upkeep: {policy: {compact: true}, databases: {x*: {}}, tables: {a.b: {}}}\n",
            [
                "f:8:47: no database of a table matches 'x*'",
                "f:8:65: table 'a.b' is not declared",
            ],
            id="upkeep of nothing",
        ),
        pytest.param(
            "checks:\n  c: {table: a.orders, not_null: [id], unique: [key], range: {amunt: [0, 1]}}\n"
            "upkeep: {policy: {compact: {order_by: [day]}}}\n",
            [
                "f:9:40: a.orders has no column 'key'",
                "f:9:55: a.orders has no column 'amunt'",
                "f:10:1: compact.order_by: a.orders has no column 'day'",
            ],
            id="columns",
        ),
        pytest.param(
            "flows:\n  f: {table: a.orders, reads: {o: a.orders}, sql: SELECT id FRM o}\n"
            "  g: {table: a.orders, reads: {o: a.orders}, sql: SELECT key FROM o}\n"
            "  h: {table: a.orders, reads: {o: a.orders}, sql: SELECT id FROM x}\n"
            "  i: {table: a.orders, sql: DROP TABLE o}\n"
            "  j: {table: a.orders, reads: {o: a.orders}, sql: 'SELECT {{ params.x }} FROM'}\n"
            "  k: {table: a.orders, reads: {o: {table: a.orders, mode: changes}},\n"
            "    sql: 'WITH x AS (SELECT * FROM o) SELECT id, _ROW_KIND FROM x'}\n"
            "  l: {table: a.orders, merge: {source: {reads: {o: a.orders}, sql: SELECT y FROM o},\n"
            "    on: [id], when: [{action: matched-delete}]}}\n",
            [
                "f:9:46: no SQL at line 1, column ",
                "f:10:46: no column 'key'; known: id, amount",
                "f:11:46: no view x; reads has o",
                "f:12:24: expected one SELECT",
                "f:16:63: no column 'y'",
            ],
            id="SQL",
        ),
        pytest.param(
            "pipeline: {schedule: 75 * * * *}\nupkeep: {schedule: H 2 * *, policy: {}}\n",
            [
                "f:8:22: schedule '75 * * * *': minute 75 is not between 0 and 59",
                "f:9:20: schedule 'H 2 * *': a cron expression has 5 fields, this has 4",
            ],
            id="schedules",
        ),
        pytest.param(
            "sources:\n  f: {table: a.orders, sync: {kind: mysql, table: o}}\n"
            "  g: {table: a.orders, sync: {kind: msql}}\n"
            "  h: {table: a.orders, sync: {kind: kafka, topic: o}, source_connection: k}\n"
            "  i: {table: a.orders, sync: {kind: postgres}, source_connection: k}\n"
            "  j: {table: a.orders, sync: {kind: mysql, password: x}, source_connection: k}\n",
            [
                "f:9:24: a source of kind mysql needs 'host'",
                "f:9:24: a source of kind mysql needs 'user'",
                "f:9:44: a source of kind mysql has no member 'table'; did you mean 'tables'?",
                "f:10:31: no kind of source 'msql'; there are files, kafka, mysql, postgres",
                "f:11:24: a source of kind kafka needs 'topics'",
                "f:11:44: a source of kind kafka has no member 'topic'; did you mean 'topics'?",
                "f:13:44: a password belongs into the connection that source_connection names",
            ],
            id="sources",
        ),
    ],
)
def test_every_fault_has_its_place(more: str, diagnostics: list[str]) -> None:
    found = told(SHOP + more)
    assert len(found) == len(diagnostics), found
    assert all(line.startswith(start) for line, start in zip(found, diagnostics, strict=True)), (
        found
    )
    if not more.startswith(DEEP):
        with pytest.raises(ArgumentError, match=str(len(diagnostics))):
            parse(SHOP + more, "f")


def test_what_is_nearer_wins_in_upkeep() -> None:
    tables = "".join(f"  {n}: {{columns: {{x: INT}}}}\n" for n in ("a.x", "raw_a.y", "raw_b.z"))
    text = f"""{SHOP}{tables}upkeep:
  policy: {{compact: {{strategy: minor}}, expire-snapshots: {{retain_max: 9, retain_min: 2}}}}
  databases: {{raw_*: {{expire-snapshots: {{retain_max: 3}}, compact: false}}, raw_b: {{compact: true}}}}
  tables: {{a.x: {{expire-snapshots: false, thresholds: {{small_files_due: 3}}}}}}
"""
    policies = parse(text).policies
    both = {"retain_max": 9, "retain_min": 2}
    assert policies["a.orders"] == {"compact": {"strategy": "minor"}, "expire-snapshots": both}
    assert policies["a.x"] == {
        "compact": {"strategy": "minor"},
        "thresholds": {"small_files_due": 3},
    }
    fewer = {"expire-snapshots": {"retain_max": 3, "retain_min": 2}}
    assert policies["raw_a.y"] == fewer
    assert policies["raw_b.z"] == {"compact": {"strategy": "minor"}, **fewer}


@pytest.mark.parametrize(
    "cron", ["*/5 0-6,22 1 JAN MON-FRI", "H H * * *", "H/15 * * * *", "@daily", "0 3 * * 1,5"]
)
def test_schedules_that_airflow_knows_are_no_diagnostics(cron: str) -> None:
    assert told(SHOP + f"pipeline: {{schedule: '{cron}'}}\n") == []


def test_warehouses_begin_apart_and_each_at_its_own_time() -> None:
    begun = {spread("H 3 * * *", f"shop{n}") for n in range(200)}
    assert len(begun) > 40
    assert {cron.split(" ", 1)[1] for cron in begun} == {"3 * * *"}
    assert spread("H H * * *", "shop") == spread("H H * * *", "shop")
    hours = {int(spread("H H * * *", f"shop{n}").split()[1]) for n in range(200)}
    assert hours == set(range(24))
    minute, rest = spread("H/15 * * * *", "shop").split("-")
    assert 0 <= int(minute) < 15
    assert rest == "59/15 * * * *"
    assert spread("5 4 * * *", "shop") == "5 4 * * *"


def test_steps_run_after_what_they_read() -> None:
    found = {step.name: step.after for step in parse(STREAMHOUSE.read_text()).steps}
    assert list(found)[:2] == ["sync_customers", "append_orders"]
    assert set(found["add_sales"]) == {"sync_customers", "append_orders"}
    assert {"add_sales", "align_countries"} <= set(found["deliver_changes"])
    assert "add_sales" in found["expire_orders"]


ORDER = """\
version: 1
name: n
tables: {TABLES}
sources:
  load: {table: a.orders, rows_uri: x}
flows:
  FLOWS
"""
TABLES = ", ".join(f"a.{t}: {{columns: {{x: INT}}}}" for t in ("orders", "sums", "waits", "out"))
ERASE = {
    "update": "with: {where: x = 1, values: {x: '2'}}",
    "delete": "with: {where: x = 1}",
    "drop-partitions": "with: {partitions: [{x: '1'}]}",
    "expire-partitions": "with: {expiration_time: 7 d}",
}


def after(flows: str) -> dict[str, set[str]]:
    text = ORDER.replace("TABLES", TABLES).replace("FLOWS", flows)
    return {step.name: set(step.after) for step in parse(text).steps}


@pytest.mark.parametrize("action", ERASE)
def test_readers_wait_for_what_changes_rows_before_them_in_the_file(action: str) -> None:
    erase = f"erase: {{table: a.orders, run: {action}, {ERASE[action]}}}"
    sums = "sums: {table: a.sums, reads: {o: a.orders}, sql: SELECT 1}"
    assert after(f"{erase}\n  {sums}") == {
        "load": set(),
        "erase": {"load"},
        "sums": {"load", "erase"},
    }
    assert after(f"{sums}\n  {erase}")["erase"] == {"load", "sums"}
    merge = "m: {table: a.sums, merge: {source: {table: a.orders}, on: [x], when: [{action: matched-delete}]}}"
    assert after(f"{erase}\n  {merge}")["m"] == {"load", "erase"}
    compact = "tidy: {table: a.orders, run: compact}"
    assert after(f"{compact}\n  {sums}")["sums"] == {"load"}, "a compaction changes no row"


def test_a_part_of_the_steps_keeps_its_order_through_what_is_left_out() -> None:
    flows = (
        "b: {table: a.sums, reads: {o: a.orders}, sql: SELECT 1}\n"
        "  c: {table: a.waits, reads: {s: a.sums}, sql: SELECT 1}\n"
        "  d: {table: a.out, reads: {s: a.waits, o: a.orders}, sql: SELECT 1}"
    )
    text = ORDER.replace("TABLES", TABLES).replace("FLOWS", flows)
    steps = parse(text).steps
    assert among(steps, ["load", "c"]) == {"load": (), "c": ("load",)}
    assert among(steps, ["d", "load"]) == {"load": (), "d": ("load",)}
    assert among(steps, ["d", "b"])["d"] == ("b",)


def test_values_keep_their_text_until_a_type_asks_for_a_value() -> None:
    text = """\
version: 1
name: n
tables:
  a.p:
    columns: {x: INT, h: INT, dt: STRING, flag: BOOLEAN}
    partition_by: [h, dt, flag]
    options: {write-only: yes, bucket: -1}
    comment: 2026
triggers:
  t: {table: a.p, partitions: [{h: 07, dt: 20260101}, {flag: NO, dt: 07}], report: {label_column: x, value_column: x}}
flows:
  f: {table: a.p, sql: SELECT 1, overwrite: {h: 07, dt: NO}}
checks:
  c: {table: a.p, range: {x: [0.10, 1e3]}}
"""
    found = parse(text)
    assert found.tables["a.p"].options == {"write-only": "true", "bucket": "-1"}
    assert found.tables["a.p"].comment == "2026"
    assert found.triggers[0].watch["partitions"] == [
        {"h": "7", "dt": "20260101"},
        {"flag": "false", "dt": "07"},
    ]
    assert found.steps[0].overwrite == {"h": "7", "dt": "NO"}
    assert found.checks[0].rules["range"] == {"x": ["0.10", "1e3"]}


def test_variables_stand_for_values() -> None:
    text = (
        (
            "version: 1\nname: '${NAME}'\nwarehouse: 's3://${BUCKET:-dev}/$${x}'\ntables: {}\n"
            "pool: {name: 'p-${N:-1}', slots: '${N:-3}'}\n"
        )
        .replace("'${N:-3}'", "${N:-3}")
        .replace("{name: 'p-${N:-1}', slots: ${N:-3}}", "\n  name: p\n  slots: ${N:-3}")
    )
    found = parse(text, environment={"NAME": "shop", "BUCKET": ""})
    assert (found.name, found.warehouse) == ("shop", "s3://dev/${x}")
    assert found.pool == {"name": "p", "slots": 3}
    assert parse(text, environment={"NAME": "x", "N": "7"}).pool == {"name": "p", "slots": 7}
    with pytest.raises(ArgumentError, match="NAME is not set"):
        parse(text)
    folder = text.replace("${BUCKET:-dev}", "${PWD}")
    assert parse(folder, environment={"NAME": "x", "PWD": "d"}).warehouse == "s3://d/${x}"
    for secret in ("DB_PASSWORD", "aws_secret_access_key", "API_KEY", "MY_TOKEN", "ROOT_PWD"):
        with pytest.raises(ArgumentError, match="belongs into the connection"):
            parse(text.replace("${BUCKET:-dev}", f"${{{secret}}}"), environment={secret: "x"})


def test_the_common_options_are_checked_with_each_table() -> None:
    table = "  a.b: {columns: {k: INT}, primary_key: [k]}\n"
    right = f"version: 1\nname: n\noptions: {{bucket: 1, merge-engine: ENGINE}}\ntables:\n{table}"
    assert told(right.replace("ENGINE", "aggregation")) == []
    assert told(right.replace("ENGINE", "agregation"))[0].startswith(
        "f:3:22: option 'merge-engine'"
    )
    assert told(SHOP + "options: {deletion-vectors.enabled: maybe}\n") != []


def test_the_schema_for_editors_accepts_what_is_right_and_refuses_what_is_wrong() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    published = json.loads((STREAMHOUSE.parent / "schema.json").read_text())
    assert published == schema, "run table-core validate --schema x > declarations/schema.json"
    root, _ = read_yaml(STREAMHOUSE.read_text(), "f")
    assert root is not None
    right = root.plain()
    jsonschema.validate(right, schema)
    flow = {"table": "a.b", "run": "delete"}
    right["flows"]["clear"] = {**flow, "with": {"where": "x"}}
    jsonschema.validate(right, schema)
    for wrong in (
        {"tabels": {}},
        {"upkeep": {"policy": {"compact": {"strategy": "big"}}}},
        {"flows": {"f": flow}},
        {"flows": {"f": {**flow, "with": {"were": "x"}}}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(right | wrong, schema)


def test_a_manifest_says_the_same_and_knows_when_it_is_old() -> None:
    text = STREAMHOUSE.read_text()
    declaration, digest = parse(text), manifest.digest_of(text.encode())
    compiled = manifest.compiled(declaration, digest)
    assert json.dumps(manifest.whole(compiled, digest), default=_members) == json.dumps(
        declaration, default=_members
    )
    head = manifest.head_of(compiled.partition("\n")[0], digest)
    assert head is not None
    assert (head.steps, head.tables) == (declaration.steps, {})
    assert manifest.whole(compiled, manifest.digest_of(b"other")) is None


def test_a_manifest_is_whole_or_not_taken(tmp_path: Path) -> None:
    text = SHOP + "warehouse: '${WHERE:-x}'\n"
    windows = text.replace("\n", "\r\n").encode()
    digest = manifest.digest_of(text.encode(), {"WHERE": "y"})
    assert digest == manifest.digest_of(windows, {"WHERE": "y"})
    assert digest != manifest.digest_of(text.encode(), {"WHERE": "z"})
    compiled = manifest.compiled(parse(text), digest)
    for broken in ("", "{", compiled[:200], compiled[: compiled.index("\n") + 30], "[]\n[]", "3"):
        assert manifest.whole(broken, digest) is None
    assert manifest.head_of("", digest) is None
    file, made = tmp_path / "f.yaml", tmp_path / "f.manifest.json"
    file.write_bytes(windows)
    run = CliRunner().invoke
    assert run(app, ["validate", str(file), "--compile", str(made)]).exit_code == 0
    assert manifest.whole(made.read_text(), manifest.digest_of(windows, os.environ)) is not None
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def _members(value: object) -> object:
    names = type(value).__dataclass_fields__  # type: ignore[attr-defined]
    return {name: getattr(value, name) for name in names}


def many(tables: int) -> str:
    table = (
        "    columns: {id: BIGINT NOT NULL, name: STRING, amount: 'DECIMAL(12, 2)', dt: STRING}\n"
        "    primary_key: [dt, id]\n    partition_by: [dt]\n    options: {bucket: 2}\n"
    )
    named = (f"  d{n % 9}.t{n}:\n{table}" for n in range(tables))
    return "version: 1\nname: big\ntables:\n" + "".join(named)


def calls_to_parse(text: str) -> int:
    """How many functions are called, Python's and others."""
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        parse(text)
    finally:
        sys.setprofile(None)
    return count


def test_the_work_for_a_table_does_not_grow_with_the_tables() -> None:
    few, lots = many(20), many(400)
    calls_to_parse(few)  # fills what is remembered
    assert calls_to_parse(lots) < 21 * calls_to_parse(few)


def test_what_dags_load_does_not_grow_with_the_tables() -> None:
    compiled = manifest.compiled(parse(many(1000)), "d")
    assert len(compiled.partition("\n")[0]) < 400


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return open_catalog(f"file://{tmp_path}/wh")


def applied(text: str, catalog: Catalog) -> list[tuple[Action, tuple[str, ...]]]:
    done = applying.apply(applying.plan(parse(text), catalog), catalog)
    return [(one.action, one.told) for one in done]


def test_a_warehouse_becomes_as_declared_and_then_stays(catalog: Catalog) -> None:
    assert [action for action, _ in applied(SHOP, catalog)] == [Action.CREATE]
    assert applied(SHOP, catalog) == []
    more = SHOP.replace("(12, 2)", "(14, 2)").replace('2)"}', '2)", note: STRING}')
    more = more.replace("bucket: 2", "bucket: 2, write-only: true")
    ((action, told),) = applied(more, catalog)
    assert action is Action.ALTER
    assert told == (
        "~ amount: DECIMAL(12, 2) -> DECIMAL(14, 2)",
        "+ note STRING",
        "+ option write-only = 'true'",
    )
    table = catalog.table("a.orders")
    assert table.arrow_schema.names == ["id", "amount", "note"]
    (plan,) = applying.plan(parse(SHOP.replace("(12, 2)", "(14, 2)")), catalog)
    assert (plan.action, plan.kept) == (Action.NONE, ("column note", "option write-only"))


def test_what_cannot_be_is_told_and_nothing_is_done(catalog: Catalog) -> None:
    applied(SHOP, catalog)
    wrong = SHOP.replace("DECIMAL(12, 2)", "BOOLEAN").replace("[id]", "[id, amount]")
    wrong += "  a.new: {columns: {x: INT}}\n"
    with pytest.raises(SchemaError, match="primary key") as caught:
        applied(wrong, catalog)
    problems = caught.value.facts["problems"]
    assert isinstance(problems, list)
    assert any("amount: DECIMAL(12, 2) -> BOOLEAN" in problem for problem in problems)
    assert catalog.tables("a") == ["orders"]


def test_a_plan_is_signed_and_carried_out_or_refused(tmp_path: Path) -> None:
    file, out, warehouse = tmp_path / "shop.yaml", tmp_path / "p.json", tmp_path / "wh"
    file.write_text(SHOP + "warehouse: ./wh\n")
    run = CliRunner().invoke
    planned = run(app, ["plan", str(file), "--out", str(out), "--detailed-exitcode"])
    assert planned.exit_code == 2
    assert "fixed for ever: primary key id" in planned.stdout
    assert "fixed for ever: bucket 2 by id" in planned.stdout
    assert run(app, ["apply", str(out)]).exit_code == 0
    assert warehouse.is_dir(), "a path is from the folder of the file"
    assert run(app, ["plan", str(file), "-detailed-exitcode"]).exit_code == 0
    late = run(app, ["apply", str(out)])
    assert late.exception is not None
    assert getattr(late.exception, "kind", None) == "conflict"
    file.write_text(SHOP.replace("amount: ", "x: DATE, amount: ") + "warehouse: ./wh\n")
    assert run(app, ["plan", str(file), "--out", str(out)]).exit_code == 0
    catalog = open_catalog(str(warehouse))
    catalog.alter_table("a.orders", [AddColumn("by_hand", "INT")])
    assert getattr(run(app, ["apply", str(out)]).exception, "kind", None) == "conflict"
    told = json.loads(run(app, ["plan", str(file), "--json"]).stdout)
    (orders,) = told["tables"]
    assert orders["kept"] == ["column by_hand"]
    assert {one["class"] for one in orders["differences"]} == {"safe", "kept"}
    dropped = run(app, ["apply", str(file), "--allow", "drop"])
    assert dropped.exit_code == 0
    assert catalog.table("a.orders").arrow_schema.names == ["id", "x", "amount"]
    unknown = run(app, ["plan", str(file), "--allow", "everything"])
    assert isinstance(unknown.exception, ArgumentError)
    out.write_text(out.read_text()[:-50])
    assert isinstance(run(app, ["apply", str(out)]).exception, ArgumentError)


def test_one_file_has_several_targets(tmp_path: Path) -> None:
    text = (
        SHOP
        + """\
warehouse: ./wh
pool: {name: p, slots: 8}
pipeline: {retries: 3, params: {x: 1}}
upkeep: {schedule: "@daily", policy: {compact: true}}
targets:
  dev: {warehouse: ./dev, pool: {slots: 1}, pipeline: {retries: 0}, options: {write-only: yes}}
  prod: {upkeep: {schedule: H 3 * * *}}
"""
    )
    aimed = {t: parse(text, environment={"TABLE_CORE_TARGET": t}) for t in ("dev", "prod")}
    dev = aimed["dev"]
    assert (dev.warehouse, dev.pool) == ("./dev", {"name": "p", "slots": 1})
    assert dev.pipeline == {"retries": 0, "params": {"x": 1}}
    assert dev.tables["a.orders"].options == {"bucket": "2", "write-only": "true"}
    prod = aimed["prod"]
    assert (prod.warehouse, prod.upkeep and prod.upkeep.schedule) == ("./wh", "H 3 * * *")
    assert prod.policies["a.orders"] == {"compact": {}}
    assert parse(text).pool == {"name": "p", "slots": 8}
    with pytest.raises(ArgumentError, match="no target 'prd'; did you mean 'prod'"):
        parse(text, environment={"TABLE_CORE_TARGET": "prd"})
    no_policy = text.replace('upkeep: {schedule: "@daily", policy: {compact: true}}\n', "")
    assert "'policy' is missing" in str(
        faults_of(no_policy, environment={"TABLE_CORE_TARGET": "prod"})
    )
    body = text.encode()
    digests = {manifest.digest_of(body, {"TABLE_CORE_TARGET": t}) for t in ("dev", "prod")}
    assert len(digests) == 2, "a manifest is of one target"
    file = tmp_path / "shop.yaml"
    file.write_text(text)
    assert CliRunner().invoke(app, ["apply", str(file), "--target", "dev"]).exit_code == 0
    assert open_catalog(str(tmp_path / "dev")).tables("a") == ["orders"]


EXTERNAL = """\
external:
  b.rates: {columns: {currency: STRING, rate: "DECIMAL(12, 4)"}}
  a.orders$snapshots: {}
flows:
  f:
    table: a.orders
    reads: {r: b.rates, s: a.orders$snapshots}
    sql: SELECT 1 AS id, rate AS amount FROM r, s
checks:
  rates: {table: b.rates, not_null: [rate]}
"""


def test_tables_of_others_are_read_and_held_to_what_was_agreed_on(catalog: Catalog) -> None:
    assert told(SHOP + EXTERNAL) == []
    wrong = EXTERNAL.replace("SELECT 1 AS id, rate", "SELECT 1 AS id, rte").replace(
        "s: a.", "s: b."
    )
    assert [line.partition(": ")[2][:34] for line in told(SHOP + wrong)] == [
        "table 'b.orders$snapshots' is not "
    ]
    written = told(SHOP + EXTERNAL.replace("    table: a.orders\n", "    table: b.rates\n"))
    assert "others write it" in written[0]
    no_type = told(SHOP + EXTERNAL.replace("currency: STRING", "currency: text"))
    assert no_type == ["f:9:33: column 'currency': not a type: 'text'; write STRING"]
    found = parse(SHOP + EXTERNAL)
    refused = applying.plan(found, catalog)[1].refused
    assert "no table" in refused[0] or "no database" in refused[0]
    catalog.create_database("b")
    rates = [
        Field(0, "currency", parse_type("STRING")),
        Field(1, "rate", parse_type("DECIMAL(14, 4)")),
    ]
    catalog.create_table("b.rates", rates)
    refused = applying.plan(found, catalog)[1].refused
    assert refused == ("external: rate is DECIMAL(14, 4), and DECIMAL(12, 4) was agreed on",)
    wide = parse((SHOP + EXTERNAL).replace("DECIMAL(12, 4)", "DECIMAL(16, 4)"))
    assert [one.refused for one in applying.plan(wide, catalog)] == [(), ()]
    applying.apply(applying.plan(wide, catalog), catalog)
    assert applying.only_there(wide, catalog) == []
    digest = manifest.digest_of(b"x")
    again = manifest.whole(manifest.compiled(wide, digest), digest)
    assert again is not None
    assert again.external == wide.external


@pytest.mark.parametrize(
    ("patterns", "tables"),
    [
        (["default.customers"], {"customers"}),
        (["default.*_*"], {"waiting_orders", "country_sales"}),
        (["+default.country_sales"], {"customers", "orders", "waiting_orders", "country_sales"}),
        (["default.orders+"], {"orders", "customers", "waiting_orders", "country_sales"}),
        (["append_orders"], {"orders"}),
        (["sync_customers", "report"], {"customers", "country_sales"}),
    ],
)
def test_a_part_is_chosen_by_names_and_by_what_leads_there(
    patterns: list[str], tables: set[str], tmp_path: Path
) -> None:
    found = selected(parse(STREAMHOUSE.read_text()), patterns)
    assert {name.removeprefix("default.") for name in found.tables} == tables
    words = [word for pattern in patterns for word in ("--select", pattern)]
    command = ["apply", str(STREAMHOUSE), "-w", f"file://{tmp_path}/wh", *words]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert set(open_catalog(str(tmp_path / "wh")).tables("default")) == tables
    with pytest.raises(ArgumentError, match="did you mean 'default\\.orders'"):
        selected(parse(STREAMHOUSE.read_text()), ["default.order"])


def test_a_prefix_stands_before_each_database_and_nowhere_else() -> None:
    text = STREAMHOUSE.read_text() + (
        "prefix: dev_\nexternal: {ref.x: {}}\n"
        "checks: {c: {table: default.orders, change: [0, 2], against: default.customers}}\n"
    )
    plain, dev = parse(text.replace("prefix: dev_\n", "")), parse(text)
    told = str(dev)
    assert told.replace("dev_default.", "default.").replace(
        "view='waiting_orders'", "view=None"
    ) == str(plain)
    assert "'default." not in told
    assert set(dev.tables) == set(dev.policies) == {f"dev_{name}" for name in plain.tables}
    assert [step.after for step in dev.steps] == [step.after for step in plain.steps]
    assert faults_of(text) == []
    letters = "with: {settings: {dead_letter: a.refused}}"
    sync = f"prefix: x_\nsources: {{s: {{table: a.orders, sync: {{kind: files, uri: u}}, {letters}}}}}\n"
    found = parse(SHOP + sync)
    assert found.steps[0].with_arguments == {"settings": {"dead_letter": "x_a.refused"}}
    assert found.also_written == {"x_a.refused"}


def test_a_declaration_may_lie_in_several_files(tmp_path: Path) -> None:
    main, more = tmp_path / "shop.yaml", tmp_path / "parts" / "more.yaml"
    more.parent.mkdir()
    main.write_text(SHOP + "warehouse: ./wh\ninclude: [parts/more.yaml]\n")
    right = "tables:\n  a.more: {columns: {x: INT}}\nflows:\n  f: {table: a.orders, run: compact}\n"
    more.write_text(right)
    run = CliRunner().invoke
    assert run(app, ["validate", str(main)]).stdout == ""
    assert run(app, ["apply", str(main)]).exit_code == 0
    assert open_catalog(str(tmp_path / "wh")).tables("a") == ["more", "orders"]
    for wrong, line in (
        (right.replace("INT", "text"), "parts/more.yaml:2:25: column 'x': not a type: 'text'"),
        (right.replace("a.more", "a.orders"), "parts/more.yaml:2:3: 'a.orders' is in another file"),
        (right.replace("compact", "compct"), "parts/more.yaml:4:29: expected one of"),
        (right.replace("a.orders", "a.order"), "parts/more.yaml:4:3: table 'a.order' is not"),
        (f"{right}include: [x.yaml]\n", f"{main}:9:11: parts/more.yaml: an included file"),
        ("- a\n", f"{main}:9:11: parts/more.yaml: an included file"),
        ("a: [\n", "parts/more.yaml:2:1: no YAML"),
    ):
        more.write_text(wrong)
        told_ = run(app, ["validate", str(main)]).stdout
        assert told_.startswith(line), told_
    more.unlink()
    assert f"{main}:9:11: no file" in run(app, ["validate", str(main)]).stdout


def test_a_picture_shows_what_leads_where(tmp_path: Path) -> None:
    run = CliRunner().invoke
    drawn = run(app, ["graph", str(STREAMHOUSE), "--mermaid"]).stdout
    assert drawn.startswith("flowchart LR\n")
    assert "table_default_2e_orders --> step_add_5f_sales" in drawn
    assert "step_add_5f_sales --> table_default_2e_waiting_5f_orders" in drawn
    assert "table_default_2e_country_5f_sales --> trigger_report" in drawn
    lines = run(app, ["graph", str(STREAMHOUSE)]).stdout.splitlines()
    assert lines[0] == "sync -> sync_customers -> default.customers"
    assert "default.country_sales -> trigger report -> a report" in lines


def test_a_first_declaration_of_what_is_there_has_nothing_to_do(tmp_path: Path) -> None:
    run = CliRunner().invoke
    warehouse, first = f"file://{tmp_path}/wh", tmp_path / "first.yaml"
    assert run(app, ["apply", str(STREAMHOUSE), "-w", warehouse]).exit_code == 0
    catalog = open_catalog(warehouse)
    catalog.create_database("no")
    odd = [
        Field(0, "yes", parse_type("ARRAY<ROW<`a b` INT 'it''s'>>"), "2026"),
        Field(0, "off", parse_type("INT"), None, "07"),
        Field(0, "${x}: [y]", parse_type("MAP<STRING, DATE> NOT NULL"), ""),
        Field(0, "null", parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE"), "a\n'b'"),
    ]
    catalog.create_table("no.on", odd, options={"write-only": "true"}, comment="no: ${y}")
    done = run(app, ["init", warehouse, "--out", str(first)])
    assert done.exit_code == 0
    assert run(app, ["validate", str(first)]).stdout == ""
    told = run(app, ["plan", str(first), "--detailed-exitcode", "--json"])
    assert told.exit_code == 0, told.stdout
    for one in json.loads(told.stdout)["tables"]:
        assert (one["action"], one["kept"]) == ("none", []), one
    assert run(app, ["init", warehouse, "--out", str(first)]).exit_code == 1


def test_the_commands(tmp_path: Path) -> None:
    file, warehouse = tmp_path / "shop.yaml", f"file://{tmp_path}/wh"
    file.write_text(SHOP)
    run = CliRunner().invoke
    assert run(app, ["validate", str(file), "--compile", str(tmp_path / "m.json")]).exit_code == 0
    assert isinstance(manifest.whole((tmp_path / "m.json").read_text(), None), Declaration)
    pools = tmp_path / "pools.json"
    file.write_text(SHOP + "pool: {name: shop, slots: 3}\n")
    assert run(app, ["validate", str(file), "--pools", str(pools)]).exit_code == 0
    assert json.loads(pools.read_text())["shop"]["slots"] == 3
    file.write_text(SHOP)
    planned = run(app, ["plan", str(file), "-w", warehouse])
    assert "create   a.orders" in planned.stdout
    assert "1 create, 0 alter, 0 refused, 0 none" in planned.stdout
    assert run(app, ["apply", str(file), "-w", warehouse]).exit_code == 0
    again = run(app, ["plan", str(file), "-w", warehouse, "--json"])
    assert json.loads(again.stdout)["tables"][0]["action"] == "none"
    file.write_text(SHOP.replace("BIGINT", "BIGGEST"))
    wrong = run(app, ["validate", str(file)])
    assert (wrong.exit_code, wrong.stdout.count(f"{file}:5:19: ")) == (1, 1)
    file.write_text(SHOP.replace("[id]", "[id, amount]"))
    assert run(app, ["plan", str(file), "-w", warehouse]).exit_code == 1
    assert json.loads(run(app, ["validate", str(file), "--schema"]).stdout) == json_schema()
