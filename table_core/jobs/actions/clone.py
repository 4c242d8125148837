"""A copy of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Job, Parameter, RunBy
from table_core.jobs.common_parameters import DRY_RUN, SNAPSHOT, TAG, TIMESTAMP
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _clone(job: Job) -> ResultDocument:
    """The target is the copy; its database is made where it is missing."""
    from table_core.table.api.clone import clone_table

    args = dict(job.args)
    if not args["dry_run"]:
        job.catalog.create_database(job.target.partition(".")[0], if_not_exists=True)
    source = args.pop("source")
    return clone_table(job.catalog, source, job.target, commit=job.commit, share=job.share, **args)


def _touched(job: Job) -> Touched:
    """Files of the state, which are copied and not decoded."""
    from table_core.jobs.touched import touched_state
    from table_core.table.api.clone import state_of

    access = job.catalog.table(job.args["source"]).access
    named = [job.args.get(name) for name in ("snapshot", "tag", "timestamp")]
    return replace(touched_state(access, state_of(access, *named)), memory=0)


ACTIONS: Final = (
    Action(
        name="clone",
        about="Copy one state of a table to a new table. The job's table is the new one.",
        run=_clone,
        run_by=RunBy.TASKS,
        touches=_touched,
        parameters=(
            Parameter(
                name="source",
                shape=kinds.TABLE,
                about="The table to copy.",
                required=True,
                templated=True,
            ),
            SNAPSHOT,
            TAG,
            TIMESTAMP,
            Parameter(
                name="positions",
                shape=kinds.FLAG,
                default=True,
                about="Whether to copy the positions of the flows and syncs that feed the table.",
            ),
            DRY_RUN,
        ),
        command=None,  # it may name two warehouses
    ),
)
