"""A table whose documents are broken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, Heading, Job, Option
from table_core.jobs.common_parameters import DRY_RUN

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _recover(job: Job) -> ResultDocument:
    # Not by a handle: a table with a broken schema has none.
    return job.catalog.recover_table(job.target, dry_run=not job.args.get("apply", False))


ACTIONS: Final = (
    Action(
        name="recover",
        about="Say what is broken in a table, and save what can be saved.",
        run=_recover,
        command=Command(heading=Heading.UPKEEP, example="shop.orders"),
        parameters=(
            replace(
                DRY_RUN,
                name="apply",
                about="Do it. What is taken away is kept in the folder 'recovered'.",
                operator="apply",
                option=Option(),
            ),
        ),
    ),
)
