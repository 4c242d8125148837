"""The routes of the tables page.  Each reads the cache and Airflow's own database, and no warehouse."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends, Query, Response

from paimon_provider.pages import table_answers as of_table
from paimon_provider.pages.action_answers import actions_answer
from paimon_provider.pages.answers import (
    Asker,
    ListQuery,
    collected_at,
    line_answer,
    overview,
    require_line,
    tables_answer,
)
from paimon_provider.pages.cache import reading
from paimon_provider.pages.neighbours import lineage_answer
from paimon_provider.pages.read_it import read_it
from paimon_provider.pages.refresher import REFRESHER
from paimon_provider.pages.rows_right import rows_right
from paimon_provider.pages.work_answers import (
    collected_columns,
    maintenance_answer,
    quality_answer,
)
from paimon_provider.pages.work_tables import Work, asset_answer, asset_id_of, work_answer
from table_core.errors import StorageUnavailableError

__all__ = ["Dags", "Uri", "cache_for", "not_kept", "router"]

_WORD_MAX: Final = 200
_URI_MAX: Final = 3_000
Uri = Annotated[str, Query(min_length=1, max_length=_URI_MAX)]
"""The URI of a table's asset."""
Word = Annotated[str, Query(max_length=_WORD_MAX)]
_ID_MAX: Final = 1_000
Id = Annotated[str | None, Query(min_length=1, max_length=_ID_MAX)]
"""What Airflow calls a task or a run."""
Limit = Annotated[int, Query(ge=1, le=500)]
Offset = Annotated[int, Query(ge=0, le=10_000_000)]
SnapshotId = Annotated[int, Query(ge=0, lt=2**63)]


def not_kept(response: Response) -> None:
    """What is told of tables stays in no cache, and is nothing but data."""
    response.headers["Cache-Control"] = "no-store, private"
    response.headers["X-Content-Type-Options"] = "nosniff"


router = APIRouter(prefix="/api", dependencies=[Depends(not_kept)])


def readable_dags(user: GetUserDep) -> frozenset[str]:
    """The Dags that who asks may read."""
    # Airflow's own dependency takes the manager from its app, and this is another app.
    return frozenset(get_auth_manager().get_authorized_dag_ids(user=user, method="GET"))


Dags = Annotated[frozenset[str], Depends(readable_dags)]


@contextmanager
def cache_for(dags: Dags) -> Iterator[Asker]:
    """Who asks, with the cache as it is now.

    Raises:
        StorageUnavailableError: there is no cache yet.
    """
    REFRESHER.asked()
    with reading() as db:
        if db is None:
            raise StorageUnavailableError(
                "the page is still reading what Airflow knows of tables: ask again in some seconds",
                path="paimon-cache",
                reason="empty",
            )
        yield Asker(db, dags, int(time.time() * 1000))


@router.get("/tables")
def tables(
    dags: Dags,
    search: Word = "",
    database: Word = "",
    health: Word = "",
    sort: Word = "-updated_at",
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """A page of the list."""
    query = ListQuery(
        search=search, database=database, health=health, sort=sort, offset=offset, limit=limit
    )
    with cache_for(dags) as asker:
        return tables_answer(asker, query)


@router.get("/overview")
def whole(dags: Dags) -> dict[str, Any]:
    """Sums over all tables."""
    with cache_for(dags) as asker:
        return overview(asker)


@router.get("/work")
def work(
    dags: Dags,
    session: SessionDep,
    dag_id: Annotated[str, Query(min_length=1, max_length=_ID_MAX)],
    task_id: Id = None,
    run_id: Id = None,
    map_index: Annotated[int | None, Query(ge=-1, lt=2**31)] = None,
) -> dict[str, Any]:
    """The tables of a Dag, a task or a run, and what was done to them."""
    asked = Work(dag_id=dag_id, task_id=task_id, run_id=run_id, map_index=map_index)
    with cache_for(dags) as asker:
        return work_answer(session, asker, asked)


@router.get("/asset")
def asset(dags: Dags, id: Annotated[int, Query(ge=0, lt=2**63)]) -> dict[str, Any]:
    """The table of one of Airflow's assets."""
    with cache_for(dags) as asker:
        return asset_answer(asker, id)


@router.get("/table")
def table(dags: Dags, session: SessionDep, uri: Uri) -> dict[str, Any]:
    """One table."""
    with cache_for(dags) as asker:
        line, events = require_line(asker, uri)
        detail = of_table.detail_answer(asker, uri)
        right = rows_right(session, asker, uri, of_table.made_ms(asker, uri))
        return {
            **line_answer(asker, line, events, collected_at(asker)),
            **detail,
            "lineage": {
                **lineage_answer(session, asker, uri),
                "columns": collected_columns(asker, uri),
            },
            "quality": quality_answer(asker, uri),
            "asset_id": asset_id_of(asker, uri),
            "may_read_rows": right.may,
            "rows_right": right.document(),
            "read_it": read_it(line, detail),
        }


@router.get("/table/snapshots")
def snapshots(
    dags: Dags,
    uri: Uri,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Snapshots, newest first."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.snapshots_answer(asker, uri, before, limit)


@router.get("/table/history")
def history(
    dags: Dags, uri: Uri, points: Annotated[int, Query(ge=2, le=2_000)] = 200
) -> dict[str, Any]:
    """Rows, bytes and files over time."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.history_answer(asker, uri, points)


@router.get("/table/levels")
def levels(
    dags: Dags, uri: Uri, partition: Annotated[str, Query(max_length=2_000)] = ""
) -> dict[str, Any]:
    """Levels of each bucket."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.levels_answer(asker, uri, partition)


@router.get("/table/partitions")
def partitions(
    dags: Dags,
    uri: Uri,
    sort: Word = "-bytes",
    offset: Offset = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Partitions with their size and age."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.partitions_answer(asker, uri, sort, offset, limit)


@router.get("/table/schemas")
def schemas(dags: Dags, uri: Uri) -> dict[str, Any]:
    """Schemas and what each changed."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.schemas_answer(asker, uri)


@router.get("/table/options")
def options(dags: Dags, uri: Uri) -> dict[str, Any]:
    """Options with their defaults and meanings."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.options_answer(asker, uri)


@router.get("/table/refs")
def refs(dags: Dags, uri: Uri) -> dict[str, Any]:
    """Tags, branches and consumers."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.refs_answer(asker, uri)


@router.get("/table/maintenance")
def maintenance(dags: Dags, uri: Uri, limit: Limit = 100) -> dict[str, Any]:
    """What was done to the table and what it saved."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return maintenance_answer(asker, uri, limit)


@router.get("/table/snapshot")
def snapshot(dags: Dags, uri: Uri, id: SnapshotId) -> dict[str, Any]:
    """One snapshot, by bucket."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.snapshot_answer(asker, uri, id)


@router.get("/table/compare")
def compare(
    dags: Dags,
    uri: Uri,
    from_id: Annotated[int, Query(alias="from", ge=0, lt=2**63)],
    to_id: Annotated[int, Query(alias="to", ge=0, lt=2**63)],
) -> dict[str, Any]:
    """Two snapshots."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return of_table.compare_answer(asker, uri, from_id, to_id)


@router.get("/table/actions")
def actions(dags: Dags, session: SessionDep, uri: Uri) -> dict[str, Any]:
    """What can be done to the table, and the Dag that does it."""
    with cache_for(dags) as asker:
        require_line(asker, uri)
        return actions_answer(session, asker)
