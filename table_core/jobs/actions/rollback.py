"""Back to an older state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, Heading, Job
from table_core.jobs.common_parameters import DRY_RUN, SNAPSHOT, TAG, TIMESTAMP

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _rollback(job: Job) -> ResultDocument:
    return job.table.rollback_to(commit=job.commit, **job.args)


ACTIONS: Final = (
    Action(
        name="rollback",
        about="Make an older state the newest. Later snapshots are removed.",
        run=_rollback,
        command=Command(heading=Heading.HISTORY, example="shop.orders --snapshot 1 --dry-run"),
        parameters=(SNAPSHOT, TAG, TIMESTAMP, DRY_RUN),
        exactly_one=("snapshot", "tag", "timestamp"),
    ),
)
