"""Rows put into a table: by a query, by a flow, from files, by a merge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.jobs.action import Action, Job, Parameter, RunBy
from table_core.jobs.common_parameters import DRY_RUN, SQL_PARAMETERS
from table_core.shapes import kinds
from table_core.shapes.rows import ROWS_OPTIONS
from table_core.shapes.texts import LINE, POSITION_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.jobs.engine_choice import Touched
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _write(job: Job) -> ResultDocument:
    from table_core.jobs.flow import computed_rows, run_flow
    from table_core.table.api.file_rows import append_files

    table, args = job.table, job.args
    if args["dry_run"] and not args.get("rows_files") and not args.get("rows_uri"):
        raise ArgumentError(
            "dry_run is for files: a query has no side effect, so read its rows instead",
            argument="dry_run",
        )
    if args.get("rows_uri") or args.get("rows_files"):
        computed = computed_rows(table, args)
        return append_files(table, args, job.commit, job.store_options, computed)
    return run_flow(job.catalog, table, args, job.commit, job.engine)


def _merge_into(job: Job) -> ResultDocument:
    from table_core.jobs.flow import views_of
    from table_core.table.api.file_rows import rows_of_files
    from table_core.table.api.opening import open_table

    args, source = job.args, job.args["source"]
    rows: Any
    if source.get("sql"):
        views = views_of(job.catalog, source.get("sources") or {})
        rows = job.engine.query(source["sql"], views, args.get("parameters"))
    elif source.get("path"):
        rows = open_table(source["path"], storage_options=job.storage_options)
    elif source.get("files"):
        rows = rows_of_files(
            job.table,
            source["files"],
            source.get("format"),
            job.store_options,
            source.get("options"),
        )
    else:
        rows = job.catalog.table(source["table"])
    when = tuple(_clause(document) for document in args["when"])
    table = job.table
    asked = {name: args[name] for name in ("source", "on", "when")}
    if args.get("parameters"):
        asked["parameters"] = args["parameters"]
    commit = job.commit.with_request("merge-into", table.access.branch, **asked)
    if args["dry_run"]:  # only counts, so in this process
        return table.merge_into(source=rows, on=args["on"], when=when, dry_run=True)
    merge = job.engine.verb("merge_into", table)
    return merge(source=rows, on=args["on"], when=when, commit=commit)


def _clause(document: Mapping[str, Any]) -> Any:
    """``{"action": "not-matched-insert", "values": …, "condition": …}`` as a clause."""
    from table_core.table.dml import merge_into as clauses

    members = {key: value for key, value in document.items() if value is not None}
    name = "".join(part.title() for part in str(members.pop("action", "")).split("-"))
    cls = getattr(clauses, name, None)
    if name not in clauses.__all__ or cls is None:
        raise ArgumentError(f"unknown clause {document.get('action')!r}", argument="when")
    return cls(**members)


def _touched_by_write(job: Job) -> Touched | None:
    from table_core.jobs.touched import touched_by_flow

    return touched_by_flow(job)


def _touched_by_merge(job: Job) -> Touched | None:
    """The source, in memory, and all of the target, which any of its rows may match; None for files."""
    from table_core.jobs.flow import views_of
    from table_core.jobs.touched import touched_by_query, touched_state
    from table_core.table.api.opening import open_table

    target, source = job.table.access, job.args["source"]
    if source.get("files"):  # in the memory of one process, wherever that is
        return None
    touched = touched_state(target, target.head())
    if source.get("sql"):
        views = views_of(job.catalog, source.get("sources") or {})
        return touched + touched_by_query(job, [source["sql"]], views)
    if source.get("path"):
        access = open_table(source["path"], storage_options=job.storage_options).access
    else:
        access = job.catalog.table(source["table"]).access
    return touched + touched_state(access, access.head())


ACTIONS: Final = (
    Action(
        name="write",
        about="Write the rows of a query, or of files, into a table in one commit.",
        run=_write,
        exactly_one=("sql", "rows_uri", "rows_files"),
        only_with={
            **dict.fromkeys(("parameters", "sources", "pending", "name"), ("sql",)),
            "rows_position": ("rows_uri",),
            **dict.fromkeys(("rows_format", "rows_options"), ("rows_uri", "rows_files")),
        },
        run_by=RunBy.TASKS,
        touches=_touched_by_write,
        parameters=(
            Parameter(
                name="sql",
                shape=kinds.SQL,
                about="One SELECT over the views in `sources`.",
                templated=True,
            ),
            SQL_PARAMETERS,
            Parameter(
                name="sources",
                shape=kinds.SOURCES,
                about="View name to {table, mode: snapshot or changes, position}.",
                templated=True,
            ),
            Parameter(
                name="pending",
                shape=kinds.PENDING,
                about="{table, sql, view}: rows that cannot be used yet.",
                templated=True,
            ),
            Parameter(
                name="rows_uri",
                shape=LINE,
                about="Files to append instead of a query: a glob of Parquet, CSV or JSON lines.",
                templated=True,
            ),
            Parameter(
                name="rows_files",
                shape=kinds.NAMES,
                about="Files to append instead of a query, each by its path or URI.",
                operator=None,
            ),
            Parameter(
                name="rows_format",
                shape=kinds.FILE_FORMAT,
                about="The format of the files, where their names do not tell.",
            ),
            Parameter(
                name="rows_options",
                shape=ROWS_OPTIONS,
                about="How rows stand in CSV and JSON: `delimiter`, `encoding`, `null_values`, `date_format` and others.",
            ),
            Parameter(
                name="rows_position",
                shape=POSITION_NAME,
                about="The property that records which files were loaded.",
            ),
            Parameter(
                name="name",
                shape=LINE,
                about="The name of the flow. Its positions are stored under this name.",
                operator="flow_name",
                templated=True,
            ),
            Parameter(
                name="task",
                shape=kinds.TEXT,
                about="The task that runs the flow, if the flow has no name.",
                operator=None,
            ),
            Parameter(
                name="overwrite",
                shape=kinds.OVERWRITE,
                about="What the rows replace: table, partitions, or one partition.",
                templated=True,
            ),
            Parameter(
                name="computed_columns",
                shape=kinds.NAMES,
                about="Columns that are computed from others before the rows are written.",
            ),
            replace(DRY_RUN, about="Read and check the files, commit nothing.", operator=None),
        ),
        command=None,
    ),
    Action(
        name="merge-into",
        about="Merge a table or the result of a query into a table, row by row.",
        run=_merge_into,
        only_with={"parameters": ("source.sql",)},
        run_by=RunBy.SPARK,
        touches=_touched_by_merge,
        parameters=(
            Parameter(
                name="source",
                shape=kinds.MERGE_SOURCE,
                about="{table}, {path}, {files, format, options} or {sql, sources}.",
                required=True,
                templated=True,
            ),
            SQL_PARAMETERS,
            Parameter(
                name="on",
                shape=kinds.NAMES_OR_VALUES,
                about="The columns to match rows on, or a mapping from target columns to source columns.",
                required=True,
                templated=True,
            ),
            Parameter(
                name="when",
                shape=kinds.CLAUSES,
                about="The clauses: {action, values, condition}. The first clause that matches is used.",
                required=True,
                templated=True,
            ),
            replace(DRY_RUN, about="Only count the rows of each clause.", operator=None),
        ),
        command=None,
    ),
)
