"""What Parquet files of ours look like inside, what is read leniently, and what is refused."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import table_core as tc
from table_core.datatypes.kinds import STRING, Array, Atomic, Field, Map, Root, Row, not_null
from table_core.datatypes.text import parse_type
from table_core.errors import (
    CorruptFileError,
    DataError,
    NotFoundError,
    OptionError,
    UnsupportedFeatureError,
)
from table_core.schema.table_schema import KIND_FIELD, SEQUENCE_FIELD
from table_core.storage.columns.data_format import Wanted
from table_core.storage.formats import RangeStats, WriterSettings, format_for
from table_core.storage.stores.memory import MemoryStorage
from tests.tables import write_rows

INT, BIGINT = Atomic(Root.INT), Atomic(Root.BIGINT)
FORMAT = format_for("parquet")


def decimal(precision, scale):
    return Atomic(Root.DECIMAL, precision=precision, scale=scale)


def written(fields, table, **settings):
    storage = MemoryStorage()
    writer = FORMAT.open_writer(storage, "f", fields, WriterSettings(**settings))
    writer.write(table)
    writer.close()
    return storage


def stored_by_others(table, **options):
    storage, sink = MemoryStorage(), io.BytesIO()
    pq.write_table(table, sink, **options)
    storage.write("f", sink.getvalue())
    return storage


def read(storage, fields, **options):
    batches = FORMAT.read(storage, "f", None, fields, **({"batch_rows": 100} | options))
    return pa.Table.from_batches(list(batches))


def test_the_physical_types_are_those_of_paimon():
    fields = [
        SEQUENCE_FIELD,
        KIND_FIELD,
        Field(0, "small", decimal(9, 2)),
        Field(1, "middle", decimal(18, 2)),
        Field(2, "large", decimal(38, 2)),
        Field(3, "ms", Atomic(Root.TIMESTAMP, precision=3)),
        Field(4, "us", Atomic(Root.TIMESTAMP_LTZ, precision=6)),
        Field(5, "time", Atomic(Root.TIME, precision=0)),
        Field(6, "text", not_null(STRING)),
    ]
    columns = [[1], [0], *[[None]] * 6, ["x"]]
    storage = written(fields, pa.table(dict(zip([f.name for f in fields], columns, strict=True))))
    stored = pq.ParquetFile(storage.open_input("f"))
    lines = [" ".join(line.split()) for line in str(stored.schema).splitlines()[2:]]
    assert [line.split(" (")[0] for line in lines if line.startswith(("opt", "req"))] == [
        "required int64 field_id=2147483646 _SEQUENCE_NUMBER;",
        "required int32 field_id=2147483645 _VALUE_KIND",
        "optional int32 field_id=0 small",
        "optional int64 field_id=1 middle",
        "optional fixed_len_byte_array(16) field_id=2 large",
        "optional int64 field_id=3 ms",
        "optional int64 field_id=4 us",
        "optional int32 field_id=5 time",
        "required binary field_id=6 text",
    ]
    annotations = "\n".join(lines)
    for part in (
        "_VALUE_KIND (Int(bitWidth=8, isSigned=true))",
        "ms (Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds",
        "us (Timestamp(isAdjustedToUTC=true, timeUnit=microseconds",
        "time (Time(isAdjustedToUTC=true, timeUnit=milliseconds))",
        "text (String)",
    ):
        assert part in annotations
    assert stored.metadata.metadata is None
    assert stored.metadata.row_group(0).column(0).compression == "ZSTD"


def test_nested_ids_are_derived_as_paimon_derives_them():
    """The numbers are those that Java wrote (format 5.3)."""
    fields = [
        Field(25, "a", Array(INT)),
        Field(26, "m", Map(not_null(STRING), BIGINT)),
        Field(31, "aa", Array(Array(INT))),
        Field(7, "r", Row((Field(8, "x", Array(INT)),))),
    ]
    empty = pa.table({"a": [], "m": [], "aa": [], "r": []})
    types = [pa.list_(pa.int32()), pa.map_("string", "int64"), pa.list_(pa.list_(pa.int32()))]
    types.append(pa.struct([("x", pa.list_(pa.int32()))]))
    empty = pa.table([pa.array([], t) for t in types], names=empty.column_names)
    storage = written(fields, empty)
    text = str(pq.ParquetFile(storage.open_input("f")).schema)
    for part in (
        "field_id=536896512 element",
        "field_id=536844286 key",
        "field_id=536897536 value",
        "field_id=536902656 element (List)",
        "field_id=536902657 element;",
        f"field_id={536870911 + 8 * 1024 + 1} element;",
    ):
        assert part in text


def test_ranges_are_told_in_python_values():
    fields = [
        Field(0, "n", INT),
        Field(1, "d", decimal(38, 2)),
        Field(2, "t", Atomic(Root.TIMESTAMP, precision=6)),
        Field(3, "day", Atomic(Root.DATE)),
        Field(4, "s", STRING),
        Field(5, "f", Atomic(Root.DOUBLE)),
        Field(6, "b", Atomic(Root.BOOLEAN)),
    ]
    table = pa.table(
        {
            "n": pa.array([3, None, -1], pa.int32()),
            "d": pa.array([Decimal("1.50"), Decimal(-10), None], pa.decimal128(38, 2)),
            "t": pa.array([5, -1, None], pa.timestamp("us")),
            "day": pa.array([1, 2, 3], pa.date32()),
            "s": ["b", "a", "\u00e9"],
            "f": [1.0, float("nan"), 0.0],
            "b": [True, True, None],
        }
    )
    seen = {}
    storage = written(fields, table)
    assert read(storage, fields, wanted=Wanted(keep=lambda r: not seen.update(r))).num_rows == 3
    assert seen == {
        "n": RangeStats(-1, 3, 1, 3),
        "d": RangeStats(Decimal("-10.00"), Decimal("1.50"), 1, 3),
        "t": RangeStats(-1000, 5000, 1, 3),
        "day": RangeStats(1, 3, 0, 3),
        "s": RangeStats("a", "\u00e9", 0, 3),
        "f": RangeStats(None, None, None, 3),
        "b": RangeStats(True, True, 1, 3),
    }


def test_floats_have_no_bounds_which_would_hide_nan():
    """Java compares with what stands in the footer, and NaN is above all numbers there."""
    storage = written([Field(0, "f", Atomic(Root.DOUBLE))], pa.table({"f": [1.0, float("nan")]}))
    group = pq.ParquetFile(storage.open_input("f")).metadata.row_group(0)
    assert group.column(0).statistics is None

    seen = {}
    storage = stored_by_others(pa.table({"f": [1.0, float("nan"), 0.0]}))
    read(
        storage,
        [Field(0, "f", Atomic(Root.DOUBLE))],
        wanted=Wanted(keep=lambda r: not seen.update(r)),
    )
    assert seen == {"f": RangeStats(0.0, None, 0, 3)}
    assert str(seen["f"].min) == "-0.0"


def test_values_that_fill_a_page_have_no_bounds_which_would_be_copied_and_left_out():
    fields = (Field(0, "narrow", STRING), Field(1, "wide", STRING))
    table = pa.table({"narrow": ["a", "b"], "wide": ["x" * (1 << 20), "y" * (1 << 21)]})
    storage = written(fields, table)
    group = pq.ParquetFile(io.BytesIO(storage.read("f"))).metadata.row_group(0)
    assert group.column(0).statistics.max == "b"
    assert group.column(1).statistics is None
    assert read(storage, fields).equals(table.cast(read(storage, fields).schema))


def test_row_groups_are_of_like_size():
    fields = [Field(0, "n", BIGINT)]
    storage = written(fields, pa.table({"n": range(2**20 + 30_000)}))
    stored = pq.ParquetFile(storage.open_input("f")).metadata
    assert [stored.row_group(i).num_rows for i in range(stored.num_row_groups)] == [539_288] * 2


def test_refused_row_groups_are_not_read():
    fields = [Field(0, "n", BIGINT)]
    storage = written(fields, pa.table({"n": range(3000)}), block_size=8000)
    found = read(storage, fields, wanted=Wanted(keep=lambda r: r["n"].max >= 2500))["n"].to_pylist()
    assert found[-1] == 2999
    assert 500 <= len(found) < 1500
    assert not list(
        FORMAT.read(storage, "f", None, fields, batch_rows=9, wanted=Wanted(keep=lambda _: False))
    )


@pytest.mark.parametrize(
    ("type_", "column"),
    [
        (decimal(9, 2), pa.array([Decimal("1.25")], pa.decimal128(9, 2))),  # stored as FIXED
        (Atomic(Root.TIMESTAMP, precision=6), pa.array([1_250_000], pa.timestamp("ns"))),
        (STRING, pa.array(["x"], pa.large_string())),
        (STRING, pa.array(["x"]).dictionary_encode()),
        (BIGINT, pa.array([1], pa.int32())),
        (Atomic(Root.TINYINT), pa.array([1], pa.int32())),
        (Array(INT), pa.array([[1]], pa.large_list(pa.int32()))),
    ],
)
def test_files_of_other_writers_are_read_leniently(type_, column):
    field = Field(0, "c", type_)
    table = pa.table({"c": column})
    found = read(stored_by_others(table), [field])["c"].to_pylist()
    assert [str(v) for v in found] in (
        [str(v) for v in column.to_pylist()],
        ["1970-01-01 00:00:00.001250"],
    )


def test_int96_is_read_before_and_after_1970():
    """Nanoseconds, as Java wrote TIMESTAMP(9) for years."""
    nanos = [0, 1, -(10**18) - 1, 4 * 10**18]
    table = pa.table({"t": pa.array(nanos, pa.timestamp("ns"))})
    storage = stored_by_others(table, use_deprecated_int96_timestamps=True)
    found = read(storage, [Field(0, "t", Atomic(Root.TIMESTAMP, precision=9))])
    assert found["t"].cast(pa.int64()).to_pylist() == nanos


@pytest.mark.parametrize("us", [-62_135_596_800_000_000, 253_402_300_799_000_000])
def test_int96_instants_outside_nanoseconds_are_refused_by_name(us):
    table = pa.table({"t": pa.array([us], pa.timestamp("us"))})
    storage = stored_by_others(table, use_deprecated_int96_timestamps=True)
    with pytest.raises(UnsupportedFeatureError) as caught:
        read(storage, [Field(0, "t", Atomic(Root.TIMESTAMP, precision=9))])
    assert caught.value.facts["column"] == "t"


def test_microseconds_outside_nanoseconds_are_refused_by_name():
    table = pa.table({"t": pa.array([253_402_300_799_000_000], pa.timestamp("us"))})
    fields = [Field(0, "t", Atomic(Root.TIMESTAMP, precision=9))]
    with pytest.raises(UnsupportedFeatureError):
        read(stored_by_others(table), fields)
    with pytest.raises(DataError):
        written(fields, table)


def test_a_missing_column_is_named():
    storage = stored_by_others(pa.table({"a": [1]}))
    with pytest.raises(CorruptFileError, match="'b' is missing"):
        read(storage, [Field(0, "b", INT)])
    nested = stored_by_others(pa.table({"r": [{"x": 1}]}))
    with pytest.raises(CorruptFileError, match="'y'"):
        read(nested, [Field(0, "r", Row((Field(1, "y", BIGINT),)))])


def test_a_missing_file_is_not_found():
    with pytest.raises(NotFoundError):
        read(MemoryStorage(), [Field(0, "a", INT)])


@pytest.mark.parametrize(
    ("type_", "column"),
    [
        (not_null(INT), pa.array([1, None], pa.int32())),
        (Atomic(Root.TINYINT), pa.array([1, 1000], pa.int32())),
        (decimal(4, 2), pa.array([Decimal("100.00")], pa.decimal128(5, 2))),
        (INT, pa.array(["x"])),
        (Array(not_null(INT)), pa.array([[None]], pa.list_(pa.int32()))),
    ],
)
def test_values_that_do_not_fit_are_refused_with_their_column(type_, column):
    with pytest.raises(DataError) as caught:
        written([Field(0, "c", type_)], pa.table({"c": column}))
    assert caught.value.facts["column"] == "c"


def test_options_reach_the_file():
    fields = [Field(0, "n", BIGINT), Field(1, "s", STRING)]
    table = pa.table({"n": range(1000), "s": ["same"] * 1000})

    def column(number, **options):
        storage = written(fields, table, **options)
        return pq.ParquetFile(storage.open_input("f")).metadata.row_group(0).column(number)

    assert "DELTA_BINARY_PACKED" in column(0).encodings
    assert column(1).has_dictionary_page
    off = {"parquet.enable.dictionary": "false"}
    assert not column(1, options=off).has_dictionary_page
    one = {"parquet.enable.dictionary#n": "true"}
    assert column(0, options=one).has_dictionary_page
    assert column(0, compression="snappy").compression == "SNAPPY"
    with pytest.raises(OptionError):
        column(0, compression="lzo")
    with pytest.raises(OptionError):
        column(0, options={"parquet.page.size": "many"})


def test_an_aborted_file_is_gone():
    storage = MemoryStorage()
    writer = FORMAT.open_writer(storage, "f", [Field(0, "n", BIGINT)], WriterSettings())
    writer.write(pa.table({"n": [1]}))
    writer.abort()
    assert not storage.exists("f")


def test_the_size_is_estimated_while_rows_come():
    storage = MemoryStorage()
    fields = [Field(0, "n", BIGINT)]
    writer = FORMAT.open_writer(storage, "f", fields, WriterSettings(block_size=100_000))
    for start in range(0, 100_000, 10_000):
        writer.write(pa.table({"n": [i * 7919 % 1_000_003 for i in range(start, start + 10_000)]}))
    estimate = writer.size_estimate()
    size = writer.close()
    assert 0.5 * size < estimate < 2 * size


@pytest.mark.parametrize("dictionary", [{}, {"parquet.enable.dictionary": "false"}])
def test_a_column_may_be_called_like_the_field_of_another(dictionary):
    """Arrow names the leaves of both alike when it is told their encodings and bounds."""
    fields = [Field(0, "c", Row((Field(1, "d", STRING),))), Field(2, "c.d", BIGINT)]
    schema = pa.schema([("c", pa.struct([("d", pa.string())])), ("c.d", pa.int64())])
    rows = pa.table({"c": [{"d": "x"}, {"d": "y"}], "c.d": [1, 2]}, schema=schema)
    storage = written(fields, rows, options=dictionary)
    assert read(storage, fields).to_pylist() == rows.to_pylist()
    floats = [Field(0, "c", Row((Field(1, "d", BIGINT),))), Field(2, "c.d", Atomic(Root.DOUBLE))]
    schema = pa.schema([("c", pa.struct([("d", pa.int64())])), ("c.d", pa.float64())])
    nan = pa.table({"c": [{"d": 1}], "c.d": [float("nan")]}, schema=schema)
    group = pq.read_metadata(io.BytesIO(written(floats, nan).read("f"))).row_group(0)
    assert not group.column(1).is_stats_set


@pytest.mark.parametrize("rest", [None, b"\x0c\x05"])
def test_a_variant_that_another_writer_shredded_is_refused(
    tmp_path: Path, rest: bytes | None
) -> None:
    """Read without its parts it would be another value."""
    catalog = tc.open_catalog(tmp_path)
    catalog.create_database("d")
    fields = [Field(0, "v", parse_type("VARIANT")), Field(1, "r", parse_type("ROW<v VARIANT>"))]
    table = catalog.create_table("d.t", fields)
    whole = {"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"}
    write_rows(table, pa.Table.from_pylist([{"v": whole, "r": {"v": whole}}], table.arrow_schema))
    (file,) = (tmp_path / "d.db" / "t").rglob("*.parquet")
    parts = {"metadata": b"\x01\x00\x00", "value": rest, "typed_value": 5}
    for rows in ({"v": parts, "r": {"v": whole}}, {"v": whole, "r": {"v": parts}}):
        pq.write_table(pa.Table.from_pylist([rows]), file)
        with pytest.raises(UnsupportedFeatureError, match="shredded"):
            tc.open_catalog(tmp_path).table("d.t").read().to_arrow()
