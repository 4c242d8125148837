"""Goal: the tables of ``sys`` show of a warehouse what Paimon's own catalog shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judge import Judge, judged

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

NAMES = ("all_table_options", "partitions", "tables")
"""Without ``catalog_options``, which the jar has only where a catalog was configured."""


@pytest.fixture
def warehouse(paimon: Judge, tmp_path: Path) -> Path:
    """A partitioned table of the jar's, one that we have written too, and an empty one."""
    plain = paimon.table(tmp_path, "default.plain")
    plain.create([("k", "INT")], bucket="-1", owner="someone")
    plain.write([["+I", 1], ["+I", 2]])
    parts = paimon.table(tmp_path, "default.parts")
    columns = [("k", "INT NOT NULL"), ("p", "STRING NOT NULL"), ("d", "DATE NOT NULL")]
    parts.create(columns, primary_key=["k", "p", "d"], partition_by=["p", "d"], bucket="1")
    parts.write([["+I", 1, "a", "2024-02-29"], ["+I", 2, "b c", "1969-12-31"]])
    catalog = tc.open_catalog(tmp_path.as_uri())
    write_rows(catalog.table("default.parts"), catalog.table("default.parts").read().to_arrow())
    paimon.table(tmp_path, "default.empty").create([("k", "INT")], bucket="-1")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_of_sys_are_those_of_paimon(name: str, paimon: Judge, warehouse: Path) -> None:
    theirs = paimon.table(warehouse, f"sys.{name}")
    ours = tc.open_catalog(warehouse.as_uri()).table(f"sys.{name}").read().to_arrow()
    assert ours.column_names == [column for column, _ in theirs.columns()]
    assert sorted(map(shown, judged(ours))) == sorted(map(shown, theirs.read()))


def shown(row: list[Any]) -> str:
    return str(
        [
            cell.removeprefix("file:").replace("///", "/") if isinstance(cell, str) else cell
            for cell in row
        ]
    )
