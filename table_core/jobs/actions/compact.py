"""Files and manifests written anew: compaction, another number of buckets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, FlowStep, Job, Option, Parameter, RunBy, Target
from table_core.jobs.common_parameters import (
    DRY_RUN,
    EXCLUDING,
    IDLE_TIME,
    INCLUDING,
    PARTITIONS,
)
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]

_STRATEGY: Final = Parameter(
    name="strategy",
    shape=kinds.words("full", "minor"),
    templated=True,
    default="full",
    about="full: one sorted run for each bucket. minor: what Paimon's automatic compaction would merge.",
    option=Option(about="full or minor."),
)


def _compact(job: Job) -> ResultDocument:
    return job.verb("compact", job.table)(**job.args)


def _rescale(job: Job) -> ResultDocument:
    return job.verb("rescale", job.table)(**job.args)


def _rewrite_manifests(job: Job) -> ResultDocument:
    return job.table.rewrite_manifests(commit=job.commit, **job.args)


def _compact_database(job: Job) -> ResultDocument:
    return job.verb("compact_database", job.catalog)(job.target, **job.args)


def _touched_by_compaction(job: Job) -> Touched:
    from table_core.jobs.touched import touched_by_compaction

    return touched_by_compaction(job.table, job.args)


def _touched_by_rescale(job: Job) -> Touched:
    from table_core.jobs.touched import partitions_of, touched_state

    access = job.table.access
    return touched_state(access, access.head(), partitions_of(access, job.args))


def _touched_in_database(job: Job) -> Touched:
    from table_core.jobs.touched import touched_by_compactions

    return touched_by_compactions(job.catalog, job.target, job.args)


ACTIONS: Final = (
    Action(
        name="compact",
        about="Compact a table.",
        run=_compact,
        command=Command(commits=True, example="shop.orders --strategy full"),
        run_by=RunBy.SPARK,
        touches=_touched_by_compaction,
        parameters=(
            _STRATEGY,
            replace(PARTITIONS, option=None),
            Parameter(
                name="where",
                shape=kinds.CONDITION,
                about="A condition on partition columns, instead of partitions.",
                templated=True,
                option=None,
            ),
            Parameter(
                name="order_by",
                shape=kinds.SOME_NAMES,
                about="Columns to sort the rows of an append table by.",
                templated=True,
                option=None,
            ),
            DRY_RUN,
        ),
        step=FlowStep(operator="compact.PaimonCompactOperator"),
    ),
    Action(
        name="compact-database",
        about="Compact the tables of a database.",
        run=_compact_database,
        command=Command(example="shop --strategy full --dry-run"),
        run_by=RunBy.SPARK,
        touches=_touched_in_database,
        target=Target.DATABASE,
        parameters=(
            replace(_STRATEGY, default="minor"),
            INCLUDING,
            EXCLUDING,
            IDLE_TIME,
            Parameter(
                name="parallelism",
                shape=kinds.COUNT,
                templated=True,
                default=1,
                about="How many tables to compact at a time.",
            ),
            DRY_RUN,
        ),
    ),
    Action(
        name="rescale",
        about="Rewrite the partitions that have another number of buckets.",
        run=_rescale,
        command=Command(example="shop.orders --buckets 2 --dry-run"),
        run_by=RunBy.SPARK,
        touches=_touched_by_rescale,
        parameters=(
            Parameter(
                name="buckets",
                shape=kinds.COUNT,
                about="The new number of buckets. Default: the number that the table has.",
                templated=True,
                option=Option(about="Default: the number that the table has."),
            ),
            PARTITIONS,
            DRY_RUN,
        ),
        step=FlowStep(operator="compact.PaimonRescaleOperator"),
    ),
    Action(
        name="rewrite-manifests",
        about="Rewrite the manifests of a table into as few as possible.",
        run=_rewrite_manifests,
        command=Command(example="shop.orders"),
        parameters=(DRY_RUN,),
        step=FlowStep(operator="compact.PaimonRewriteManifestsOperator"),
    ),
)
