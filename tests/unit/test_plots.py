"""Goal: a chart shows the numbers of the table's metadata, on axes that say what they are."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, MissingPackageError
from tests.tables import write_rows


@pytest.fixture
def table() -> tc.Table:
    catalog = tc.open_catalog("memory://plots")
    catalog.create_database("shop", if_not_exists=True)
    catalog.drop_table("shop.orders", if_exists=True)
    schema = pa.schema([pa.field("dt", pa.string(), nullable=False), pa.field("id", pa.int64(), nullable=False)])  # fmt: skip
    table = catalog.create_table(
        "shop.orders",
        schema,
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1", "write-only": "true"},
    )
    for dt, rows in (("a", 3), ("b", 2), ("b", 400)):
        write_rows(table, pa.table({"dt": [dt] * rows, "id": range(rows)}))
    return table


def test_history_draws_rows_and_changes_of_each_snapshot(table: tc.Table) -> None:
    drawn = table.plot.history().to_dict()
    rows, change = drawn["vconcat"]
    assert values(drawn, rows)[0]["rows"] == 3
    assert [one["change"] for one in values(drawn, rows)] == [3, 2, 400]
    assert [one["snapshot"] for one in values(drawn, change)] == [1, 2, 3]
    assert {one["kind"] for one in values(drawn, change)} == {"APPEND"}
    assert all(one["at"].endswith("+00:00") for one in values(drawn, rows))
    assert (rows["mark"]["type"], change["mark"]["type"]) == ("line", "bar")
    assert rows["encoding"]["x"]["title"] == "committed (UTC)"
    assert rows["encoding"]["y"] == {"field": "rows", "title": "rows", "type": "quantitative"}
    assert change["encoding"]["y"]["field"] == "change"
    last = table.plot.history(last=1).to_dict()
    assert [one["snapshot"] for one in values(last, last["vconcat"][0])] == [3]


def test_levels_draws_bytes_of_each_level(table: tc.Table) -> None:
    drawn = table.plot.levels().to_dict()
    files = {(one["bucket"], one["level"]): one["files"] for one in values(drawn, drawn)}
    assert files == {("dt=a/0", 0): 1, ("dt=b/0", 0): 2}
    table.compact()
    drawn = table.plot.levels().to_dict()
    assert {one["level"] for one in values(drawn, drawn)} == {5}
    assert drawn["encoding"]["color"]["field"] == "level"
    assert drawn["encoding"]["y"]["sort"] == {"field": "sorted_runs", "order": "descending"}
    assert drawn["title"] == "shop.orders: levels"


def test_partitions_draws_the_largest(table: tc.Table) -> None:
    drawn = table.plot.partitions().to_dict()
    shown = values(drawn, drawn)
    assert [one["partition"] for one in shown] == ["dt=b", "dt=a"]
    assert [one["rows"] for one in shown] == [402, 3]
    assert shown[0]["written"].endswith("+00:00")
    assert drawn["encoding"]["x"]["title"] == "bytes"
    top = table.plot.partitions(top=1).to_dict()
    assert [one["partition"] for one in values(top, top)] == ["dt=b"]


def test_an_empty_table_is_an_empty_chart() -> None:
    catalog = tc.open_catalog("memory://plots")
    catalog.create_database("shop", if_not_exists=True)
    catalog.drop_table("shop.empty", if_exists=True)
    empty = catalog.create_table("shop.empty", pa.schema([("n", pa.int64())]))
    drawn = empty.plot.history().to_dict()
    assert [one["rows"] for one in values(drawn, drawn["vconcat"][0])] == [None]
    assert values(empty.plot.levels().to_dict(), empty.plot.levels().to_dict())
    with pytest.raises(ArgumentError, match="has no partitions"):
        empty.plot.partitions()


@pytest.mark.parametrize("last", [0, 5_001])
def test_more_than_vega_draws_is_refused(table: tc.Table, last: int) -> None:
    with pytest.raises(ArgumentError, match="1 to 5000"):
        table.plot.history(last=last)


def test_without_altair_the_error_names_the_extra(
    table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    for draw in (table.plot.history, table.plot.levels, table.plot.partitions):
        with pytest.raises(MissingPackageError, match=r"paimon-table-core\[plot\]") as refused:
            draw()
        assert refused.value.facts["extra"] == "plot"


def values(drawn: dict[str, Any], chart: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that a chart draws, wherever Altair has put them."""
    data = chart.get("data") or drawn["data"]
    found: list[dict[str, Any]] = (
        drawn["datasets"][data["name"]] if "name" in data else data["values"]
    )
    return found
