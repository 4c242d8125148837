"""A pipeline that runs on, from sources through flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError
from table_core.jobs.action import Action, Job, Parameter, Target
from table_core.shapes import kinds
from table_core.shapes.texts import LINE

if TYPE_CHECKING:
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _pipeline(job: Job) -> ResultDocument:
    from table_core.jobs.embedded import EmbeddedEngine
    from table_core.jobs.pipeline import run_pipeline

    if not isinstance(job.engine, EmbeddedEngine):
        raise UnsupportedFeatureError(
            'a pipeline by Spark is not in this release. Use engine="local"',
            feature="pipelines on Spark",
        )
    return run_pipeline(job)


ACTIONS: Final = (
    Action(
        name="pipeline",
        about="Carry changes from sources through flows, batch after batch, without an end.",
        run=_pipeline,
        target=Target.DATABASE,
        parameters=(
            Parameter(
                name="name",
                shape=LINE,
                required=True,
                about="The pipeline. Two runs of the same tables exclude each other; this name says whose they are.",
                operator="pipeline_name",
            ),
            Parameter(
                name="hops",
                shape=kinds.HOPS,
                required=True,
                about="The steps: {name, action: sync-table, sync-database, write or merge-into, target, args}.",
                templated=True,
            ),
            Parameter(
                name="interval",
                shape=kinds.LENGTH,
                default="1 s",
                about="Sources commit at most this often. Tables that others write are looked at as often.",
            ),
            Parameter(
                name="upkeep",
                shape=kinds.LENGTH,
                default="1 min",
                about="How often small files of a table that was written to are merged.",
            ),
            Parameter(
                name="max_lifetime",
                shape=kinds.LENGTH,
                about="End behind a batch after this time, e.g. '1 h'. Without it, it runs until it is stopped.",
            ),
        ),
        command=None,  # 'pipeline' reads the hops from a file
    ),
)
