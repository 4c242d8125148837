"""Hold rules against the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    template_fields: Sequence[str] = (
        *PaimonTableOperator.template_fields,
        *("rules", "parameters", "against"),
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PaimonTableOperator.template_fields_renderers,
        "rules": "json",
    }
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
        self.rules = rules
        self.parameters = parameters
        self.against = against
        self.fail = fail

    def finished(self, context: Context, result: dict[str, Any]) -> dict[str, Any]:
        """Tell the rules that are broken where that does not fail the task."""
        for one in (result.get("details") or {}).get("checks") or ():
            if not one["passed"]:
                told = (self.table, one["rule"], one["failed_rows"], one["sample"])
                self.log.warning("%s breaks %s: %s rows, e.g. %s", *told)
        return super().finished(context, result)
