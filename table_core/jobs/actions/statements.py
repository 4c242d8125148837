"""Rows changed or taken away by a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Job, Parameter, RunBy, Step
from table_core.jobs.kinds import Kind

if TYPE_CHECKING:
    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]

_WHERE: Final = Parameter(
    name="where",
    kind=Kind.CONDITION,
    about="The rows, as a SQL condition over the table's columns.",
    required=True,
    templated=True,
)


def _delete(job: Job) -> ResultDocument:
    return job.verb("delete", job.table)(**job.args)


def _update(job: Job) -> ResultDocument:
    return job.verb("update", job.table)(**job.args)


def _touched(job: Job) -> Touched:
    from table_core.jobs.touched import touched_where

    return touched_where(job.table, job.args["where"])


ACTIONS: Final = (
    Action(
        name="delete",
        about="Delete the rows that match a condition.",
        run=_delete,
        run_by=RunBy.SPARK,
        touches=_touched,
        parameters=(_WHERE,),
        command=None,
        step=Step(operator="statements.PaimonDeleteOperator", changes_rows=True),
    ),
    Action(
        name="update",
        about="Set columns of the rows that match a condition.",
        run=_update,
        run_by=RunBy.SPARK,
        touches=_touched,
        parameters=(
            Parameter(
                name="values",
                kind=Kind.VALUES,
                about="Column to SQL over the old row.",
                required=True,
                templated=True,
            ),
            _WHERE,
        ),
        command=None,
        step=Step(operator="statements.PaimonUpdateOperator", changes_rows=True),
    ),
)
