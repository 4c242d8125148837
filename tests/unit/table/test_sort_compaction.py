"""``compact(order_by=...)`` and ``clustering.columns``: the same rows, in order, whatever memory there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_core.errors import ArgumentError, OptionError, UnsupportedFeatureError
from table_core.merge.clustering import Clustering
from table_core.table.files import data_files
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.int32()), ("y", pa.int32()), ("p", pa.string())])


def filled(tmp_path: Path, rows: int = 4000, **options: str) -> Any:
    catalog = new_catalog(tmp_path.as_uri())
    named = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    table = catalog.create_table(
        "d.t", SCHEMA, partition_by=("p",), options={"bucket": "-1", **named}
    )
    random = np.random.default_rng(7)
    for start in range(0, rows, rows // 4):
        ids = np.arange(start, start + rows // 4)
        x = random.integers(0, 100, len(ids))
        data = {
            "id": ids,
            "x": pa.array(x, pa.int32(), mask=x == 13),
            "y": pa.array(random.integers(0, 100, len(ids)), pa.int32()),
            "p": ["a" if n % 3 else "b" for n in ids],
        }
        write_rows(table, pa.table(data, schema=SCHEMA))
    return table


def rows_of(table: Any) -> pa.Table:
    return table.read().to_arrow().sort_by("id")


@pytest.mark.parametrize("buffer", ["256 mb", "64 kb"])
def test_rows_come_out_in_order_partition_by_partition(tmp_path: Path, buffer: str) -> None:
    table = filled(tmp_path, write_buffer_size=buffer)
    before = rows_of(table)
    done = table.compact(order_by=["order(x, id)"])
    assert rows_of(table).equals(before)
    assert done.rows_written == before.num_rows
    assert table.latest_snapshot().commit_kind == "COMPACT"
    for name in ("a", "b"):
        part = table.read(where=f"p = '{name}'").to_arrow().to_pylist()
        keys = [(row["x"] is not None, row["x"] or 0, row["id"]) for row in part]
        assert keys == sorted(keys)  # nulls first


@pytest.mark.parametrize("curve", ["zorder", "hilbert"])
def test_a_curve_lets_a_reader_skip_by_either_column(
    tmp_path: Path, curve: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_files, "_SLICE_ROWS", 500)  # files roll after so many rows or more
    options = {"target_file_size": "8 kb", "write_buffer_size": "64 kb"}
    table = filled(tmp_path, 16000, **options)
    before = rows_of(table)
    wishes = ("p = 'a'", "p = 'a' AND x < 10", "p = 'a' AND y < 10")

    def files() -> list[int]:
        scans = [table.read(where=wish) for wish in wishes]
        return [sum(len(split.files) for split in scan.splits()) for scan in scans]

    assert len(set(files())) == 1
    table.compact(order_by=[f"{curve}(x, y)"])
    assert rows_of(table).equals(before)
    everything, by_x, by_y = files()
    assert everything > 6
    assert max(by_x, by_y) <= everything / 2


def test_the_strategy_comes_from_the_options_or_the_number_of_columns(tmp_path: Path) -> None:
    table = filled(tmp_path)
    schema = table.definition

    def strategy(*columns: str) -> str:
        return Clustering.of(schema, columns).strategy

    assert [strategy("id"), strategy("id", "x"), strategy("hilbert(id, x)")] == [
        "order",
        "zorder",
        "hilbert",
    ]
    with pytest.raises(ArgumentError, match="no column"):
        strategy("id", "nothing")
    with pytest.raises(ArgumentError, match="two columns"):
        strategy("hilbert(id)")
    other = table.access.with_options({"clustering.strategy": "spiral"})
    with pytest.raises(OptionError, match="spiral"):
        Clustering.of(other.schema, ["id"])
    with pytest.raises(ArgumentError, match="full"):
        table.compact("minor", order_by=["id"])


def test_what_is_in_the_order_of_its_key_is_not_sorted(tmp_path: Path) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = catalog.create_table("d.k", schema, primary_key=("id",), options={"bucket": "1"})
    with pytest.raises(UnsupportedFeatureError, match="order_by"):
        table.compact(order_by=["id"])


@pytest.mark.parametrize("buffer", ["256 mb", "20 kb"])
@pytest.mark.parametrize("partitions", [(), ("p",)])
@pytest.mark.parametrize("strategy", ["auto", "order"])
def test_a_write_brings_its_rows_in_the_order_that_the_table_wants(
    tmp_path: Path, strategy: str, partitions: tuple[str, ...], buffer: str
) -> None:
    columns = "x" if strategy == "auto" else "x,id"
    options = {"sink.clustering.by-columns": columns, "clustering.strategy": strategy}
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table(
        "d.t", SCHEMA, partition_by=partitions, options={"bucket": "-1", **options}
    )
    chance = np.random.default_rng(3)
    with catalog.table("d.t", options={"write-buffer-size": buffer}).write() as writer:
        for start in range(0, 4000, 500):
            ids = np.arange(start, start + 500)
            x = chance.integers(0, 100, 500)
            data = {
                "id": ids,
                "x": pa.array(x, pa.int32(), mask=x == 13),
                "y": pa.array(x, pa.int32()),
                "p": ["a" if n % 3 else "b" for n in ids],
            }
            writer.write(pa.table(data, schema=SCHEMA))
        writer.commit()
    assert rows_of(table)["id"].to_pylist() == list(range(4000))
    for where in [f"p = '{name}'" for name in ("a", "b")] if partitions else [None]:
        rows = table.read(where=where).to_arrow().to_pylist()
        keys = [(row["x"] is not None, row["x"] or 0, row["id"]) for row in rows]
        assert keys == sorted(keys)  # rows that are alike stay in the order in which they came
