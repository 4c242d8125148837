"""Airflow retries what may work later, and nothing else."""

from __future__ import annotations

import pytest
from airflow.sdk import DAG, ExceptionRetryPolicy, RetryAction, RetryDecision
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from paimon_provider.failures import RETRY, TableRetryPolicy, airflow_failures
from paimon_provider.operators.compact import PaimonCompactOperator
from table_core.errors import CommitConflictError, ErrorKind, JobFailedError, TableError


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_has_a_decision(kind: ErrorKind) -> None:
    error = type("AnyError", (TableError,), {"kind": kind})("boom")
    with pytest.raises(AirflowException) as caught, airflow_failures():
        raise error
    assert isinstance(caught.value, AirflowFailException) is not RETRY[kind]
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [CommitConflictError("lost"), JobFailedError("died")])
def test_a_lost_race_and_a_dead_job_are_retried(error: TableError) -> None:
    message = rf"^\[{error.kind}\] "
    with pytest.raises(AirflowException, match=message) as caught, airflow_failures():
        raise error
    assert not isinstance(caught.value, AirflowFailException)


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), airflow_failures():
        raise KeyError("mine")


def decided(error: TableError, try_number: int) -> RetryDecision:
    with pytest.raises(AirflowException) as caught, airflow_failures():
        raise error
    return TableRetryPolicy().evaluate(caught.value, try_number, 5)


def test_after_a_lost_race_it_is_soon_again_at_a_moment_of_its_own() -> None:
    delays = []
    for try_number in (1, 2, 3):
        decision = decided(CommitConflictError("lost"), try_number)
        assert decision.action is RetryAction.RETRY
        assert decision.retry_delay is not None
        delays.append(decision.retry_delay.total_seconds() / try_number)
    assert all(1 <= delay <= 5 for delay in delays)
    assert len(set(delays)) == 3


def test_after_a_dead_job_the_task_waits_as_long_as_its_author_wants() -> None:
    assert decided(JobFailedError("died"), 1).action is RetryAction.DEFAULT
    assert TableRetryPolicy().evaluate(KeyError("mine"), 1, 5).action is RetryAction.DEFAULT


def test_operators_have_the_policy_unless_the_author_has_another() -> None:
    own = ExceptionRetryPolicy(rules=[])
    task = PaimonCompactOperator(task_id="a", table="s.t")
    assert isinstance(task.retry_policy, TableRetryPolicy)
    assert PaimonCompactOperator(task_id="b", table="s.t", retry_policy=own).retry_policy is own
    with DAG("d", default_args={"retry_policy": own}):
        assert PaimonCompactOperator(task_id="c", table="s.t").retry_policy is own
