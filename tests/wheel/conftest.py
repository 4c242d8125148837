"""Both wheels, built once."""

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


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    for project in (ROOT / "table_core", ROOT):
        subprocess.run([*build, str(project)], check=True, capture_output=True)
    (core,), (provider,) = out.glob("paimon_table_core*.whl"), out.glob("airflow_provider*.whl")
    return Wheels(core, provider)
