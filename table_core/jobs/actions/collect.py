"""The metadata history of tables, kept in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, Job, Parameter, Target
from table_core.jobs.common_parameters import DRY_RUN, EXCLUDING, INCLUDING
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _collect_metadata(job: Job) -> ResultDocument:
    return job.catalog.collect_metadata(job.target, commit=job.commit, **job.args)


ACTIONS: Final = (
    Action(
        name="collect-metadata",
        about="Record the metadata history of the tables of a database in a table.",
        run=_collect_metadata,
        target=Target.DATABASE,
        command=Command(example="shop"),
        parameters=(
            Parameter(
                name="to",
                shape=kinds.TABLE,
                default="airflow.table_metadata",
                about="The table that holds the history. It is created if it does not exist.",
                templated=True,
            ),
            Parameter(
                name="catalog_name",
                shape=kinds.TEXT,
                default="paimon_default",
                about="The catalog in the asset URIs of the tables.",
                operator=None,
            ),
            INCLUDING,
            EXCLUDING,
            Parameter(
                name="kept",
                shape=kinds.LENGTH,
                default="90 d",
                about="How long to keep snapshots in the history, even if their tables have expired them.",
                templated=True,
            ),
            Parameter(
                name="recheck",
                shape=kinds.LENGTH,
                default="1 h",
                about="When to look again at a table without a new snapshot.",
                templated=True,
            ),
            Parameter(
                name="tables",
                shape=kinds.COUNT,
                templated=True,
                default=1_000,
                about="The most tables in one run. The others follow in the next run.",
            ),
            Parameter(
                name="snapshots",
                shape=kinds.COUNT,
                templated=True,
                default=1_000,
                about="The most new snapshots to read of each table.",
            ),
            Parameter(
                name="detailed",
                shape=kinds.COUNT_OR_NONE,
                templated=True,
                default=200,
                about="For how many of these snapshots to read the manifests too: files and bytes, by bucket.",
            ),
            DRY_RUN,
        ),
    ),
)
