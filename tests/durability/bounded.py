"""Writes many rows in a process of its own and says how much memory that took at most.

python tests/durability/bounded.py FOLDER MILLIONS KEYED|APPEND OPTION=VALUE ...

With ``die-at=rows-N`` it kills itself after so many rows, with ``die-at=TEXT`` before it creates the
first file that has the text in its path.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.tables import new_catalog

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


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_before(text: str) -> None:
    def watch(event: str, facts: tuple[object, ...]) -> None:
        if event in ("open", "os.link") and any(text in str(fact) for fact in facts[:2]):
            die()

    sys.addaudithook(watch)


def peak_mib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10


def main(folder: str, millions: str, kind: str, *options: str) -> None:
    given = dict(option.split("=", 1) for option in options)
    last_word = given.pop("die-at", "")
    rows_left = int(last_word.removeprefix("rows-")) if last_word.startswith("rows-") else None
    catalog = new_catalog(folder)
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("id",) if kind == "KEYED" else (),
        options=given,
    )
    if last_word and rows_left is None:
        die_before(last_word)
    with table.write() as writer:
        for number, batch in enumerate(batches(int(float(millions) * 1_000_000) // BATCH)):
            writer.write(batch)
            if (number + 1) * BATCH == rows_left:
                die()
        writer.commit()
    print(peak_mib(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
