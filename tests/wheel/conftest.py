"""Both distributions, built once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Wheels(NamedTuple):
    """What ``make wheel`` makes."""

    core: Path
    provider: Path


def build(project: Path, out: Path) -> None:
    """The source archive and the wheel of both distributions."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    for part in (project / "table_core", project):
        subprocess.run([*command, str(part)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all four files."""
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out)
    return out


@pytest.fixture(scope="session")
def wheels(dist: Path) -> Wheels:
    (core,), (provider,) = dist.glob("paimon_table_core*.whl"), dist.glob("airflow_provider*.whl")
    return Wheels(core, provider)
