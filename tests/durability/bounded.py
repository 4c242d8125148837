"""Writes many rows in a process of its own and says how much memory that took at most.

python tests/durability/bounded.py FOLDER MILLIONS KEYED|APPEND OPTION=VALUE ...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import table_core as tc

BATCH = 50_000
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("country", pa.int32()),
        ("value", pa.float64()),
        ("note", pa.string()),
    ]
)


def batches(count: int) -> Iterator[pa.RecordBatch]:
    """``count`` batches in random key order, a quarter of the keys twice."""
    draw = np.random.default_rng(1)
    notes = pa.array([f"note {number:08} of some row" for number in range(1000)])
    for _ in range(count):
        yield pa.record_batch(
            [
                pa.array(draw.integers(0, count * BATCH, BATCH)),
                pa.array(draw.integers(0, 250, BATCH).astype(np.int32)),
                pa.array(draw.random(BATCH)),
                notes.take(pa.array(draw.integers(0, 1000, BATCH))),
            ],
            schema=SCHEMA,
        )


def peak_mib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10


def main(folder: str, millions: str, kind: str, *options: str) -> None:
    catalog = tc.open_catalog(folder)
    catalog.create_database("d")
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("id",) if kind == "KEYED" else (),
        options=dict(option.split("=", 1) for option in options),
    )
    with table.write() as writer:
        for batch in batches(int(float(millions) * 1_000_000) // BATCH):
            writer.write(batch)
        print("prepared to commit", flush=True)
        writer.commit()
    print(peak_mib(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
