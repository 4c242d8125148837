"""What a choice costs: the figures of the pages in ``docs/choose``.

    python -m bench.choose [--rows 200000] [--rounds 3]

Each choice writes the same rows: a base, then eight updates of a twentieth of the keys.  The choices take turns
within a round.  Shown is the median of the rounds in CPU seconds, which a busy machine changes little, and each as a
multiple of the first of its group.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import table_core as tc

PRODUCERS = {
    name: {"bucket": "2", "changelog-producer": name}
    for name in ("none", "input", "lookup", "full-compaction")
}
PRODUCERS["full-compaction, every 4"] = {
    "bucket": "2",
    "changelog-producer": "full-compaction",
    "full-compaction.delta-commits": "4",
}
BUCKETS = {
    "bucket=1": {"bucket": "1"},
    "bucket=4": {"bucket": "4"},
    "bucket=16": {"bucket": "16"},
    "bucket=-1": {"bucket": "-1", "dynamic-bucket.target-row-num": "100000"},
    "bucket=-2": {"bucket": "-2"},
    "bucket=4, write-only": {"bucket": "4", "write-only": "true"},
}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("amount", pa.float64()),
        ("note", pa.string()),
    ]
)
COMMITS = 8


def rows(ids: np.ndarray) -> pa.Table:
    notes = pa.array(np.char.add("note ", (ids % 997).astype(str)))
    columns = {"id": pa.array(ids), "amount": pa.array(ids * 0.5), "note": notes}
    return pa.table(columns, schema=SCHEMA)


def write(table: tc.Table, ids: np.ndarray) -> float:
    started = time.process_time()
    with table.write() as writer:
        writer.write(rows(ids))
        writer.commit()
    return time.process_time() - started


def measured(options: dict[str, str], count: int) -> dict[str, float]:
    """CPU seconds of one update, of a read and of a lookup by key, and the files at the end."""
    folder = Path(tempfile.mkdtemp(prefix="choose-"))
    random = np.random.default_rng(1)
    try:
        catalog = tc.open_catalog(folder.as_uri())
        catalog.create_database("d")
        table = catalog.create_table("d.t", SCHEMA, primary_key=("id",), options=options)
        write(table, np.arange(count))
        updates = [
            write(table, random.choice(count, count // 20, replace=False)) for _ in range(COMMITS)
        ]
        if options["bucket"] == "-2":
            table.compact()
        started = time.process_time()
        total = sum(batch.num_rows for batch in table.read().to_batches())
        read = time.process_time() - started
        assert total == count, (options, total)
        started = time.process_time()
        assert table.read(where=f"id = {count // 2}").to_arrow().num_rows == 1
        point = time.process_time() - started
        files = table.system("files").to_arrow().num_rows
        return {"update": median(updates), "read": read, "point": point, "files": files}
    finally:
        shutil.rmtree(folder)


def group(
    console: Console, title: str, choices: dict[str, dict[str, str]], count: int, rounds: int
) -> None:
    found: dict[str, list[dict[str, float]]] = {name: [] for name in choices}
    for _ in range(rounds):
        for name, options in choices.items():
            found[name].append(measured(options, count))
    grid = Table(title=title)
    for head in (
        "choice",
        "one update, CPU s",
        "x",
        "whole read, CPU s",
        "one key, CPU s",
        "files",
    ):
        grid.add_column(head)
    first = None
    for name, results in found.items():
        one = {key: median(result[key] for result in results) for key in results[0]}
        first = first or one["update"]
        grid.add_row(
            name,
            f"{one['update']:.2f}",
            f"{one['update'] / first:.1f}",
            f"{one['read']:.2f}",
            f"{one['point']:.3f}",
            f"{one['files']:.0f}",
        )
    console.print(grid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    console = Console(width=110)
    group(console, "changelog producers", PRODUCERS, asked.rows, asked.rounds)
    group(console, "buckets", BUCKETS, asked.rows, asked.rounds)


if __name__ == "__main__":
    main()
