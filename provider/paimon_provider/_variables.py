"""State of tasks and of assets in Airflow's Variables, for versions without stores of their own.

Airflow 3.3 keeps state for a task and for an asset.  Here a Variable keeps it for the versions before.  It is
asked for without Airflow's ``Variable``: that one takes an answer that failed for a Variable that is absent,
and a retry would then commit under a second name.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from airflow.listeners import hookimpl

from table_core.errors import OutcomeUnknownError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ForgetsTaskRuns", "TaskVariables", "Variables"]

# Never change these: a retry that spans an upgrade must find the same Variables.
_NAMESPACE: Final = uuid.UUID("0c7b1a53-94c4-5a35-8f0e-5b2f6a1d7c42")
_PREFIX: Final = "paimon_state_"
_KEPT: Final = ("paimon_branch",)
"""What is asked for again after the task has succeeded: when it is cleared."""

_OF_THIS_TASK: set[str] = set()
"""Names of the Variables of the task run that this process carries out."""


class Variables:
    """Documents by key, each in a Variable of its own.

    :param owner: whose they are; it is shown as the Variable's description.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def get(self, key: str) -> Any:
        """What is kept; None if nothing is.

        Raises:
            AirflowRuntimeError: Airflow does not answer.
        """
        from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
        from airflow.sdk.execution_time.comms import ErrorResponse, GetVariable

        answer = _ask(GetVariable(key=self.name(key)))
        if isinstance(answer, ErrorResponse):
            if answer.error is ErrorType.VARIABLE_NOT_FOUND:
                return None
            raise AirflowRuntimeError(answer)
        return json.loads(answer.value)

    def set(self, key: str, value: Any, **_: Any) -> None:
        """Keep ``value``, which is JSON, until it is deleted.

        Raises:
            AirflowRuntimeError: Airflow has not kept it.
        """
        from airflow.sdk.exceptions import AirflowRuntimeError
        from airflow.sdk.execution_time.comms import ErrorResponse, PutVariable

        text = json.dumps(value)
        about = f"{key} of {self._owner}"
        answer = _ask(PutVariable(key=self.name(key), value=text, description=about))
        if isinstance(answer, ErrorResponse):
            raise AirflowRuntimeError(answer)

    def delete(self, key: str) -> None:
        """Forget it."""
        _forget(self.name(key))

    async def aget(self, key: str) -> Any:
        """``get`` in the triggerer."""
        from asgiref.sync import sync_to_async

        return await sync_to_async(self.get, thread_sensitive=False)(key)

    async def aset(self, key: str, value: Any) -> None:
        """``set`` in the triggerer."""
        from asgiref.sync import sync_to_async

        await sync_to_async(self.set, thread_sensitive=False)(key, value)

    def name(self, key: str) -> str:
        """Of the Variable: no name of a Dag is too long for it, and none looks like a secret's."""
        return f"{_PREFIX}{uuid.uuid5(_NAMESPACE, f'{self._owner}/{key}').hex}"


class TaskVariables(Variables):
    """State of one task instance of one Dag run.

    A Variable outlives its run.  So it says when the run began, and what a deleted run of the same name has left
    is not there.  A run that is cleared begins anew too, and counts it.

    :param context: the running task's.
    """

    def __init__(self, context: Mapping[str, Any] | Any) -> None:
        ti, run = context["ti"], context["dag_run"]
        index = -1 if ti.map_index is None else ti.map_index
        super().__init__(f"{ti.dag_id}/{ti.run_id}/{ti.task_id}/{index}")
        self._began = str(run.start_date)
        self._clears = int(run.clear_number or 0)
        self._instance = str(ti.id)
        self._is_retry = ti.try_number > ti.max_tries - (ti.task.retries or 0) + 1

    def get(self, key: str) -> Any:
        """What an attempt of this run has kept; None if none has.

        Raises:
            OutcomeUnknownError: it may be of this run or of a deleted one of the same name.
        """
        kept = super().get(key)
        if not isinstance(kept, dict) or "value" not in kept:
            return None
        if kept["began"] != self._began and kept["instance"] != self._instance:
            if self._clears <= kept["clears"]:
                return None
            if self._is_retry:
                raise OutcomeUnknownError(
                    f"{self._owner} is a retry, and its run was cleared since an earlier attempt.  Before "
                    "Airflow 3.3 nothing tells whether that attempt was of this run or of a deleted one of the "
                    "same name.  Check whether its rows are there; then mark the task, or clear it"
                )
        if key not in _KEPT:
            _OF_THIS_TASK.add(self.name(key))
        return kept["value"]

    def set(self, key: str, value: Any, **_: Any) -> None:
        """Keep ``value`` until the task has succeeded."""
        whole = {"began": self._began, "clears": self._clears, "instance": self._instance}
        super().set(key, {**whole, "value": value})
        if key not in _KEPT:
            _OF_THIS_TASK.add(self.name(key))


class ForgetsTaskRuns:
    """Listener: Variables of a task run go when Airflow knows that the task has succeeded."""

    @hookimpl
    def on_task_instance_success(self, previous_state: Any, task_instance: Any) -> None:  # noqa: ARG002 - Airflow's signature
        """Airflow calls this in the task's process, after it has stored the success."""
        while _OF_THIS_TASK:
            _forget(_OF_THIS_TASK.pop())


def _forget(name: str) -> None:
    from airflow.sdk.execution_time.comms import DeleteVariable

    _ask(DeleteVariable(key=name))


def _ask(question: Any) -> Any:
    """The answer of the process that Airflow has put above this one."""
    from airflow.sdk.execution_time import task_runner

    return task_runner.SUPERVISOR_COMMS.send(question)
