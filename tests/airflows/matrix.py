"""Run the smoke suite and a live scheduler on each Airflow and Python, and write down what came of it.

    python3 tests/airflows/matrix.py --airflows 3.1.8 3.2.2 --pythons 3.11 3.12

What it counts goes into ``docs/airflow-matrix.json``, pair by pair; ``docs/compatibility_page.py`` makes the
table of it.  It needs no package, so that any Python can start it.  A Python that is not here is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "airflow-matrix.json"
ENVIRONMENTS = ROOT / ".cache" / "airflows"
SUITES = {"smoke": ["tests/airflows"], "live": ["tests/live/test_streamhouse_declared_live.py"]}
OLD_LIBRARIES = ("-p", "no:anyio", "-o", "filterwarnings=default")
"""They warn of their own age, and the plugin of an older anyio does not load in the newest pytest."""
Counted = dict[str, int]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--airflows", nargs="+", required=True)
    parser.add_argument("--pythons", nargs="+", required=True)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    given = parser.parse_args(words)
    bad = 0
    for airflow in given.airflows:
        for python in given.pythons:
            program = environment(airflow, python)
            for suite in given.suites:
                counted = run(program, f"{airflow}-{python}-{suite}", SUITES[suite])
                print(f"=== Airflow {airflow}, Python {python}, {suite}: {counted}", flush=True)
                keep(airflow, python, suite, counted)
                bad += counted["failed"]
    return int(bad > 0)


def environment(airflow: str, python: str) -> Path:
    """The interpreter of a virtual environment with this Airflow."""
    interpreter = shutil.which(f"python{python}")
    if interpreter is None:
        sys.exit(f"python{python} is not on PATH: install it, or choose others with PYTHONS=")
    home = ENVIRONMENTS / f"{airflow}-{python}"
    command = [str(ROOT / "tests/airflows/venv.sh"), str(home), airflow]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHON": interpreter})
    return home / "bin" / "python"


def run(program: Path, name: str, tests: list[str]) -> Counted:
    """What pytest counted; ``failed`` is at least 1 when it ended badly."""
    report = ROOT / ".cache" / "reports" / f"airflow-{name}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [str(program), "-m", "pytest", "-q", *OLD_LIBRARIES, f"--junit-xml={report}"]
    status = subprocess.run([*command, *tests], check=False, cwd=ROOT).returncode
    found = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    if report.exists():
        for suite in ET.parse(report).getroot().iter("testsuite"):
            for key in found:
                found[key] += int(suite.get(key, 0))
    failed = max(found["failures"] + found["errors"], int(status != 0))
    passed = max(found["tests"] - failed - found["skipped"], 0)
    return {"passed": passed, "failed": failed, "skipped": found["skipped"]}


def keep(airflow: str, python: str, suite: str, counted: Counted) -> None:
    """Write one result down, and leave those of others."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known.setdefault(airflow, {}).setdefault(python, {})[suite] = counted
    text = json.dumps(known, indent=2, sort_keys=True)
    RESULTS.write_text(re.sub(r"\{\s*(\"failed\"[^{}]*?)\s*\}", flat, text) + "\n")


def flat(found: re.Match[str]) -> str:
    """The counts of a suite on one line."""
    return "{" + re.sub(r"\s+", " ", found[1]) + "}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
