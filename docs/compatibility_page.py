"""Writes compatibility.md from the pins that the tests run with: ``python docs/compatibility_page.py``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).with_name("compatibility.md")
HEAD = """\
# Compatibility

`docs/compatibility_page.py` generates this page from the versions that the tests run with. A version that is not in a table is not
tested. It may work.
"""
TESTED = "tested with | by"


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def found(pattern: str, path: str) -> str:
    """What ``pattern`` finds in a file of the repository; its absence is an error."""
    match = re.search(pattern, (ROOT / path).read_text())
    if match is None:
        raise LookupError(f"{path} no longer has {pattern}")
    return match[1]


def table(first: str, rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| {first} | {TESTED} |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {a} | {b} | {c} |" for a, b, c in rows)]) + "\n"


def needed() -> list[tuple[str, str, str]]:
    """What a distribution declares, as text."""
    core = tomllib.loads((ROOT / "table_core/pyproject.toml").read_text())["project"]
    provider = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        ("`paimon-table-core`", core["requires-python"], ", ".join(core["dependencies"])),
        (
            "`airflow-provider-paimon`",
            provider["requires-python"],
            ", ".join(provider["dependencies"]),
        ),
    ]


def page() -> str:
    pin = pins()
    spark_next = found(r"PYSPARK_NEXT := (\S+)", "Makefile")
    paimon = found(r"org\.apache\.paimon:paimon-flink-[\d.]+:([\d.]+)", "tests/interop/judge.py")
    older = found(r"Paimon Java ([\d.]+)", "tests/golden/PROVENANCE.md")
    pypaimon = found(r'"pypaimon==([\d.]+)"', "bench/run.py")
    kafka = found(r"<version>(\d+\.\d+\.\d+)</version>", "tests/cdc/kafka/pom.xml")
    run = [
        ("Apache Airflow", pin["apache-airflow"], "`make test`, `make test-live`"),
        ("PySpark", pin["pyspark"], "`make test`, `make test-spark-cluster`"),
        ("PySpark, the next one", spark_next, "`make test-spark-next`"),
        ("PyArrow", pin["pyarrow"], "`make test`"),
        ("DuckDB", pin["duckdb"], "`make test`"),
    ]
    formats = [
        ("Apache Paimon (Java) reads and writes our tables", paimon, "`tests/interop`"),
        ("tables written by Apache Paimon (Java)", f"{paimon}, {older}", "`tests/golden`"),
        ("pypaimon beside us", pypaimon, "`make bench`"),
    ]
    sources = [
        ("MariaDB, PostgreSQL", "the servers of the system", "`make test-cdc`"),
        ("Apache Kafka", kafka, "`make test-cdc`"),
        ("S3 (MinIO)", found(r"version=\S+?-(\d{8})", "tests/minio.sh"), "`make torture`"),
    ]
    declared = "\n".join(f"| {name} | {python} | {needs} |" for name, python, needs in needed())
    return "\n".join(
        [
            HEAD,
            "## What runs the work\n",
            table("program", run),
            "## Who else reads and writes the tables\n",
            table("program", formats),
            "## Sources and stores\n",
            table("server", sources),
            "Which stores and sources were never tested is on the pages of [stores](stores.md#stores) and",
            "[change capture](cdc.md#sources).\n",
            "## What the packages declare\n",
            "| distribution | Python | needs |",
            "|---|---|---|",
            f"{declared}\n",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page())
