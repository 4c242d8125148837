"""Decide where a reader goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.failures import airflow_failures
from paimon_provider.operators.base import PaimonTableOperator
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from paimon_provider._compat import Context

__all__ = ["PaimonPositionOperator"]


class PaimonPositionOperator(PaimonTableOperator):
    """Set or reset the position of a flow after its source was rolled back or recreated.

    On such a source the flow fails with kind ``unknown-outcome`` and reads nothing, because a
    person has to decide. ``table-core position list`` shows the positions of a table.

    :param table: the table that the flow writes. (templated)
    :param position: the property that holds the position, e.g. ``tc.flow.sales``.  (templated)
    :param snapshot: continue after this snapshot of the source. Without it, or with 0, the flow
        starts again. A template that renders to nothing is an error. (templated)
    :param source: the table that the flow reads, if the property holds the positions of several.
        (templated)
    :param reader: the name of the flow, if several share the property. (templated)
    :param dry_run: only report the new position.
    """

    action = "set-position"
    snapshot: int | str | None

    def __init__(
        self,
        *,
        position: str,
        snapshot: int | str | None = None,
        source: str | None = None,
        reader: str | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        if engine == "spark":
            raise ArgumentError(
                f"task {self.task_id!r}: a position is set with engine='local'",
                argument="engine",
                value=engine,
            )
        self._take_arguments(locals())
        self._says_where = snapshot is not None

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it and return the result document."""
        with airflow_failures():
            if self._says_where and self.snapshot in (None, "", "None"):
                raise ArgumentError(
                    f"task {self.task_id!r}: snapshot has rendered to {self.snapshot!r}, and without it the "
                    "reader would take everything again: write 0 if that is meant",
                    argument="snapshot",
                    value=self.snapshot,
                )
        return super().execute(context)
