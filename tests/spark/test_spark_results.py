"""Goal: a job on Spark says in its result what the metadata before and after say, as the embedded engine does.

Method: the jobs of ``tests/every_job.py`` through ``SparkEngine``, counted by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_job
from table_core.spark.engine import SparkEngine
from table_core.spark.streams.drain import drain
from tests.every_job import JOBS, ONE_ROW, RESCALE, lake_of, put
from tests.lanes import sampled
from tests.whole_results import MEMBERS, State, refuted

BY_TASKS = (
    "write",
    "flow",
    "overwrite",
    "overwrite partitions",
    "merge-into",
    "delete",
    "delete whole files",
    "delete nothing",
    "update",
    "compact",
    "compact minor",
    "analyze",
)
CASES = [
    *((kind, name) for kind in ("key", "append", "append, vectors") for name in BY_TASKS),
    *((kind, "rescale") for kind in ("key", "append in buckets")),
    *(("postponed", name) for name in ("write", "merge-into", "delete", "compact")),
    *(("lookup", name) for name in ("write", "update", "rescale")),
]


def run(
    spark: Any, catalog: tc.Catalog, action: str, args: dict[str, Any], number: int | None = None
) -> dict[str, Any]:
    spec = JobSpec(
        action=action,
        warehouse=catalog.warehouse,
        table="d.t",
        args=args,
        commit_user=None if number is None else "me",
        commit_identifier=number,
    )
    said = dict(run_job(JobSpec.from_json(spec.to_json()), SparkEngine(spark)))
    assert said.pop("commits") is not None
    return said


@pytest.mark.parametrize(("kind", "name"), sampled(CASES, 3))
def test_a_job_says_what_the_metadata_say(spark: Any, tmp_path: Path, kind: str, name: str) -> None:
    catalog = lake_of(kind, tmp_path.as_uri())
    table = catalog.table("d.t")
    before = State.of(table)
    action, args = (JOBS | RESCALE)[name]
    said = run(spark, catalog, action, args)
    wrong = refuted(said, before, State.of(table))
    if kind == "lookup":
        wrong.pop("rows_written", None)  # what is compacted along is in no file that was written
    assert wrong == {}


def test_a_retry_says_what_the_first_run_said(spark: Any, tmp_path: Path) -> None:
    catalog = lake_of("key", tmp_path.as_uri())
    first = run(spark, catalog, "write", {"sql": ONE_ROW}, number=1)
    put(catalog.table("d.t"), ("a", 50, 1))
    again = run(spark, catalog, "write", {"sql": ONE_ROW}, number=1)
    assert again["details"]["replayed"] is True
    numbers = MEMBERS - {"seconds", "details"}
    assert {n: again[n] for n in numbers} == {n: first[n] for n in numbers}


def test_a_drain_counts_all_its_batches(spark: Any, tmp_path: Path) -> None:
    catalog = lake_of("append", tmp_path.as_uri())
    source, into = catalog.table("d.s"), catalog.table("d.t")
    for number in range(2):
        put(source, ("b", number, number))
        before = State.of(into)
        said = drain(spark, source, into, "all").to_document()
        assert refuted(said, before, State.of(into)) == {}
