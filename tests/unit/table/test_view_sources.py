"""Goal: ``merge_into`` and ``lookup_join`` take rows whose texts are views, as polars gives them.

Arrow takes no single rows of these, nor of what holds them.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        ("raw", pa.binary()),
        ("many", pa.list_(pa.string())),
        ("one", pa.struct([("x", pa.string())])),
    ]
)

VIEWS = pa.schema(
    [
        *[("k", pa.string_view()), ("raw", pa.binary_view())],
        *[("many", pa.large_list(pa.string_view())), ("one", pa.struct([("x", pa.string_view())]))],
    ]
)


def row(key: str, text: str) -> dict[str, object]:
    return {"k": key, "raw": text.encode(), "many": [text, None], "one": {"x": text}}


@pytest.mark.parametrize("key", [("k",), ()])
def test_rows_with_views_are_merged_and_joined(key: tuple[str, ...]) -> None:
    options = {"bucket": "1" if key else "-1"}
    table = new_catalog().create_table("d.t", SCHEMA, primary_key=key, options=options)
    write_rows(table, pa.Table.from_pylist([row("a", "old"), row("b", "old")], schema=SCHEMA))
    source = pa.Table.from_pylist([row("a", "new"), row("c", "more")], schema=VIEWS)
    when = [tc.MatchedUpsert(condition="source.one.x = 'new'"), tc.NotMatchedInsert()]
    table.merge_into(source, ["k"], when)
    rows = sorted(table.read().to_arrow().to_pylist(), key=lambda found: found["k"])
    assert rows == [row("a", "new"), row("b", "old"), row("c", "more")]
    if key:
        joined = tc.lookup_join(
            pa.table({"id": pa.array(["c", "x"], pa.string_view())}), table, {"id": "k"}
        )
        assert joined["one"].to_pylist() == [{"x": "more"}, None]
