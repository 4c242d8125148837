"""Arrays without values whose offsets a producer left out, as Spark's Java does: read as any other.

Each case runs in a process of its own: where the offsets are missing, pyarrow reads memory that is nobody's.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from table_core.datatypes.offsets import with_offsets

ROOT = Path(__file__).parents[2]
BEGIN = """
import pyarrow as pa
from tests.tables import new_catalog, rows_of, write_rows

def bare(type_, *children):  # no list, and garbage where the first offset belongs
    garbage = pa.py_buffer(b"\\x7f" * 64).slice(0, 0)
    return pa.Array.from_buffers(type_, 0, [None, garbage], children=list(children))

texts = pa.list_(pa.string())
pairs = pa.map_(pa.string(), texts)
entries = pa.StructArray.from_arrays([pa.array([], pa.string()), pa.array([], texts)], fields=[pairs.key_field, pairs.item_field])
inner = bare(texts, pa.array([], pa.string()))
maps = bare(pairs, entries)
"""
END = """
rows = pa.table({"n": range(len(column)), "c": column})
table = new_catalog().create_table("d.t", rows.schema, options={"bucket": "-1"})
for batch in rows.to_batches():
    write_rows(table, batch)
    assert rows_of(table) == list(zip(range(len(column)), column.to_pylist())), rows_of(table)
"""
CASES = {
    "lists of lists": "column = pa.ListArray.from_arrays(pa.array([0, 0, None, 0], pa.int32()), inner)",
    "lists of maps": "column = pa.ListArray.from_arrays(pa.array([0, 0, 0], pa.int32()), maps)",
    "large lists": "column = pa.LargeListArray.from_arrays(pa.array([0, 0, 0], pa.int64()), inner)",
    "maps to lists": """
st = pa.StructArray.from_arrays([pa.array([], pa.string()), inner], fields=[pairs.key_field, pairs.item_field])
column = pa.Array.from_buffers(pairs, 2, [None, pa.py_buffer(bytes(12))], children=[st])
""",
    "rows of lists": """
lists = pa.ListArray.from_arrays(pa.array([0, 0, 0], pa.int32()), inner)
column = pa.StructArray.from_arrays([lists, pa.array([1, None])], names=["a", "b"], mask=pa.array([False, True]))
""",
    "a slice": "column = pa.ListArray.from_arrays(pa.array([0, 0, None, 0], pa.int32()), inner).slice(1, 2)",
}


@pytest.mark.parametrize("case", CASES)
def test_lists_without_offsets_are_written(case: str) -> None:
    script = BEGIN + CASES[case] + END
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-1500:])


VALUES = [
    (pa.list_(pa.string()), [["a"], None, [], ["b", None]]),
    (pa.list_(pa.list_(pa.int32())), [[[1], []], None, [], [None, [2, None]]]),
    (pa.large_list(pa.string()), [["a"], None, [], ["b", None]]),
    (pa.list_(pa.string(), 2), [["a", "b"], None, [None, "c"], ["d", "e"]]),
    (pa.map_(pa.string(), pa.list_(pa.string())), [[("a", ["x"])], None, [], [("b", None)]]),
    (
        pa.struct([("a", pa.list_(pa.string())), ("b", pa.int32())]),
        [{"a": ["x"], "b": 1}, None, {"a": [], "b": None}, {"a": None, "b": 3}],
    ),
]


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=[str(type_) for type_, _ in VALUES])
@pytest.mark.parametrize(("first", "count"), [(0, 4), (1, 2), (2, 1), (2, 0)])
def test_what_is_rebuilt_is_the_same(
    type_: pa.DataType, values: list[object], first: int, count: int
) -> None:
    """Beside a part without values, which is what is replaced."""
    empty = pa.array([[]] * len(values), pa.list_(pa.list_(pa.string())))
    column = pa.StructArray.from_arrays([pa.array(values, type_), empty], names=["own", "empty"])
    for rows in (pa.table({"c": column}), pa.record_batch({"c": column})):
        part = rows.slice(first, count)
        found = with_offsets(part)
        assert found is not part
        assert found.equals(part)
        assert found.schema == part.schema
        found.validate(full=True)
