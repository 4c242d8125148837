"""What a table needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, Heading, Job, Option, Parameter
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.table.maintenance.health import Health

__all__ = ["ACTIONS"]


def _health(job: Job) -> Health:
    return job.table.health(**job.args.get("thresholds", {}))


ACTIONS: Final = (
    Action(
        name="health",
        about="Report what a table needs: ok, due or urgent, with reasons.",
        run=_health,
        command=Command(heading=Heading.LOOK, example="shop.orders"),
        parameters=(
            Parameter(
                name="thresholds",
                shape=kinds.NUMBERS,
                about="When an action becomes due, e.g. {'sorted_runs_due': 10}.",
                templated=True,
                option=Option(
                    flag="--threshold", about="E.g. sorted_runs_due=10. Can be repeated."
                ),
            ),
        ),
    ),
)
