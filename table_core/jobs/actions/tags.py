"""Names for snapshots."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, FlowStep, Heading, Job, Option, Parameter
from table_core.jobs.common_parameters import (
    DRY_RUN,
    IF_EXISTS,
    IF_NOT_EXISTS,
    NAME,
    SNAPSHOT,
    TIMESTAMP,
)
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]

_NAME: Final = replace(NAME, about="The name of the tag.", operator="tag")


def _create_tag(job: Job) -> ResultDocument:
    from table_core.table.api.state_jobs import create_tag

    return create_tag(job.table, job.args)


def _delete_tag(job: Job) -> ResultDocument:
    return job.table.tags.delete(**job.args)


ACTIONS: Final = (
    Action(
        name="create-tag",
        about="Tag a snapshot, by default the newest.",
        run=_create_tag,
        command=Command(
            path=("tag", "create"),
            shows=("tag", "snapshot"),
            heading=Heading.HISTORY,
            example="shop.orders tuesday --snapshot 2",
        ),
        parameters=(
            _NAME,
            SNAPSHOT,
            TIMESTAMP,
            Parameter(
                name="time_retained",
                shape=kinds.LENGTH,
                about="How long to keep the tag, e.g. '7 d'.",
                templated=True,
            ),
            replace(IF_NOT_EXISTS, about="Keep an existing tag of that name instead of failing."),
        ),
        step=FlowStep(operator="tags.PaimonCreateTagOperator"),
    ),
    Action(
        name="delete-tag",
        about="Delete a tag, and the files that only it kept.",
        run=_delete_tag,
        command=Command(
            path=("tag", "delete"), heading=Heading.HISTORY, example="shop.orders monday --dry-run"
        ),
        parameters=(
            _NAME,
            replace(IF_EXISTS, option=Option(shown=False, default=False)),
            DRY_RUN,
        ),
        step=FlowStep(operator="tags.PaimonDeleteTagOperator"),
    ),
)
