"""Rows that a fallback branch lends to a table are not changed through the table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import UnsupportedFeatureError
from tests.tables import new_catalog, rows_of, write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        ("v", pa.int32()),
    ]
)
KINDS: dict[str, dict[str, Any]] = {
    "key": {"primary_key": ("p", "k"), "options": {"bucket": "1"}},
    "dynamic": {"primary_key": ("p", "k"), "options": {"bucket": "-1"}},
    "append": {"options": {"bucket": "-1"}},
    "append with vectors": {"options": {"bucket": "-1", "deletion-vectors.enabled": "true"}},
}
LENT = [("lent", 1, 1), ("lent", 2, 2)]
OWN = [("own", 1, 1), ("own", 2, 2)]


def rows(*given: tuple[str, int, int]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in given], schema=SCHEMA
    )


def put(table: tc.Table, *given: tuple[str, int, int]) -> None:
    write_rows(table, rows(*given))


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Any) -> tc.Table:
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), **KINDS[request.param])
    table.branches.create("old")
    put(catalog.table("d.t$branch_old"), *LENT)
    put(table, *OWN)
    catalog.alter_table("d.t", [tc.SetOption("scan.fallback-branch", "old")])
    return catalog.table("d.t")


STATEMENTS: dict[str, Any] = {
    "delete": lambda t, p: t.delete(f"p = '{p}' AND k = 1"),
    "update": lambda t, p: t.update({"v": "9"}, f"p = '{p}' AND k = 1"),
    "merge": lambda t, p: t.merge_into(rows((p, 1, 9)), ["p", "k"], [tc.MatchedUpsert()]),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_about_lent_rows_is_refused_and_hides_none(
    table: tc.Table, statement: str
) -> None:
    with pytest.raises(UnsupportedFeatureError, match="fallback branch 'old'"):
        STATEMENTS[statement](table, "lent")
    assert rows_of(table) == [*LENT, *OWN]
    assert len(table.snapshots()) == 1


@pytest.mark.parametrize("statement", ["delete", "update"])
def test_a_statement_about_own_rows_is_done(table: tc.Table, statement: str) -> None:
    assert STATEMENTS[statement](table, "own").details["rows"] == 1
    assert rows_of(table)[: len(LENT)] == LENT


def test_a_handle_that_sees_own_rows_alone_merges(table: tc.Table) -> None:
    own = tc.open_table(table.uri, options={"scan.fallback-branch": "main"})
    STATEMENTS["merge"](own, "own")
    assert rows_of(own) == [("own", 1, 9), ("own", 2, 2)]
    assert rows_of(table) == [*LENT, *rows_of(own)]
