"""A long text in an ORC file: Arrow writes it as a bound, again and again, until no reader opens the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from tests.tables import new_catalog, write_rows

MB = 1 << 20
KEY = pa.field("k", pa.int64(), nullable=False)
SHAPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "list": pa.list_(pa.string()),
    "struct": pa.struct([("a", pa.string()), ("n", pa.int64())]),
}


def long_text(size: int) -> str:
    """What does not compress to little."""
    return np.random.default_rng(7).integers(97, 123, size, dtype=np.uint8).tobytes().decode()


def shaped(text: str, shape: str) -> Any:
    return {"text": text, "list": [text], "struct": {"a": text, "n": 1}}[shape]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("first", ["a", "zz"])
def test_a_long_text_that_is_a_bound_of_its_column_is_read_again(
    tmp_path: Path, shape: str, first: str
) -> None:
    """It is the smallest, or the largest; times beside it stay as they are."""
    schema = pa.schema([KEY, pa.field("v", SHAPES[shape]), pa.field("t", pa.timestamp("us"))])
    texts = [shaped(text, shape) for text in ("b", first + long_text(9 * MB), "c")]
    rows = pa.table([range(3), texts, [-1_000_000, 0, 1_500_000]], schema=schema)
    options = {"bucket": "1", "file.format": "orc", "write-buffer-size": "1 gb"}
    table = new_catalog(tmp_path.as_uri()).create_table(
        "d.t", schema, primary_key=("k",), options=options
    )
    write_rows(table, rows)
    assert table.read().to_arrow() == rows
    [path] = tmp_path.rglob("*.orc")
    assert path.stat().st_size < 9 * MB
    assert orc.read_table(path)["v"].to_pylist() == texts


def test_texts_of_a_usual_length_keep_their_bounds(tmp_path: Path) -> None:
    schema = pa.schema([KEY, pa.field("v", pa.string())])
    options = {"bucket": "1", "file.format": "orc"}
    table = new_catalog(tmp_path.as_uri()).create_table(
        "d.t", schema, primary_key=("k",), options=options
    )
    write_rows(table, pa.table([range(2), ["a" * 1_000, "b" * 1_000]], schema=schema))
    [path] = tmp_path.rglob("*.orc")
    assert orc.ORCFile(path).stripe_statistics_length > 0
