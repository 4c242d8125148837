"""The warehouse of the cluster, as the Airflow connection of the environment describes it."""

from __future__ import annotations

import json
import os
from typing import Any

import table_core as tc
from demo.environment import CONNECTION

__all__ = ["catalog", "connection", "storage_options"]


def connection() -> dict[str, Any]:
    """The connection as its variable states it."""
    return dict(json.loads(os.environ[CONNECTION]))


def storage_options() -> dict[str, Any]:
    """Address and keys of the S3 store."""
    stated = connection()
    return {**stated["extra"]["storage_options"], **json.loads(stated["password"])}


def catalog() -> tc.Catalog:
    """The catalog of the warehouse."""
    return tc.open_catalog(connection()["extra"]["warehouse"], storage_options())
