"""A check looks at its rules also where there is no row, or no snapshot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import ArgumentError, DataError, NotFoundError, TableError
from table_core.table.api.checks import check
from table_core.table.api.table import Table
from tests.tables import new_catalog, write_rows


@pytest.fixture(params=["no snapshot", "no row"])
def table(request: pytest.FixtureRequest) -> Table:

    catalog = new_catalog()
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    found: Table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    if request.param == "no row":
        write_rows(found, pa.table({"id": [1], "s": ["x"]}, schema=schema))
        found.delete("id = 1")
    return found


@pytest.mark.parametrize(
    "rules",
    [{"not_null": ["nope"]}, {"unique": ["nope"]}, {"range": {"nope": [0, 1]}}],
)
def test_a_column_that_is_not_there_is_told(table: Table, rules: Any) -> None:
    with pytest.raises(NotFoundError, match="nope"):
        check(table, rules)


@pytest.mark.parametrize(
    "rules",
    [
        {"not_null": ["id"], "where": "nope = 1"},
        {"range": {"id": 3}},
        {"range": {"id": ["a", "b"]}},
        {"rows": "x"},
    ],
)
def test_a_rule_that_cannot_be_held_is_told(table: Table, rules: Any) -> None:
    with pytest.raises(TableError):
        check(table, rules)


@pytest.mark.parametrize("rules", [{}, {"not_null": []}, {"rows": None}, {"where": "id = 1"}])
def test_rules_that_say_nothing_are_refused(table: Table, rules: Any) -> None:
    with pytest.raises(ArgumentError, match="checks:"):
        check(table, rules)


def test_no_row_is_too_few_where_a_row_is_asked_for(table: Table) -> None:
    with pytest.raises(DataError, match="rows"):
        check(table, {"rows": [1, None]})
    details = check(table, {"not_null": ["id"], "unique": ["s"], "rows": [0, 0]}).details
    assert (details["rows"], details["failed"]) == (0, 0)
