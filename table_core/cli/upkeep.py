"""Commands that copy tables, also to another warehouse: ``clone`` and ``clone-database``.

They are more than the job ``clone``, which stays in one warehouse and is done to the copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.cli.action_commands import entry_of
from table_core.jobs.action import Action, Command, Option, Parameter, Target
from table_core.jobs.common_parameters import (
    DRY_RUN,
    EXCLUDING,
    INCLUDING,
    SNAPSHOT,
    TAG,
    TIMESTAMP,
)
from table_core.jobs.registry import action_of
from table_core.shapes import kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cli.commands import Entry
    from table_core.jobs.action import Job
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ENTRIES"]

_TO: Final = Parameter(
    name="to", shape=kinds.TEXT, about="", required=True, option=Option(argument="TO")
)
_TO_TABLE: Final = Parameter(
    name="to",
    shape=kinds.TEXT,
    about="",
    required=True,
    option=Option(argument="TO", about="database.table"),
)
_TO_WAREHOUSE: Final = Parameter(name="to_warehouse", shape=kinds.TEXT, about="Default: the same.")
_POSITIONS: Final = action_of("clone").parameter("positions")


def _clone(job: Job) -> ResultDocument:
    return job.catalog.clone_table(job.target, job.args["to"], **_elsewhere(job))


def _clone_database(job: Job) -> ResultDocument:
    return job.catalog.clone_database(job.target, job.args["to"], **_elsewhere(job))


def _elsewhere(job: Job) -> dict[str, Any]:
    """The arguments beside the name, with the catalog of the other warehouse."""
    from table_core import open_catalog

    uri = job.args.get("to_warehouse")
    more = {name: one for name, one in job.args.items() if name not in {"to", "to_warehouse"}}
    return {**more, "to": open_catalog(uri) if uri else None}


CLONE: Final = Action(
    name="clone",
    about="Copy one state of a table to a new table.",
    run=_clone,
    command=Command(example="shop.orders shop.orders_copy --snapshot 2"),
    parameters=(_TO_TABLE, _TO_WAREHOUSE, SNAPSHOT, TAG, TIMESTAMP, _POSITIONS, DRY_RUN),
)
CLONE_DATABASE: Final = Action(
    name="clone-database",
    about="Copy the newest state of the tables of a database.",
    run=_clone_database,
    target=Target.DATABASE,
    command=Command(example="shop backup --including orders"),
    parameters=(
        _TO,
        _TO_WAREHOUSE,
        INCLUDING,
        EXCLUDING,
        Parameter(
            name="parallelism",
            shape=kinds.COUNT,
            default=1,
            about="How many tables to copy at a time.",
        ),
        _POSITIONS,
        DRY_RUN,
    ),
)
ENTRIES: Final[Sequence[Entry]] = (entry_of(CLONE), entry_of(CLONE_DATABASE))
