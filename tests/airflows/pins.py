"""Write the constraints of an older Airflow: ``python tests/airflows/pins.py 3.2.2 2026-05-30``.

Airflow's own constraints are the newest versions of the day of its release, and that is what this takes: of
everything that this Airflow needs, the newest before DAY, the day after the release.  What was released later
fails in ways that no range forbids (cadwyn 7 lost the state of Airflow 3.2's API server).  The rest is ours:
Airflow's providers, which are released on their own, and what the core needs beside Airflow.  Needs uv.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROVIDERS = "apache-airflow-providers-"
NEEDED = (
    "apache-airflow-providers-apache-spark>=6.3.4",
    "apache-airflow-providers-common-sql>=2.4.0",
    "pyspark-client==4.1.3",
)
TESTS = ("pytest", "pytest-timeout", "hypothesis", "psutil", "psycopg[binary]", "psycopg2-binary")
CHOSEN_AGAIN = {
    *(
        "grpcio",
        "grpcio-status",
        "googleapis-common-protos",
        "protobuf",
    ),  # one family; Spark's is newer
    *("s3fs", "aiobotocore", "botocore"),  # of the day of their fsspec
}


def compiled(requirements: list[str], constraints: list[str], *more: str) -> list[str]:
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    (folder / "pins.in").write_text("\n".join(requirements) + "\n")
    (folder / "pins.constraints").write_text("\n".join(constraints) + "\n")
    command = ["uv", "pip", "compile", "-q", "--universal", "--python-version", "3.11"]
    command += ["--no-annotate", "--no-header", *more, "-c", str(folder / "pins.constraints")]
    done = subprocess.run(
        [*command, str(folder / "pins.in")], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return [line for line in done.stdout.splitlines() if "==" in line]


def name_of(line: str) -> str:
    return re.split(r"[=<>;\[ ]", line)[0].lower()


def main(version: str, day: str) -> None:
    airflow = f"apache-airflow=={version}"
    base = compiled([airflow], [], "--exclude-newer", f"{day}T00:00:00Z")
    kept = [n for n in base if name_of(n) not in CHOSEN_AGAIN and not n.startswith(PROVIDERS)]
    ours = [n for n in (ROOT / "constraints.txt").read_text().splitlines() if "==" in n]
    left_out = {
        *map(name_of, kept),
        *CHOSEN_AGAIN,
        "apache-airflow-core",
        "apache-airflow-task-sdk",
    }
    ours = [line for line in ours if name_of(line) not in left_out and line[0] != "#"]
    core = f"-e {ROOT / 'table_core'}[cli,duckdb,spark,s3,mysql]"
    pins = compiled([airflow, *NEEDED, *TESTS, core], [*kept, *ours])
    head = f"# Airflow {version} as it was released, by `python tests/airflows/pins.py {version} {day}`."
    text = "\n".join([head, *pins]) + "\n"
    (HERE / f"constraints-{version}.txt").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
