"""Runs a job spec: the same for the embedded engine and for Spark."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from table_core.cdc.apply.progress import quiet
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.jobs.action import COMMON, Job
from table_core.jobs.embedded import EmbeddedEngine, SqlLimits
from table_core.jobs.registry import action_of
from table_core.options.catalog import CatalogOptions
from table_core.table.api.opening import open_catalog
from table_core.table.commit_io.deliveries import told
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.jobs.action import Action
    from table_core.jobs.flow import Engine
    from table_core.jobs.job_spec import JobSpec

__all__ = ["job_of", "not_on_spark", "run_embedded", "run_job"]

_STORAGE: Final = "storage."
_NOT_ON_SPARK: Final = {"rest": "REST", "hive": "Hive"}
"""What a catalog is called whose tables Spark does not take, by its metastore."""


def run_embedded(spec: JobSpec, progress: Callable[..., None] = quiet) -> dict[str, object]:
    """Do what ``spec`` says inside this process; the result document."""
    with closing(EmbeddedEngine(progress, SqlLimits.of(spec.options))) as engine:
        if spec.args.get("sql"):
            engine.expect_sql()
        return run_job(spec, engine)


def run_job(spec: JobSpec, engine: Engine) -> dict[str, object]:
    """Do what ``spec`` says; rows are computed and written by ``engine``.

    The result document also has ``commits``: what was committed, each a ``deliveries.CommitNote``.

    Raises:
        ArgumentError: an argument is unknown to the action, missing, or not of its kind.
    """
    action, job = job_of(spec, engine)
    with told() as notes:
        document = action.run(job).to_document()
    return {**document, "commits": notes.to_documents()}


def not_on_spark(spec: JobSpec) -> str | None:
    """What the catalog of ``spec`` is called if Spark does not take its tables: ``REST``, ``Hive``."""
    return _NOT_ON_SPARK.get(CatalogOptions.of(spec.warehouse, _storage_options(spec)).metastore)


def _storage_options(spec: JobSpec) -> dict[str, str]:
    return {k[len(_STORAGE) :]: v for k, v in spec.options.items() if k.startswith(_STORAGE)}


def job_of(spec: JobSpec, engine: Engine) -> tuple[Action, Job]:
    """What ``spec`` asks for, checked.

    Raises:
        ArgumentError: an argument is unknown to the action, missing, or not of its kind.
        UnsupportedFeatureError: Spark is to work on tables of a REST or a Hive catalog.
    """
    action = action_of(spec.action)
    if spec.table is None:
        raise ArgumentError(f"job {spec.action} names no table", argument="table")
    args = action.checked(spec.args)
    storage = _storage_options(spec)
    of_catalog = CatalogOptions.of(spec.warehouse, storage)
    server = not_on_spark(spec)
    if server is not None and not isinstance(engine, EmbeddedEngine):
        raise UnsupportedFeatureError(
            f'{spec.action} by Spark on a table of a {server} catalog is not in this release. Use engine="local"',
            feature=f"Spark on a {server} catalog",
        )
    catalog = open_catalog(spec.warehouse, storage)
    of_commit = {p.name: args.pop(p.name) for p in COMMON if p.name in args}
    job = Job(
        action=action.name,
        catalog=catalog,
        target=spec.table,
        args=args,
        commit=CommitAs(
            user=spec.commit_user,
            identifier=spec.commit_identifier,
            since_ms=spec.commit_since_ms,
            **of_commit,
        ),
        engine=engine,
        options=spec.options,
        storage_options=storage,
        store_options=of_catalog.storage,
    )
    return action, job
