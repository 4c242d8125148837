"""Change events of a source, applied to tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from table_core.jobs.action import Action, Job, Parameter, RunBy, Target
from table_core.jobs.common_parameters import EXCLUDING, INCLUDING
from table_core.shapes import kinds
from table_core.shapes.texts import FILE_NAME, PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.jobs.engine_choice import Touched
    from table_core.shapes.shape import Shape
    from table_core.table.metadata.results import ResultDocument

__all__ = ["ACTIONS"]


def _sync_table(job: Job) -> ResultDocument:
    from table_core.cdc.sync.sync import sync_from_spec, sync_table
    from table_core.jobs.first_look import look_first

    look_first(job)
    return sync_from_spec(
        sync_table, job.catalog, job.target, job.args, job.commit, **_by_engine(job)
    )


def _sync_database(job: Job) -> ResultDocument:
    from table_core.cdc.sync.sync import sync_database, sync_from_spec
    from table_core.jobs.first_look import look_first

    look_first(job)
    return sync_from_spec(
        sync_database, job.catalog, job.target, job.args, job.commit, **_by_engine(job)
    )


def _resync(job: Job) -> ResultDocument:
    from table_core.cdc.sync.readers import source_from_spec
    from table_core.cdc.sync.resync import resync

    args = dict(job.args)
    names, source = args.pop("tables"), source_from_spec(args.pop("source"))
    tables = [f"{job.target}.{name}" for name in names]
    return resync(job.catalog, tables, source, commit=job.commit, **_by_engine(job), **args)


def _replay(job: Job) -> ResultDocument:
    from table_core.cdc.sync.readers import source_from_spec
    from table_core.cdc.sync.replay import replay

    args = dict(job.args)
    source, dead_letter = source_from_spec(args.pop("source")), args.pop("dead_letter")
    table = args.pop("synced_table", None)
    return replay(
        job.catalog,
        job.target if table is None else f"{job.target}.{table}",
        source,
        dead_letter,
        commit=job.commit,
        progress=job.engine.progress,
        **args,
    )


def _source_doctor(job: Job) -> ResultDocument:
    from table_core.cdc.sync.doctor import source_doctor
    from table_core.cdc.sync.readers import source_from_spec
    from table_core.jobs.first_look import require_ready, told_findings
    from table_core.table.metadata.results import ResultDocument

    source = source_from_spec(job.args["source"])
    findings = source_doctor(source, job.args["including"], job.args["excluding"])
    told_findings(job, findings)
    require_ready(findings, job.args["fail_on"])
    records = [one.to_record() for one in findings]
    levels = [one["level"] for one in records]
    counts = {level: levels.count(level) for level in ("error", "warning")}
    details: dict[str, object] = {"findings": records, **counts}
    return ResultDocument(action=job.action, table=job.target, details=details)


def _source_audit(job: Job) -> ResultDocument:
    from table_core.cdc.sync.audit import source_audit
    from table_core.cdc.sync.readers import source_from_spec
    from table_core.jobs.audit_result import require_equal

    args = {**job.args, **_by_engine(job)}
    source, fail_on = source_from_spec(args.pop("source")), args.pop("fail_on")
    tables = [f"{job.target}.{name}" for name in args.pop("tables")]
    result = source_audit(job.catalog, tables, source, commit=job.commit, **args)
    for row in cast("Sequence[Mapping[str, str]]", result.details["rows"]):
        job.engine.progress("difference", **row)
    for table, one in cast("Mapping[str, Any]", result.details["tables"]).items():
        if one["skipped"] or one["not_compared"]:
            columns = ", ".join(one["not_compared"])
            job.engine.progress("not-compared", table=table, columns=columns, why=one["skipped"])
    require_equal(result.details, fail_on)
    return result


def _by_engine(job: Job) -> dict[str, object]:
    engine = job.engine
    return {
        "progress": engine.progress,
        "map_pieces": engine.map_pieces,
        "records_by": engine.records_by,
    }


def _touched(job: Job) -> Touched:
    from table_core.jobs.touched_by_sync import touched_by_sync

    return touched_by_sync(job)


def _touched_by_audit(job: Job) -> Touched:
    touched = _touched(job)
    return replace(touched, packages=(*touched.packages, "duckdb"))


def _tables(about: str) -> Parameter:
    return Parameter(
        name="tables", shape=kinds.SOME_NAMES, required=True, about=about, templated=True
    )


def _setting(name: str, shape: Shape, about: str) -> Parameter:
    """What an operator takes in its ``settings``."""
    return Parameter(name=name, shape=shape, about=about, operator=None)


def _names(name: str, about: str, shape: Shape = kinds.NAMES) -> Parameter:
    return Parameter(name=name, shape=shape, about=about, templated=True)


SOURCE_KINDS: Final = ("files", "kafka", "mysql", "postgres")
"""As ``table_core.cdc.sync.source_kinds`` has them, which loads Arrow."""
_ON_TABLE: Final = kinds.words("apply", "ignore", "fail")
_SOURCE: Final = Parameter(
    name="source",
    shape=kinds.source(*SOURCE_KINDS),
    about="{kind: files, kafka, mysql or postgres, and the arguments of that source}.",
    required=True,
    templated=True,
)
_SERVER: Final = replace(
    _SOURCE,
    shape=kinds.source("mysql", "postgres"),
    about="{kind: mysql or postgres, and the arguments of that source}.",
)
_UNTIL: Final = Parameter(
    name="until",
    shape=kinds.words("now", "forever"),
    default="now",
    about="now: read what exists when the job starts. forever: read until the job is stopped.",
    templated=True,
)
_SETTINGS: Final = (
    _setting("options", kinds.OPTIONS, "Options of tables that the sync creates."),
    _setting("metadata_columns", kinds.NAMES, "Columns that record where a row comes from."),
    _setting(
        "on_truncate", _ON_TABLE, "What to do if the source is truncated: apply, ignore or fail."
    ),
    _setting("on_drop", _ON_TABLE, "What to do if the source is dropped: ignore, apply or fail."),
    _setting(
        "on_rewrite",
        kinds.words("resync", "fail"),
        "If the source changes in a way that its log does not tell: resync or fail.",
    ),
    _setting(
        "resync_rows", kinds.COUNT, "Source tables with more rows are not read again unasked."
    ),
    _setting("dead_letter", kinds.TABLE, "A table for events that cannot be applied."),
    _setting(
        "fill_defaults", kinds.FLAG, "Whether existing rows get the default of an added column."
    ),
    _setting("commit_rows", kinds.COUNT, "Commit a table once this many rows wait."),
    _setting(
        "max_columns",
        kinds.COUNT,
        "The most columns of a table. An event that would give it more cannot be applied.",
    ),
    _setting("max_duration", kinds.LENGTH, "End after this time, e.g. '10 min'."),
    _setting("max_rows", kinds.COUNT, "End after about this many events."),
)
_INTERVAL: Final = _setting(
    "interval",
    kinds.LENGTH,
    "With until forever: commit at most this often (default 1 s). Without news nothing is committed.",
)
_BY_TABLE: Final = kinds.NAMES_OR_VALUES
_SETTINGS_OF_DATABASES: Final = (
    _setting("table_suffix", kinds.TEXT, "A suffix for the name of each table."),
    _setting("table_mapping", kinds.VALUES, "New names of single tables."),
    _setting("primary_key", _BY_TABLE, "Of tables that the sync creates."),
    _setting("partition_by", _BY_TABLE, "Of tables that the sync creates."),
    _setting("computed_columns", _BY_TABLE, "Columns that are computed from others."),
    _setting("type_mapping", kinds.NAMES, "E.g. tinyint1-not-bool."),
    _setting(
        "mode",
        kinds.words("combined", "divided"),
        "combined: read the source once. divided: read it once for each table.",
    ),
    _setting("eager_init", kinds.FLAG, "Create every table before the first row arrives."),
    _setting(
        "ignore_incompatible",
        kinds.FLAG,
        "Leave out tables whose key differs from the source's.",
    ),
)
_READ: Final = "A regular expression for the source tables to read."
_LEFT_OUT: Final = "A regular expression for the source tables to leave out."
_PREFIX: Final = "A prefix for the name of each table."
_MERGES: Final = "Whether tables with the same name in several databases go into one table."

ACTIONS: Final = (
    Action(
        name="sync-table",
        about="Apply the change events of a source to a table.",
        run=_sync_table,
        run_by=RunBy.TASKS,
        touches=_touched,
        parameters=(
            _SOURCE,
            _names("primary_key", "Of a table that the sync creates."),
            _names("partition_by", "Of a table that the sync creates."),
            replace(
                _names("computed_columns", "Columns that are computed from others."),
                templated=False,
            ),
            replace(_names("type_mapping", "E.g. tinyint1-not-bool."), templated=False),
            _UNTIL,
            _INTERVAL,
            *_SETTINGS,
        ),
        command=None,  # 'sync' chooses by its target, and reads the source from a file
    ),
    Action(
        name="sync-database",
        about="Apply the change events of many tables to the tables of a database.",
        run=_sync_database,
        run_by=RunBy.TASKS,
        touches=_touched,
        target=Target.DATABASE,
        parameters=(
            _SOURCE,
            replace(INCLUDING, about=_READ),
            replace(EXCLUDING, about=_LEFT_OUT),
            Parameter(name="table_prefix", shape=PREFIX, default="", about=_PREFIX),
            Parameter(name="merge_shards", shape=kinds.FLAG, default=True, about=_MERGES),
            _UNTIL,
            _INTERVAL,
            *_SETTINGS,
            *_SETTINGS_OF_DATABASES,
        ),
        command=None,
    ),
    Action(
        name="resync",
        about="Read tables of a database again, and replace what is there.",
        run=_resync,
        run_by=RunBy.TASKS,
        touches=_touched,
        target=Target.DATABASE,
        parameters=(
            _SERVER,
            _tables("The tables that are read again."),
            *_SETTINGS,
        ),
        command=None,  # 'source resync' reads the source from a file
    ),
    Action(
        name="replay",
        about="Apply dead letters of topics or files once more, and delete those that were applied.",
        run=_replay,
        target=Target.DATABASE,
        parameters=(
            replace(
                _SOURCE,
                shape=kinds.source("files", "kafka"),
                about="{kind: files or kafka, and the arguments of that source}.",
            ),
            Parameter(
                name="dead_letter",
                shape=kinds.TABLE,
                required=True,
                about="The table of dead letters, with its database.",
                templated=True,
            ),
            Parameter(
                name="synced_table",
                shape=FILE_NAME,
                about="The table, if the sync was one of a single table.",
                templated=True,
            ),
            Parameter(
                name="overwrite",
                shape=kinds.FLAG,
                default=False,
                about="Whether events are applied to rows that are there, too.",
            ),
            _setting("including", kinds.PATTERN, _READ),
            _setting("excluding", kinds.PATTERN, _LEFT_OUT),
            _setting("table_prefix", kinds.TEXT, _PREFIX),
            _setting("merge_shards", kinds.FLAG, _MERGES),
            *(one for one in _SETTINGS if one.name != "dead_letter"),
            *_SETTINGS_OF_DATABASES,
        ),
        command=None,  # 'source replay' reads the source from a file
    ),
    Action(
        name="source-audit",
        about="Compare tables with the tables of a server that feed them, row by row.",
        run=_source_audit,
        run_by=RunBy.TASKS,
        touches=_touched_by_audit,
        target=Target.DATABASE,
        parameters=(
            _SERVER,
            _tables("The tables that are compared."),
            Parameter(
                name="repair",
                shape=kinds.FLAG,
                default=False,
                about="Whether rows that differ are replaced by those of the source.",
            ),
            Parameter(
                name="fail_on",
                shape=kinds.words("difference", "never"),
                default="difference",
                about="Whether a difference that is not repaired fails the job.",
            ),
            *_SETTINGS,
        ),
        command=None,  # 'source audit' reads the source from a file
    ),
    Action(
        name="source-doctor",
        about="Look for what is in the way of a sync of a database. Nothing is changed.",
        run=_source_doctor,
        target=Target.DATABASE,
        parameters=(
            _SERVER,
            replace(INCLUDING, about="A regular expression for the source tables to look at."),
            replace(EXCLUDING, about="A regular expression for the source tables to leave out."),
            Parameter(
                name="fail_on",
                shape=kinds.words("error", "warning", "never"),
                default="error",
                about="How bad a finding has to be to fail the job.",
            ),
        ),
        command=None,  # 'source doctor' needs no warehouse
    ),
)
