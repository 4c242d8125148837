"""Where a reader goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Job, Parameter
from table_core.jobs.common_parameters import DRY_RUN, SNAPSHOT
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _set_position(job: Job) -> ResultDocument:
    """Without a place, the reader starts again."""
    args = dict(job.args)
    if "source" in args:
        args["source"] = job.catalog.table(args["source"])
    positions = job.table.positions
    verb = positions.set if args.keys() & {"snapshot", "text"} else positions.reset
    return verb(commit=job.commit, **args)


ACTIONS: Final = (
    Action(
        name="set-position",
        about="Make a reader continue after a snapshot of its source, or start again.",
        run=_set_position,
        parameters=(
            Parameter(
                name="name",
                shape=kinds.TEXT,
                about="The property that holds the position.",
                required=True,
                operator="position",
                templated=True,
            ),
            replace(
                SNAPSHOT,
                shape=kinds.POSITION,
                about="Continue after this snapshot. 0: start again.",
            ),
            Parameter(
                name="text",
                shape=kinds.TEXT,
                about="The position in a source other than a table. It is stored as given.",
                operator=None,
            ),
            Parameter(
                name="source",
                shape=kinds.TABLE,
                about="The table that the reader reads.",
                templated=True,
            ),
            Parameter(
                name="reader",
                shape=kinds.TEXT,
                about="The name of the flow, if several share the property.",
                templated=True,
            ),
            DRY_RUN,
        ),
        command=None,  # two commands: who forgets the place must not start again
    ),
)
