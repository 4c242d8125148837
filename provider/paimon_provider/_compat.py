"""The only file that knows which Airflow is installed.

Everything else imports Airflow names from here, so dropping a version is a one-file change.  ``SINCE`` says what
needs a newer one than the oldest; ``docs/compatibility_page.py`` writes it into the page.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from airflow import __version__ as _version
from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    AssetWatcher,
    BaseHook,
    BaseNotifier,
    BaseOperator,
    BaseOperatorLink,
    BaseSensorOperator,
    Connection,
    Context,
    Param,
    TaskGroup,
)
from airflow.sdk.bases.decorator import DecoratedOperator, task_decorator_factory
from airflow.sdk.bases.sensor import PokeReturnValue
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.definitions._internal.mixins import ResolveMixin
from airflow.sdk.definitions.asset import BaseAsset
from airflow.sdk.definitions.deadline import DeadlineAlert
from airflow.sdk.definitions.mappedoperator import OperatorPartial
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.log import mask_secret
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, StartTriggerArgs, TriggerEvent
from attrs import define

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

AIRFLOW: Final = tuple(map(int, re.findall(r"\d+", _version)[:2]))
"""Major and minor version of the Airflow that is installed."""

if TYPE_CHECKING or AIRFLOW >= (3, 2):
    from airflow.sdk import BranchMixIn, CronTriggerTimetable, conf
    from airflow.sdk.definitions.deadline import BaseDeadlineReference
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
        TaskDeferralError,
        TaskDeferralTimeout,
    )
    from airflow.sdk.lineage import get_hook_lineage_collector
else:
    from airflow.configuration import conf
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
        TaskDeferralError,
        TaskDeferralTimeout,
    )
    from airflow.lineage.hook import get_hook_lineage_collector
    from airflow.providers.standard.operators.branch import BranchMixIn
    from airflow.timetables.trigger import CronTriggerTimetable

    class BaseDeadlineReference:
        """Stands where Airflow has no deadlines of others."""


if TYPE_CHECKING or AIRFLOW >= (3, 3):
    from airflow.observability import stats as triggerer_stats
    from airflow.sdk import RetryDecision, RetryPolicy
    from airflow.sdk.execution_time.context import NEVER_EXPIRE
    from airflow.sdk.observability import stats
else:
    if AIRFLOW >= (3, 2):
        from airflow.sdk.observability.stats import Stats as stats  # noqa: N813 - later it is a module
    else:
        from airflow.stats import Stats as stats  # noqa: N813
    triggerer_stats = stats
    NEVER_EXPIRE = None

    class RetryDecision:
        """Stands where Airflow has no retry policies: nobody asks for one."""

    class RetryPolicy:
        """Stands where Airflow has no retry policies: nobody asks one."""


XCOM_RETURN_KEY = BaseXCom.XCOM_RETURN_KEY
# Airflow has two of these: ``stats`` is set up in tasks only, ``triggerer_stats`` in the triggerer only.

__all__ = [
    "AIRFLOW",
    "DAG",
    "DEFERRABLE_JOBS",
    "LISTENERS",
    "NEVER_EXPIRE",
    "SINCE",
    "XCOM_RETURN_KEY",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowRuntimeError",
    "AirflowSkipException",
    "Asset",
    "AssetAlias",
    "AssetWatcher",
    "BaseAsset",
    "BaseDeadlineReference",
    "BaseEventTrigger",
    "BaseHook",
    "BaseNotifier",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensorOperator",
    "BaseTrigger",
    "BaseXCom",
    "BranchMixIn",
    "Connection",
    "Context",
    "CronTriggerTimetable",
    "DeadlineAlert",
    "DecoratedOperator",
    "Feature",
    "OperatorPartial",
    "Param",
    "PokeReturnValue",
    "ResolveMixin",
    "RetryDecision",
    "RetryPolicy",
    "StartTriggerArgs",
    "TaskDeferralError",
    "TaskDeferralTimeout",
    "TaskGroup",
    "TriggerEvent",
    "asset_state",
    "conf",
    "define",
    "get_hook_lineage_collector",
    "has",
    "is_left_out",
    "is_mapped",
    "is_tasks_test",
    "let_thread_ask",
    "mask_secret",
    "refuse_deferrable_jobs",
    "require",
    "retry_arguments",
    "script_address",
    "state_of",
    "stats",
    "task_decorator_factory",
    "task_state",
    "trigger_state",
    "triggerer_stats",
]


class Feature(StrEnum):
    """What not every Airflow has that we support; the value is its name on the page of versions."""

    STATE_STORES = "state stores of tasks and assets"
    RETRY_POLICIES = "retry policies"
    SHARED_STREAMS = "event streams that triggers share"
    TRIGGERS_KILLED = "triggers that hear of a kill"
    ASSET_PARTITIONS = "partitions of asset events"
    DEADLINE_REFERENCES = "deadline references of plugins"
    PARTS_OF_EVERY_PAGE = "parts of plugins on every page"


SINCE: Final[Mapping[Feature, tuple[int, int]]] = {
    Feature.STATE_STORES: (3, 3),
    Feature.RETRY_POLICIES: (3, 3),
    Feature.SHARED_STREAMS: (3, 3),
    Feature.TRIGGERS_KILLED: (3, 3),
    Feature.ASSET_PARTITIONS: (3, 3),
    Feature.DEADLINE_REFERENCES: (3, 2),
    Feature.PARTS_OF_EVERY_PAGE: (3, 2),
}
"""The first Airflow that has it."""


def has(feature: Feature) -> bool:
    """Whether this Airflow has it."""
    return SINCE[feature] <= AIRFLOW


def require(feature: Feature, what: str, instead: str) -> None:
    """Refuse ``what`` where this Airflow has no ``feature``.

    Raises:
        ArgumentError: names the version that has it, and what to do ``instead``.
    """
    if not has(feature):
        since = ".".join(map(str, SINCE[feature]))
        raise ArgumentError(
            f"{what} needs Airflow {since} or newer, which has {feature}; this is {_version}: {instead}",
            argument=what,
            value=_version,
        )


def is_left_out(argument: object, name: str, default: object) -> bool:
    """Whether nobody gave ``partial`` the argument ``name``: it has ``argument``; our own ``default`` counts from 3.3."""
    if AIRFLOW >= (3, 3):
        return argument == default
    from airflow.sdk.bases.operator import OPERATOR_DEFAULTS

    return argument is OPERATOR_DEFAULTS[name]


DEFERRABLE_JOBS: Final = has(Feature.TRIGGERS_KILLED) and conf.getboolean(
    "operators", "default_deferrable", fallback=False
)
"""Whether operators wait for Spark in the triggerer, where the Dag does not say."""


def refuse_deferrable_jobs(deferrable: object) -> None:
    """Refuse that an operator waits for Spark in the triggerer, where its trigger is not told of a kill.

    Raises:
        ArgumentError: the job would outlive a task that somebody marks or clears.
    """
    if deferrable:
        instead = "leave it out, else the job outlives a task that is marked or cleared"
        require(Feature.TRIGGERS_KILLED, "deferrable=True of an operator", instead)


LISTENERS: Final[list[Any]] = []
"""What the plugin has to hear of tasks."""
if not has(Feature.STATE_STORES):
    from paimon_provider._variables import ForgetsTaskRuns

    LISTENERS.append(ForgetsTaskRuns())


def task_state(context: Mapping[str, Any] | Any) -> Any:
    """The state of the running task: ``get``, ``set`` and ``delete`` by key.

    It is the same in all attempts, and another one for each mapped index and each Dag run.
    """
    if has(Feature.STATE_STORES):
        return context.get("task_state_store")
    from paimon_provider._variables import TaskVariables

    return TaskVariables(context)


def state_of(ti: Any) -> str | None:
    """The state that Airflow's database has for the task instance of a trigger; None: it has none, as after a clear.

    Raises:
        AirflowRuntimeError: Airflow's API does not answer.
    """
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    index = getattr(ti, "map_index", -1)
    states = RuntimeTaskInstance.get_task_states(
        dag_id=ti.dag_id,
        map_index=None if index is None or index < 0 else index,
        task_ids=[ti.task_id],
        run_ids=[ti.run_id],
    )
    name = ti.task_id if index is None or index < 0 else f"{ti.task_id}_{index}"
    state = states.get(ti.run_id, {}).get(name)
    return None if state is None else str(getattr(state, "value", state))


def is_tasks_test() -> bool:
    """Whether ``airflow tasks test`` runs the task: it says so to the task, and to nobody else."""
    return os.environ.get("AIRFLOW_TEST_MODE") == "True"


def asset_state(context: Mapping[str, Any] | Any, asset: Any) -> Any:
    """The state of an asset, as a task sees it: ``get``, ``set`` and ``delete`` by key."""
    if has(Feature.STATE_STORES):
        return context["asset_state_store"][asset]
    from paimon_provider._variables import Variables

    return Variables(str(asset.uri))


def trigger_state(trigger: Any, asset_uri: str) -> Any:
    """The state of the asset that ``trigger`` watches: ``aget`` and ``aset``; None if Airflow gives none."""
    if has(Feature.STATE_STORES):
        return trigger.asset_state_store
    from paimon_provider._variables import Variables

    return Variables(asset_uri)


def retry_arguments(policy: Any, default: Any) -> dict[str, Any]:
    """The arguments for Airflow's ``BaseOperator``; without retry policies the ``default`` is left out.

    Raises:
        ArgumentError: the policy is not the default, and this Airflow has none.
    """
    if has(Feature.RETRY_POLICIES):
        return {"retry_policy": policy}
    if policy is not None and policy is not default:
        require(Feature.RETRY_POLICIES, "retry_policy", "use retries and retry_delay")
    return {}


def script_address(path: str) -> str:
    """The address of a plugin's script for the browser; ``path`` is below the path that Airflow is served under.

    From 3.3 the browser resolves it there.  Before, it is imported as it stands.
    """
    if AIRFLOW >= (3, 3):
        return path
    from urllib.parse import urlsplit

    return f"{urlsplit(conf.get('api', 'base_url', fallback='') or '').path.rstrip('/')}/{path}"


def let_thread_ask(loop: Any) -> None:
    """Let the current thread ask Airflow for a connection: ``loop`` is the triggerer's.

    Airflow 3.1 looks for the loop where asgiref leaves it for threads of its own.
    """
    if AIRFLOW < (3, 2):
        from asgiref.sync import SyncToAsync

        SyncToAsync.threadlocal.main_event_loop = loop
        SyncToAsync.threadlocal.main_event_loop_pid = os.getpid()


def is_mapped(operator: BaseOperator) -> bool:
    """Whether ``expand`` made the operator: its arguments may be what other tasks returned."""
    return bool(getattr(operator, "_BaseOperator__from_mapped", False))
