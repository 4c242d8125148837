"""``engine="auto"`` in a task: decided when the attempt begins, told in one line of its log.

Whatever is chosen, the job is the same: its spec, its identity, its result document.  So an attempt may run in
the worker and the next one on Spark, and what the first has committed is found by the second.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from table_core.errors import TableError
from table_core.jobs.engine_choice import AUTO, EngineChoice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from paimon_provider.runs.worker_attempts import WorkerAttempts
    from table_core.jobs.engine_choice import AutoLimits
    from table_core.jobs.job_spec import JobSpec

__all__ = ["decided", "engine_now", "told_what_auto_saves"]


def decided(spec: JobSpec, limits: AutoLimits) -> EngineChoice:
    """Where ``spec`` runs, as the metadata and this worker are now.

    Raises:
        TableError: of kind ``unavailable``: the metadata cannot be read now.
    """
    from paimon_provider.launchers.worker import this_worker
    from table_core.jobs.touched import engine_of  # Arrow stays out of Dag parsing

    return engine_of(spec, limits, this_worker)


@contextmanager
def engine_now(
    engine: str,
    decide: Callable[[], EngineChoice],
    attempts: WorkerAttempts,
    *,
    submitted: Callable[[], bool],
    log: Callable[..., Any],
) -> Iterator[str]:
    """``engine``, and for ``auto`` what that means for this attempt; the job runs inside the block.

    Args:
        engine: of the task.
        decide: by the metadata and the worker.
        attempts: of this task run, inside the worker.
        submitted: whether a job of an earlier attempt may still bring the result.
        log: takes a message and its values.
    """
    if engine != AUTO:
        yield engine
        return
    if submitted():
        choice = EngineChoice(engine="spark", reason="an earlier attempt has submitted the job")
    elif attempts.was_killed:
        why = "an earlier attempt was killed while it ran in the worker"
        choice = EngineChoice(engine="spark", reason=why)
    else:
        choice = decide()
    log("engine auto: %s, for %s", choice.engine, choice.reason)
    if not choice.is_local:
        yield choice.engine
        return
    with attempts.noted():
        yield choice.engine


@contextmanager
def told_what_auto_saves(
    decide: Callable[[], EngineChoice], log: Callable[..., Any]
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Around a job in a Spark session of its own: says what ``auto`` would have saved, if the job is small.

    The block hands its result to what it gets, for the seconds that the verb itself took.
    """
    try:
        choice = decide()
    except TableError:  # the job says what is wrong with its table
        choice = EngineChoice(engine="spark", reason="nobody knows")
    results: list[Mapping[str, Any]] = []
    began = time.monotonic()
    yield results.append
    if not (choice.is_local and results):
        return
    seconds = time.monotonic() - began
    work = float(results[0].get("seconds") or 0)
    log(
        "A Spark session of its own took %.1f of %.1f seconds. With engine='auto' the worker would have done this, "
        "for %s. Set it for the task, on the connection (extra 'engine'), or for all of Airflow ([paimon] engine)",
        max(0.0, seconds - work),
        seconds,
        choice.reason,
    )
