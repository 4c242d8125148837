"""Goal: a driver that is killed with -9 while Spark writes leaves nothing after one sweep for orphans.

Method: a driver of its own with its JVM, killed while tasks write, when files have been renamed, and before
the commit.  Then the sweep, and the same rows once more.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from tests.servers import ROOT

DRIVER = Path(__file__).with_name("append_driver.py")
WAIT_S = 300


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def has_begun(root: Path) -> bool:
    """Whether a task has ended and another writes."""
    found = [name for name in names(root) if name.endswith(".parquet")]
    return any("/task_" in n for n in found) and any("/attempt_" in n for n in found)


def kill_at(step: str, table: tc.Table, root: Path) -> None:
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "provider")])}
    driver = subprocess.Popen(
        [sys.executable, str(DRIVER), table.uri, step],
        env=os.environ | path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert driver.stdout is not None
        if step == "write":
            until = time.monotonic() + WAIT_S
            while not has_begun(root):
                assert driver.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
        else:
            assert driver.stdout.readline() == "here\n"
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


@pytest.mark.parametrize("step", ["write", "move", "commit"])
def test_a_killed_append_leaves_nothing_after_one_sweep(step: str, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    root = Path(table.uri.removeprefix("file://"))
    before = names(root)
    kill_at(step, table, root)
    assert not table.snapshots()
    left = names(root)
    assert any(name.startswith(".spark.") for name in left) == (step != "commit"), left
    assert any(name.startswith("bucket-0/data-") for name in left) == (step != "write"), left
    later = datetime.now(UTC) + timedelta(seconds=5)
    assert table.remove_orphan_files(older_than=later, allow_young=True, dry_run=True).files_deleted
    assert [name for name in names(root) if name not in left] == []
    table.remove_orphan_files(older_than=later, allow_young=True)
    assert [name for name in names(root) if name not in before and name != "bucket-0"] == []
