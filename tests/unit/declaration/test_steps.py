"""A step is typed by its verb when a file is read, and nothing of what was said is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from table_core.declaration.document import faults_of, parse
from table_core.declaration.manifest import compiled, whole
from table_core.declaration.steps import (
    FilesStep,
    MergeStep,
    QueryStep,
    RunStep,
    Step,
    SyncStep,
    step_from_document,
    step_of,
)
from table_core.declaration.verbs import VERBS

TABLES = "{a.t: {columns: {x: INT}}, a.u: {columns: {x: INT}}, a.w: {columns: {x: INT}}}"
MEMBERS: dict[type[Step], dict[str, Any]] = {
    SyncStep: {
        "sync": {"kind": "files", "uri": "in"},
        "source_connection": "c",
        "with": {"settings": {"dead_letter": "a.w"}},
    },
    QueryStep: {
        "sql": "SELECT x FROM o",
        "reads": {"o": {"table": "a.u", "mode": "changes", "position": "tc.o"}},
        "pending": {"table": "a.w", "sql": "SELECT x FROM o", "view": "late"},
        "overwrite": "table",
        "with": {"parameters": {"p": 1}},
    },
    FilesStep: {
        "rows_uri": "in/*.csv",
        "rows_position": "tc.in",
        "rows_format": "csv",
        "rows_options": {"delimiter": ";", "null_values": ["", "NA"]},
    },
    MergeStep: {
        "merge": {
            "source": {"sql": "SELECT x FROM o", "reads": {"o": {"table": "a.u"}}},
            "on": ["x"],
            "when": [{"action": "matched-delete"}],
        }
    },
    RunStep: {"run": "delete", "with": {"where": "x = 1"}},
}


def made(kind: type[Step], **common: Any) -> Step:
    return step_of(MEMBERS[kind], name="s", table="a.t", **common)


def test_each_verb_has_a_step_of_its_own() -> None:
    assert {kind.verb for kind in MEMBERS} == set(VERBS)
    assert {type(made(kind)) for kind in MEMBERS} == set(MEMBERS)


@pytest.mark.parametrize("kind", MEMBERS)
def test_a_manifest_gives_a_step_back_as_it_was(kind: type[Step]) -> None:
    """Also in a whole manifest, where JSON has made lists of tuples."""
    step = made(kind, after=("b",), tags=("t",), computed=("y=upper(x)",), spark_conf={"k": "v"})
    assert step.members() == MEMBERS[kind]
    assert step_from_document(json.loads(json.dumps(step.to_document()))) == step
    flows = json.dumps({"s": {"table": "a.t", **MEMBERS[kind]}})
    declared = parse(f"version: 1\nname: n\ntables: {TABLES}\nflows: {flows}")
    again = whole(compiled(declared, "d"), "d")
    assert again is not None
    assert again.steps == declared.steps
    assert [type(one) for one in again.steps] == [kind]


def test_what_a_step_reads_and_writes() -> None:
    query, merge = made(QueryStep), made(MergeStep)
    assert (query.tables_read, query.tables_written) == ({"a.u"}, {"a.t", "a.w"})
    assert (merge.tables_read, merge.tables_written) == ({"a.u"}, {"a.t"})
    source = {"source": {"table": "a.w"}, "on": ["x"], "when": []}
    assert step_of({"merge": source}, name="s", table="a.t").tables_read == {"a.w"}
    assert [made(kind).changes_rows for kind in MEMBERS] == [True] * len(MEMBERS)
    assert not step_of({"run": "compact"}, name="s", table="a.t").changes_rows


def test_other_names_reach_every_table_and_no_view() -> None:
    """For a prefix all tables are renamed; behind an audit those alone that are read."""
    query = made(QueryStep).renamed(lambda name: f"dev_{name}")
    assert (query.tables_read, query.tables_written) == ({"dev_a.u"}, {"dev_a.t", "dev_a.w"})
    assert query.pending is not None
    assert (query.pending.shown_as, [*query.views]) == ("late", ["o"])
    sync = made(SyncStep).renamed(lambda name: f"dev_{name}")
    assert isinstance(sync, SyncStep)
    assert (sync.table, sync.dead_letter) == ("dev_a.t", "dev_a.w")
    reading = made(QueryStep).reading({"a.u": "a.u$branch_b"}.get)  # type: ignore[arg-type]  # all are there
    assert (reading.table, reading.tables_read) == ("a.t", {"a.u$branch_b"})
    source = {"source": {"table": "a.u"}, "on": ["x"], "when": []}
    merge = step_of({"merge": source}, name="s", table="a.t")
    assert merge.reading(lambda _: "b.u").operator_arguments()["source"] == {"table": "b.u"}


def test_an_operator_gets_what_its_verb_says_and_what_stands_under_with() -> None:
    assert made(SyncStep).operator_arguments() == {
        "source": {"kind": "files", "uri": "in"},
        "source_conn_id": "c",
        "settings": {"dead_letter": "a.w"},
    }
    arguments = made(QueryStep, computed=("y=upper(x)",)).operator_arguments()
    assert arguments["sources"] == MEMBERS[QueryStep]["reads"]
    assert (arguments["parameters"], arguments["computed_columns"]) == ({"p": 1}, ["y=upper(x)"])
    assert "reads" not in arguments
    merge = made(MergeStep).operator_arguments()
    assert merge["source"] == {"sql": "SELECT x FROM o", "sources": {"o": {"table": "a.u"}}}
    assert made(RunStep).operator_arguments() == {"where": "x = 1"}
    assert [made(kind).operator.partition(".")[0] for kind in MEMBERS] == [
        *("sync", "write", "write", "write"),
        "statements",
    ]


@pytest.mark.parametrize("views", ["reads", "sources"])
def test_a_merge_is_judged_the_same_whatever_its_views_stand_under(views: str) -> None:
    text = f"""
version: 1
name: n
tables: {TABLES}
flows:
  m:
    table: a.t
    merge:
      source: {{sql: SELECT x FROM o, {views}: {{o: a.u}}}}
      on: [x]
      when: [{{action: matched-upsert, values: {{x: source.y}}}}]
"""
    assert [fault.message for fault in faults_of(text)] == [
        "the source has no column 'y'; known: x"
    ]
