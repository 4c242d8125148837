"""Another number of buckets: Spark moves the rows, each crosses to Python once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.commit.overwrite import Selection
from table_core.errors import CorruptFileError
from table_core.spark.reading.frames import frame_of
from table_core.spark.session.create import started
from table_core.spark.session.doing import of_verb
from table_core.spark.session.schema_bridge import holds
from table_core.spark.writing.frames import written
from table_core.table.commit_io.committer import parts_of
from table_core.table.commit_io.replacing import commit_replacing
from table_core.table.commit_io.uncommitted import discard, undone_by
from table_core.table.compact import rescale as decided
from table_core.table.metadata.results import CommitAs
from table_core.table.read.scan import Scan
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import StatePlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.split import Split
    from table_core.table.api.table import Table
    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, ResultDocument

__all__ = ["rescale"]


@of_verb("rescale")
def rescale(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    buckets: int | None = None,
    partitions: Sequence[Mapping[str, object]] | None = None,
    commit: CommitAs | None = None,
    dry_run: bool = False,
) -> ResultDocument:
    """``Table.rescale`` by Spark; no session is needed where every partition fits already.

    A table with columns that Spark cannot hold is rescaled in this process.

    Raises:
        CommitConflictError: another writer changed one of the partitions meanwhile.
        JobFailedError: Spark gave up; nothing is visible.
    """

    def rewrite(
        access: TableAccess, head: Snapshot | None, old: frozenset[bytes], commit: CommitAs
    ) -> Commit:
        planner = StatePlanner(access=access, keeps_partition=old.__contains__)
        reader = SplitReader(access=access, fields=access.schema.fields)
        plan = planner.plan(head)
        rows = frame_of(started(spark), Scan(reader, lambda: plan))
        results = written(rows, access.for_whole_rows(), replaces=True)
        with undone_by(lambda: discard(access, parts_of(results))):
            _refuse_lost_rows(access, plan.splits, results)
        selection = Selection.rescaled(old.__contains__)
        read = decided.basis_of(head)
        return commit_replacing(access, (*results, read), commit, selection)

    moves = rewrite if holds(table.definition.fields) else None
    as_whom = commit or CommitAs()
    return decided.rescale(table.access, buckets, partitions, as_whom, moves, dry_run=dry_run)


def _refuse_lost_rows(
    access: TableAccess, splits: Sequence[Split], results: Sequence[WriteResult]
) -> None:
    """Refuse to replace files by fewer rows than they are known to hold, or by more than they have.

    Files that need no merge tell how many rows they give.  Whatever Spark left out of them would be
    gone for good.

    Raises:
        CorruptFileError: the numbers do not agree; nothing is visible.
    """
    sure = [split for split in splits if split.raw_convertible and not split.deletions]
    least, most = (sum(split.row_count for split in counted) for counted in (sure, splits))
    written = sum(
        file.row_count for result in results for change in result.changes for file in change.added
    )
    if not least <= written <= most:
        what = f"Spark read {written} rows of files that hold {least} to {most}"
        raise CorruptFileError(
            f"{access.name}: {what}; nothing was replaced", path=access.storage.uri, problems=[what]
        )
