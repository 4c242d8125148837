"""A bucket of more files than a process may open is read, compacted and written to all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import table_core as tc
from tests.lanes import budget
from tests.tables import new_catalog, write_rows

ROOT = Path(__file__).parents[2]
LIMIT = budget("OPEN_FILES", ci=100, nightly=256)
FILES = LIMIT * 6 // 5
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
CHILD = """
import resource, sys
from datetime import UTC, datetime
import pyarrow as pa
import table_core as tc

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]),) * 2)
table = tc.open_table(sys.argv[1])
expected = table.read().to_arrow().sort_by("k")
with table.write() as writer:
    writer.write(expected.slice(0, 1))
    writer.commit()
assert table.read(where="v >= 0").to_arrow().num_rows == expected.num_rows
table.compact(strategy="minor")
assert table.read().to_arrow().sort_by("k") == expected
table.compact(strategy="full")
assert table.read().to_arrow().sort_by("k") == expected
table.expire_snapshots(retain_max=1, retain_min=1)
table.remove_orphan_files(older_than=datetime.now(UTC), allow_young=True)
assert tc.open_table(sys.argv[1]).read().to_arrow().sort_by("k") == expected
print(expected.num_rows)
"""


def test_more_level_0_files_than_a_process_may_open(tmp_path: Path) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
    for number in range(FILES):
        write_rows(table, pa.table([[0, number + 1], [number] * 2], schema=SCHEMA))
    catalog.alter_table("d.t", [tc.SetOption("write-only", "false")])
    command = [sys.executable, "-c", CHILD, table.uri, str(LIMIT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == FILES + 1
