"""Old files under new schemas: ids decide.

Method: evolve a schema, lay rows of the old one beside it, and read them through the projection; then
bounds, which must hold for the values that the projection gives.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.arrow import arrow_schema, arrow_type
from table_core.datatypes.castable import is_castable
from table_core.datatypes.domain import domain_array, domain_values
from table_core.datatypes.kinds import Atomic, Field
from table_core.datatypes.range import Range
from table_core.datatypes.text import parse_type
from table_core.errors import DataError
from table_core.schema.change import AddColumn, DropColumn, RenameColumn, UpdateColumnType
from table_core.schema.evolve import create, evolve
from table_core.schema.projection import evolve_ranges, project
from table_core.schema.table_schema import TableSchema

STRUCT = pa.struct([("x", pa.int32()), ("y", pa.string())])
OLD = create(
    pa.schema([("id", pa.int32()), ("n", pa.int32()), ("s", pa.string()), ("r", STRUCT), ("l", pa.list_(STRUCT)), ("m", pa.map_(pa.string(), STRUCT))]),
    now_ms=0,
)  # fmt: skip
BATCH = pa.RecordBatch.from_pylist(
    [
        {"id": 1, "n": 10, "s": "a", "r": {"x": 1, "y": "p"}, "l": [{"x": 5, "y": "q"}], "m": [("k", {"x": 7, "y": "z"})]},
        {"id": 2, "n": None, "s": None, "r": None, "l": None, "m": None},
        {"id": 3, "n": 30, "s": "c", "r": {"x": None, "y": "t"}, "l": [None, {"x": 6, "y": None}], "m": []},
    ],
    schema=arrow_schema(OLD.fields),
)  # fmt: skip


def after(*changes) -> TableSchema:
    return evolve(OLD, changes, has_snapshots=True, now_ms=1)


def read(schema: TableSchema, *names: str, batch=BATCH, columns=None) -> list[dict[str, object]]:
    projection = project(OLD, schema.select(names) if names else schema.fields, columns)
    asked = batch.select([f.name for f in projection.file_fields])
    found = projection.apply(asked)
    assert found.schema == arrow_schema(projection.read_fields)
    found.validate(full=True)
    return found.to_pylist()


def test_an_unchanged_schema_reads_the_file_as_it_is() -> None:
    projection = project(OLD, OLD.fields, None)
    assert projection.keeps_values
    assert projection.stored_names == {field.name: field.name for field in OLD.fields}
    assert projection.apply(BATCH).equals(BATCH)
    assert project(OLD, OLD.select(["s"]), None).file_fields == OLD.select(["s"])


def test_renamed_columns_are_read_under_their_old_name() -> None:
    schema = after(RenameColumn("s", "t"), RenameColumn("n", "s"))
    assert [r["s"] for r in read(schema, "s", "t")] == [10, None, 30]
    assert [r["t"] for r in read(schema, "s", "t")] == ["a", None, "c"]


def test_a_dropped_name_added_again_is_null() -> None:
    schema = after(DropColumn("s"), AddColumn("s", "STRING"), AddColumn("z", "INT", first=True))
    assert read(schema, "s", "id", "z")[0] == {"s": None, "id": 1, "z": None}


def test_nested_members_follow_their_ids() -> None:
    schema = after(
        RenameColumn("r.x", "xx"),
        DropColumn("r.y"),
        AddColumn("r.y", "INT", first=True),
        UpdateColumnType("l.element.x", "BIGINT"),
        AddColumn("m.value.w", "STRING"),
        DropColumn("m.value.x"),
    )
    for batch in (BATCH, pa.concat_tables([pa.table(BATCH)]).to_batches()[0].slice(0)):
        rows = read(schema, "r", "l", "m", batch=batch)
        assert [r["r"] for r in rows] == [{"y": None, "xx": 1}, None, {"y": None, "xx": None}]
        assert rows[0]["l"] == [{"x": 5, "y": "q"}]
        assert [r["l"] for r in rows[1:]] == [None, [None, {"x": 6, "y": None}]]
        assert [r["m"] for r in rows] == [[("k", {"y": "z", "w": None})], None, []]


def test_a_slice_of_a_batch_reads_as_its_rows() -> None:
    schema = after(
        UpdateColumnType("l.element.x", "BIGINT"), DropColumn("m.value.x"), DropColumn("r.x")
    )
    assert read(schema, batch=BATCH.slice(1)) == read(schema)[1:]
    assert read(schema, batch=BATCH.slice(3)) == []


def test_columns_that_the_file_does_not_hold_are_null() -> None:
    rows = read(OLD, "id", "s", columns=["id"], batch=BATCH.select(["id"]))
    assert rows[0] == {"id": 1, "s": None}


def test_tables_are_read_as_well() -> None:
    schema = after(UpdateColumnType("n", "BIGINT"))
    found = project(OLD, schema.select(["n"]), None).apply(pa.table(BATCH))
    assert found.column("n").to_pylist() == [10, None, 30]


def test_a_value_that_cannot_be_read_names_its_column() -> None:
    schema = after(UpdateColumnType("s", "INT"))
    with pytest.raises(DataError) as caught:
        read(schema, "s")
    assert caught.value.facts["column"] == "s"


def test_ranges_follow_ids_too() -> None:
    schema = after(RenameColumn("n", "k"), UpdateColumnType("k", "BIGINT"), AddColumn("n", "INT"), UpdateColumnType("id", "STRING"))  # fmt: skip
    ranges = {"id": Range(1, 3, 0, 3), "n": Range(10, 30, 1, 3)}
    assert evolve_ranges(OLD, schema, ranges) == {
        "k": Range(10, 30, 1, 3),
        "n": Range(None, None, 3, 3),
    }
    assert evolve_ranges(OLD, schema, {}) == {}
    assert evolve_ranges(OLD, schema, {}, row_count=4)["n"].only_null


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("INT", "DECIMAL(4, 0)"),
        ("DECIMAL(6, 3)", "DECIMAL(4, 3)"),
        ("BIGINT", "INT"),
        ("STRING", "VARCHAR(2)"),
        ("TIMESTAMP(6)", "TIMESTAMP(3)"),
        ("STRING", "INT"),
        ("INT", "STRING"),
    ],
)
def test_bounds_are_dropped_where_a_cast_may_reorder_or_lose_values(source, target) -> None:
    written = TableSchema(id=0, fields=(Field(0, "c", parse_type(source)),), highest_field_id=0)
    found = evolve_ranges(written, [Field(0, "c", parse_type(target))], {"c": Range(1, 2, 0, 3)})
    assert found == {}


TYPES = [
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(4, 1)", "DECIMAL(6, 3)",
    "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "STRING", "VARCHAR(2)", "CHAR(3)", "BYTES",
]  # fmt: skip


def values_of(type_: Atomic) -> st.SearchStrategy[object]:
    name = type_.root.value
    if name == "DECIMAL":
        return st.decimals(-999, 999, places=type_.scale)
    if name in {"FLOAT", "DOUBLE"}:
        return st.floats(width=32, allow_nan=False)
    if "CHAR" in name:
        return st.text(alphabet="ab ", max_size=min(type_.length, 3))
    if "BINARY" in name:
        return st.binary(max_size=3)
    if "TIMESTAMP" in name:
        return st.integers(-(10**9), 10**9).map(lambda n: n * 1_000_000)
    low, high = {"TINYINT": (-128, 127), "SMALLINT": (-(2**15), 2**15 - 1), "TIME": (0, 86_399_999)}.get(
        name, (-(2**31), 2**31 - 1) if name == "INT" else (-(10**6), 10**6)
    )  # fmt: skip
    return st.integers(low, high)


@given(st.sampled_from(TYPES), st.sampled_from(TYPES), st.data())
def test_evolved_bounds_hold_for_evolved_values(source, target, data) -> None:
    old, new = parse_type(source), parse_type(target)
    if not is_castable(old, new):
        return
    values = data.draw(st.lists(st.none() | values_of(old), min_size=1, max_size=4))
    written = TableSchema(id=0, fields=(Field(0, "c", old),), highest_field_id=0)
    there = [v for v in values if v is not None]
    ranges = {
        "c": Range(min(there, default=None), max(there, default=None), len(values) - len(there), len(values))
    }  # fmt: skip
    found = evolve_ranges(written, [Field(0, "d", new)], ranges).get("d")
    batch = pa.record_batch({"c": domain_array(values, old)})
    projection = project(written, [Field(0, "d", new)], None)
    try:
        column = projection.apply(batch).column("d")
    except DataError:
        return
    assert column.type == arrow_type(new)
    if found is None:
        return
    assert column.null_count == found.null_count
    for value in domain_values(column, new):
        if value is not None and found.min is not None:
            assert found.min <= value <= found.max


def test_decimals_keep_exact_bounds_through_any_context() -> None:
    written = TableSchema(
        id=0, fields=(Field(0, "c", parse_type("DECIMAL(38, 2)")),), highest_field_id=0
    )
    big = Decimal("1" * 36 + ".25")
    found = evolve_ranges(
        written, [Field(0, "c", parse_type("DECIMAL(38, 2)"))], {"c": Range(big, big, 0, 1)}
    )
    assert found["c"].min == big
