"""Buttons on a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from paimon_provider._compat import BaseOperatorLink, conf

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

__all__ = ["REPORTS_PATH", "ChangeReportLink", "report_url"]

REPORTS_PATH: Final = "/paimon/reports"
"""Where the plugin serves reports, below Airflow's base URL."""


class ChangeReportLink(BaseOperatorLink):
    """Opens the page that the task rendered."""

    name = "Change report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """The address that the task left on itself; empty when it rendered nothing."""
        return str(getattr(operator, "report_link", None) or "")


def report_url(name: str) -> str:
    """The address of the report ``name`` in this Airflow's UI."""
    base = str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
    return f"{base}{REPORTS_PATH}/{name}"
