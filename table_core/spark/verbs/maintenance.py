"""Upkeep that reads or copies many files: tasks share in it, the driver commits or deletes.

What a verb does is decided by ``table.maintenance`` and ``table.api``; no session is needed where all is small.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from table_core.spark.session.doing import doing, of_verb
from table_core.spark.session.tasks import share
from table_core.table.api import clone as cloning
from table_core.table.maintenance import analyze as analyzing
from table_core.table.maintenance import orphan_remover
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument

__all__ = ["analyze", "clone_table", "remove_orphan_files"]


@of_verb("analyze")
def analyze(
    spark: SparkSession | Callable[[], SparkSession],
    table: Table,
    columns: Sequence[str] | None = None,
    commit: CommitAs | None = None,
    dry_run: bool = False,
) -> ResultDocument:
    """``Table.analyze``; tasks read the rows, each its splits.

    Raises:
        TableError: as for ``Table.analyze``; nothing is visible.
        JobFailedError: Spark gave up; nothing is visible.
    """
    return analyzing.analyze(
        table.access, columns, commit or CommitAs(), dry_run=dry_run, share=partial(share, spark)
    )


def clone_table(
    spark: SparkSession | Callable[[], SparkSession],
    catalog: Catalog,
    name: str,
    to_name: str,
    **more: Any,
) -> ResultDocument:
    """``Catalog.clone_table``; tasks copy the files.

    Raises:
        TableError: as for ``Catalog.clone_table``; the next run goes on from files that are whole.
        JobFailedError: Spark gave up; as above.
    """
    with doing(spark, f"clone {name}"):
        return cloning.clone_table(catalog, name, to_name, **more, share=partial(share, spark))


@of_verb("remove-orphan-files")
def remove_orphan_files(
    spark: SparkSession | Callable[[], SparkSession], table: Table, **more: Any
) -> ResultDocument:
    """``Table.remove_orphan_files``; tasks read the manifests, the driver lists and deletes.

    Raises:
        TableError: as for ``Table.remove_orphan_files``; nothing was deleted since.
        JobFailedError: Spark gave up; nothing was deleted since.
    """
    return orphan_remover.remove_orphan_files(table.access, **more, share=partial(share, spark))
