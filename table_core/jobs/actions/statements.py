"""Rows changed or taken away by a condition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from table_core.jobs.action import Action, Command, FlowStep, Heading, Job, Option, Parameter, RunBy
from table_core.jobs.common_parameters import DRY_RUN, SQL_PARAMETERS
from table_core.shapes import kinds
from table_core.sql.sql_parameters import checked_parameters

if TYPE_CHECKING:
    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]

_WHERE: Final = Parameter(
    name="where",
    shape=kinds.CONDITION,
    about="The rows, as a SQL condition over the table's columns.",
    required=True,
    templated=True,
)


_DRY_RUN: Final = replace(DRY_RUN, about="Only count the rows.", operator=None)


def _delete(job: Job) -> ResultDocument:
    return _done(job, "delete")


def _update(job: Job) -> ResultDocument:
    return _done(job, "update")


def _done(job: Job, name: str) -> ResultDocument:
    """By the engine; to count rows takes none."""
    args = _bound(job)
    if args.pop("dry_run"):
        counted: ResultDocument = getattr(job.table, name)(**args, dry_run=True)
        return counted
    return job.verb(name, job.table)(**args)


def _bound(job: Job) -> dict[str, Any]:
    """The arguments, with each ``$name`` in its SQL replaced by the literal of its value."""
    from table_core.predicate.parameters import bind_condition, bind_values

    args = dict(job.args)
    parameters = checked_parameters(args.pop("parameters", None))
    args["where"] = bind_condition(args["where"], parameters)
    if "values" in args:
        args["values"] = bind_values(args["values"], parameters)
    return args


def _touched(job: Job) -> Touched:
    from table_core.jobs.touched import touched_where

    return touched_where(job.table, _bound(job)["where"])


ACTIONS: Final = (
    Action(
        name="delete",
        about="Delete the rows that match a condition.",
        run=_delete,
        run_by=RunBy.SPARK,
        touches=_touched,
        parameters=(_WHERE, SQL_PARAMETERS, _DRY_RUN),
        command=Command(
            heading=Heading.ROWS,
            commits=True,
            example="shop.orders --where 'amount < 0' --dry-run",
        ),
        step=FlowStep(operator="statements.PaimonDeleteOperator", changes_rows=True),
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
                shape=kinds.ASSIGNMENTS,
                about="Column to SQL over the old row.",
                required=True,
                templated=True,
                option=Option(
                    flag="--set", about="column = SQL over the row as it was; may be repeated."
                ),
            ),
            _WHERE,
            SQL_PARAMETERS,
            _DRY_RUN,
        ),
        command=Command(
            heading=Heading.ROWS,
            commits=True,
            example="shop.orders --set 'amount = amount * 2' --where 'id = 1'",
        ),
        step=FlowStep(operator="statements.PaimonUpdateOperator", changes_rows=True),
    ),
)
