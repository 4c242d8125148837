"""Lineage of a table as Airflow has it: tasks that write and read its assets, Dags that wait for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from airflow.models.asset import (
    AssetModel,
    DagScheduleAssetReference,
    TaskInletAssetReference,
    TaskOutletAssetReference,
)

from paimon_provider.pages.airflow_facts import split_uri

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.orm import Session

    from paimon_provider.pages.answers import Asker

__all__ = ["lineage_answer", "tables_of_tasks", "tables_that_start"]

_MOST: Final = 200


@dataclass(slots=True)
class _Neighbours:
    writers: set[tuple[str, str]] = field(default_factory=set)
    readers: set[tuple[str, str]] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    """Dags that the table's assets start."""


def lineage_answer(session: Session, asker: Asker, uri: str) -> dict[str, Any]:
    """Writers and readers with their last runs, and the tables before and after this one."""
    ids = [row[0] for row in asker.db.execute("SELECT id FROM asset WHERE base = ?", (uri,))]
    neighbours = _Neighbours()
    for row in _rows(session, TaskOutletAssetReference, ids):
        neighbours.writers.add((row.dag_id, row.task_id))
    for row in _rows(session, TaskInletAssetReference, ids):
        neighbours.readers.add((row.dag_id, row.task_id))
    scheduled = sa.select(DagScheduleAssetReference.dag_id).where(
        DagScheduleAssetReference.asset_id.in_(ids)
    )
    neighbours.waiting = {row[0] for row in session.execute(scheduled.limit(_MOST))}
    visible = {d for d, _ in neighbours.writers | neighbours.readers} | neighbours.waiting
    dags = sorted(visible & set(asker.dags))
    outlets, inlets = tables_of_tasks(session, dags)
    triggers = tables_that_start(session, dags)
    upstream: set[str] = set()
    downstream: set[str] = set()
    for dag_id, task_id in neighbours.writers:
        upstream |= inlets.get((dag_id, task_id), set()) | triggers.get(dag_id, set())
    for dag_id, task_id in neighbours.readers:
        downstream |= outlets.get((dag_id, task_id), set())
    for (dag_id, _), uris in outlets.items():
        if dag_id in neighbours.waiting:
            downstream |= uris
    readers = [*neighbours.readers, *((dag_id, None) for dag_id in neighbours.waiting)]
    return {
        "writers": _runs(asker, uri, neighbours.writers),
        "readers": _runs(asker, uri, readers),
        "upstream": sorted(upstream - {uri})[:_MOST],
        "downstream": sorted(downstream - {uri})[:_MOST],
    }


def _rows(session: Session, model: Any, ids: list[int]) -> Iterable[Any]:
    query = sa.select(model.dag_id, model.task_id).where(model.asset_id.in_(ids))
    return session.execute(query.order_by(model.dag_id, model.task_id).limit(_MOST)).all()


def tables_of_tasks(
    session: Session, dags: list[str]
) -> tuple[dict[tuple[str, str], set[str]], dict[tuple[str, str], set[str]]]:
    """The tables that tasks of ``dags`` write and that they read, by Dag and task, as their assets say."""
    written = _uris(session, TaskOutletAssetReference, dags)
    return written, _uris(session, TaskInletAssetReference, dags)


def _uris(session: Session, model: Any, dags: list[str]) -> dict[tuple[str, str], set[str]]:
    """The tables that tasks of ``dags`` write or read."""
    query = (
        sa.select(model.dag_id, model.task_id, AssetModel.uri)
        .join(AssetModel, AssetModel.id == model.asset_id)
        .where(model.dag_id.in_(dags))
        .limit(10 * _MOST)
    )
    by_task: dict[tuple[str, str], set[str]] = {}
    for dag_id, task_id, uri in session.execute(query):
        parts = split_uri(uri)
        if parts is not None:
            by_task.setdefault((dag_id, task_id), set()).add(parts[0])
    return by_task


def tables_that_start(session: Session, dags: list[str]) -> dict[str, set[str]]:
    """The tables whose events start ``dags``."""
    query = (
        sa.select(DagScheduleAssetReference.dag_id, AssetModel.uri)
        .join(AssetModel, AssetModel.id == DagScheduleAssetReference.asset_id)
        .where(DagScheduleAssetReference.dag_id.in_(dags))
        .limit(10 * _MOST)
    )
    by_dag: dict[str, set[str]] = {}
    for dag_id, uri in session.execute(query):
        parts = split_uri(uri)
        if parts is not None:
            by_dag.setdefault(dag_id, set()).add(parts[0])
    return by_dag


def _runs(asker: Asker, uri: str, tasks: Iterable[tuple[str, str | None]]) -> list[dict[str, Any]]:
    """Of each task its last run that is known; of those of a Dag that may be read."""
    runs = []
    for dag_id, task_id in sorted(tasks, key=str):
        if dag_id not in asker.dags:
            continue
        row = None
        if task_id is not None:
            row = asker.db.execute(
                "SELECT run_id, map_index FROM run WHERE base = ? AND dag_id = ? AND task_id = ? "
                "ORDER BY at DESC LIMIT 1",
                (uri, dag_id, task_id),
            ).fetchone()
        run_id, map_index = (None, -1) if row is None else row
        runs.append(
            {"dag_id": dag_id, "task_id": task_id, "run_id": run_id, "map_index": map_index}
        )
    return runs
