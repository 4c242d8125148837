"""Count what is in a table, for those who plan queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PaimonAnalyzeOperator"]


class PaimonAnalyzeOperator(PaimonTableOperator):
    """Store the newest snapshot's statistics: rows; distinct values, NULLs and bounds by column.

    :param columns: the columns to analyze; default: all. (templated)
    :param dry_run: only report the statistics.
    """

    action = "analyze"

    def __init__(
        self,
        *,
        columns: Sequence[str] | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
