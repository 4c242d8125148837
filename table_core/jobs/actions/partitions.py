"""Partitions taken out, or marked as complete."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, FlowStep, Heading, Job, Parameter
from table_core.jobs.common_parameters import DRY_RUN, IDLE_TIME, PARTITIONS
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _mark_done(job: Job) -> ResultDocument:
    return job.table.mark_done(**job.args)


def _drop_partitions(job: Job) -> ResultDocument:
    return job.table.drop_partitions(commit=job.commit, **job.args)


ACTIONS: Final = (
    Action(
        name="mark-done",
        about="Mark partitions as complete: those that are named, or those that are idle.",
        run=_mark_done,
        command=Command(example="shop.orders --partition day=2025-03-01"),
        parameters=(
            replace(
                PARTITIONS,
                about="The partitions, each with every partition column.",
                required_by_operator=True,
            ),
            replace(IDLE_TIME, operator=None),
            replace(DRY_RUN, operator=None),
            Parameter(
                name="announce_partitions",
                shape=kinds.FLAG,
                default=False,
                about="Emit an event of an Airflow asset partition for each.",
                job=False,
                option=None,
            ),
        ),
        step=FlowStep(operator="partitions.PaimonMarkPartitionDoneOperator"),
    ),
    Action(
        name="drop-partitions",
        about="Drop whole partitions.",
        run=_drop_partitions,
        command=Command(
            heading=Heading.ROWS, example="shop.orders --partition day=2025-03-01 --dry-run"
        ),
        parameters=(
            replace(
                PARTITIONS,
                about="The partitions to drop. A partition that matches one of them is dropped.",
                required=True,
            ),
            DRY_RUN,
        ),
        step=FlowStep(operator="partitions.PaimonDropPartitionOperator", changes_rows=True),
    ),
)
