"""Commits of rows in place of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.lsm.sorted_run import overlap
from table_core.lsm.triggers import number_of_levels
from table_core.options import keys_commit
from table_core.table.commit_io.committer import commit_writes

if TYPE_CHECKING:
    from table_core.commit.overwrite import Selection
    from table_core.ondisk.data_file import DataFile
    from table_core.table.commit_io.prepared import BucketChange, WriteResult
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.metadata.results import Commit, CommitAs

__all__ = ["commit_replacing"]


def commit_replacing(
    access: TableAccess, results: tuple[WriteResult, ...], commit: CommitAs, selection: Selection
) -> Commit:
    """Commit what writers prepared in place of what ``selection`` takes out."""
    return commit_writes(access, _upgraded(access, results), commit, overwrite=selection)


def _upgraded(access: TableAccess, results: tuple[WriteResult, ...]) -> tuple[WriteResult, ...]:
    """``results`` with new files at the top level, in buckets where no two of them overlap.

    Nothing older is left below an overwrite (format 10.5, ``overwrite-upgrade``).
    """
    if not access.schema.is_key_table or not access.options.get(keys_commit.OVERWRITE_UPGRADE):
        return results
    top = number_of_levels(access.options) - 1
    files: dict[Bucket, list[DataFile]] = {}
    for change in (change for result in results for change in result.changes):
        files.setdefault((change.partition, change.bucket), []).extend(change.added)
    alone = {bucket for bucket, those in files.items() if not overlap(those, access.bounds)}

    def upgraded(change: BucketChange) -> BucketChange:
        if (change.partition, change.bucket) not in alone or change.bucket < 0:
            return change
        return replace(change, added=tuple(file.upgraded(top) for file in change.added))

    return tuple(
        replace(result, changes=tuple(map(upgraded, result.changes))) for result in results
    )
