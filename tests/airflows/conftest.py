"""The Airflow home of the provider's tests."""

from __future__ import annotations

from tests.provider.conftest import airflow_home, warehouse

__all__ = ["airflow_home", "warehouse"]
