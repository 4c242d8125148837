"""A newcomer's and a tired expert's mistakes: each has a place and a remedy, and none takes long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from table_core.cli.main import app
from table_core.declaration.document import faults_of
from table_core.errors import ArgumentError, NotFoundError
from tests.unit.declaration.documents import BASE, LINE

STEP = "flows:\n  f: "
CHECK = "checks:\n  c: "
TRIGGER = "triggers:\n  t: "


def base(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new)


WHOLE: dict[str, tuple[str, int, str]] = {
    "empty": ("", 1, "the file is empty"),
    "only a comment": ("# x\n", 1, "the file is empty"),
    "a list": ("- a\n", 1, "expected a mapping"),
    "a text": ("hello\n", 1, "expected a mapping"),
    "bare tables": ("version: 1\nname: n\ntables:\n", 3, "expected a mapping, found nothing"),
    "bare name": ("version: 1\nname:\ntables: {}\n", 2, "a name of letters"),
    "no name": ("version: 1\ntables: {}\n", 1, "'name' is missing"),
    "no version": ("name: n\ntables: {}\n", 1, "'version' is missing"),
    "version 2": (base("version: 1", "version: 2"), 1, "expected version 1"),
    "version as text": (base("version: 1", 'version: "1"'), 1, "expected version 1"),
    "name with a blank": (base("name: shop", "name: my shop"), 2, "letters"),
    "name with a slash": (base("name: shop", "name: a/b"), 2, "letters"),
    "name that is a number": (base("name: shop", "name: 2026"), 2, "in quotes"),
    "table without a database": (base("  a.p:", "  p:"), 8, "no database.table"),
    "table with three parts": (base("  a.p:", "  a.b.p:"), 8, "no database.table"),
    "database sys": (base("  a.p:", "  sys.p:"), 8, "reserved"),
    "tables that differ in case": (base("  a.p:", "  A.T:"), 8, "differ in case alone"),
    "a table twice": (base("  a.p:", "  a.t:"), 8, "is there twice"),
    "misspelt member": (base("primary_key", "primary_keys"), 6, "did you mean 'primary_key'"),
    "columns as a list": (
        base("columns: {id: BIGINT, h: INT, flag: BOOLEAN}", "columns: [id, h]"),
        9,
        "expected a mapping",
    ),
    "bare columns": (
        base("columns: {id: BIGINT, h: INT, flag: BOOLEAN}", "columns:"),
        9,
        "found nothing",
    ),
    "no columns": (
        base("columns: {id: BIGINT, h: INT, flag: BOOLEAN}", "columns: {}"),
        9,
        "at least one",
    ),
    "columns that differ in case": (base("h: INT,", "h: INT, ID: INT,"), 9, "differ in case alone"),
    "text": (base("h: INT", "h: text"), 9, "write STRING"),
    "bool": (base("h: INT", "h: bool"), 9, "write BOOLEAN"),
    "datetime": (base("h: INT", "h: datetime"), 9, "write TIMESTAMP(6)"),
    "long": (base("h: INT", "h: long"), 9, "write BIGINT"),
    "varchar(max)": (base("h: INT", "h: VARCHAR(max)"), 9, "not a type"),
    "decimal too wide": (base("DECIMAL(12, 2)", "DECIMAL(50, 2)"), 5, "between 1 and 38"),
    "bare map": (base("h: INT", "h: MAP"), 9, "write MAP<STRING, STRING>"),
    "half a map": (base("h: INT", "h: 'MAP<STRING>'"), 9, "MAP has 2 parts"),
    "misspelt type": (base("h: INT", "h: INTEGR"), 9, "did you mean"),
    "column of null": (base("h: INT", "h: "), 9, "expected a type"),
    "column of a list": (base("h: INT", "h: [INT]"), 9, "expected a type"),
    "column without its type": (base("h: INT", "h: {comment: x}"), 9, "'type' is missing"),
    "key that is no column": (
        base("primary_key: [id]", "primary_key: [key]"),
        6,
        "'key' does not exist",
    ),
    "key as text": (base("primary_key: [id]", "primary_key: id"), 6, "expected a list"),
    "partition that is no column": (
        base("partition_by: [h, flag]", "partition_by: [day]"),
        10,
        "does not exist",
    ),
    "unknown option": (base("bucket: 2", "buckets: 2"), 7, "did you mean 'bucket'"),
    "option of a wrong value": (base("bucket: 2", "bucket: many"), 7, "whole number"),
    "option that is a list": (base("bucket: 2", "bucket: [2]"), 7, "expected text"),
    "tab": (base("  a.p:", "\ta.p:"), 8, "tabs"),
    "unclosed bracket": (base("[h, flag]", "[h, flag"), 11, "no YAML"),
    "unquoted colon": (base("name: shop", "name: a: b"), 2, "no YAML"),
    "two documents": (BASE + "---\nname: x\n", LINE, "no YAML"),
    "unknown anchor": (BASE + "options: *x\n", LINE, "undefined alias"),
    "recursive anchor": (BASE + "definitions: {x: &x [*x]}\n", LINE, "refers to itself"),
    "merge of a text": (BASE + "pipeline: {<<: x}\n", LINE, "<< takes a mapping"),
    "a mapping as a name": (BASE + "definitions: {{a: b}: c}\n", LINE, "a name must be text"),
    "tag of another tool": (BASE + "warehouse: !env HOME\n", LINE, "write ${NAME}"),
    "python tag": (BASE + "warehouse: !!python/object:x {}\n", LINE, "is not known"),
    "variable that is not set": (BASE + "warehouse: '${NO_SUCH_VARIABLE}'\n", LINE, "is not set"),
    "secret": (BASE + "warehouse: 's3://${DB_PASSWORD}@x'\n", LINE, "belongs into the connection"),
    "variable as a name": (BASE + "definitions: {'${X}': 1}\n", LINE, "in values only"),
    "misspelt group": (base("tables:", "tabels:"), 3, "did you mean 'tables'"),
    "deep brackets": (
        BASE + "definitions: {x: " + "[" * 9000 + "]" * 9000 + "}\n",
        1,
        "within each other",
    ),
    "deep dashes": (
        BASE + "definitions:\n  x:\n    " + "- " * 9000 + "x\n",
        1,
        "within each other",
    ),
    "many blanks": (
        BASE + "definitions:\n" + "".join(f"{' ' * n}x:\n" for n in range(1, 90)),
        LINE + 65,
        "within each other",
    ),
    "laughs": (
        BASE
        + "definitions:\n  a0: &a0 {x: y}\n"
        + "".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
        LINE + 5,
        "aliases add more than",
    ),
}
AFTER: dict[str, tuple[str, int, str]] = {
    "no verb": (STEP + "{table: a.t}", 2, "give one of sync, sql"),
    "misspelt verb": (STEP + "{table: a.t, sgl: SELECT 1}", 2, "did you mean 'sql'"),
    "two verbs": (STEP + "{table: a.t, sql: SELECT 1, run: compact}", 2, "found sql, run"),
    "bare flow": (STEP, 2, "expected a mapping, found nothing"),
    "bare merge": (STEP + "{table: a.t, merge: }", 2, "expected a mapping, found nothing"),
    "bare sync": ("sources:\n  s: {table: a.t, sync: }", 2, "expected a mapping, found nothing"),
    "misspelt table": (STEP + "{tabel: a.t, run: compact}", 2, "did you mean 'table'"),
    "table that is not there": (STEP + "{table: a.x, run: compact}", 2, "is not declared"),
    "table in another case": (STEP + "{table: A.T, run: compact}", 2, "did you mean 'a.t'"),
    "misspelt action": (STEP + "{table: a.t, run: compct}", 2, "did you mean 'compact'"),
    "merge with overwrite": (
        STEP + "{table: a.t, overwrite: table, merge: {source: {table: a.p}, on: [id], when: [{action: matched-upsert}]}}",
        2, "'overwrite' goes with sql or rows_uri, not with merge"),
    "run with reads": (STEP + "{table: a.t, run: compact, reads: {o: a.p}}", 2, "'reads' goes with sql"),
    "sql with source_connection": (STEP + "{table: a.t, sql: SELECT 1, source_connection: c}", 2, "goes with sync"),
    "misspelt clause": (
        STEP + "{table: a.t, merge: {source: {table: a.p}, on: [id], when: [{acton: matched-upsert}]}}",
        2, "did you mean 'action'"),
    "unknown clause": (
        STEP + "{table: a.t, merge: {source: {table: a.p}, on: [id], when: [{action: upsert}]}}",
        2, "matched-upsert"),
    "merge of changes": (
        STEP + "{table: a.t, merge: {source: {sql: SELECT * FROM p, reads: {p: {table: a.p, mode: changes}}}, on: [id], when: [{action: matched-upsert}]}}",
        2, "expected one of snapshot, found 'changes'"),
    "merge of a table with values for SQL": (
        STEP + "{table: a.t, merge: {source: {table: a.p}, on: [id], when: [{action: matched-upsert}]}, with: {parameters: {x: 1}}}",
        2, "values of $name in SQL, and there is none"),
    "merge without when": (STEP + "{table: a.t, merge: {source: {table: a.p}, on: [id], when: []}}", 2, "at least 1"),
    "merge on no column": (
        STEP + "{table: a.t, merge: {source: {table: a.p}, on: [key], when: [{action: matched-delete}]}}",
        2, "has no column 'key'"),
    "position without tc.": (STEP + "{table: a.p, rows_uri: x, rows_position: files}", 2, "begins with tc."),
    "overwrite of everything by mistake": (STEP + "{table: a.p, sql: SELECT 1, overwrite: {}}", 2, "at least one"),
    "overwrite tabel": (STEP + "{table: a.p, sql: SELECT 1, overwrite: tabel}", 2, "table, partitions or"),
    "overwrite of a column": (STEP + "{table: a.p, sql: SELECT 1, overwrite: {id: 1}}", 2, "no partition column"),
    "overwrite by a word": (STEP + "{table: a.p, sql: SELECT 1, overwrite: {h: noon}}", 2, "is no INT"),
    "overwrite partitions of none": (STEP + "{table: a.t, sql: SELECT 1, overwrite: partitions}", 2, "no partitions"),
    "view with a blank": (STEP + "{table: a.t, reads: {my orders: a.p}, sql: SELECT 1}", 2, "no name of a view"),
    "views that differ in case": (STEP + "{table: a.t, reads: {o: a.p, O: a.p}, sql: SELECT 1}", 2, "case alone"),
    "pending like a view": (
        STEP + "{table: a.t, reads: {p: a.t}, pending: {table: a.p, sql: SELECT 1}, sql: SELECT 1}",
        2, "rename the view"),
    "SQL that is none": (STEP + "{table: a.t, sql: SELEC 1}", 2, "no SQL at line 1"),
    "SQL of two": (STEP + '{table: a.t, sql: "SELECT 1; SELECT 2"}', 2, "expected one SELECT"),
    "SQL that writes": (STEP + "{table: a.t, sql: DELETE FROM x}", 2, "expected one SELECT"),
    "SQL without its view": (STEP + "{table: a.t, sql: SELECT id FROM o}", 2, "no view o"),
    "SQL over a table": (STEP + "{table: a.t, reads: {p: a.p}, sql: SELECT id FROM a.p}", 2, "views of reads"),
    "SQL with no such column": (STEP + "{table: a.t, reads: {p: a.p}, sql: SELECT idd FROM p}", 2, "idd"),
    "SQL too deep": (STEP + "{table: a.t, sql: SELECT " + "(" * 3000 + "1" + ")" * 3000 + "}", 2, "no SQL"),
    "where that is none": (STEP + "{table: a.t, run: delete, with: {where: id =}}", 2, "SQL"),
    "where with no such column": (STEP + "{table: a.t, run: delete, with: {where: idd = 1}}", 2, "idd"),
    "delete of all": (STEP + "{table: a.t, run: delete}", 2, "'with' must have where"),
    "update of no column": (STEP + "{table: a.t, run: update, with: {where: id = 1, values: {x: '1'}}}", 2, "no column 'x'"),
    "update to nonsense": (STEP + "{table: a.t, run: update, with: {where: id = 1, values: {dt: 'a +'}}}", 2, "SQL"),
    "retries as a word": (STEP + "{table: a.t, run: compact, with: {retries: many}}", 2, "expected a number"),
    "half a retry": (STEP + "{table: a.t, run: compact, with: {retries: 2.5}}", 2, "whole number"),
    "delay as a word": (STEP + "{table: a.t, run: compact, with: {retry_delay: soon}}", 2, "a length of time"),
    "time without a unit": (STEP + "{table: a.p, run: expire-partitions, with: {expiration_time: '7'}}", 2, "with its unit"),
    "unknown trigger rule": (STEP + "{table: a.t, run: compact, with: {trigger_rule: done}}", 2, "all_done"),
    "after nobody": (STEP + "{table: a.t, run: compact, after: [g]}", 2, "no source or flow 'g'"),
    "after as text": (STEP + "{table: a.t, run: compact, after: g}", 2, "expected a list"),
    "after each other": (
        "flows:\n  f: {table: a.t, run: compact, after: [g]}\n  g: {table: a.p, run: compact, after: [f]}",
        1, "wait for each other"),
    "a flow that is called apply_declaration": ("flows:\n  apply_declaration: {table: a.t, run: compact}", 2, "the task that"),
    "a flow like a check's task": (
        "flows:\n  check_c: {table: a.t, run: compact}\nchecks:\n  c: {table: a.t, unique: [id]}",
        4, "'check_c'"),
    "a flow with a blank": ("flows:\n  my flow: {table: a.t, run: compact}", 2, "letters, digits"),
    "a source and a flow": (
        "sources:\n  x: {table: a.p, rows_uri: u}\nflows:\n  x: {table: a.p, run: compact}", 4, "a source and a flow"),
    "a check without a rule": (CHECK + "{table: a.t}", 2, "at least one of not_null"),
    "a check of nothing": (CHECK + "{table: a.t, not_null: []}", 2, "at least 1"),
    "a check of no column": (CHECK + "{table: a.t, unique: [key]}", 2, "no column 'key'"),
    "one bound": (CHECK + "{table: a.t, range: {amount: [0]}}", 2, "expected 2 items"),
    "one number of rows": (CHECK + "{table: a.t, rows: [1]}", 2, "expected 2 items"),
    "bounds the wrong way": (CHECK + "{table: a.t, range: {amount: [5, 1]}}", 2, "no value is"),
    "bounds that are none": (CHECK + "{table: a.t, range: {amount: [null, null]}}", 2, "checks nothing"),
    "a bound in words": (CHECK + "{table: a.t, range: {amount: [low, null]}}", 2, "expected a number"),
    "rows the wrong way": (CHECK + "{table: a.t, rows: [5, 1]}", 2, "no number is"),
    "check SQL that is none": (CHECK + "{table: a.t, sql: SELEC}", 2, "SELECT"),
    "check SQL over a table": (CHECK + "{table: a.t, sql: SELECT * FROM t}", 2, "the view rows"),
    "check where that is none": (CHECK + "{table: a.t, unique: [id], where: idd > 1}", 2, "idd"),
    "a trigger called upkeep": (TRIGGER.replace("t:", "upkeep:") + "{table: a.p, flows: [f]}\nflows:\n  f: {table: a.t, run: compact}", 2, "taken"),
    "a trigger without work": (TRIGGER + "{table: a.t}", 2, "give one of report, flows"),
    "a trigger of no flows": (TRIGGER + "{table: a.t, flows: []}", 2, "at least 1"),
    "a trigger of unknown flows": (TRIGGER + "{table: a.t, flows: [x]}", 2, "no source or flow 'x'"),
    "a trigger that wakes itself": (
        TRIGGER + "{table: a.t, flows: [f]}\nflows:\n  f: {table: a.t, sql: SELECT 1}", 2, "wakes it again"),
    "triggers that wake each other": (
        "triggers:\n  t: {table: a.t, flows: [f]}\n  u: {table: a.p, flows: [g]}\n"
        "flows:\n  f: {table: a.p, sql: SELECT 1}\n  g: {table: a.t, sql: SELECT 1}",
        2, "wakes it again"),
    "a pipeline that wakes itself": (
        "pipeline: {schedule: {changes: [a.t]}}\nflows:\n  f: {table: a.t, sql: SELECT 1}", 1, "wakes it again"),
    "a trigger with a typo": (TRIGGER + "{table: a.t, on: change, flows: [f]}", 2, "did you mean 'changes'"),
    "a report of no column": (TRIGGER + "{table: a.t, report: {label_column: x, value_column: id}}", 2, "no column 'x'"),
    "partitions of a trigger": (TRIGGER + "{table: a.p, partitions: [{day: 1}], report: {label_column: h, value_column: h}}", 2, "no partition column"),
    "cron of four": ("pipeline: {schedule: 0 3 * *}", 1, "has 5 fields"),
    "cron FOO": ("pipeline: {schedule: 0 3 * FOO *}", 1, "jan, feb"),
    "cron month in the weekday": ("pipeline: {schedule: 0 3 * * JAN}", 1, "sun, mon"),
    "cron 30 February": ("pipeline: {schedule: 0 3 30 2 *}", 1, "no day 30"),
    "cron 31 April and June": ("pipeline: {schedule: '0 3 31 4,6 *'}", 1, "no day 31"),
    "@once": ("pipeline: {schedule: '@once'}", 1, "@hourly"),
    "no such zone": ("pipeline: {schedule: '@daily', timezone: Europe/Olso}", 1, "did you mean 'Europe/Oslo'"),
    "partitions of none": (STEP + "{table: a.t, run: expire-partitions, with: {expiration_time: 7 d}}", 2, "has no partitions"),
    "minute 75": ("upkeep: {schedule: 75 * * * *, policy: {}}", 1, "between 0 and 59"),
    "schedule of no table": ("pipeline: {schedule: {changes: [a.x]}}", 1, "is not declared"),
    "a schedule and an open parameter": ("pipeline: {schedule: '@daily', params: {d: {type: string}}}", 1, "needs a default"),
    "retry_delay: soon": ("pipeline: {retry_delay: soon}", 1, "a length of time"),
    "an engine of another kind": ("pipeline: {engine: flink}", 1, "spark, local"),
    "drift: yes": ("pipeline: {drift: yes}", 1, "apply, fail, ignore"),
    "bare upkeep": ("upkeep:", 1, "found nothing"),
    "an empty action": ("upkeep: {policy: {compact: }}", 1, "settings, true or false"),
    "upkeep without a policy": ("upkeep: {schedule: '@daily'}", 1, "'policy' is missing"),
    "retained the wrong way": ("upkeep: {policy: {expire-snapshots: {retain_max: 5, retain_min: 9}}}", 1, "is less than"),
    "retained the wrong way, by inheritance": (
        "upkeep:\n  policy: {expire-snapshots: {retain_min: 50}}\n  tables: {a.t: {expire-snapshots: {retain_max: 20}}}",
        1, "as inherited"),
    "order_by of no column": ("upkeep: {policy: {}, tables: {a.t: {compact: {order_by: [x]}}}}", 1, "no column 'x'"),
    "upkeep of no table": ("upkeep: {policy: {}, tables: {a.x: {}}}", 1, "is not declared"),
    "thresholds with a typo": ("upkeep: {policy: {thresholds: {small_files: 1}}}", 1, "small_files_due"),
    "pool of no slots": ("pool: {name: p, slots: 0}", 1, "at least 1"),
    "pool as a name": ("pool: lake", 1, "expected a mapping"),
    "a common option that there is not": ("options: {buckets: 1}", 1, "did you mean 'bucket'"),
    "an unknown word": ("allow: [everything]", 1, "narrow, drop"),
    "moved to nowhere": ("moved: [{from: a.old, to: a.new}]", 1, "no declared table"),
    "moved from what is there": ("moved: [{from: a.p, to: a.t}]", 1, "declared still"),
    "a source of another kind": ("sources:\n  s: {table: a.t, sync: {kind: oracle}}", 2, "there are files"),
    "a password in the file": (
        "sources:\n  s: {table: a.t, sync: {kind: mysql, tables: x, password: x}, source_connection: c}",
        2, "source_connection names"),
    "a misspelt member of a source": ("sources:\n  s: {table: a.t, sync: {kind: files, url: x}}", 2, "did you mean 'uri'"),
    "parameters with a typo": (
        "pipeline: {params: {input: x}}\nflows:\n  f: {table: a.t, sql: 'SELECT {{ params.imput }}'}", 3, "did you mean 'input'"),
    "a flow after itself": (f"{STEP}{{table: a.t, run: compact, after: [f]}}", 2, "waits for itself"),
    "a table that is ours and of others": ("external: {a.t: {}}", 1, "in tables too"),
    "rows between open ends": (f"{CHECK}{{table: a.t, rows: [null, null]}}", 2, "checks nothing"),
    "a change between open ends": (
        f"{CHECK}{{table: a.t, change: [null, null], against: a.p}}", 2, "checks nothing"),
    "a change that none is": (f"{CHECK}{{table: a.t, change: [2, 0.5], against: a.p}}", 2, "no number is at least 2"),
    "an open range of a text": (f"{CHECK}{{table: a.t, range: {{dt: [null, null]}}}}", 2, "checks nothing"),
    "a range of a flag": (f"{CHECK}{{table: a.p, range: {{flag: [0, 1]}}}}", 2, "no bound of bool"),
    "files of no name": ("sources:\n  s: {table: a.t, rows_uri: ''}", 2, "a glob of files"),
}  # fmt: skip
ALL = {**WHOLE, **{n: (f"{BASE}{t}\n", LINE + at - 1, what) for n, (t, at, what) in AFTER.items()}}


def test_the_base_is_right() -> None:
    assert faults_of(BASE, "f") == []
    assert len(ALL) > 100


@pytest.mark.parametrize("name", ALL)
def test_each_mistake_has_a_place_and_a_remedy(name: str) -> None:
    text, line, what = ALL[name]
    diagnostics = faults_of(text, "f", environment={"DB_PASSWORD": "x"})
    told = [str(diagnostic) for diagnostic in diagnostics]
    assert any(
        diagnostic.line == line and what in diagnostic.message for diagnostic in diagnostics
    ), told
    assert all(re.match(r"f:\d+:\d+: .", one) for one in told)
    assert len(diagnostics) < 20


@pytest.mark.parametrize(
    ("type_", "wrong", "right"),
    [
        ("DATE", "2026-02-30", "2026-02-28"),
        ("TIMESTAMP(3)", "soon", "2026-01-31T10:00:00"),
        ("TIMESTAMP_LTZ(6)", "5", "2026-01-31"),
        ("TIME(0)", "25:00", "23:00"),
        ("BINARY(3)", "abc", None),
        ("ARRAY<INT>", "1", None),
        ("STRING", None, "x"),
        ("SMALLINT", "x", "{{ params.least }}"),
    ],
)
def test_bounds_of_a_range_are_of_the_type_of_their_column(
    type_: str, wrong: str | None, right: str | None
) -> None:
    def told(bound: str) -> list[str]:
        check = f'{CHECK}{{table: a.p, range: {{h: ["{bound}", null]}}}}\n'
        params = "pipeline: {params: {least: 1}}\n"
        text = base("[h, flag]", "[flag]").replace("h: INT", f'h: "{type_}"') + params + check
        return [str(diagnostic) for diagnostic in faults_of(text, "f")]

    assert right is None or told(right) == []
    assert wrong is None or any(" bound " in one for one in told(wrong)), told(wrong)


def test_a_fault_in_one_place_hides_none_in_others() -> None:
    several = ["text", "misspelt action", "bare flow", "cron FOO", "a check of no column"]
    text = BASE.replace("h: INT", "h: text") + "".join(
        f"{t}\n" for t in (
            "pipeline: {schedule: 0 3 * FOO *}",
            "flows:\n  f:\n  g: {table: a.t, run: compct}\n  h: {table: a.t, run: compact, after: [x]}",
            "checks:\n  c: {table: a.t, unique: [key]}",
        )
    )  # fmt: skip
    told = "\n".join(str(diagnostic) for diagnostic in faults_of(text, "f"))
    for name in several:
        assert ALL[name][2] in told, told
    assert "no source or flow 'x'" in told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (BASE.encode("utf-16"), "no UTF-8"),
        (BASE.replace("shop", "sh\xf6p").encode("latin-1"), ":2:9: no UTF-8"),
        (b"\x00\x01", "no YAML"),
        (b"name: \x07\n", "no YAML"),
    ],
)
def test_a_file_that_is_no_text_is_told_with_its_place(
    tmp_path: Path, body: bytes, told: str
) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(body)
    done = CliRunner().invoke(app, ["validate", str(file)])
    assert done.exit_code == 1
    assert told in f"{done.stdout}{done.exception}"
    assert done.exception is None or isinstance(done.exception, ArgumentError | SystemExit)


def test_a_folder_and_a_missing_file_are_told(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, ArgumentError), (tmp_path / "no.yaml", NotFoundError)):
        for command in ("validate", "plan", "apply"):
            done = CliRunner().invoke(app, [command, str(path)])
            assert isinstance(done.exception, kind)


def test_lines_that_end_in_two_characters_and_a_mark_of_bytes_are_read(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert CliRunner().invoke(app, ["validate", str(file)]).exit_code == 0
