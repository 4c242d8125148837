"""Types that change more than once: each step is allowed, and old files are read in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.cast import cast_array
from table_core.datatypes.text import parse_type
from table_core.errors import SchemaError, UnsupportedFeatureError
from tests.tables import altered_elsewhere, write_rows

if TYPE_CHECKING:
    from pathlib import Path

STEPS = {
    "BOOLEAN": (pa.array([True, None]), "INT", "TIMESTAMP(3)"),
    "INT": (pa.array([1, None], pa.int32()), "STRING", "DATE"),
    "DOUBLE": (pa.array([1.5, None]), "STRING", "BYTES"),
    "BYTES": (pa.array([b"1", None]), "STRING", "BOOLEAN"),
    "DATE": (pa.array([1, None], pa.date32()), "TIMESTAMP(3)", "INT"),
}


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    catalog = tc.open_catalog(f"file://{tmp_path}")
    catalog.create_database("d")
    return catalog


def made(catalog: tc.Catalog, rows: pa.Table, **options: str) -> None:
    catalog.create_table("d.t", rows.schema, options=options)
    put(catalog, rows)


def put(catalog: tc.Catalog, rows: pa.Table, **how: Any) -> None:
    write_rows(catalog.table("d.t"), rows, **how)


@pytest.mark.parametrize("first", STEPS)
def test_a_change_that_makes_old_files_unreadable_is_refused(
    catalog: tc.Catalog, first: str
) -> None:
    column, second, third = STEPS[first]
    made(catalog, pa.table({"c": column}))
    altered_elsewhere(catalog, "d.t", tc.UpdateColumnType("c", second))
    before = catalog.table("d.t").read().to_arrow()
    with pytest.raises(SchemaError, match=r"schema 0: column 'c' is .* cannot be read as"):
        catalog.alter_table("d.t", [tc.UpdateColumnType("c", third)])
    assert catalog.table("d.t").read().to_arrow() == before


def test_both_steps_at_once_are_refused_too(catalog: tc.Catalog) -> None:
    made(catalog, pa.table({"c": STEPS["BOOLEAN"][0]}))
    steps = [tc.UpdateColumnType("c", "INT"), tc.UpdateColumnType("c", "TIMESTAMP(3)")]
    with pytest.raises(SchemaError, match="BOOLEAN there"):
        catalog.alter_table("d.t", steps)


def test_it_is_allowed_where_no_file_is_that_old(catalog: tc.Catalog) -> None:
    made(catalog, pa.table({"c": STEPS["BOOLEAN"][0]}))
    catalog.alter_table("d.t", [tc.UpdateColumnType("c", "INT")])
    put(catalog, pa.table({"c": pa.array([1000], pa.int32())}), overwrite="table")
    altered_elsewhere(catalog, "d.t", tc.UpdateColumnType("c", "TIMESTAMP(3)"))
    assert catalog.table("d.t").read().to_arrow().num_rows == 1


def test_a_member_of_a_row_is_looked_at(catalog: tc.Catalog) -> None:
    made(catalog, pa.table({"r": pa.array([{"c": True}])}))
    catalog.alter_table("d.t", [tc.UpdateColumnType("r.c", "INT")])
    with pytest.raises(SchemaError, match=r"'r\.c' is BOOLEAN"):
        catalog.alter_table("d.t", [tc.UpdateColumnType("r.c", "TIMESTAMP(3)")])
    catalog.alter_table("d.t", [tc.UpdateColumnType("r.c", "BIGINT")])
    assert catalog.table("d.t").read().to_arrow().to_pylist() == [{"r": {"c": 1}}]


@pytest.mark.parametrize("target", ["DATE", "BYTES", "TIMESTAMP(3)", "TIME"])
def test_a_file_that_another_left_unreadable_is_refused_by_name(target: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="BOOLEAN cannot be read as"):
        cast_array(pa.array([True]), parse_type("BOOLEAN"), parse_type(target))  # type: ignore[arg-type]
