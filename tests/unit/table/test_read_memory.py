"""Merging reads stay within 'read.memory-limit', whatever the merge engine.

Method: a bucket of several runs of wide rows, read in a child process that first reads a little, so
that modules and pools are there; then the peak of its resident memory is what the read added.
"""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

ROWS, RUNS, WIDTH = 8_000, 6, 4_000
CHILD = """
import sys
from pathlib import Path
import table_core as tc

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) >> 10

table = tc.open_table(sys.argv[1], options={"read.memory-limit": sys.argv[2]})
for _ in zip(range(3), table.read().to_batches()):
    pass
before = resident("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
rows = sum(batch.num_rows for batch in table.read().to_batches())
print(rows, resident("VmHWM") - before)
"""


@pytest.fixture(scope="module", params=["deduplicate", "partial-update", "aggregation"])
def table(tmp_path_factory, request):
    catalog = new_catalog(tmp_path_factory.mktemp("warehouse").as_uri())
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
    options = {"bucket": "1", "write-only": "true", "merge-engine": request.param}
    catalog.create_table("d.t", schema, primary_key=("k",), options=options)
    keys = pa.array(range(ROWS))
    filler = "x" * (WIDTH - 10)
    for number in range(RUNS):
        text = pc.binary_join_element_wise(keys.cast(pa.string()), filler, str(number), "-")
        write_rows(catalog.table("d.t"), pa.table([keys, text], schema=schema))
    return catalog.table("d.t")


def added_mb(table: tc.Table, limit: str) -> int:
    child = [sys.executable, "-c", CHILD, table.uri, limit]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    rows, added = map(int, done.stdout.split())
    assert rows == ROWS
    return added


def test_a_read_adds_no_more_than_its_limit(table: tc.Table) -> None:
    size_mb = ROWS * RUNS * WIDTH >> 20
    assert size_mb > 180, "less would prove nothing"
    assert added_mb(table, "48 mb") <= 48


def test_a_small_limit_gives_the_same_rows_in_more_batches(table: tc.Table) -> None:
    small = tc.open_table(table.uri, options={"read.memory-limit": "1 mb"}).read()
    batches = list(small.to_batches())
    assert len(batches) > 50
    assert max(batch.nbytes for batch in batches) < 1 << 20
    assert pa.Table.from_batches(batches) == table.read().to_arrow()
