"""Run every test folder: the light ones together on two processes, then those that start much.

    python tests/suites.py [FOLDER ... | core]

Which folder belongs where, and which cases wait for the night: ``tests/lanes.py``.  Each lane says its
slowest tests and its time; the end is one line of totals.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import lanes  # noqa: E402 - it lies beside this script, which is started by its path

REPORTS = ROOT / ".cache" / "reports"
AT_ONCE = "2"
SHORT_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java that lives for seconds: compiling deeply would take most of its time."""
MEMORY = Path("/dev/shm")
ROOM = 6 << 30
"""Bytes: what the tests of two lanes have written at one time, and much more."""
HOUR_S = 3600


def run(name: str, folders: list[str], memory: str | None, *more: str) -> dict[str, int]:
    """Run pytest once; what it counted, with ``failed`` at least 1 when it ended badly."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    print(f"=== {name} ...", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--durations=10", f"--junit-xml={report}"]
    if lanes.PROFILE == "nightly":
        command.append(f"--timeout={HOUR_S}")
    else:
        command += ["-m", lanes.DAY]
    environment = {**SHORT_JVM, **os.environ}
    if memory is not None and name not in lanes.ON_DISK:
        environment["TMPDIR"] = memory
    done = subprocess.run(
        [*command, *more, *(f"tests/{folder}" for folder in folders)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    counted = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if report.exists():
        for suite in ET.parse(report).getroot().iter("testsuite"):
            for key in counted:
                counted[key] += int(suite.get(key, 0))
    bad = counted["failures"] + counted["errors"]
    total = {
        "passed": counted["tests"] - bad - counted["skipped"],
        "failed": max(bad, int(done.returncode != 0)),
        "skipped": counted["skipped"],
    }
    seconds = time.monotonic() - started
    print(f"\n{done.stdout}\n=== {name}: {total} in {seconds:.0f} s", flush=True)
    return total


@contextmanager
def memory_folder() -> Iterator[str | None]:
    """A folder in memory for what tests write: on a disk they wait for ``fsync``, 10 times a commit.

    None where ``TMPDIR`` names another one, or where there is no room in memory.
    """
    there = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM
    if os.environ.get("TMPDIR") or not there:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="pt-", dir=MEMORY))  # short: sockets lie in it
    folder.chmod(0o755)  # the databases run as users of their own
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(wanted: list[str]) -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    everything = (*lanes.LIGHT_FOLDERS, *lanes.SHARED_FOLDERS, *lanes.HEAVY_FOLDERS)
    chosen = lanes.CORE if wanted == ["core"] else wanted or everything
    heavy = [name for name in (*lanes.HEAVY_FOLDERS, *lanes.ELSEWHERE) if name in chosen]
    shared = [name for name in lanes.SHARED_FOLDERS if name in chosen]
    light = [name for name in chosen if name not in (*heavy, *shared)]
    totals = []
    with memory_folder() as memory:
        if light:
            totals.append(run("light", light, memory, "-n", AT_ONCE, "--dist", "worksteal"))
        for name in shared:
            totals.append(run(name, [name], memory, "-n", AT_ONCE, "--dist", "loadfile"))
        with ThreadPoolExecutor(int(AT_ONCE)) as pool:
            totals += pool.map(lambda name: run(name, [name], memory), heavy)
    passed, failed, skipped = (sum(t[k] for t in totals) for k in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
