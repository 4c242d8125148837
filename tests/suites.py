"""Run the tests by lanes.

    python tests/suites.py                    the day: every lane of it
    python tests/suites.py spark unit         lanes or folders of it
    python tests/suites.py core               what needs nothing but the core
    python tests/suites.py --shard 2/12       the night: of all files, each case, one shard of twelve
    python tests/suites.py --changed BASE     what only the night runs, if its paths changed since BASE
    python tests/suites.py --weigh            writes tests/seconds.tsv from the reports of the last runs: shards are dealt by it

``tests/lanes.py`` says what belongs where.  Each call of pytest says its slowest tests and its time, has a limit, and goes on
after a failure; the end is one line of totals.

By day, up to two tests that failed are run again, alone.  One that passes five times failed by chance: it is named as such at the
end, and does not stop a change that it says nothing about.  At night it does: no test may fail by chance.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import lanes  # noqa: E402 - it lies beside this script, which is started by its path

REPORTS = ROOT / ".cache" / "reports"
SECONDS = ROOT / "tests" / "seconds.tsv"
LONG_S = 5
"""The list names files that took as long by day; each other one counts as a second."""
SHORT_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java that lives for seconds: compiling deeply would take most of its time."""
MEMORY = Path("/dev/shm")
ROOM = 6 << 30
"""Bytes: what the tests of two lanes have written at one time, and much more."""
IS_NIGHT = lanes.PROFILE == "nightly"
LIMIT_S = 6 * 3600 if IS_NIGHT else 3000
"""How long one call of pytest may take: far more than it does, so that CI still says which tests were slow."""
TEST_S = 3600
"""How long one test may take at night."""
CHANCES = 2
"""How many failed tests of a day are run again: more than that is no chance."""
AGAIN = 5
"""How often each of them has to pass."""


@dataclass
class Total:
    """What pytest counted, and which tests failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def add(self, other: Total) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


@dataclass(frozen=True)
class Run:
    """One call of pytest."""

    name: str
    paths: list[str]
    """Below ``tests``."""
    processes: int = 1
    together: str = "file"
    beside: bool = False


def run(asked: Run, memory: str | None) -> Total:
    """Run pytest once; ``failed`` is at least 1 when it ended badly."""
    report = REPORTS / f"{asked.name}.xml"
    report.unlink(missing_ok=True)
    print(f"=== {asked.name} ...", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--durations=10", f"--junit-xml={report}"]
    if IS_NIGHT:
        command.append(f"--timeout={TEST_S}")
    else:
        command += ["-m", "not nightly"]
        command += [f"--ignore=tests/{file}" for file in lanes.NIGHT if file not in asked.paths]
    if asked.processes > 1:
        dist = "worksteal" if asked.together == "test" else "loadfile"
        command += ["-n", str(asked.processes), "--dist", dist]
    environment = {**SHORT_JVM, **os.environ}
    if memory is not None and not set(asked.paths) & set(lanes.ON_DISK):
        environment["TMPDIR"] = memory
    output = ended([*command, *(f"tests/{path}" for path in asked.paths)], environment, asked.name)
    total = counted(report, output.returncode)
    total.seconds = time.monotonic() - started
    print(f"\n{output.stdout}\n=== {asked.name}: {total} in {total.seconds:.0f} s", flush=True)
    return total


def ended(
    command: list[str], environment: dict[str, str], name: str
) -> subprocess.CompletedProcess[str]:
    """What pytest printed; past its limit it is interrupted, so that it says its slowest tests and where it was."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                printed, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
            printed += f"\n{name} took longer than {LIMIT_S} s and was interrupted"
            return subprocess.CompletedProcess(command, 124, printed)
        return subprocess.CompletedProcess(command, process.returncode, printed)


def counted(report: Path, status: int) -> Total:
    """What the report of a run says; nothing passed if it wrote none."""
    total = Total()
    if report.exists():
        for case in ET.parse(report).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                total.failed += 1
                total.failures.append(f"{case.get('classname')}::{case.get('name')}")
            elif case.find("skipped") is not None:
                total.skipped += 1
            else:
                total.passed += 1
    if status != 0 and total.failed == 0:
        total.failed = 1
        total.failures.append(f"{report.stem}: pytest ended with {status}")
    return total


def test_of(failure: str) -> str | None:
    """How pytest calls a failed test of a report; None if it was no test.

    ``tests.unit.test_a.TestB::test_c[1]`` is ``tests/unit/test_a.py::TestB::test_c[1]``.
    """
    modules, _, name = failure.partition("::")
    parts, classes = modules.split("."), list[str]()
    while parts and not (ROOT / f"{'/'.join(parts)}.py").exists():
        classes.insert(0, parts.pop())
    return "::".join([f"{'/'.join(parts)}.py", *classes, name]) if parts else None


