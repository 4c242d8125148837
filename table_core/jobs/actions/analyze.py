"""Statistics for those who plan queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, FlowStep, Job, Option, Parameter, RunBy
from table_core.jobs.common_parameters import DRY_RUN
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _analyze(job: Job) -> ResultDocument:
    from table_core.table.maintenance.analyze import analyze

    columns, dry_run = job.args.get("columns"), job.args["dry_run"]
    return analyze(job.table.access, columns, job.commit, dry_run=dry_run, share=job.share)


def _touched(job: Job) -> Touched:
    from table_core.jobs.touched import touched_state

    access = job.table.access
    return touched_state(access, access.head())


ACTIONS: Final = (
    Action(
        name="analyze",
        about="Gather statistics for query planners.",
        run=_analyze,
        command=Command(example="shop.orders --columns amount"),
        run_by=RunBy.TASKS,
        touches=_touched,
        parameters=(
            Parameter(
                name="columns",
                shape=kinds.NAMES,
                about="The columns to analyze. Default: all.",
                templated=True,
                option=Option(about="Comma-separated. Default: all."),
            ),
            DRY_RUN,
        ),
        step=FlowStep(operator="analyze.PaimonAnalyzeOperator"),
    ),
)
