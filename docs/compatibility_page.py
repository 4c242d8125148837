"""Writes compatibility.md from the pins and the results of the tests: ``python docs/compatibility_page.py``."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from generated import foot

from paimon_provider._compat import SINCE, Feature

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).with_name("compatibility.md")
RESULTS = Path(__file__).with_name("airflow-matrix.json")
"""What ``tests/airflows/matrix.py`` counted."""
CASES = Path(__file__).with_name("upstream-cases.json")
"""What ``tests/upstream/run.py`` counted."""
HEAD = """\
# Compatibility

These versions are tested. Another one may work.
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
MATRIX = """
## Airflow and Python

`make test-airflows` installs each Airflow with each Python into a virtual environment of its own. The **smoke** suite there imports every
module, parses Dags, looks at what is refused, and runs operators, a sensor and a trigger. The **live** test starts an Airflow on PostgreSQL
and runs the streamhouse declaration there, with its report, its maintenance, operators and sensors. The run writes its counts to
`docs/airflow-matrix.json`, and this table is made of that file. Skipped are the refusals of features that this Airflow has.

| Airflow | Python | smoke | live |
|---|---|---|---|
"""
PROMISES = """\
## What Apache Paimon's own tests promise

`tests/upstream` has {cases} cases that we wrote in our own words. They come from the public test suites of Apache Paimon and pypaimon, and
from public bug reports of Iceberg, Delta, Hudi and Paimon. Each case is a table, some steps, and the rows or the refusal that a user
expects. A case is **held** if the same comes out here. It is **missing** if this release refuses it, and the last column says what
is lacking. `python -m tests.upstream.run` plays all cases and writes its counts to `docs/upstream-cases.json`, and this table is made of
that file. In `tests/interop`, Apache Paimon itself reads the tables that the cases leave.

| area | cases | held | missing | wrong | missing by name |
|---|--:|--:|--:|--:|---|
"""
ONE_WHOLE = """
`make test` runs every test, on the newest Airflow and Python 3.11. CI also runs the tests of the core on Python 3.12 and 3.13.
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


def matrix() -> str:
    """A row for each Airflow and Python that the Makefile names; one that was not run says so."""
    results = json.loads(RESULTS.read_text())
    airflows, pythons = (
        found(rf"{name} := (.+)", "Makefile").split() for name in ("AIRFLOWS", "PYTHONS")
    )
    rows = []
    for airflow in airflows:
        for python in pythons:
            counts = results.get(airflow, {}).get(python, {})
            cells = [told(counts.get(suite)) for suite in ("smoke", "live")]
            rows.append(f"| {airflow} | {python} | {cells[0]} | {cells[1]} |\n")
    return "".join(rows)


def promises() -> str:
    """A row for each area of the public suites, and their sum."""
    areas = json.loads(CASES.read_text())
    rows, sums = [], [0, 0, 0, 0]
    for area, counts in areas.items():
        missing = counts["missing"]
        numbers = [counts["cases"], counts["held"], sum(missing.values()), counts["wrong"]]
        sums = [one + more for one, more in zip(sums, numbers, strict=True)]
        names = ", ".join(
            (name if " " in name else f"`{name}`") + (f" ({n})" if n > 1 else "")
            for name, n in missing.items()
        )
        rows.append(f"| {area} | {' | '.join(map(str, numbers))} | {names} |\n")
    rows.append(f"| **together** | {' | '.join(f'**{n}**' for n in sums)} | |\n")
    return PROMISES.format(cases=sums[0]) + "".join(rows)


def told(counts: dict[str, int] | None) -> str:
    if counts is None:
        return "not run"
    return ", ".join(
        f"{n} {what}" for what in ("passed", "failed", "skipped") if (n := counts[what])
    )


def page() -> str:
    pin = pins()
    spark_next = found(r"PYSPARK_NEXT := (\S+)", "Makefile")
    paimon = found(r"org\.apache\.paimon:paimon-flink-[\d.]+:([\d.]+)", "tests/interop/judge.py")
    older = found(r"Paimon Java ([\d.]+)", "tests/golden/PROVENANCE.md")
    pypaimon = found(r'"pypaimon==([\d.]+)"', "bench/run.py")
    kafka = found(r"<version>(\d+\.\d+\.\d+)</version>", "demo/kafka/pom.xml")
    run = [
        ("Apache Airflow", pin["apache-airflow"], "`make test`, `make test-live`"),
        ("Apache Airflow, older ones", "see [below](#airflow-and-python)", "`make test-airflows`"),
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
            MATRIX[1:] + matrix() + ONE_WHOLE,
            AIRFLOWS + switches(),
            "## Who else reads and writes the tables\n",
            table("program", formats),
            promises(),
            "## Sources and stores\n",
            table("server", sources),
            "Which stores and sources were never tested is on the pages of [stores](stores.md#stores) and",
            "[change capture](cdc.md#sources).\n",
            "## What the packages declare\n",
            "| distribution | Python | needs |",
            "|---|---|---|",
            f"{declared}\n",
        ]
    ) + foot("compatibility_page.py", "the versions that the tests run with")


if __name__ == "__main__":
    PAGE.write_text(page())
