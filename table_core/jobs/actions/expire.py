"""What is too old to be needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.jobs.action import Action, Command, FlowStep, Heading, Job, Option, Parameter, RunBy
from table_core.jobs.common_parameters import (
    DRY_RUN,
    MAX_DELETES,
    RETAIN_MAX,
    RETAIN_MIN,
)
from table_core.shapes import kinds

if TYPE_CHECKING:
    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]

_OLDER_THAN: Final = Parameter(
    name="older_than",
    shape=kinds.MOMENT,
    about="Only what is older than this time.",
    templated=True,
    may_render_to_nothing=True,
    option=None,
)
_KEPT: Final = (RETAIN_MAX, RETAIN_MIN, _OLDER_THAN, MAX_DELETES, DRY_RUN)


def _expire_snapshots(job: Job) -> ResultDocument:
    return job.table.expire_snapshots(**job.args)


def _expire_changelogs(job: Job) -> ResultDocument:
    return job.table.expire_changelogs(**job.args)


def _expire_partitions(job: Job) -> ResultDocument:
    return job.table.expire_partitions(commit=job.commit, **job.args)


def _expire_tags(job: Job) -> ResultDocument:
    return job.table.expire_tags(**job.args)


def _remove_orphan_files(job: Job) -> ResultDocument:
    from table_core.table.maintenance.orphan_remover import remove_orphan_files

    return remove_orphan_files(job.table.access, share=job.share, **job.args)


def _touched_by_sweep(job: Job) -> Touched:
    """Manifests, which are read; data files are only listed."""
    from table_core.jobs.touched import touched_state

    access = job.table.access
    return replace(touched_state(access, access.head()), bytes=0, rows=0)


ACTIONS: Final = (
    Action(
        name="expire-snapshots",
        about="Delete old snapshots and the files that only they need.",
        run=_expire_snapshots,
        command=Command(example="shop.orders --retain-max 2 --retain-min 1"),
        parameters=_KEPT,
        step=FlowStep(operator="expire.PaimonExpireSnapshotsOperator"),
    ),
    Action(
        name="expire-changelogs",
        about="Delete changelogs that were kept when their snapshots expired.",
        run=_expire_changelogs,
        command=Command(example="shop.orders --dry-run"),
        parameters=_KEPT,
        step=FlowStep(operator="expire.PaimonExpireChangelogsOperator"),
    ),
    Action(
        name="expire-partitions",
        about="Drop the partitions that have expired.",
        run=_expire_partitions,
        command=Command(example="shop.orders --expiration-time '30 d' --dry-run"),
        parameters=(
            Parameter(
                name="expiration_time",
                shape=kinds.LENGTH,
                about="The largest age of a partition, e.g. 7 d. Default: the table's option.",
                templated=True,
                option=Option(about="e.g. '7 d'."),
            ),
            DRY_RUN,
        ),
        step=FlowStep(operator="expire.PaimonExpirePartitionsOperator", changes_rows=True),
    ),
    Action(
        name="remove-orphan-files",
        about="Delete files that no snapshot, tag or branch names.",
        run=_remove_orphan_files,
        command=Command(example="shop.orders --dry-run"),
        run_by=RunBy.TASKS,
        touches=_touched_by_sweep,
        parameters=(
            replace(
                _OLDER_THAN,
                about="Only files that are older than this time. Default: a day ago.",
                option=Option(
                    utc=True, about="In UTC. Files that changed later stay. Default: a day ago."
                ),
            ),
            Parameter(
                name="allow_young",
                shape=kinds.FLAG,
                default=False,
                about="Allow files younger than a day. Nobody may be writing meanwhile.",
            ),
            DRY_RUN,
        ),
        step=FlowStep(operator="expire.PaimonRemoveOrphanFilesOperator"),
    ),
    Action(
        name="expire-tags",
        about="Delete the tags that have expired.",
        run=_expire_tags,
        command=Command(heading=Heading.HISTORY, example="shop.orders"),
        parameters=(_OLDER_THAN, DRY_RUN),
        step=FlowStep(operator="expire.PaimonExpireTagsOperator"),
    ),
)
