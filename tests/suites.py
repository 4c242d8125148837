"""Run every test folder: the light ones together on two processes, then the heavy ones two at a time.

    python tests/suites.py [FOLDER ... | core]

Ends with one line of totals.  A folder that is new here runs with the light ones, so none is forgotten.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".cache" / "reports"
HEAVY = ("spark", "provider", "interop", "cluster", "live", "cdc", "browser", "wheel", "demo")
"""Folders that start a JVM, an Airflow, a browser or a build: two at a time, the longest first, so both lanes end together."""
LANES = 2
CORE = ("unit", "property", "golden", "simulation")
"""What needs the core and nothing else: ``make test-core`` runs these without Airflow, Spark and Java."""
SHORT_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java that lives for seconds: compiling deeply would take most of its time."""
ELSEWHERE = ("docs", "live", "cluster")
"""Folders that ``make check``, ``make test-live`` and ``make test-spark-cluster`` run."""


def folders() -> list[str]:
    folders = {
        p.parent.relative_to(ROOT / "tests").parts[0] for p in ROOT.glob("tests/*/**/test_*.py")
    }
    return sorted(folders - set(ELSEWHERE))


def run(name: str, arguments: list[str]) -> dict[str, int]:
    """Run pytest once; what it counted, with ``failed`` at least 1 when it ended badly."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    print(f"=== {name} ...", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--durations=5", f"--junit-xml={report}"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env={**SHORT_JVM, **os.environ},
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


def main(wanted: list[str]) -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    chosen = list(CORE) if wanted == ["core"] else wanted or folders()
    light = [name for name in chosen if name not in HEAVY]
    totals = []
    if light:
        totals.append(run("light", ["-n", "2", *(f"tests/{name}" for name in light)]))
    with ThreadPoolExecutor(LANES) as pool:
        totals += pool.map(
            lambda name: run(name, [f"tests/{name}"]), [name for name in HEAVY if name in chosen]
        )
    passed, failed, skipped = (sum(t[k] for t in totals) for k in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
