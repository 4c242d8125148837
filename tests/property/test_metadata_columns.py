"""Many metadata rows at once are what they are one by one, and so are decisions about them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.text import parse_type
from table_core.errors import CorruptFileError
from table_core.ondisk.binary_columns import decode_columns
from table_core.ondisk.binary_row import array_of, decode_row, encode_row
from table_core.predicate.bind import bind
from table_core.predicate.sql import parse_where
from table_core.scan.prune import Pruner
from table_core.schema.evolve import create

VALUES = {
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "DATE": st.integers(-1000, 30_000),
    "STRING": st.one_of(
        st.text("aé", max_size=3), st.text("b", min_size=8, max_size=9), st.just("2026-11-21")
    ),
    "DOUBLE": st.floats(allow_nan=False),
}


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    one = [VALUES[name] if draw(st.booleans()) else st.none() | VALUES[name] for name in names]
    return [parse_type(name) for name in names], draw(st.lists(st.tuples(*one), min_size=1))


@given(tables())
def test_columns_are_the_rows_turned(case) -> None:
    types, rows = case
    bodies = [encode_row(types, row) for row in rows]
    turned = zip(*(decode_row(types, body) for body in bodies), strict=True)
    want = [array_of(list(column), t) for column, t in zip(turned, types, strict=True)]
    assert decode_columns(types, bodies) == want


@given(st.binary(max_size=40), st.sampled_from(sorted(VALUES)), st.integers(1, 3))
def test_damaged_rows_are_told_as_one_by_one(body, name, count) -> None:
    types = [parse_type(name)]
    whole = encode_row(types, [None if name == "STRING" else 1])
    for damaged in (body, whole[:5] + body[: len(whole) - 5].ljust(len(whole) - 5, b"\0")):
        try:
            want = [array_of(list(decode_row(types, damaged)), types[0])] * count
        except CorruptFileError:
            with pytest.raises(CorruptFileError):
                decode_columns(types, [damaged] * count)
        else:
            assert pa.chunked_array(decode_columns(types, [damaged] * count)) == pa.chunked_array(
                [pa.concat_arrays(want)]
            )


COLUMNS = pa.schema([("p", pa.int32()), ("day", pa.string()), ("v", pa.int32())])
SCHEMA = create(COLUMNS, partition_by=("p", "day"), options={"bucket": "-1"}, now_ms=0)
TYPES = [field.type for field in SCHEMA.partition_fields]
WHERES = [
    "p = 3", "p IN (1, 4) AND v = 1", "day >= 'd5'", "p > 2 OR day = 'd1'", "NOT p = 3", "p IS NULL",
    "p = 1 OR v = 2", "day LIKE 'd1%'", "p + 1 = 3 AND v > 0", "v = 3", "p / 0 = 1", "p <> v",
]  # fmt: skip


@given(
    st.sampled_from(WHERES),
    st.lists(st.tuples(st.none() | st.integers(0, 5), st.none() | st.text("d123", max_size=9))),
)
def test_partitions_decided_at_once_are_decided_as_one_by_one_or_better(where, drawn) -> None:
    rows = [(number % 6, f"d{number}") for number in range(20)] + drawn
    bodies = [encode_row(TYPES, row) for row in rows]
    bound = bind(parse_where(where), SCHEMA.fields)

    def kept(pruner: Pruner, at_once: bool) -> list[bool]:
        heads = [(body, 0, -1) for body in bodies]
        return pruner.keep_heads(heads) if at_once else [pruner.keep_heads([h])[0] for h in heads]

    together, alone = (
        kept(Pruner(SCHEMA, SCHEMA.options, bound, schema_of=lambda _: SCHEMA), at_once)
        for at_once in (True, False)
    )
    assert all(one or not all_ for all_, one in zip(together, alone, strict=True))
    matching = {row for row in rows if any(_holds(where, row, v) for v in (None, 0, 1, 2, 3, 4))}
    for row, one in zip(rows, together, strict=True):
        assert one or row not in matching, f"{row} may hold rows with {where}"


def _holds(where: str, row: tuple[int | None, str | None], v: int | None) -> bool:
    """What the condition says of a row, by the slow way."""
    p, day = row
    batch = pa.table([[p], [day], [v]], schema=COLUMNS)
    from table_core.errors import DataError
    from table_core.predicate.to_arrow import mask

    try:
        return mask(bind(parse_where(where), SCHEMA.fields), batch)[0].as_py() is True
    except DataError:
        return True
