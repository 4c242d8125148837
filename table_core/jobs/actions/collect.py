"""The metadata history of tables, kept in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, Job, Parameter, Target
from table_core.jobs.common_parameters import DRY_RUN, EXCLUDING, INCLUDING
from table_core.jobs.kinds import Kind

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _collect_metadata(job: Job) -> ResultDocument:
    return job.catalog.collect_metadata(job.target, commit=job.commit, **job.args)


ACTIONS: Final = (
    Action(
        name="collect-metadata",
        about="Keep the metadata history of the tables of a database in a table.",
        run=_collect_metadata,
        target=Target.DATABASE,
        command=Command(example="shop"),
        parameters=(
            Parameter(
                name="to",
                kind=Kind.TEXT,
                default="airflow.table_metadata",
                about="The table that keeps it; it is made if it is not there.",
                templated=True,
            ),
            Parameter(
                name="catalog_name",
                kind=Kind.TEXT,
                default="paimon_default",
                about="The first part of the URIs of the tables, as their assets have it.",
                operator=None,
            ),
            INCLUDING,
            EXCLUDING,
            Parameter(
                name="kept",
                kind=Kind.LENGTH,
                default="90 d",
                about="How long snapshots are kept in it, whether or not their tables have them.",
                templated=True,
            ),
            Parameter(
                name="recheck",
                kind=Kind.LENGTH,
                default="1 h",
                about="A table whose newest snapshot is known is looked at again after so long.",
                templated=True,
            ),
            Parameter(
                name="tables",
                kind=Kind.COUNT,
                default=1_000,
                about="Look at most at so many tables; the others come with the next run.",
            ),
            Parameter(
                name="snapshots",
                kind=Kind.COUNT,
                default=1_000,
                about="Of each table read at most so many of the newest snapshots that are new.",
            ),
            Parameter(
                name="detailed",
                kind=Kind.COUNT,
                default=200,
                about="Of so many of them read the manifests too: files and bytes, by bucket.",
            ),
            DRY_RUN,
        ),
    ),
)
