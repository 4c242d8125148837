"""A write of any size in bounded memory, and what is left of one that is killed.

``SPILL_MILLIONS=16`` measures 1 and 16 million rows (``make test-memory``).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import table_core as tc

SCRIPT = Path(__file__).with_name("bounded.py")
ROOT = SCRIPT.parents[2]
LIMIT_MIB, ABOVE_MIB, GROWTH_MIB = 32, 256, 80
MILLIONS = float(os.environ.get("SPILL_MILLIONS", "2"))


def start(folder: Path, millions: float, *options: str) -> subprocess.Popen[str]:
    kind = "APPEND" if any("bucket-key" in option for option in options) else "KEYED"
    command = [sys.executable, str(SCRIPT), str(folder), str(millions), kind, *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder.parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def peak(folder: Path, millions: float, *options: str) -> int:
    process = start(folder, millions, *options)
    said = process.communicate()[0].split()
    assert process.returncode == 0
    return int(said[-1])


@pytest.mark.parametrize("options", [("bucket=2",), ("bucket=2", "bucket-key=id")])
def test_memory_stays_below_the_limit_however_many_rows(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    options = (*options, "write-only=true", f"write-buffer-size={LIMIT_MIB}mb")
    few = peak(tmp_path / "few", min(MILLIONS / 4, 1), *options)
    many = peak(tmp_path / "many", MILLIONS, *options)
    assert many < LIMIT_MIB + ABOVE_MIB
    assert many < few + GROWTH_MIB
    table = tc.open_table((tmp_path / "many" / "d.db" / "t").as_uri())
    assert table.read(columns=["id"]).to_arrow().num_rows > MILLIONS * 500_000


@pytest.mark.parametrize("die_at", ["rows-50000", "rows-150000", "manifest-", "snapshot-1"])
def test_a_killed_write_leaves_nothing_that_is_not_taken_away(tmp_path: Path, die_at: str) -> None:
    """Killed while it spills, before the first manifest, and before the snapshot appears."""
    options = ("bucket=2", "write-buffer-size=1mb", "changelog-producer=input")
    process = start(tmp_path / "wh", 0.2, *options, f"die-at={die_at}")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["wh"], "no temporary file is left"
    table = tc.open_table((tmp_path / "wh" / "d.db" / "t").as_uri())
    assert table.latest_snapshot() is None
    assert table.read().to_arrow().num_rows == 0
    folder = tmp_path / "wh" / "d.db" / "t"
    left = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "schema"]
    assert left, "the changelog files were there already"
    time.sleep(0.01)
    table.remove_orphan_files(older_than=datetime.now(UTC), allow_young=True)
    left = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "schema"]
    assert left == []
