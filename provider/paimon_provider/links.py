"""Buttons on a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from paimon_provider._compat import BaseOperatorLink, BaseXCom, conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

    from paimon_provider._compat import Context

__all__ = [
    "CHECKS_KEY",
    "REPORTS_PATH",
    "TABLES_PATH",
    "ChangeReportLink",
    "SparkUILink",
    "TableLink",
    "report_url",
    "show_link",
    "show_link_of",
    "show_table",
    "web_address",
]

REPORTS_PATH: Final = "/paimon/reports"
"""Where the plugin serves reports, below Airflow's base URL."""
CHECKS_KEY: Final = "paimon_checks"
"""The XCom with what a check has found that failed its task."""
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9._~\[\]:-]{1,255}(/[!#-;=?-\[\]_a-z~]{0,2000})?")
TABLES_PATH: Final = "/plugin/paimon-tables"
"""Where Airflow shows the page of tables."""


class ChangeReportLink(BaseOperatorLink):
    """Opens the page that the task rendered."""

    name = "Change report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """The address that the task left on itself; empty when it rendered nothing."""
        return str(getattr(operator, "report_link", None) or "")


class SparkUILink(BaseOperatorLink):
    """Opens the UI of the Spark application, while it runs."""

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """The address that the job has told; empty without a UI."""
        return str(getattr(operator, "spark_ui", None) or "")


class TableLink(BaseOperatorLink):
    """Opens the table on the page of tables, from the moment that the task starts."""

    name = "Paimon table"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002
        """The address that the task has told; empty before it has started."""
        return str(getattr(operator, "table_page", None) or "")


def show_table(context: Context, operator: BaseOperator, uri: str) -> None:
    """Let the page of the table's asset be opened from now on."""
    page = f"{_base_url()}{TABLES_PATH}?{urlencode({'table': uri})}"
    operator.table_page = page
    context["ti"].xcom_push(key=TableLink().xcom_key, value=page)


def show_link(context: Context, operator: BaseOperator, facts: Mapping[str, Any]) -> None:
    """Let the Spark UI be opened from now on: Airflow itself stores links when the task ends."""
    url = web_address(facts.get("ui"))
    if url:
        operator.spark_ui = url
        context["ti"].xcom_push(key=SparkUILink().xcom_key, value=url)


def web_address(address: object) -> str | None:
    """``address`` if a browser may be sent there: an ``http`` or ``https`` address and nothing else."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        return None
    return address


def show_link_of(ti: Any, url: str) -> None:
    """The same for a task that waits in the triggerer."""
    BaseXCom.set(
        key=SparkUILink().xcom_key,
        value=url,
        dag_id=ti.dag_id,
        task_id=ti.task_id,
        run_id=ti.run_id,
        map_index=ti.map_index,
    )


def report_url(name: str) -> str:
    """The address of the report ``name`` in this Airflow's UI."""
    return f"{_base_url()}{REPORTS_PATH}/{name}"


def _base_url() -> str:
    return str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
