"""Lines of history of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, Heading, Job, Parameter
from table_core.jobs.common_parameters import DRY_RUN, IF_EXISTS, IF_NOT_EXISTS, NAME, SNAPSHOT, TAG
from table_core.shapes import kinds
from table_core.shapes.texts import BRANCH, STATE

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]

_NAME: Final = replace(NAME, shape=BRANCH, operator="branch")


def _create_branch(job: Job) -> ResultDocument:
    from table_core.table.api.state_jobs import create_branch

    return create_branch(job.table, job.args)


def _delete_branch(job: Job) -> ResultDocument:
    return job.table.branches.delete(**job.args)


def _fast_forward(job: Job) -> ResultDocument:
    from table_core.table.api.state_jobs import fast_forward

    return fast_forward(job.table, job.args)


ACTIONS: Final = (
    Action(
        name="create-branch",
        about="Create a branch, empty or from a tag or a snapshot.",
        run=_create_branch,
        command=Command(
            path=("branch", "create"),
            heading=Heading.HISTORY,
            example="shop.orders fix --tag monday",
        ),
        parameters=(
            _NAME,
            TAG,
            replace(SNAPSHOT, operator=None),
            Parameter(
                name="from_head",
                shape=kinds.FLAG,
                default=False,
                about="Start from the newest state.",
                option=None,
            ),
            replace(
                IF_NOT_EXISTS, about="Keep an existing branch of that name instead of failing."
            ),
            Parameter(
                name="replace",
                shape=kinds.FLAG,
                default=False,
                about="Delete an existing branch of that name first.",
                option=None,
            ),
            Parameter(
                name="to_publish",
                shape=kinds.FLAG,
                default=False,
                about="Record that the branch will be published to main.",
                operator=None,
                option=None,
            ),
            Parameter(
                name="made_by",
                shape=kinds.TEXT,
                about="Who makes a branch that will be published: recorded with it.",
                operator=None,
                option=None,
            ),
            replace(DRY_RUN, operator=None),
        ),
    ),
    Action(
        name="delete-branch",
        about="Delete a branch. Its files stay until remove-orphan-files.",
        run=_delete_branch,
        command=Command(
            path=("branch", "delete"),
            heading=Heading.HISTORY,
            example="shop.orders trial --dry-run",
        ),
        parameters=(
            _NAME,
            IF_EXISTS,
            DRY_RUN,
        ),
    ),
    Action(
        name="fast-forward",
        about="Fast-forward main to the state of a branch.",
        run=_fast_forward,
        command=None,  # who types it has decided: it loses what main has done since
        parameters=(
            replace(_NAME, name="branch"),
            Parameter(
                name="force",
                shape=kinds.FLAG,
                default=False,
                about="Discard the snapshots and schemas that main has made since the branch was created.",
                option=None,
            ),
            Parameter(
                name="state",
                shape=STATE,
                about="Accept only this state of the branch.",
                templated=True,
                option=None,
            ),
            DRY_RUN,
        ),
    ),
)