def by_chance(failures: list[str]) -> list[str]:
    """Those of the failed tests that pass alone, each time; none if there are many."""
    tests = {failure: test for failure in failures if (test := test_of(failure))}
    if len(failures) > CHANCES or len(tests) < len(failures):
        return []
    return [failure for failure, test in tests.items() if all(passes(test) for _ in range(AGAIN))]


def passes(test: str) -> bool:
    """Whether one test passes when nothing runs beside it."""
    print(f"=== again, alone: {test}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", test]
    output = ended(command, {**SHORT_JVM, **os.environ}, test)
    if output.returncode != 0:
        print(output.stdout, flush=True)
    return output.returncode == 0


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


def day(wanted: list[str]) -> list[Run]:
    """The runs of the day: all lanes, or the lanes and folders that are ``wanted``."""
    names = list(lanes.CORE) if wanted == ["core"] else wanted
    folders = [f for lane in lanes.DAY if not names or lane.name in names for f in lane.folders]
    folders += [name for name in names if name not in {lane.name for lane in lanes.DAY}]
    return by_lane(folders)


def by_lane(paths: list[str]) -> list[Run]:
    """One run for the paths of each lane."""
    found: dict[lanes.Lane, list[str]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        found[lanes.lane_of(path)].append(path)
    return [
        Run(lane.name, some, lane.processes, lane.together, lane.beside)
        for lane, some in found.items()
    ]


def files() -> list[str]:
    """Every file of tests in a folder, by its path below ``tests``."""
    root = ROOT / "tests"
    return sorted(path.relative_to(root).as_posix() for path in root.glob("*/**/test_*.py"))


def known_seconds() -> dict[str, float]:
    """How long the longest files took by day, in one process."""
    lines = SECONDS.read_text().splitlines()[1:]
    return {file: float(seconds) for file, seconds in (line.split("\t") for line in lines)}


def weigh() -> None:
    """Write the list of the longest files anew: those of the reports that are here, the others as they were."""
    found: dict[str, float] = defaultdict(float)
    there = set(files())
    for report in REPORTS.glob("*.xml"):
        for case in ET.parse(report).getroot().iter("testcase"):
            parts = str(case.get("classname")).split(".")[1:]
            while parts and f"{'/'.join(parts)}.py" not in there:
                parts.pop()  # a class
            if parts:
                found[f"{'/'.join(parts)}.py"] += float(case.get("time", 0))
    kept = known_seconds() | found
    lines = [f"{f}\t{s:.0f}" for f, s in sorted(kept.items()) if f in there and s >= LONG_S]
    SECONDS.write_text("\n".join(["file\tseconds", *lines]) + "\n")


def night(text: str) -> list[Run]:
    """The runs of one shard, ``2/12``, of everything."""
    number, _, of = text.partition("/")
    seconds = dict.fromkeys(files(), 1.0) | known_seconds()
    return by_lane(lanes.shard(seconds, int(number), int(of)))


def changed(base: str) -> list[Run]:
    """The runs of what only the night has, as far as its paths changed since ``base``."""
    command = ["git", "diff", "--name-only", f"{base}...HEAD"]
    paths = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return by_lane(lanes.due(paths.splitlines()))


def perform(runs: list[Run]) -> Total:
    """Run each: one after the other, and beside them, one after the other too, those that wait half of their time."""
    whole = Total()
    with memory_folder() as memory, ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as beside:
        begun = [(beside if one.beside else first).submit(run, one, memory) for one in runs]
        for total in begun:
            whole.add(total.result())
    return whole


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="*")
    parser.add_argument("--shard")
    parser.add_argument("--changed", metavar="BASE")
    parser.add_argument("--weigh", action="store_true")
    asked = parser.parse_args(arguments)
    REPORTS.mkdir(parents=True, exist_ok=True)
    if asked.weigh:
        weigh()
        return 0
    if asked.changed:
        runs = changed(asked.changed)
        if not runs:
            print("nothing that only the night runs has changed")
            return 0
    else:
        runs = night(asked.shard) if asked.shard else day(asked.wanted)
    started = time.monotonic()
    print(f"seed {lanes.SEED}: TEST_SEED={lanes.SEED} takes the same cases again", flush=True)
    total = perform(runs)
    chances = [] if IS_NIGHT else by_chance(total.failures)
    for failure in total.failures:
        said = (
            "FAILED BY CHANCE, mend the test or what it found:" if failure in chances else "FAILED"
        )
        print(f"{said} {failure}")
    print(f"\n{asked.shard or 'all'} in {(time.monotonic() - started) / 60:.1f} minutes")
    print(total, flush=True)
    return int(total.failed > len(chances) or total.passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
