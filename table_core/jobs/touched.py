"""What jobs would touch, read off metadata: for ``engine="auto"``.

Nothing is written, held or refused here; whatever is wrong with a job, the job itself says it.  The figures are
those of the files as they lie: a filter that only rows can answer makes them smaller, never larger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import ArgumentError, ErrorKind, MissingPackageError, TableError
from table_core.jobs.embedded import EmbeddedEngine, one_select
from table_core.jobs.engine_choice import AutoLimits, EngineChoice, Touched, Worker, choose_engine
from table_core.jobs.engine_choice import in_bytes as sized
from table_core.jobs.pinning import views_ahead
from table_core.jobs.run import job_of, not_on_spark
from table_core.options import keys_files, keys_write
from table_core.options.parse import size_bytes
from table_core.sql.common_sql import why_only_spark
from table_core.table.api.database_maintenance import Choice, chosen_tables
from table_core.table.api.sql.sql_process import SqlLimits
from table_core.table.metadata.partition_spec import partition_matcher
from table_core.table.read.partition_where import partition_where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.jobs.action import Job
    from table_core.jobs.job_spec import JobSpec
    from table_core.jobs.pinning import View
    from table_core.ondisk.snapshot import Snapshot
    from table_core.schema.table_schema import TableSchema
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "engine_of",
    "partitions_of",
    "touched_by_compaction",
    "touched_by_compactions",
    "touched_by_flow",
    "touched_by_query",
    "touched_state",
    "touched_where",
]

FILES_MAX: Final = 100_000
"""Planning so many takes as long as Spark takes to start."""
SNAPSHOTS_MAX: Final = 1_000
_INFLATED: Final = 4
"""So many times larger is a file in memory, where its rows do not say more."""
_WIDTH: Final[Mapping[Root, int]] = {
    Root.BOOLEAN: 1,
    Root.TINYINT: 1,
    Root.SMALLINT: 2,
    Root.INT: 4,
    Root.FLOAT: 4,
    Root.DATE: 4,
    Root.DECIMAL: 16,
}
_OTHER_WIDTH: Final = 8
_TEXT_WIDTH: Final = 24
_THREADS: Final = 2
"""So many buckets are compacted at a time."""
_COPIES: Final = 3
"""Views of a query: as we read them, as DuckDB has them, and what it makes of them."""


def engine_of(
    spec: JobSpec, limits: AutoLimits, worker: Callable[[Sequence[str]], Worker]
) -> EngineChoice:
    """Where ``spec`` runs, decided now; ``worker`` tells what this one has of some modules.

    Raises:
        TableError: of kind ``unavailable``: the metadata cannot be read now.
    """
    action, job = job_of(spec, EmbeddedEngine())
    if action.touches is None:
        return choose_engine(None, Worker(), limits)
    if (server := not_on_spark(spec)) is not None:
        return EngineChoice(engine="local", reason=f"Spark takes no table of a {server} catalog")
    try:
        touched = action.touches(job)
    except TableError as error:
        if error.kind is ErrorKind.UNAVAILABLE:
            raise
        return EngineChoice(
            engine="local", reason=f"its metadata cannot be judged, the job says why: {error}"
        )
    here = worker(touched.packages if touched else ())
    return choose_engine(touched, here, limits)


# ------------------------------------------------------------------------------------ of a table
def touched_state(
    access: TableAccess,
    snapshot: Snapshot | None,
    keep: Callable[[bytes], bool] | None = None,
) -> Touched:
    """The live files of ``snapshot``, of the partitions that ``keep`` wants; read and written as a stream."""
    if snapshot is None:
        return Touched()
    metas = access.metadata.data_manifests(snapshot)
    files = sum(meta.num_added_files - meta.num_deleted_files for meta in metas)
    if files > FILES_MAX:
        return Touched(
            files=files,
            rows=snapshot.total_record_count or 0,
            spark_because=f"to plan {files:,} files is work for tasks",
        )
    live = access.metadata.live_files(snapshot)
    if keep is not None:
        live = live.of_partitions(keep)
    touched = Touched(files=len(live), bytes=int(live.size.sum()), rows=int(live.rows.sum()))
    return replace(touched, memory=streamed(access, touched))


def streamed(access: TableAccess, touched: Touched) -> int:
    """Memory to read ``touched`` and write it anew: it ends at the limits of the table."""
    options = access.options
    at_most = _THREADS * options.get(keys_files.READ_MEMORY_LIMIT)
    at_most += options.get(keys_write.WRITE_BUFFER_SIZE)
    return min(_THREADS * in_memory(access.schema, touched), at_most)


def in_memory(schema: TableSchema, touched: Touched) -> int:
    """Bytes of all rows of ``touched`` as Arrow has them, roughly, and rather more."""
    width = sum(_width(field.type) for field in schema.fields)
    return max(_INFLATED * touched.bytes, touched.rows * width)


def _width(type_: object) -> int:
    if not isinstance(type_, Atomic):
        return _TEXT_WIDTH
    if type_.root in {Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY}:
        return _TEXT_WIDTH
    return _WIDTH.get(type_.root, _OTHER_WIDTH)


def touched_where(table: Table, where: str) -> Touched:
    """The files in which a condition may hold: their statistics do not rule it out."""
    whole = touched_state(table.access, table.access.head())
    if whole.spark_because or not whole.files:
        return whole
    splits = table.read(where=where).splits()
    touched = Touched(
        files=sum(len(split.files) for split in splits),
        bytes=sum(split.size for split in splits),
        rows=sum(split.row_count for split in splits),
    )
    return replace(touched, memory=streamed(table.access, touched))


def touched_by_compaction(table: Table, args: Mapping[str, Any]) -> Touched:
    """The files that a compaction would write anew, as its dry run says."""
    access = table.access
    whole = touched_state(access, access.head(), partitions_of(access, args))
    if whole.spark_because or not whole.bytes:
        return whole
    foreseen = table.compact(**{**args, "dry_run": True})
    size = foreseen.bytes_deleted or 0
    touched = replace(
        whole,
        files=foreseen.files_deleted or 0,
        bytes=size,
        rows=whole.rows * size // whole.bytes,
    )
    return replace(touched, memory=streamed(access, touched))


def touched_by_compactions(catalog: Catalog, database: str, args: Mapping[str, Any]) -> Touched:
    """All tables that a ``compact-database`` chooses; ``idle_time`` can only make it less."""
    choice = Choice(
        database=database,
        including=args["including"],
        excluding=args["excluding"],
        parallelism=args["parallelism"],
    )
    touched, memory = Touched(), 0
    for name in chosen_tables(catalog, choice):
        one = touched_by_compaction(
            catalog.table(f"{database}.{name}"), {"strategy": args["strategy"]}
        )
        touched, memory = touched + one, max(memory, one.memory)
    return replace(touched, memory=memory * choice.parallelism)


# ------------------------------------------------------------------------------------ of a query
def touched_by_flow(job: Job) -> Touched | None:
    """A ``write``: the views that its queries see; None for files, which one process loads."""
    args = job.args
    if not args.get("sql"):
        return None
    queries = [args["sql"], *filter(None, [(args.get("pending") or {}).get("sql")])]
    views = views_ahead(job.catalog, job.table, args)
    return touched_by_query(job, queries, views)


def touched_by_query(job: Job, queries: Iterable[str], views: Mapping[str, View]) -> Touched:
    """What ``queries`` over ``views`` read; all of it is in memory at once."""
    total, rows = Touched(packages=("duckdb",)), 0
    for view in views.values():
        touched = _of_view(view)
        rows += in_memory(view.table.access.schema, touched)
        total += replace(touched, memory=0)
    limit = size_bytes(SqlLimits.of(job.options).memory)
    why = (
        ""
        if rows <= limit
        else f"its rows may take {sized(rows)}, sql.memory-limit is {sized(limit)}"
    )
    fields = [field for view in views.values() for field in view.table.access.schema.fields]
    for sql in queries:
        why = why or why_only_spark(sql, fields, job.args.get("parameters")) or _unparsed(sql)
    return replace(total, memory=_COPIES * rows, spark_because=total.spark_because or why)


def _unparsed(sql: str) -> str:
    """Whether DuckDB itself, which has more reserved words than its grammar tells, reads ``sql``."""
    try:
        one_select(sql)
    except MissingPackageError:
        return ""  # told as such
    except ArgumentError as error:
        return f"DuckDB does not read it: {str(error).splitlines()[0]}"
    return ""


def _of_view(view: View) -> Touched:
    access = view.table.access
    head = None if view.snapshot is None else access.metadata.snapshot(view.snapshot)
    if head is None or view.is_empty:
        return Touched()
    state = touched_state(access, head)
    if view.after is None or head.id - view.after > SNAPSHOTS_MAX:
        return state
    rows = sum(map(_changed_rows, _between(view.table, view.after, head.id)))
    share = min(1.0, rows / state.rows) if state.rows else 1.0
    return replace(state, rows=rows, bytes=int(state.bytes * share))


def _between(table: Table, after: int, to: int) -> list[Snapshot]:
    """The snapshots that are still there; who reads them refuses what is gone."""
    metadata = table.access.metadata
    return [metadata.snapshot(id) for id in range(after + 1, to + 1) if metadata.has_snapshot(id)]


def _changed_rows(snapshot: Snapshot) -> int:
    changelog: int = snapshot.changelog_record_count or 0
    return (
        max(changelog, abs(snapshot.delta_record_count or 0))
        if not _rewrites(snapshot)
        else changelog
    )


def _rewrites(snapshot: Snapshot) -> bool:
    return str(snapshot.commit_kind) == "COMPACT"


def partitions_of(access: TableAccess, args: Mapping[str, Any]) -> Callable[[bytes], bool] | None:
    """Which partitions ``partitions`` or ``where`` of a job name; None: all."""
    if args.get("partitions"):
        return partition_matcher(access, args["partitions"])
    return partition_where(access, args["where"]) if args.get("where") else None
