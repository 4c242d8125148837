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
    Connection,
    Context,
    RetryDecision,
    RetryPolicy,
    conf,
)
from airflow.sdk.bases.sensor import PokeReturnValue
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.sdk.log import mask_secret
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, TriggerEvent

__all__ = [
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
    "Connection",
    "Context",
    "PokeReturnValue",
    "RetryDecision",
    "RetryPolicy",
    "TriggerEvent",
    "conf",
    "mask_secret",
]
