"""Run every test folder: the light ones together on two processes, each heavy one alone.

    python tests/suites.py [FOLDER ...]

Ends with one line of totals.  A folder that is new here runs with the light ones, so none is forgotten.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".cache" / "reports"
HEAVY = ("interop", "spark", "provider", "live", "cdc", "demo", "wheel")
"""Folders that start a JVM, an Airflow or a build: one at a time, in this order."""
SHORT_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java that lives for seconds: compiling deeply would take most of its time."""
ELSEWHERE = ("docs", "live")
"""Folders that ``make check`` and ``make test-live`` run."""


def folders() -> list[str]:
    found = {
        p.parent.relative_to(ROOT / "tests").parts[0] for p in ROOT.glob("tests/*/**/test_*.py")
    }
    return sorted(found - set(ELSEWHERE))


def run(name: str, arguments: list[str]) -> dict[str, int]:
    """Run pytest once; what it counted, with ``failed`` at least 1 when it ended badly."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    print(f"\n=== {name}", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--durations=5", f"--junit-xml={report}"]
    environment = {**SHORT_JVM, **os.environ}
    status = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, check=False
    ).returncode
    counted = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if report.exists():
        for suite in ET.parse(report).getroot().iter("testsuite"):
            for key in counted:
                counted[key] += int(suite.get(key, 0))
    bad = counted["failures"] + counted["errors"]
    total = {
        "passed": counted["tests"] - bad - counted["skipped"],
        "failed": max(bad, int(status != 0)),
        "skipped": counted["skipped"],
    }
    print(f"=== {name}: {total} in {time.monotonic() - started:.0f} s", flush=True)
    return total


def main(wanted: list[str]) -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    chosen = wanted or folders()
    light = [name for name in chosen if name not in HEAVY]
    totals = []
    if light:
        totals.append(run("light", ["-n", "2", *(f"tests/{name}" for name in light)]))
    totals += [run(name, [f"tests/{name}"]) for name in HEAVY if name in chosen]
    passed, failed, skipped = (sum(t[k] for t in totals) for k in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
