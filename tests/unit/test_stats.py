"""Statistics may be too wide and never too narrow, and are Paimon's wherever Paimon's are right."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type, type_from_json
from table_core.errors import CorruptFileError, OptionError
from table_core.ondisk.binary_row import array_of, encode_row, sort_key
from table_core.ondisk.data_file import EMPTY_STATS, SimpleStats
from table_core.ondisk.stats import (
    SYSTEM_MODE,
    StatsBuilder,
    StatsKind,
    StatsMode,
    covered_fields,
    decode_stats,
    modes_for,
    parse_mode,
)
from table_core.options.table import TableOptions
from tests.unit.typed_values import VALUES_OF_TYPES

FULL = StatsMode(StatsKind.FULL)
NONE = StatsMode(StatsKind.NONE)
TOP = "\U0010ffff"


def field_of(type_text: str, name: str = "c") -> Field:
    return Field(0, name, parse_type(type_text))


def stats_of(type_text: str, values: list, mode: str = "full", batches: int = 1):
    field = field_of(type_text)
    builder = StatsBuilder([field], [parse_mode(mode)])
    for at in range(batches):
        builder.add(pa.table({"c": array_of(values[at::batches], field.type)}))
    return decode_stats(builder.finish()[0], [field])["c"]


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("none", NONE),
        ("COUNTS", StatsMode(StatsKind.COUNTS)),
        ("full", FULL),
        (" Truncate(16) ", StatsMode(StatsKind.TRUNCATE, 16)),
    ],
)
def test_modes_parse(text: str, mode: StatsMode) -> None:
    assert parse_mode(text) == mode


@pytest.mark.parametrize("text", ["", "truncate", "truncate(0)", "truncate(-1)", "all"])
def test_other_modes_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_mode(text)


def test_a_columns_own_mode_wins_then_the_first_columns_then_the_tables() -> None:
    options = TableOptions.parse(
        {
            "metadata.stats-mode": "counts",
            "metadata.stats-keep-first-n-columns": "2",
            "fields.d.stats-mode": "full",
        }
    )
    counts = StatsMode(StatsKind.COUNTS)
    assert modes_for(options, ["a", "b", "c", "d"]) == (counts, counts, NONE, FULL)
    assert modes_for(options, ["a"], default="none") == (NONE,)
    assert modes_for(options, ["_KEY_a", "_SEQUENCE_NUMBER"]) == (SYSTEM_MODE, SYSTEM_MODE)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop", "abcdefghijklmnoq"),
        ("abcdefghijklmnop", "abcdefghijklmnop", "abcdefghijklmnop"),
        (TOP * 20, None, None),
        ("a" * 15 + TOP + "z", "a" * 15 + TOP, "a" * 14 + "b"),
        ("a" * 15 + "\ud7ff" + "z", "a" * 15 + "\ud7ff", "a" * 15 + "\ue000"),
        ("é" * 17, "é" * 16, "é" * 15 + "ê"),
    ],
)
def test_text_is_shortened_by_code_points(value: str, low: object, high: object) -> None:
    assert stats_of("STRING", [value], "truncate(16)") == (low, high, 0)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (b"abc", b"ab", b"ac"),
        (b"a\xffc", b"a\xff", b"b"),
        (b"\xff\xff\xff", None, None),
        (b"ab", b"ab", b"ab"),
    ],
)
def test_binaries_are_shortened_by_bytes(value: bytes, low: object, high: object) -> None:
    assert stats_of("BYTES", [value], "truncate(2)") == (low, high, 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, None, -2.0], (-2.0, 1.5, 1)),
        ([1.5, math.nan], (None, None, 0)),
        ([math.inf, -math.inf], (-math.inf, math.inf, 0)),
        ([None, None], (None, None, 2)),
        ([], (None, None, 0)),
    ],
)
@pytest.mark.parametrize("batches", [1, 2])
def test_float_bounds(values: list, expected: tuple, batches: int) -> None:
    assert stats_of("DOUBLE", values, batches=batches) == expected


def test_zero_takes_the_sign_that_widens() -> None:
    low, high, _ = stats_of("DOUBLE", [0.0, -0.0])
    assert (math.copysign(1, low), math.copysign(1, high)) == (-1, 1)
    low, high, _ = stats_of("FLOAT", [-0.0, -5.0])
    assert (low, math.copysign(1, high)) == (-5.0, 1)


def test_counts_have_no_bounds_and_nested_columns_neither() -> None:
    assert stats_of("INT", [1, None], "counts") == (None, None, 1)
    nested = Field(0, "c", type_from_json({"type": "ARRAY", "element": "INT"}))
    builder = StatsBuilder([nested], [FULL])
    builder.add(pa.table({"c": pa.array([[1], None], arrow_type(nested.type))}))
    assert decode_stats(builder.finish()[0], [nested]) == {"c": (None, None, 1)}


def test_dense_statistics_leave_columns_out_and_others_say_unknown() -> None:
    fields = [field_of("INT", "a"), field_of("INT", "b")]
    rows = pa.table({"b": pa.array([None], pa.int32()), "a": pa.array([7], pa.int32())})
    dense = StatsBuilder(fields, [FULL, NONE])
    dense.add(rows)
    stats, cols = dense.finish()
    assert cols == ("a",)
    assert decode_stats(stats, covered_fields(fields, cols)) == {"a": (7, 7, 0)}
    loose = StatsBuilder(fields, [FULL, NONE], dense=False)
    loose.add(rows.to_batches()[0])
    stats, cols = loose.finish()
    assert cols is None
    assert decode_stats(stats, fields) == {"a": (7, 7, 0), "b": (None, None, None)}
    nothing, cols = StatsBuilder(fields, [NONE, NONE]).finish()
    assert (nothing, cols) == (EMPTY_STATS, ())


@given(st.data(), st.sampled_from(sorted(set(VALUES_OF_TYPES) - {"FLOAT", "DOUBLE"})))
def test_bounds_hold_for_every_type(data, name: str) -> None:
    values = data.draw(st.lists(st.none() | VALUES_OF_TYPES[name], min_size=1, max_size=8))
    mode = data.draw(st.sampled_from(["full", "truncate(2)"]))
    low, high, nulls = stats_of(name, values, mode, batches=data.draw(st.integers(1, 3)))
    there = [v for v in values if v is not None]
    assert nulls == len(values) - len(there)
    type_ = [parse_type(name)]
    ranks = [sort_key(type_, [v]) for v in there]
    if low is None or high is None:
        assert not there or mode != "full"
    else:
        assert sort_key(type_, [low]) <= min(ranks)
        assert max(ranks) <= sort_key(type_, [high])
        if mode == "full":
            assert (low, high) == (there[ranks.index(min(ranks))], there[ranks.index(max(ranks))])


@given(
    st.data(),
    st.sampled_from(["VARCHAR(99)", "CHAR(9)", "STRING", "BYTES", "VARBINARY(99)", "BINARY(9)"]),
    st.integers(1, 4),
)
def test_long_texts_are_cut_before_they_are_compared_and_come_to_the_same(
    data, name: str, length: int
) -> None:
    letters = st.text(alphabet=["a", "b", "\uffff", TOP], max_size=9)
    values = data.draw(st.lists(st.none() | letters, min_size=1, max_size=8))
    if "B" in name:
        values = [None if v is None else v.encode("utf-8")[:9] for v in values]
    if name == "BINARY(9)":
        values = [None if v is None else v.ljust(9, b"\xff") for v in values]
    batches = data.draw(st.integers(1, 3))
    told = []
    for long in (-1, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("table_core.ondisk.stats._LONG_BYTES", long)
            told.append(stats_of(name, values, f"truncate({length})", batches=batches))
    assert told[0] == told[1]


def test_of_a_long_text_no_more_is_held_than_its_bound_needs() -> None:
    field = field_of("STRING")
    builder = StatsBuilder([field], [parse_mode("truncate(16)")])
    builder.add(pa.table({"c": ["x" * 100_000, "y" * 100_000]}))
    assert decode_stats(builder.finish()[0], [field])["c"] == ("x" * 16, "y" * 15 + "z", 0)
    (column,) = builder._columns
    assert len(str(column.low)) == len(str(column.high)) == 17


def test_statistics_of_other_columns_are_blamed() -> None:
    fields = [field_of("INT", "a")]
    row = encode_row([fields[0].type], [1])
    with pytest.raises(CorruptFileError):
        decode_stats(SimpleStats(row, row, (0, 0)), fields, path="m")
    with pytest.raises(CorruptFileError, match="lacks"):
        covered_fields(fields, ("b",), path="m")
    assert decode_stats(SimpleStats(row, row, None), fields) == {"a": (1, 1, None)}
    assert decode_stats(EMPTY_STATS, fields) == {}
