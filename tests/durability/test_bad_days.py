"""A disk that is full, a folder that may not be written, a right that is lost, a clock that goes back.

Goal: the error has its documented kind and says what to do; the table reads as before; once the
cause is gone the same write succeeds, once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import AccessDeniedError, StorageUnavailableError, TableError
from table_core.ports import Clock
from tests.durability.small_commits import AS, add, keys
from tests.tables import new_catalog

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())])
ROOT = Path(__file__).parents[2]
HOUR_MS = 3_600_000


def make(folder: Path | str, **options: str) -> tc.Table:
    catalog = new_catalog(str(folder))
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",), options={"bucket": "1", **options}
    )
    add(table, 1)
    return table


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_unavailable_and_leaves_the_table_whole(small_disk: Path) -> None:
    table = make(small_disk)
    with pytest.raises(StorageUnavailableError, match="the disk is full"):
        add(table, 2, size=4_000_000, commit=AS)
    assert keys(table) == [1]
    assert add(table, 2, commit=AS).snapshot_ids == (2,)
    assert keys(table) == [1, 2]


def test_a_disk_that_fills_at_any_byte_leaves_the_old_rows_or_the_new(small_disk: Path) -> None:
    """Room is taken away step by step, so that each file of a commit is once the one too many."""
    table = make(small_disk)
    ballast, there = small_disk / "ballast", [1]
    kinds = set()
    for room in range(0, 80_000, 4_096):
        free = os.statvfs(small_disk)
        ballast.write_bytes(b"x" * max(free.f_bavail * free.f_frsize - room, 0))
        key = len(kinds) + room + 10
        try:
            add(table, key, size=3_000, commit=replace(AS, identifier=room))
        except TableError as error:
            kinds.add(str(error.kind))
        else:
            there.append(key)
        ballast.unlink()
        assert keys(table) == sorted(there), room
    assert kinds == {"unavailable"}
    assert len(there) > 1


ATTEMPT = """
import sys
sys.path[:0] = {path!r}
import table_core as tc
from tests.durability.small_commits import AS, add, keys
table = tc.open_table({uri!r})
try:
    add(table, 2, commit=AS)
except tc.errors.TableError as error:
    print(type(error).__name__, error.kind, error.facts.get("folder"))
print(keys(table))
"""


def attempt(table: tc.Table) -> list[str]:
    """What a process reports for which the modes of folders count, even if it is root's."""
    drop = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, to give up rights of root")
    script = ATTEMPT.format(path=[str(ROOT), *sys.path], uri=table.uri)
    words = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(
        [*(drop if os.geteuid() == 0 else []), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_read_only_table_can_be_read_and_says_who_lacks_what(tmp_path: Path) -> None:
    table = make(tmp_path)
    root = Path(table.uri.removeprefix("file://"))
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    told, rows = attempt(table)
    for path in folders:
        path.chmod(0o755)
    assert told.startswith("AccessDeniedError invalid")
    assert str(root) in told
    assert rows == "[1]"


@pytest.mark.parametrize("folder", ["bucket-0", "manifest", "snapshot"])
def test_a_right_that_is_lost_midway_leaves_the_table_whole(tmp_path: Path, folder: str) -> None:
    """Whatever comes before may be written, then ``folder`` may not."""
    table = make(tmp_path)
    root = Path(table.uri.removeprefix("file://"))
    (root / folder).chmod(0o555)
    told, rows = attempt(table)
    (root / folder).chmod(0o755)
    assert told.startswith("AccessDeniedError invalid")
    assert rows == "[1]"
    assert attempt(table) == ["[1, 2]"]
    assert len(list(root.glob("bucket-0/*"))) == 2, "what the refused attempt wrote is gone"


def test_a_file_system_mounted_read_only_is_refused_with_the_remedy(small_disk: Path) -> None:
    table = make(small_disk)
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    if subprocess.run(remount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount read-only")
    with pytest.raises(AccessDeniedError, match="mounted read-only"):
        add(table, 2)
    assert keys(table) == [1]


@dataclass
class Wandering:
    """A clock that the test sets."""

    real: Clock
    shift_ms: int = 0
    slept: list[int] = field(default_factory=list)

    def now_ms(self) -> int:
        return self.real.now_ms() + self.shift_ms

    def local_offset_ms(self, at_ms: int) -> int:
        return self.real.local_offset_ms(at_ms)

    def sleep_ms(self, duration_ms: int) -> None:
        self.slept.append(duration_ms)


def test_a_clock_that_goes_back_an_hour_breaks_nothing(tmp_path: Path) -> None:
    made = make(tmp_path, **{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3"})
    clock = Wandering(made.access.clock)
    table = tc.Table(replace(made.access, clock=clock))
    add(table, 2)
    clock.shift_ms = -HOUR_MS
    for key in (3, 4, 5):
        add(table, key)
    assert keys(table) == [1, 2, 3, 4, 5]
    snapshots = table.snapshots()
    assert [s.id for s in snapshots] == sorted(s.id for s in snapshots)
    times = [s.time_millis for s in snapshots]
    assert times == sorted(times), "a reader that searches by time needs them in order"
    table.compact()
    table.expire_snapshots(retain_max=2)
    assert keys(table) == [1, 2, 3, 4, 5]
    assert table.remove_orphan_files().files_deleted == 0
    clock.shift_ms = 0
    add(table, 6)
    table.expire_snapshots(retain_max=1)
    assert keys(table) == [1, 2, 3, 4, 5, 6]
