"""Which source tables go where."""

from __future__ import annotations

import pytest

from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.routing import DatabaseRoute, TableFilter
from table_core.errors import ArgumentError


@pytest.mark.parametrize(
    ("including", "excluding", "takes"),
    [
        (".*", "", True),
        ("customers", "", True),
        ("custom", "", False),
        (r"shop_\d\.customers", "", True),
        (".*", "customers", False),
        (".*", r"shop_2\..*", True),
    ],
)
def test_tables_by_expression(including: str, excluding: str, takes: bool) -> None:
    assert TableFilter(including, excluding).takes(SourceTable("shop_1", "customers")) is takes


def test_a_bad_expression_is_refused() -> None:
    with pytest.raises(ArgumentError, match="excluding='\\('"):
        TableFilter(excluding="(")


def test_where_tables_of_a_database_go() -> None:
    table = SourceTable("shop_1", "orders")
    merged = DatabaseRoute(TableFilter(excluding="x"), prefix="ods_")
    apart = DatabaseRoute(TableFilter(), merge_shards=False, suffix="_raw")
    assert merged.target(table) == "ods_orders"
    assert apart.target(table) == "shop_1_orders_raw"
    assert merged.target(SourceTable("shop_1", "x")) is None
