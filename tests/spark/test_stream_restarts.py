"""Goal: whatever moment a streaming driver dies at, every row of the source is in the sink once.

Method: ``STREAM_KILLS`` drivers, each killed with -9 (driver and JVM) a random while after it began a
micro-batch, while rows keep coming; then one that ends by itself.  Both tables take duplicates, so
that nothing hides them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from tests.lanes import budget
from tests.tables import write_rows

KILLS = budget("STREAM_KILLS", ci=0, nightly=20)
SEED = int(os.environ.get("SEED", "0"))
PATIENCE_S = 600
DRIVER = Path(__file__).with_name("stream_driver.py")


@pytest.mark.skipif(KILLS == 0, reason="make test-spark kills drivers")
def test_every_row_is_copied_once_though_drivers_die(catalog: tc.Catalog, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    source, sink = (catalog.create_table(f"d.{name}", schema) for name in ("source", "sink"))
    checkpoint, chance, ids = tmp_path / "checkpoint", random.Random(SEED), iter(range(1 << 40))

    def put() -> None:
        rows = [next(ids) for _ in range(chance.randrange(1, 500))]
        write_rows(source, pa.table({"id": rows, "v": [str(row) for row in rows]}))

    put()
    for number in range(KILLS):
        driver = start(source, sink, checkpoint, "forever", tmp_path / f"{number}.log")
        seen = batches(checkpoint)
        deadline = time.monotonic() + PATIENCE_S
        while batches(checkpoint) == seen:
            assert driver.poll() is None, (tmp_path / f"{number}.log").read_text()[-3000:]
            assert time.monotonic() < deadline, "no micro-batch has begun"
            put()
            time.sleep(0.2)
        for _ in range(chance.randrange(4)):
            put()
            time.sleep(chance.random() * 1.5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait(PATIENCE_S)
    put()
    for name in ("repeats", "last"):  # the first may do no more than repeat what was killed
        log = tmp_path / f"{name}.log"
        driver = start(source, sink, checkpoint, "once", log)
        assert driver.wait(PATIENCE_S) == 0, log.read_text()[-3000:]
        print(f"{name}: {sink.read().to_arrow().num_rows} rows, {batches(checkpoint)} batches")
    expected = next(ids)
    found = sink.read().to_arrow()["id"]
    print(
        f"{KILLS} kills, {expected} rows, {len(found)} in the sink, {batches(checkpoint)} batches"
    )
    assert len(found) == expected
    assert sorted(found.to_pylist()) == list(range(expected))


def start(
    source: tc.Table, sink: tc.Table, checkpoint: Path, how: str, log: Path
) -> subprocess.Popen[bytes]:
    """A driver in a process group of its own, with its JVM."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, str(DRIVER), source.uri, sink.uri, str(checkpoint), how],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            start_new_session=True,
        )


def batches(checkpoint: Path) -> int:
    """How many micro-batches were begun."""
    offsets = checkpoint / "offsets"
    names = [path.name for path in offsets.iterdir()] if offsets.exists() else []
    return max((int(name) + 1 for name in names if name.isdecimal()), default=0)
