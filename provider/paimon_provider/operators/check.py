"""Hold rules against the rows of a table."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from paimon_provider.links import CHECKS_KEY
from paimon_provider.operators.base import PaimonTableOperator
from table_core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from paimon_provider._compat import Context

__all__ = ["PaimonCheckOperator"]


class PaimonCheckOperator(PaimonTableOperator):
    """Fail without a retry if rows break a rule, and report how many and which.

    For example::

        PaimonCheckOperator(
            task_id="check",
            table="shop.orders",
            rules={
                "not_null": ["country"],
                "unique": ["order_id"],
                "range": {"amount": [0, None]},
                "rows": [1, None],
                "sql": "SELECT * FROM rows WHERE amount > 100 AND country IS NULL",
            },
        )

    :param rules: ``not_null`` and ``unique``: columns; ``range``: column to [smallest, largest];
        ``rows``: [fewest, most]; ``change``: [lowest, highest] ratio of the row count to that of
        ``against``; ``sql``: a query over the view ``rows`` that returns each faulty row;
        ``where``: which rows are checked; ``freshness``: how old the newest rows may be, e.g. ``"2
        h"``; ``at_most``: how many rows, or what share of those checked (``"1 %"``), may break a
        rule on rows. (templated)
    :param parameters: the values of ``$name`` in the rule ``sql``, bound.  (templated)
    :param against: the table to compare the row count with.  (templated)
    :param fail: ``False``: only report, as XCom and in the log.
    """

    action = "check"
    announces = False

    def __init__(
        self,
        *,
        rules: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        against: str | None = None,
        fail: bool = True,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it and return the result document."""
        with self._findings_kept(context):
            return super().execute(context)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:
        """Take the result of the job that the trigger has seen ending."""
        with self._findings_kept(context):
            return super().execute_complete(context, event)

    @contextmanager
    def _findings_kept(self, context: Context) -> Iterator[None]:
        """Leave what every rule has found as an XCom if the task fails of it; the page of tables shows it.

        It is no return value: what stands for a passed check may be published.
        """
        try:
            yield
        except Exception as error:
            findings = _findings(error)
            if findings:
                document = {"action": self.action, "details": {"checks": findings}}
                context["ti"].xcom_push(key=CHECKS_KEY, value=document)
            raise

    def finished(self, context: Context, result: dict[str, Any]) -> dict[str, Any]:
        """Tell the rules that are broken where that does not fail the task."""
        for one in (result.get("details") or {}).get("checks") or ():
            if not one["passed"]:
                told = (self.table, one["rule"], one["failed_rows"], one["sample"])
                self.log.warning("%s breaks %s: %s rows, e.g. %s", *told)
        return super().finished(context, result)


def _findings(error: BaseException) -> list[dict[str, Any]]:
    """Rule, result and number of rows of each check that ``error`` tells, without the sample of rows."""
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, DataError) and cause.facts.get("checks")):
        cause = cause.__cause__
    checks: Any = [] if cause is None else cause.facts["checks"]
    return [{name: one[name] for name in ("rule", "passed", "failed_rows")} for one in checks]
