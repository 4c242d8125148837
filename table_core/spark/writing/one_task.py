"""Rows that one task holds anyway: it, or the driver, writes them into all of their buckets, and no shuffle pays.

Only Spark's own plan is looked at, so nothing runs before.  What is not seen at once is shuffled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.options import keys_write
from table_core.spark.session.create import context_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from table_core.options.table import TableOptions

__all__ = ["is_one_small_task", "is_small_scan"]

_COALESCE: Final = "Coalesce"
_SHUFFLE: Final = "Exchange"
"""In the name of each node that brings rows to other tasks."""
_SCAN: Final = "FileSourceScanExec"
"""The class of a scan of files: what other ones have of partitions may cost a job."""
_CHEAP: Final = ("Project", "Filter", "ColumnarToRow", "InputAdapter", "WholeStageCodegen", "Scan ")
"""What names of nodes begin with that may run twice: they run no Python of a user, and make no more rows than were read."""


def is_one_small_task(df: DataFrame, options: TableOptions) -> bool:
    """Whether Spark computes ``df`` by one task, and takes it for no larger than ``write.one-task.max-size``.

    Its plan is then a chain from a scan of files of one partition, as small files are, or goes through ``coalesce(1)``.
    """
    plan = _small_plan(df, options, options.get(keys_write.WRITE_ONE_TASK_MAX_SIZE))
    return plan is not None and _is_of_one_task(plan)


def is_small_scan(df: DataFrame, options: TableOptions) -> bool:
    """Whether that holds with ``write.by-driver.max-size`` too, and the task does little but read a file."""
    most = min(
        options.get(keys_write.WRITE_ONE_TASK_MAX_SIZE),
        options.get(keys_write.WRITE_BY_DRIVER_MAX_SIZE),
    )
    plan = _small_plan(df, options, most)
    return plan is not None and _is_of_one_task(plan, only=_CHEAP)


def _small_plan(df: DataFrame, options: TableOptions, most: int) -> Any:
    """What Spark will execute, if its rows are no larger than ``most`` and nobody asks for tasks; else None."""
    tasks = options.get(keys_write.SINK_PARALLELISM) or 1
    if context_of(df.sparkSession) is None or not most or tasks > 1:
        return None
    execution: Any = df._jdf.queryExecution()  # noqa: SLF001 - PySpark has no such call
    if int(execution.optimizedPlan().stats().sizeInBytes()) > most:
        return None
    return execution.executedPlan()


def _is_of_one_task(plan: Any, only: tuple[str, ...] = ("",)) -> bool:
    """Whether the nodes of ``plan`` are a chain that one task goes through, all of them of these names."""
    while True:
        name = str(plan.nodeName())
        if _SHUFFLE in name or not name.startswith(only) or not plan.subqueries().isEmpty():
            return False
        if name == _COALESCE and plan.numPartitions() == 1:
            return True
        children = plan.children()
        if children.size() != 1:
            break
        plan = children.head()
    is_scan = plan.getClass().getSimpleName() == _SCAN
    return bool(is_scan and plan.inputRDDs().head().getNumPartitions() == 1)
