"""The only file that knows which Airflow is installed.

Everything else imports Airflow names from here, so dropping a version is a one-file change.
"""

from __future__ import annotations

from airflow.observability import stats as triggerer_stats
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
    BranchMixIn,
    Connection,
    Context,
    CronTriggerTimetable,
    Param,
    RetryDecision,
    RetryPolicy,
    TaskGroup,
    conf,
)
from airflow.sdk.bases.decorator import DecoratedOperator, task_decorator_factory
from airflow.sdk.bases.sensor import PokeReturnValue
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.definitions._internal.mixins import ResolveMixin
from airflow.sdk.definitions.asset import BaseAsset
from airflow.sdk.definitions.deadline import BaseDeadlineReference, DeadlineAlert
from airflow.sdk.definitions.mappedoperator import OperatorPartial
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowRuntimeError,
)
from airflow.sdk.execution_time.context import NEVER_EXPIRE
from airflow.sdk.lineage import get_hook_lineage_collector
from airflow.sdk.log import mask_secret
from airflow.sdk.observability import stats
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, StartTriggerArgs, TriggerEvent
from attrs import define

XCOM_RETURN_KEY = BaseXCom.XCOM_RETURN_KEY
# Airflow has two of these: ``stats`` is set up in tasks only, ``triggerer_stats`` in the triggerer only.

__all__ = [
    "DAG",
    "NEVER_EXPIRE",
    "XCOM_RETURN_KEY",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowRuntimeError",
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
    "OperatorPartial",
    "Param",
    "PokeReturnValue",
    "ResolveMixin",
    "RetryDecision",
    "RetryPolicy",
    "StartTriggerArgs",
    "TaskGroup",
    "TriggerEvent",
    "conf",
    "define",
    "get_hook_lineage_collector",
    "is_mapped",
    "mask_secret",
    "stats",
    "task_decorator_factory",
    "triggerer_stats",
]


def is_mapped(operator: BaseOperator) -> bool:
    """Whether ``expand`` made the operator: its arguments may be what other tasks returned."""
    return bool(getattr(operator, "_BaseOperator__from_mapped", False))
