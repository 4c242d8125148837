"""Goal: a condition never loses a row and never invents one, whatever was pruned.

Method: over tables that Paimon wrote (all key kinds, formats, statistics, deletion vectors, evolved
schemas, file indexes), draw a state and a condition on values near those in the table, and demand what
the same condition keeps of the complete read.  Also over tables of ours in random shapes.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import table_core as tc
from table_core.predicate.to_arrow import mask
from table_core.table.read.scan import bound_where

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
import corpus

from tests.tables import new_catalog, write_rows

CASES = (
    "append-partitioned",
    "append-fixed-bucket",
    "bucket-rescale",
    "dv-append-part-bitmap64",
    "dv-pk",
    "file-index-bitmap",
    "file-index-bloom",
    "filters",
    "first-row",
    "formats-mixed",
    "key-bin-binary",
    "key-composite-many",
    "key-dec-decimal",
    "key-ntz-timestamp-ntz",
    "key-str-string",
    "partial-update-groups",
    "agg-numeric",
    "partition-names-plain",
    "pk-dynamic-bucket",
    "pypaimon-pk",
    "row-tracking",
    "schema-evolution",
    "schema-evolution-casts",
    "stats-truncate-16",
    "types-scalar-parquet",
    "types-scalar-avro",
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("cases")

    @cache
    def opened(name: str) -> tc.Table:
        case = corpus.unpack(name, folder)
        return tc.open_catalog((case.folder / "warehouse").as_uri()).table(case.about["table"])

    return opened


@cache
def complete(table: tc.Table, snapshot: int) -> pa.Table:
    return table.read(snapshot=snapshot).to_arrow()


@st.composite
def conditions(draw: st.DrawFn, rows: pa.Table) -> Any:
    """A condition whose literals are values of the table, or near them."""
    names = [f.name for f in rows.schema if not pa.types.is_nested(f.type)]
    column = draw(st.sampled_from(names))
    known = [v for v in rows[column].unique().slice(0, 200).to_pylist() if v is not None]
    field = tc.col(column)
    shape = draw(st.sampled_from(["compare", "in", "null", "not", "and", "or"]))
    if shape == "not":
        return ~draw(conditions(rows))
    if shape in {"and", "or"}:
        left, right = draw(conditions(rows)), draw(conditions(rows))
        return left & right if shape == "and" else left | right
    if shape == "null" or not known:
        return field.is_null()
    value = draw(st.sampled_from(known))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31 - 1:
        value = (
            max(min(value + draw(st.integers(-1, 1)), 127), -128)
            if pa.types.is_int8(rows[column].type)
            else value
        )
    if shape == "in":
        return field.isin([value, *draw(st.lists(st.sampled_from(known), max_size=3))])
    return draw(
        st.sampled_from(
            [
                field == value,
                field != value,
                field < value,
                field <= value,
                field > value,
                field >= value,
            ]
        )
    )


def counted(rows: pa.Table) -> Counter[str]:
    return Counter(map(repr, rows.to_pylist()))


def agree(table: tc.Table, state: dict[str, int], full: pa.Table, where: Any) -> None:
    scan = table.read(where=where, **state)
    schema = table.access.metadata.schema(table.snapshot(state["snapshot"]).schema_id)
    bound = bound_where(schema, where)
    assert bound is not None
    assert counted(scan.to_arrow()) == counted(full.filter(mask(bound, full)))
    some = scan.schema.names[-1:]
    narrow = table.read(columns=some, where=where, **state).to_arrow()
    assert counted(narrow) == counted(full.filter(mask(bound, full)).select(some))


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_of_tables_that_paimon_wrote(tables: Any, data: st.DataObject) -> None:
    table = tables(data.draw(st.sampled_from(CASES)))
    snapshot = data.draw(st.sampled_from([s.id for s in table.snapshots()]))
    full = complete(table, snapshot)
    where = data.draw(conditions(full))
    agree(table, {"snapshot": snapshot}, full, where)


SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        pa.field("v", pa.float64()),
        pa.field("s", pa.string()),
    ]
)
ROW = st.fixed_dictionaries(
    {
        "k": st.integers(-5, 20),
        "p": st.sampled_from(["a", "b c", "ü"]),
        "v": st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("-inf")]),
        "s": st.none() | st.sampled_from(["", "a" * 20, "a" * 20 + "b", "\U0010ffff" * 20]),
    }
)


@given(
    data=st.data(),
    keyed=st.booleans(),
    partitioned=st.booleans(),
    options=st.fixed_dictionaries(
        {
            "bucket": st.sampled_from(["1", "3"]),
            "file.format": st.sampled_from(["parquet", "orc", "avro"]),
            "metadata.stats-mode": st.sampled_from(["full", "truncate(3)", "none", "counts"]),
            "write-only": st.sampled_from(["true", "false"]),
        }
    ),
    writes=st.lists(st.lists(ROW, min_size=1, max_size=12), min_size=1, max_size=4),
)
def test_of_tables_of_ours(
    data: st.DataObject,
    keyed: bool,
    partitioned: bool,
    options: dict[str, str],
    writes: list[list[dict[str, Any]]],
) -> None:
    catalog = new_catalog()
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("k", "p") if keyed else (),
        partition_by=("p",) if partitioned else (),
        options=options if keyed else options | {"bucket-key": "k"},
    )
    for rows in writes:
        write_rows(table, pa.Table.from_pylist(rows, schema=SCHEMA))
    head = table.latest_snapshot()
    assert head is not None
    full = table.read().to_arrow()
    agree(table, {"snapshot": head.id}, full, data.draw(conditions(full)))
