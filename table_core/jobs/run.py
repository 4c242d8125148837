"""Runs a job spec: one function an action, the same for the embedded engine and for Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.apply.progress import quiet
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError
from table_core.jobs.embedded import EmbeddedEngine, SqlLimits
from table_core.jobs.flow import computed_rows, run_flow, views_of
from table_core.schema import change as changes
from table_core.table.api import state_jobs
from table_core.table.api.file_rows import append_files
from table_core.table.api.opening import open_catalog, open_table
from table_core.table.commit_io.deliveries import told
from table_core.table.dml import merge_into as clauses
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.jobs.flow import Engine
    from table_core.jobs.job_spec import JobSpec
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.maintenance.health import Health
    from table_core.table.metadata.results import ResultDocument

__all__ = ["run_embedded", "run_job"]

_STORAGE: Final = "storage."


def run_embedded(spec: JobSpec, progress: Callable[..., None] = quiet) -> dict[str, object]:
    """Do what ``spec`` says inside this process; the result document."""
    return run_job(spec, EmbeddedEngine(progress, SqlLimits.of(spec.options)))


def run_job(spec: JobSpec, engine: Engine) -> dict[str, object]:
    """Do what ``spec`` says; rows are computed and written by ``engine``.

    The result document also has ``commits``: what was committed, each a ``deliveries.CommitNote``.
    """
    catalog = open_catalog(spec.warehouse, _storage_options(spec))
    commit = CommitAs(
        user=spec.commit_user,
        identifier=spec.commit_identifier,
        properties=spec.args.get("properties") or {},
        expect=spec.args.get("expect") or {},
        watermark=spec.args.get("watermark"),
    )
    if spec.table is None:
        raise ArgumentError(f"job {spec.action} names no table", argument="table")
    with told() as notes:
        document = _ACTIONS[spec.action](catalog, spec, commit, engine).to_document()
    return {**document, "commits": notes.to_documents()}


def _storage_options(spec: JobSpec) -> dict[str, str]:
    return {k[len(_STORAGE) :]: v for k, v in spec.options.items() if k.startswith(_STORAGE)}


def _create(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> ResultDocument:
    """``columns`` is ``{name: type text}``; a database that is missing is made."""
    args = spec.args
    assert spec.table is not None
    database = spec.table.partition(".")[0]
    catalog.create_database(database, if_not_exists=True)
    fields = [Field(0, name, parse_type(text)) for name, text in args["columns"].items()]
    existed = spec.table.partition(".")[2] in catalog.tables(database)
    table = catalog.create_table(
        spec.table,
        fields,
        primary_key=args.get("primary_key") or (),
        partition_by=args.get("partition_by") or (),
        options=args.get("options") or {},
        comment=args.get("comment"),
        if_not_exists=args.get("if_not_exists", True),
    )
    return unchanged(table.access, "create-table", {"created": not existed})


def _alter(catalog: Catalog, spec: JobSpec, commit: CommitAs, _: Engine) -> ResultDocument:
    """``changes`` is a list of ``{"change": "AddColumn", …its fields}``."""
    assert spec.table is not None
    wanted = []
    for document in spec.args["changes"]:
        members = dict(document)
        name = members.pop("change", None)
        cls = getattr(changes, str(name), None)
        if name not in changes.__all__ or cls is None:
            known = ", ".join(changes.__all__)
            raise ArgumentError(f"unknown change {name!r}; known: {known}", argument="changes")
        wanted.append(cls(**members))
    before = catalog.table(spec.table).definition.id
    table = catalog.alter_table(spec.table, wanted, commit)
    details = {"schema_before": before, "schema_after": table.definition.id}
    return unchanged(table.access, "alter-table", details)


def _write(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    assert spec.table is not None
    table = catalog.table(spec.table)
    if spec.args.get("rows_uri"):
        computed = computed_rows(table, spec.args)
        return append_files(table, spec.args, commit, _storage_options(spec), computed)
    return run_flow(catalog, table, spec.args, commit, engine)


def _sync(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    """``table`` of a ``sync-database`` is the database."""
    from table_core.cdc.sync.sync import sync_database, sync_from_spec, sync_table

    assert spec.table is not None
    verb = sync_table if spec.action == "sync-table" else sync_database
    parts = {"each": engine.each, "records_by": engine.records_by}
    return sync_from_spec(
        verb, catalog, spec.table, spec.args, commit, progress=engine.progress, **parts
    )


def _merge(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    assert spec.table is not None
    args, source = spec.args, spec.args["source"]
    rows: Any
    if source.get("sql"):
        views = views_of(catalog, source.get("sources") or {})
        rows = engine.query(source["sql"], views, args.get("parameters"))
    elif source.get("path"):
        rows = open_table(source["path"], storage_options=_storage_options(spec))
    else:
        rows = catalog.table(source["table"])
    when = tuple(_clause(document) for document in args["when"])
    table = catalog.table(spec.table)
    commit = commit.with_request(
        "merge-into", table.access.branch, source=source, on=args["on"], when=args["when"]
    )
    return _verb(engine, "merge_into", table)(source=rows, on=args["on"], when=when, commit=commit)


def _clause(document: Mapping[str, Any]) -> Any:
    """``{"action": "not-matched-insert", "values": …, "condition": …}`` as a clause."""
    members = {key: value for key, value in document.items() if value is not None}
    name = "".join(part.title() for part in str(members.pop("action", "")).split("-"))
    cls = getattr(clauses, name, None)
    if name not in clauses.__all__ or cls is None:
        raise ArgumentError(f"unknown clause {document.get('action')!r}", argument="when")
    return cls(**members)


def _compact(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    return _verb(engine, "compact", _table(catalog, spec))(commit=commit, **_given(spec))


def _verb(engine: Engine, name: str, handle: Table | Catalog) -> Callable[..., ResultDocument]:
    """``name`` as the engine does it by tasks, or else as the handle does it in this process."""
    by_tasks = getattr(engine, name, None)
    found: Callable[..., ResultDocument] = (
        getattr(handle, name) if by_tasks is None else partial(by_tasks, handle)
    )
    return found


def _expire_snapshots(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> ResultDocument:
    return _table(catalog, spec).expire_snapshots(**_given(spec))


def _expire_partitions(
    catalog: Catalog, spec: JobSpec, commit: CommitAs, _: Engine
) -> ResultDocument:
    return _table(catalog, spec).expire_partitions(commit=commit, **_given(spec))


def _remove_orphans(catalog: Catalog, spec: JobSpec, _: CommitAs, engine: Engine) -> ResultDocument:
    return _verb(engine, "remove_orphan_files", _table(catalog, spec))(**_given(spec))


def _expire_changelogs(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> ResultDocument:
    return _table(catalog, spec).expire_changelogs(**_given(spec))


def _expire_tags(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> ResultDocument:
    return _table(catalog, spec).expire_tags(**_given(spec))


def _mark_done(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> ResultDocument:
    return _table(catalog, spec).mark_done(**_given(spec))


def _analyze(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    return _verb(engine, "analyze", _table(catalog, spec))(commit=commit, **_given(spec))


def _delete(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    return _verb(engine, "delete", _table(catalog, spec))(commit=commit, **_given(spec))


def _update(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    return _verb(engine, "update", _table(catalog, spec))(commit=commit, **_given(spec))


def _compact_database(
    catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine
) -> ResultDocument:
    """Its ``table`` is a database."""
    assert spec.table is not None
    compact = _verb(engine, "compact_database", catalog)
    return compact(spec.table, commit=commit, **_given(spec))


def _clone(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    """Its ``table`` is the copy, ``source`` the table that is copied."""
    assert spec.table is not None
    args = _given(spec)
    if not args.get("dry_run"):
        catalog.create_database(spec.table.partition(".")[0], if_not_exists=True)
    clone = _verb(engine, "clone_table", catalog)
    return clone(args.pop("source"), spec.table, commit=commit, **args)


def _rewrite_manifests(
    catalog: Catalog, spec: JobSpec, commit: CommitAs, _: Engine
) -> ResultDocument:
    return _table(catalog, spec).rewrite_manifests(commit=commit, **_given(spec))


def _rescale(catalog: Catalog, spec: JobSpec, commit: CommitAs, engine: Engine) -> ResultDocument:
    return _verb(engine, "rescale", _table(catalog, spec))(commit=commit, **_given(spec))


def _health(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> Health:
    return _table(catalog, spec).health(**(spec.args.get("thresholds") or {}))


def _check(catalog: Catalog, spec: JobSpec, _: CommitAs, __: Engine) -> ResultDocument:
    from table_core.table.api.checks import check

    def query(sql: str, rows: Any) -> Any:
        engine = EmbeddedEngine(limits=SqlLimits.of(spec.options))
        return engine.query_tables(sql, {"rows": rows}, spec.args.get("parameters"))

    against = spec.args.get("against")
    return check(
        _table(catalog, spec),
        spec.args["rules"],
        against=None if against is None else catalog.table(against),
        query=query,
        fail=spec.args.get("fail", True),
    )


def _rollback(catalog: Catalog, spec: JobSpec, commit: CommitAs, _: Engine) -> ResultDocument:
    return state_jobs.rollback(_table(catalog, spec), _given(spec), commit)


def _on_states(
    verb: Callable[[Table, Mapping[str, Any]], ResultDocument],
) -> Callable[[Catalog, JobSpec, CommitAs, Engine], ResultDocument]:
    return lambda catalog, spec, _, __: verb(_table(catalog, spec), _given(spec))


def _set_position(catalog: Catalog, spec: JobSpec, commit: CommitAs, _: Engine) -> ResultDocument:
    """``name``, and what ``table.positions.set`` takes; without a place, the reader starts again.

    ``source`` is the name of a table.
    """
    given = _given(spec)
    if given.get("source") is not None:
        given["source"] = catalog.table(given["source"])
    positions = _table(catalog, spec).positions
    starts = given.get("snapshot") is None and given.get("text") is None
    verb = positions.reset if starts else positions.set
    return verb(**given, commit=commit)


def _drop_partitions(
    catalog: Catalog, spec: JobSpec, commit: CommitAs, _: Engine
) -> ResultDocument:
    return _table(catalog, spec).drop_partitions(commit=commit, **_given(spec))


def _table(catalog: Catalog, spec: JobSpec) -> Table:
    assert spec.table is not None
    return catalog.table(spec.table)


def _given(spec: JobSpec) -> dict[str, Any]:
    """The arguments of the verb, without those that every commit takes."""
    common = {"properties", "expect", "watermark"}
    return {k: v for k, v in spec.args.items() if k not in common and v is not None}


_ACTIONS: Final[
    Mapping[str, Callable[[Catalog, JobSpec, CommitAs, Engine], ResultDocument | Health]]
] = {
    "create-table": _create,
    "alter-table": _alter,
    "write": _write,
    "sync-table": _sync,
    "sync-database": _sync,
    "merge-into": _merge,
    "compact": _compact,
    "expire-snapshots": _expire_snapshots,
    "expire-partitions": _expire_partitions,
    "drop-partitions": _drop_partitions,
    "remove-orphan-files": _remove_orphans,
    "expire-changelogs": _expire_changelogs,
    "expire-tags": _expire_tags,
    "mark-done": _mark_done,
    "analyze": _analyze,
    "delete": _delete,
    "update": _update,
    "compact-database": _compact_database,
    "clone": _clone,
    "rewrite-manifests": _rewrite_manifests,
    "rescale": _rescale,
    "health": _health,
    "check": _check,
    "create-tag": _on_states(state_jobs.create_tag),
    "delete-tag": _on_states(state_jobs.delete_tag),
    "create-branch": _on_states(state_jobs.create_branch),
    "delete-branch": _on_states(state_jobs.delete_branch),
    "fast-forward": _on_states(state_jobs.fast_forward),
    "rollback": _rollback,
    "set-position": _set_position,
}
