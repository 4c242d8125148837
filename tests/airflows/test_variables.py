"""State before Airflow 3.3: a Variable outlives its run, and must not be taken for another run's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import (
    DeleteVariable,
    ErrorResponse,
    GetVariable,
    PutVariable,
    VariableResult,
)

from paimon_provider import _variables
from paimon_provider._variables import ForgetsTaskRuns, TaskVariables
from table_core.errors import OutcomeUnknownError


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the supervisor keeps, in the messages that Airflow has for it."""
    store: dict[str, str] = {}

    def ask(message: Any) -> Any:
        if isinstance(message, PutVariable):
            store[message.key] = str(message.value)
        elif isinstance(message, DeleteVariable):
            store.pop(message.key, None)
        elif isinstance(message, GetVariable):
            if message.key in store:
                return VariableResult(key=message.key, value=store[message.key])
            return ErrorResponse(error=ErrorType.VARIABLE_NOT_FOUND)
        return None

    monkeypatch.setattr(_variables, "_ask", ask)
    monkeypatch.setattr(_variables, "_OF_THIS_TASK", set())
    return store


def attempt(
    number: int = 1, *, began: str = "10:00", clears: int = 0, max_tries: int = 2, **more: Any
) -> TaskVariables:
    task = SimpleNamespace(retries=2)
    named = {"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": -1, **more}
    ti = SimpleNamespace(
        id=f"{began}/{number}", try_number=number, max_tries=max_tries, task=task, **named
    )
    return TaskVariables(
        {"ti": ti, "dag_run": SimpleNamespace(start_date=began, clear_number=clears)}
    )


def test_attempts_share_it_and_mapped_tasks_do_not(kept: dict[str, str]) -> None:
    attempt(1).set("name", {"user": "a"})
    assert attempt(2).get("name") == {"user": "a"}
    assert attempt(2, map_index=1).get("name") is None
    assert len(kept) == 1


def test_a_run_that_was_deleted_and_made_again_has_none(kept: dict[str, str]) -> None:
    attempt(1).set("name", "a")
    assert attempt(1, began="11:00").get("name") is None
    assert attempt(2, began="11:00").get("name") is None, (
        "its first attempt was lost before it kept one"
    )


def test_after_a_clear_a_first_attempt_sees_it_and_a_retry_is_refused(kept: dict[str, str]) -> None:
    attempt(1).set("name", "a")
    assert attempt(2, began="11:00", clears=1, max_tries=3).get("name") == "a"
    with pytest.raises(OutcomeUnknownError, match="clear it"):
        attempt(2, began="11:00", clears=1).get("name")


def test_it_goes_when_the_task_has_succeeded_but_for_the_branch(kept: dict[str, str]) -> None:
    attempt(1).set("name", "a")
    attempt(1).set("paimon_branch", "b")
    ForgetsTaskRuns().on_task_instance_success(None, None)
    assert (attempt(2).get("name"), attempt(2).get("paimon_branch")) == (None, "b")


def test_an_answer_that_failed_is_not_taken_for_an_absent_one(
    kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = ErrorResponse(error=ErrorType.API_SERVER_ERROR)
    monkeypatch.setattr(_variables, "_ask", lambda _: failed)
    with pytest.raises(AirflowRuntimeError):
        attempt(2).get("name")
