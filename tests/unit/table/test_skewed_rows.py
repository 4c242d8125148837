"""One row that is far wider than those around it is bounded by what it takes itself, not by their mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import table_core as tc
from table_core.errors import CorruptFileError, OptionError
from table_core.table.files.file_reader import FileReader
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
MB = 1 << 20
ROWS, AT = 6_000, 4_000


def skewed(width: int, *, mark: str = "x") -> pa.Table:
    """Many rows of a few bytes, and in their midst one of ``width``."""
    values = [mark] * ROWS
    values[AT] = mark * width
    return pa.table([range(ROWS), values], schema=SCHEMA)


def table_of(
    tmp_path: Path,
    *tables: pa.Table,
    keyed: bool = True,
    options: dict[str, str] | None = None,
) -> tc.Table:
    catalog = new_catalog(tmp_path.as_uri())
    own = {"bucket": "1", "write-only": "true"} if keyed else {}
    key = ("k",) if keyed else ()
    table = catalog.create_table("d.t", SCHEMA, primary_key=key, options=own | (options or {}))
    for rows in tables:
        write_rows(table, rows)
    return table


def groups_of(tmp_path: Path) -> list[list[int]]:
    """Rows of each group of each file."""
    files = sorted(tmp_path.rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    metas = [pq.read_metadata(path) for path in files]
    return [[m.row_group(g).num_rows for g in range(m.num_row_groups)] for m in metas]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_wide_row_has_a_row_group_of_its_own(tmp_path: Path, keyed: bool) -> None:
    """And begins a file, if no bounds may be made of its column from there on."""
    table = table_of(tmp_path, skewed(9 * MB), keyed=keyed)
    groups = groups_of(tmp_path)
    assert [AT] in [group[:1] for group in groups]
    assert [1] in [group[:1] for group in groups]
    assert sum(map(sum, groups)) == ROWS
    assert table.read().to_arrow().sort_by("k") == skewed(9 * MB)


def test_rows_beside_a_wide_one_come_many_at_once(tmp_path: Path) -> None:
    table = table_of(tmp_path, skewed(9 * MB))
    own = tc.open_table(table.uri, options={"read.memory-limit": "32 mb"})
    counts = [batch.num_rows for batch in own.read().to_batches()]
    assert sum(counts) == ROWS
    assert len(counts) < 10


@pytest.mark.parametrize("verb", ["read", "compact"])
def test_a_wide_row_among_others_is_refused_where_runs_are_merged(
    tmp_path: Path, verb: str
) -> None:
    table = table_of(tmp_path, skewed(20 * MB), skewed(20 * MB, mark="y"))
    own = tc.open_table(table.uri, options={"read.memory-limit": "1 mb"})
    with pytest.raises(OptionError, match=r"read\.memory-limit=1048576 is too small for one row"):
        _ = own.compact(strategy="full") if verb == "compact" else own.read().to_arrow()
    assert table.read().to_arrow() == skewed(20 * MB, mark="y")


@pytest.mark.parametrize("order_by", [None, ["k"]])
def test_a_wide_row_among_others_is_refused_where_files_are_packed(
    tmp_path: Path, order_by: list[str] | None
) -> None:
    table = table_of(tmp_path, skewed(20 * MB), skewed(20 * MB), keyed=False)
    small = {"read.memory-limit": "1 mb", "write-buffer-size": "64 mb"}
    own = tc.open_table(table.uri, options=small)
    with pytest.raises(OptionError, match="is too small for one row"):
        own.compact(strategy="full", order_by=order_by)
    assert table.read().to_arrow().num_rows == 2 * ROWS


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_a_wide_row_among_others_is_refused_as_one_that_comes_alone(
    tmp_path: Path, format_: str
) -> None:
    width = 25 * MB if format_ == "parquet" else 10 * MB
    options = {"write-buffer-size": "64 mb", "file.format": format_}
    with pytest.raises(OptionError, match=r"write-buffer-size=67108864 is too small for one row"):
        table_of(tmp_path, skewed(width), options=options)


def damage(tmp_path: Path) -> None:
    """Overwrite what lies in the midst of each file with a wide row, which is nearly all of it."""
    for path in tmp_path.rglob("data-*"):
        body = bytearray(path.read_bytes())
        if len(body) < MB:
            continue
        middle = len(body) // 2
        body[middle : middle + 64] = b"\xff" * 64
        path.write_bytes(body)


@pytest.mark.parametrize("format_", ["parquet", "orc"])
@pytest.mark.parametrize("verb", ["read", "merge", "pack", "sort"])
def test_a_wide_row_is_refused_before_it_is_decoded(
    tmp_path: Path, format_: str, verb: str
) -> None:
    """In Parquet, whose pages have checksums, nobody sees that it is damaged, unless there is room for it."""
    letters = np.random.default_rng(7).integers(97, 123, 20 * MB, dtype=np.uint8).tobytes()
    rows = pa.table([range(3), ["a", "b" + letters.decode(), "c"]], schema=SCHEMA)
    options = {
        "file.format": format_,
        "write-buffer-size": "1 gb",
    }
    table = table_of(tmp_path, rows, rows, keyed=verb in {"read", "merge"}, options=options)
    damage(tmp_path)

    def act(limit: str) -> None:
        limits = {"read.memory-limit": limit, "write-buffer-size": limit}
        own = tc.open_table(table.uri, options=limits)
        if verb == "read":
            own.read().to_arrow()
        else:
            own.compact(strategy="full", order_by=["k"] if verb == "sort" else None)

    with pytest.raises(OptionError, match="too small for one row"):
        act("1 mb")
    if format_ == "parquet":
        with pytest.raises(CorruptFileError):
            act("1 gb")


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_a_reader_asks_for_the_widest_row_before_rows_come(tmp_path: Path, format_: str) -> None:
    rows = pa.table([range(3), ["a", "b" * 5 * MB, "c"]], schema=SCHEMA)
    options = {"file.format": format_, "write-buffer-size": "1 gb"}
    table = table_of(tmp_path, rows, options=options)
    asked: list[int] = []
    for split in table.read().splits():
        for file in split.files:
            reader = FileReader(
                access=table.access,
                partition=split.partition,
                bucket=split.bucket,
                fields=table.access.schema.fields,
                system=True,
                refuse_wide=asked.append,
            )
            assert next(reader.read(file)).num_rows
            assert asked
    assert max(asked) >= 5 * MB


def test_a_wide_row_that_was_deleted_refuses_nothing(tmp_path: Path) -> None:
    table = table_of(
        tmp_path,
        skewed(20 * MB),
        skewed(1),
        keyed=False,
        options={"deletion-vectors.enabled": "true", "write-buffer-size": "1 gb"},
    )
    table.delete(where=f"k = {AT}")
    own = tc.open_table(table.uri, options={"read.memory-limit": "1 mb"})
    own.compact(strategy="full")
    assert table.read().to_arrow().num_rows == 2 * (ROWS - 1)
