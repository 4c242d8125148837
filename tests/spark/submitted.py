"""Jobs as Spark's own command submits them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import table_core as tc
from table_core.jobs.job_spec import JobResult, JobSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(tc.__file__).parent.parent
QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n"
MODULE = (sys.executable, "-m", "table_core.spark.entrypoint")


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK"))}
    folder = str(Path(sys.executable).parent)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        "PATH": f"{folder}{os.pathsep}{kept['PATH']}",
    }


def ended(
    folder: Path, spec: JobSpec | str, command: Sequence[str], *more: str
) -> subprocess.CompletedProcess[str]:
    """One job, when its process has ended."""
    spec_file, result_file, conf = (folder / name for name in ("spec.json", "result.json", "conf"))
    spec_file.write_text(spec if isinstance(spec, str) else spec.to_json())
    conf.write_text(QUICK)
    files = ("--spec", str(spec_file), "--result", str(result_file), "--conf", str(conf))
    return subprocess.run(
        [*command, *files, *more], env=environment(), capture_output=True, text=True, cwd=folder
    )


def job(
    folder: Path, spec: JobSpec | str, command: Sequence[str] = MODULE, *more: str
) -> tuple[int, JobResult, list[dict[str, Any]]]:
    """Exit status, result and progress of one job."""
    done = ended(folder, spec, command, *more)
    result_file = folder / "result.json"
    assert result_file.exists(), done.stderr[-3000:]
    progress = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [p for p in folder.iterdir() if p.suffix == ".tmp"] == []
    return done.returncode, JobResult.from_json(result_file.read_text()), progress
