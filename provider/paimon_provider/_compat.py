"""The only file that knows which Airflow is installed.

Everything else imports Airflow names from here, so dropping a version is a one-file change.
"""

from __future__ import annotations

from airflow.sdk import (
    Asset,
    AssetWatcher,
    BaseHook,
    BaseOperator,
    BaseOperatorLink,
    BaseSensorOperator,
    BranchMixIn,
    Connection,
    Context,
    RetryDecision,
    RetryPolicy,
    conf,
)
from airflow.sdk.bases.sensor import PokeReturnValue
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.sdk.log import mask_secret
from airflow.sdk.observability import stats
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, StartTriggerArgs, TriggerEvent

XCOM_RETURN_KEY = BaseXCom.XCOM_RETURN_KEY

__all__ = [
    "XCOM_RETURN_KEY",
    "AirflowException",
    "AirflowFailException",
    "Asset",
    "AssetWatcher",
    "BaseEventTrigger",
    "BaseHook",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensorOperator",
    "BaseTrigger",
    "BranchMixIn",
    "Connection",
    "Context",
    "PokeReturnValue",
    "RetryDecision",
    "RetryPolicy",
    "StartTriggerArgs",
    "TriggerEvent",
    "conf",
    "mask_secret",
    "stats",
]
