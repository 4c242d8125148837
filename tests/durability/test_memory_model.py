"""The memory of a verb is bounded by its limit, whatever the rows: 1.5 times that and 150 MB, or it is refused.

A case is a verb on a table of one shape with one limit, in a process of its own (``memory_model``).  By day a
few are measured, at night all: ``python tests/durability/test_memory_model.py`` prints the table of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.durability.memory_model import BUGS, LIMITS_MB, SHAPES, VERBS, fits

SCRIPT = Path(__file__).with_name("memory_model.py")
ROOT = SCRIPT.parents[2]
BY_DAY = {
    ("read", "document", 64),
    ("full", "skewed", 64),
    ("write", "wide", 64),
    ("full", "wide runs", 32),
    ("write", "large", 256),
    ("write", "large", 32),
    ("scan", "enormous", 32),
    ("merge", "document", 64),
    ("sql", "document", 32),
    ("cdc", "document", 32),
}
CASES = [
    (verb, shape, limit)
    for shape in SHAPES
    for verb in VERBS
    for limit in LIMITS_MB
    if fits(verb, SHAPES[shape])
]


def bound(limit_mb: int) -> float:
    return 1.5 * limit_mb + 150


def called(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


class Tables:
    """One table of each shape; a verb works on a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def measured(self, verb: str, shape: str, limit: int, *more: str) -> tuple[str, int, str]:
        """(``added`` or ``refused``, MB, why)."""
        whole = self.folder / shape.replace(" ", "-")
        if not whole.exists():
            called("build", str(whole), shape)
        copy = self.folder / "copy"
        shutil.copytree(whole, copy, copy_function=os.link)
        try:
            said = called("run", str(copy), shape, verb, str(limit), *more)
        finally:
            shutil.rmtree(copy)
        how, added, *why = said.split(" ", 2)
        return how, int(added), " ".join(why)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(tmp_path_factory.mktemp("shapes"))


def case_marks(case: tuple[str, str, int]) -> list[pytest.MarkDecorator]:
    return [] if case in BY_DAY else [pytest.mark.nightly]


@pytest.mark.parametrize(
    ("verb", "shape", "limit"), [pytest.param(*case, marks=case_marks(case)) for case in CASES]
)
def test_a_verb_stays_within_its_limit_or_says_which_option_is_too_small(
    tables: Tables, verb: str, shape: str, limit: int
) -> None:
    how, added, why = tables.measured(verb, shape, limit)
    assert added <= bound(limit), f"{how} {why}"
    if how == "refused":
        assert "too small for one row" in why or (verb == "cdc" and "max_event_bytes" in why)


@pytest.mark.parametrize("bug", BUGS)
def test_a_batch_without_bound_is_found_out(tables: Tables, bug: str) -> None:
    verb, shape, limit = BUGS[bug]
    _, added, _ = tables.measured(verb, shape, limit, bug)
    assert added > bound(limit)


def main(only: Callable[[tuple[str, str, int]], bool]) -> None:
    """Print what each case takes."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        tables = Tables(Path(folder))
        for case in filter(only, CASES):
            how, added, why = tables.measured(*case)
            over = "" if added <= bound(case[2]) else "OVER"
            print(
                f"{case[0]:10} {case[1]:12} {case[2]:4} {how:8} {added:5} {over} {why[:60]}",
                flush=True,
            )


if __name__ == "__main__":
    wanted = set(sys.argv[1:])
    main(lambda case: wanted <= {case[0], case[1], str(case[2])})
