"""Writes compatibility.md from the pins that the tests run with: ``python docs/compatibility_page.py``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from paimon_provider._compat import SINCE, Feature

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).with_name("compatibility.md")
HEAD = """\
# Compatibility

`docs/compatibility_page.py` generates this page from the versions that the tests run with. A version that is not in a table is not
tested. It may work.
"""
TESTED = "tested with | by"
OLDER = {
    Feature.STATE_STORES: "Airflow's Variables keep the state. They are called `paimon_state_…`. Those of a task go when it succeeds, "
    "those of an asset stay. A retry fails with kind `unknown-outcome` if its run was cleared since the first attempt. The page of tables does not say which task made a commit",
    Feature.RETRY_POLICIES: "every retry waits for `retry_delay`. A `retry_policy` of your own is refused",
    Feature.SHARED_STREAMS: "the watchers of one connection share a poll without Airflow's help",
    Feature.TRIGGERS_KILLED: "operators wait in the worker. `deferrable=True` of an operator is refused; sensors may defer",
    Feature.ASSET_PARTITIONS: "`PaimonRelayPartitionsOperator` and `announce_partitions=True` are refused",
    Feature.DEADLINE_REFERENCES: "`freshness_deadline` is refused; use `PaimonFreshnessSensor`",
    Feature.PARTS_OF_EVERY_PAGE: "the page of an asset has no line that leads to its table",
}
"""What there is instead where Airflow has no such thing."""
AIRFLOWS = """\
## Older Airflows

What an older Airflow does not have is replaced, or refused when the Dag is parsed. The error names the version that has it.

| since | what Airflow has | before |
|---|---|---|
"""
NOT_RUN = """
`make test-airflows` installs each older Airflow into a virtual environment of its own. It runs a smoke suite there, and a declaration on a
live scheduler. `make test` runs on the newest Airflow alone, because such an environment takes minutes. The provider was tested with Python
3.11. With Python 3.12 and 3.13, CI tests only the core.
"""


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


def switches() -> str:
    """A row for each switch in ``_compat.py``; one without a text is an error."""
    rows = ((".".join(map(str, since)), name, OLDER[name]) for name, since in SINCE.items())
    return "".join(f"| {since} | {name} | {instead} |\n" for since, name, instead in rows)


def page() -> str:
    pin = pins()
    spark_next = found(r"PYSPARK_NEXT := (\S+)", "Makefile")
    paimon = found(r"org\.apache\.paimon:paimon-flink-[\d.]+:([\d.]+)", "tests/interop/judge.py")
    older = found(r"Paimon Java ([\d.]+)", "tests/golden/PROVENANCE.md")
    pypaimon = found(r'"pypaimon==([\d.]+)"', "bench/run.py")
    kafka = found(r"<version>(\d+\.\d+\.\d+)</version>", "tests/cdc/kafka/pom.xml")
    older_airflows = found(r"AIRFLOWS := (.+)", "Makefile").replace(" ", ", ")
    run = [
        ("Apache Airflow", pin["apache-airflow"], "`make test`, `make test-live`"),
        ("Apache Airflow, older ones", older_airflows, "`make test-airflows`"),
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
            AIRFLOWS + switches() + NOT_RUN,
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
