"""Reads of whole tables, and ``pyarrow.dataset`` on the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as dataset

from bench.rows import NARROW, Rows

if TYPE_CHECKING:
    from bench.engines import Engine
    from bench.stopwatch import Stopwatch

__all__ = ["group", "group_files", "scan", "scan_files"]


def group(engine: Engine, rows: Rows, watch: Stopwatch, name: str = "keyed") -> str:
    del rows
    with watch():
        sums = _by_country(engine.read(name, ["country", "amount"]))
    return _sums(sums)


def group_files(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    paths = engine.files("keyed")
    with watch():
        table = dataset.dataset(paths).to_table(columns=["country", "amount"])
        sums = _by_country(table)
    return _sums(sums)


def scan(engine: Engine, rows: Rows, watch: Stopwatch, name: str = "narrow") -> str:
    del rows
    with watch():
        table = engine.read(name, None)
    return _totals(table)


def scan_files(
    engine: Engine, rows: Rows, watch: Stopwatch, name: str = "narrow", of: pa.Schema = NARROW
) -> str:
    del rows
    paths = engine.files(name)
    with watch():
        table = dataset.dataset(paths).to_table(columns=of.names)
    return _totals(table)


def _totals(table: pa.Table) -> str:
    integers = [c for c in table.columns if pa.types.is_integer(c.type)]
    return " ".join(str(total) for total in (table.num_rows, *map(pc.sum, integers)))


def _by_country(table: pa.Table) -> pa.Table:
    return table.group_by("country").aggregate([("amount", "sum"), ("amount", "count")])


def _sums(table: pa.Table) -> str:
    rows = sorted(
        zip(*(table[name].to_pylist() for name in table.column_names), strict=True), key=str
    )
    return f"{len(rows)} {sum(hash(row) for row in rows)}" if rows else "0"
