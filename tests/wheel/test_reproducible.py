"""Goal: whoever builds a commit gets the bytes that were released, with metadata that the registry takes.

Method: build both distributions twice, the second time from a copy elsewhere with other times and other rights of its
files, and compare every byte; then let twine look at them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wheel.conftest import ROOT, build

SCRIPT = "provider/paimon_provider/pages/ui/dist/tables.js"
LEFT_OUT = {".git", ".venv", ".venv-core", ".cache", ".demo", "node_modules", "dist", "build"}


def sums(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows, elsewhere, with other times."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    target = tmp_path_factory.mktemp("copy")
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file() and not LEFT_OUT & set(Path(name).parts):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
            os.utime(target / name, (1_000_000_000, 1_000_000_000))
    return target


@pytest.fixture(scope="module")
def twice(dist: Path, copy: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    second = tmp_path_factory.mktemp("second")
    if (ROOT / SCRIPT).exists():  # Node.js made it in the first build; the second takes it as it is
        (copy / SCRIPT).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / SCRIPT, copy / SCRIPT)
    build(copy, second)
    return dist, second


def test_two_builds_have_the_same_bytes(twice: tuple[Path, Path]) -> None:
    first, second = map(sums, twice)
    assert len(first) == 4, "a wheel and a source archive of each distribution"
    assert first == second


def test_the_registry_takes_their_metadata(twice: tuple[Path, Path]) -> None:
    files = sorted(map(str, twice[0].iterdir()))
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
