"""Airflow retries what may work later, and nothing else."""

from __future__ import annotations

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from paimon_provider.failures import RETRY, airflow_failures
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
