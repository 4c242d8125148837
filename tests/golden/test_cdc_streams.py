"""Whole recorded databases: every stream, in every legal order, gives the state after every phase.

What a stream does not carry is not asked of it: digits that ``time.precision.mode=connect`` drops,
the old value under a renamed column, defaults that no schema tells.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import table_core as tc
from tests.golden import streams
from tests.golden.stream_lake import Warehouse
from tests.lanes import sampled


@pytest.mark.parametrize(
    ("connector", "flavour", "form"),
    sampled(product(streams.CONNECTORS, streams.FLAVOURS, streams.FORMS), 3),
)
@pytest.mark.parametrize(("merge", "seed"), [(False, None), (True, 1)], ids=["apart", "merged"])
def test_every_phase_gives_the_recorded_state(
    tmp_path: Path, connector: str, flavour: str, form: str, merge: bool, seed: int | None
) -> None:
    warehouse = Warehouse(tmp_path, connector, flavour, form, merge=merge)
    for phase in range(len(streams.phases(connector))):
        warehouse.put(phase, seed)
        warehouse.sync()
        assert warehouse.differences(phase) == {}, phase
    again = warehouse.sync()
    assert (again.rows_written, again.details["events"]) == (0, 0)


@pytest.mark.parametrize(
    ("connector", "flavour", "form"),
    [
        ("mariadb", "default", "schema"),
        ("postgres", "default", "schema"),
        ("mariadb", "default", "plain"),
        ("mariadb", "text-numbers", "plain"),
    ],
)
def test_one_run_over_everything_gives_the_final_state(
    tmp_path: Path, connector: str, flavour: str, form: str
) -> None:
    """Also where a column changed its type on the way and nothing but the schema topic says so."""
    warehouse = Warehouse(tmp_path, connector, flavour, form, merge=False)
    last = len(streams.phases(connector)) - 1
    for phase in range(last + 1):
        warehouse.put(phase, seed=phase)
    warehouse.sync()
    assert warehouse.differences(last) == {}


@pytest.mark.parametrize(
    ("connector", "table"), [("mariadb", "customers"), ("postgres", "customers")]
)
def test_one_table_of_the_stream(tmp_path: Path, connector: str, table: str) -> None:
    warehouse = Warehouse(tmp_path, connector, "default", "schema", merge=False)
    warehouse.catalog.create_database("shop")
    database = "shop_1" if connector == "mariadb" else "sales"
    for phase in range(len(streams.phases(connector))):
        warehouse.put(phase, seed=phase)
        source = tc.FilesSource(warehouse.source().uri, tables=rf"{database}\.{table}")
        tc.sync_table(warehouse.catalog, f"shop.{database}_{table}", source)
        assert warehouse.differences(phase, f"{database}.{table}") == {}, phase
