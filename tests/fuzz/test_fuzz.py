"""The corpus and some new damage for all decoders together; ``make fuzz`` goes on for as long as one likes.

Seconds by day and minutes at night: a minute of each decoder, ``make fuzz BUDGET_S=3600``, would take an hour.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.lanes import budget

RUN = Path(__file__).with_name("run.py")


def fuzzed(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), "--out", str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path)},
    )


def test_damage_ends_as_an_error_of_ours_soon_and_in_little_memory(tmp_path: Path) -> None:
    seconds = str(budget("BUDGET_S", ci=2, nightly=300))
    given = ("--seconds", seconds, "--seed", "14", "--engine", "mutations", "--at-once", "1")
    done = fuzzed(tmp_path, *given)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " targets, failed: none" in done.stdout
    assert done.stdout.count(" inputs, ") >= 50, "one line for each"


def test_a_fault_is_found_and_kept(tmp_path: Path) -> None:
    """The fuzzer itself: with a decoder that breaks it says so and leaves the input."""
    sabotage = (
        f"import sys; sys.path.insert(0, {str(RUN.parent)!r}); import run, targets;"
        "broken = targets.Target(lambda body: 1 // (body[:1] == b'0'), (b'00',));"
        "targets.targets = lambda: {'bad': broken};"
        f"sys.exit(run.main(['--seconds', '2', '--seed', '1', '--engine', 'mutations',"
        f" '--out', {str(tmp_path)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", sabotage], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr[-2000:]
    assert "ZeroDivisionError" in done.stdout
    assert list(tmp_path.glob("bad-*"))
