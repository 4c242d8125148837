"""A part of a declaration: chosen by names, tags and edges, with what it needs from the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from table_core.cli.main import app
from table_core.declaration import manifest
from table_core.declaration.dags import dags_of
from table_core.declaration.document import faults_of, parse
from table_core.declaration.graph import chosen
from table_core.declaration.order import needs_of
from table_core.errors import ArgumentError
from tests.unit.declaration.documents import CHAIN


@pytest.mark.parametrize(
    ("words", "tables", "steps", "checks"),
    [
        (["s.b"], "b", "make_b", "b"),
        (["make_b"], "a b", "make_b", ""),
        (["make_c"], "b c x", "make_c", "c"),
        (["s.b s.d"], "b d", "make_b make_d", "b"),
        (["s.b", "s.d"], "b d", "make_b make_d", "b"),
        (["tag:daily"], "a b c", "make_b make_c", "b c"),
        (["tag:daily,tag:money"], "b", "make_b", "b"),
        (["tag:d*,s.c"], "c", "make_c", "c"),
        (["tag:money"], "b c d", "make_b make_d", "b"),
        (["+s.c"], "a b c x", "load_a make_b make_c", "b c"),
        (["1+s.c"], "b c x", "make_b make_c", "b c"),
        (["2+s.c"], "a b c x", "load_a make_b make_c", "b c"),
        (["s.b+"], "b c d x", "make_b make_c make_d", "b c"),
        (["s.b+1"], "b c x", "make_b make_c", "b c"),
        (["+make_b+"], "a b c d x", "load_a make_b make_c make_d", "b c"),
        (["1+s.c+1"], "b c d x", "make_b make_c make_d", "b c"),
        (["+s.c,s.b+"], "b c x", "make_b make_c", "b c"),
        (["check:c"], "c", "", "c"),
        (["table:s.?"], "a b c d", "load_a make_b make_c make_d", "b c"),
        (["flow:make_*"], "a b c d x", "make_b make_c make_d", "c"),
        (["source:load_a"], "a", "load_a", ""),
        (["tag:strict tag:slow"], "a c", "load_a", "c"),
    ],
)
def test_a_part_is_chosen_as_dbt_chooses(
    words: list[str], tables: str, steps: str, checks: str
) -> None:
    assert faults_of(CHAIN) == []
    found = chosen(parse(CHAIN), words)
    assert {one.partition(".")[2] for one in found.tables} == set(tables.split())
    assert found.steps == set(steps.split())
    assert found.checks == set(checks.split())


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("s.e", "did you mean 's\\."),
        ("tag:dayly", "did you mean 'daily'"),
        ("tags:daily", "did you mean 'tag'"),
        ("check:make_b", "nothing fits 'check:make_b'"),
        ("s.b,tag:no", "nothing fits 'tag:no'"),
        ("+", "no selector"),
        ("s.b,", "no selector"),
        ("x+s.b", "no selector"),
        ("", "nothing is chosen"),
    ],
)
def test_a_selector_that_chooses_nothing_is_an_error_with_what_may_be_meant(
    word: str, told: str
) -> None:
    with pytest.raises(ArgumentError, match=told):
        chosen(parse(CHAIN), [word])


def test_a_tag_is_one_word_and_the_manifest_keeps_it() -> None:
    for wrong in ("[a b]", "['a,b']", "['a:b']", "['']", "daily"):
        (diagnostic,) = faults_of(CHAIN.replace("[raw]", wrong))
        assert str(diagnostic).startswith("<declaration>:5:")
    declaration = parse(CHAIN)
    assert manifest.whole(manifest.compiled(declaration, "x"), "x") == declaration


def test_plan_apply_and_dags_take_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "chain.yaml").write_text(
        CHAIN.replace("external:\n  ref.x: {}\n", "")
        .replace(", x: ref.x", "")
        .replace("JOIN x ON x.id = b.id", "")
    )

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, [words[0], str(tmp_path / "chain.yaml"), *words[1:]])
        assert done.exit_code == 0, done.output
        return done.output

    where = ("-w", f"file://{tmp_path}/wh")
    planned = json.loads(run("plan", *where, "--select", "+s.c,tag:daily", "--json"))
    assert [one["table"] for one in planned["tables"]] == ["s.b", "s.c"]
    run("apply", *where, "--select", "+s.c,tag:daily")
    assert (
        json.loads(run("plan", *where, "--select", "s.b s.c", "--json"))["tables"][0]["action"]
        == "none"
    )
    found = json.loads(run("dags", "--select", "tag:daily", "--json"))["dags"]
    assert [one["id"] for one in found] == ["chain", "chain_upkeep", "chain_wake"]
    assert found[0]["schedule"] == "0 6 * * * Europe/Oslo"
    assert found[0]["tasks"]["audit_s_c_branch"] == ["make_b"]
    assert "chain_wake   (changes of s.a, tag:daily)\n  make_d\n" in run("dags")
    done = CliRunner().invoke(app, ["dags", str(tmp_path / "chain.yaml"), "--select", "tag:dayly"])
    assert "did you mean 'daily'?" in str(done.exception)


def test_a_part_says_what_it_needs_of_the_rest() -> None:
    declaration = parse(CHAIN)
    told = {
        name: [str(one) for one in needs_of(declaration, name.split())]
        for name in ("load_a", "make_b", "make_c", "make_d", "make_b make_c", "make_b make_d")
    }
    assert told == {
        "load_a": [],
        "make_b": ["s.a, written by load_a, for make_b"],
        "make_c": ["ref.x, kept by others, for make_c", "s.b, written by make_b, for make_c"],
        "make_d": ["s.c, written by make_c, for make_d", "load_a done before make_d"],
        "make_b make_c": [
            "s.a, written by load_a, for make_b",
            "ref.x, kept by others, for make_c",
        ],
        "make_b make_d": [
            "s.a, written by load_a, for make_b",
            "s.c, written by make_c, for make_d",
            "load_a done before make_d",
        ],
    }
    whole = [step.name for step in declaration.steps]
    assert [str(one) for one in needs_of(declaration, whole)] == [
        "ref.x, kept by others, for make_c"
    ]


def test_order_holds_through_what_is_left_out() -> None:
    declaration = parse(CHAIN)
    (pipeline, *_) = dags_of(declaration, chosen(declaration, ["load_a", "make_c"]))
    assert pipeline.tasks == {
        "apply_declaration": [],
        "load_a": ["apply_declaration"],
        "audit_s_c_branch": ["load_a"],
        "make_c": ["audit_s_c_branch"],
        "check_c": ["audit_s_c_branch", "make_c"],
        "audit_s_c_publish": ["check_c"],
        "audit_s_c_clean_up": ["audit_s_c_publish"],
    }


def test_flows_wait_for_a_table_of_others_to_be_fresh() -> None:
    text = CHAIN.replace("ref.x: {}", "ref.x: {freshness: 2 h}")
    assert faults_of(text) == []
    declaration = parse(text)
    (fresh,) = (one for one in declaration.checks if one.table == "ref.x")
    assert (fresh.name, fresh.rules, fresh.severity) == (
        "fresh_ref_x",
        {"freshness": "2 h"},
        "error",
    )
    tasks = dags_of(declaration)[0].tasks
    assert tasks["audit_s_c_branch"] == ["check_fresh_ref_x", "make_b"]
    assert tasks["check_fresh_ref_x"] == ["apply_declaration"]
    assert chosen(declaration, ["ref.x"]).checks == {"fresh_ref_x"}
    (diagnostic,) = faults_of(text.replace("  b: {table", "  fresh_ref_x: {table"))
    assert "its task is called 'check_fresh_ref_x', as is the task of check" in str(diagnostic)
    (diagnostic,) = faults_of(text.replace("2 h", "two hours"))
    assert "expected a length of time with its unit" in str(diagnostic)


LATE = """
version: 1
name: late
tables:
  s.a: {columns: {id: BIGINT}}
  s.b: {columns: {id: BIGINT}}
sources:
  load: {table: s.a, rows_uri: "file:///a/*.parquet"}
flows:
  sums: {table: s.b, reads: {a: s.a}, sql: SELECT id FROM a}
  clean: {table: s.a, run: delete, with: {where: id < 0}, after: [sums]}
checks:
  ids: {table: s.a, unique: [id], gate: true}
  rows: {table: s.a, rows: [1, null]}
"""


def test_a_gate_stands_before_the_first_reader_though_a_writer_comes_after_it() -> None:
    made = dags_of(parse(LATE))[0]
    assert made.tasks["check_ids"] == ["load"]
    assert "check_ids" in made.tasks["sums"]
    assert made.tasks["clean"] == ["load", "sums"]
    assert made.tasks["check_rows"] == ["clean", "load"], "without a gate it looks at the end"
