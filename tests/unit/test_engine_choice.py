"""``engine="auto"``: the choice, from figures alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import RESERVE, AutoLimits, Touched, Worker, choose_engine

MB = 1 << 20
LIMITS = AutoLimits(bytes=100 * MB, rows=1_000)
SMALL = Touched(files=3, bytes=10 * MB, rows=900, memory=50 * MB, packages=("duckdb",))
WORKER = Worker(free_memory=1 << 30)


def test_what_is_small_runs_in_the_worker_and_the_figures_are_told() -> None:
    found = choose_engine(SMALL, WORKER, LIMITS)
    assert found.is_local
    for told in ("3 files", "10 MB", "900 rows", "100 MB", "1,000 rows", "50 MB", "1.0 GB"):
        assert told in found.reason


@pytest.mark.parametrize(
    ("touched", "worker", "reason"),
    [
        (replace(SMALL, rows=1_001), WORKER, "more than 1,000 rows"),
        (replace(SMALL, bytes=100 * MB + 1), WORKER, "more than 100 MB"),
        (replace(SMALL, memory=(1 << 30) - RESERVE + 1), WORKER, "memory"),
        (SMALL, replace(WORKER, free_memory=50 * MB), "the worker has 50 MB free"),
        (SMALL, replace(WORKER, missing=frozenset({"duckdb"})), "the worker has no duckdb"),
        (replace(SMALL, spark_because="so it is"), WORKER, "so it is"),
    ],
)
def test_what_is_large_or_does_not_fit_goes_to_spark(
    touched: Touched, worker: Worker, reason: str
) -> None:
    found = choose_engine(touched, worker, LIMITS)
    assert found.engine == "spark"
    assert reason in found.reason
    assert "3 files" in found.reason


def test_limits_themselves_are_small() -> None:
    edge = replace(SMALL, rows=1_000, bytes=100 * MB, memory=(1 << 30) - RESERVE)
    assert choose_engine(edge, WORKER, LIMITS).is_local


def test_memory_that_nobody_knows_forbids_nothing() -> None:
    assert choose_engine(replace(SMALL, memory=1 << 50), Worker(), LIMITS).is_local


def test_a_verb_that_tasks_cannot_share_stays_in_the_worker() -> None:
    assert choose_engine(None, Worker(free_memory=0), LIMITS).is_local


def test_limits_of_the_task_win_over_those_of_the_connection() -> None:
    found = AutoLimits.of({"bytes": "1 gb", "rows": "7"}, {"rows": 9})
    assert found == AutoLimits(bytes=1 << 30, rows=9)
    assert AutoLimits.of({}) == AutoLimits()


@pytest.mark.parametrize(
    "given", [{"row": 1}, {"rows": "many"}, {"bytes": "1 parsec"}, {"rows": -1}, {"rows": None}]
)
def test_limits_that_are_none_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match="auto_limits"):
        AutoLimits.of(given)


def test_two_jobs_together_need_what_both_need() -> None:
    other = Touched(files=1, bytes=2, rows=3, memory=4, packages=("x",), spark_because="why")
    assert SMALL + other == Touched(
        files=4,
        bytes=10 * MB + 2,
        rows=903,
        memory=50 * MB + 4,
        packages=("duckdb", "x"),
        spark_because="why",
    )
