"""Goal: arguments that are sound one by one and not together are refused by the action, whoever asks."""

from __future__ import annotations

from typing import Any

import pytest

from table_core.errors import ArgumentError
from table_core.jobs.registry import action_of

SQL = "SELECT 1 AS id"


@pytest.mark.parametrize(
    ("action", "args", "told"),
    [
        ("write", {}, "give one of sql, rows_uri, rows_files; found none"),
        ("write", {"sql": SQL, "rows_uri": "x.csv"}, "found sql and rows_uri"),
        ("write", {"rows_uri": "x.csv", "parameters": {"a": 1}}, "parameters goes with sql only"),
        ("write", {"rows_uri": "x.csv", "name": "f"}, "name goes with sql only"),
        (
            "write",
            {"sql": SQL, "rows_format": "csv"},
            "rows_format goes with rows_uri or rows_files",
        ),
        ("write", {"rows_files": ["x.csv"], "rows_position": "tc.a"}, "goes with rows_uri only"),
        (
            "merge-into",
            {"source": {"table": "d.s"}, "parameters": {"a": 1}},
            "goes with source.sql",
        ),
        ("merge-into", {"source": {"table": "d.s", "sql": SQL}}, "found table, sql"),
        ("merge-into", {"source": {"table": "d.s", "sources": {}}}, "sources goes with sql only"),
    ],
)
def test_what_does_not_go_together_is_named(action: str, args: dict[str, Any], told: str) -> None:
    needed = (
        {"on": ["id"], "when": [{"action": "matched-delete"}]} if action == "merge-into" else {}
    )
    with pytest.raises(ArgumentError) as raised:
        action_of(action).checked({**needed, **args})
    assert told in str(raised.value)


def test_what_goes_together_is_taken() -> None:
    sources = {"rows": {"table": "d.s", "mode": "changes"}}
    assert action_of("write").checked({"sql": SQL, "sources": sources, "parameters": {"a": 1}})
    assert action_of("write").checked({"rows_files": ["x"], "rows_format": "csv"})


@pytest.mark.parametrize(
    "name", ["sync-table", "resync", "replay", "source-audit", "source-doctor"]
)
def test_a_source_that_is_refused_does_not_show_its_password(name: str) -> None:
    source = {"kind": "oracle", "password": "hunter2"}
    with pytest.raises(ArgumentError, match="oracle") as raised:
        action_of(name).parameter("source").shape.require(source, "source")
    assert "hunter2" not in str(raised.value) + str(raised.value.facts)


def test_a_source_that_is_a_template_still_may_have_a_query() -> None:
    action_of("merge-into").require_together({"source": "{{ params.s }}", "parameters": {"a": 1}})
