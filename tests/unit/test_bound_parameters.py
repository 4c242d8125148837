"""``$name`` in the SQL of a statement is one value, whatever it has in it.

Mutants: the value is pasted with its quotes; a negative number makes ``--``, a comment; a ``$`` in a text is taken for a name.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import table_core as tc
from table_core.errors import ArgumentError
from table_core.predicate.expression import Compare, Literal
from table_core.predicate.parameters import bind
from table_core.predicate.sql import parse_where
from tests.tables import write_rows

INJECTED = "x' OR 1 = 1 --"


@pytest.fixture
def orders(tmp_path: Path) -> tc.Table:
    catalog = tc.open_catalog(str(tmp_path / "wh"))
    catalog.create_database("d")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("txt", pa.string())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "1"})
    write_rows(table, pa.table({"id": [1, 2, 3], "txt": ["a", INJECTED, None]}, schema=schema))
    return table


def rows(table: tc.Table) -> list[tuple[int, str | None]]:
    return sorted((row["id"], row["txt"]) for row in table.read().to_arrow().to_pylist())


def test_a_value_is_never_sql(orders: tc.Table) -> None:
    orders.delete("txt = $txt", parameters={"txt": INJECTED})
    assert rows(orders) == [(1, "a"), (3, None)]
    orders.update({"txt": "$more"}, "id = $id", parameters={"id": 1, "more": "'--"})
    assert rows(orders) == [(1, "'--"), (3, None)]


@drawn(st.text())
def test_any_text_is_read_as_it_was(text: str) -> None:
    condition = parse_where(bind("txt = $txt", {"txt": text}))
    assert isinstance(condition, Compare)
    assert isinstance(condition.right, Literal)
    assert condition.right.value == text


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        ("a > -$n", "a > -(-1)"),
        ("a = $n -- $n", "a = (-1) -- $n"),
        ("a = '$n' AND `$n` = $n", "a = '$n' AND `$n` = (-1)"),
        ("a = 1", "a = 1"),
    ],
)
def test_only_names_are_replaced(sql: str, bound: str) -> None:
    assert bind(sql, {"n": -1}) == bound


def test_a_name_without_a_value_is_named(orders: tc.Table) -> None:
    with pytest.raises(
        ArgumentError, match=r"names \$txt, which is not in parameters; there are id"
    ):
        orders.delete("txt = $txt", parameters={"id": 1})
    with pytest.raises(ArgumentError, match="no finite number"):
        orders.delete("id = $id", parameters={"id": float("nan")})
    assert len(rows(orders)) == 3
