"""The pages of the provider.  Imported in the web server only."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import (
    GetUserDep,
    requires_access_asset,
    requires_access_dag,
)
from airflow.models.asset import AssetEvent, AssetModel
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse

from paimon_provider.arguments.table_identity import SCHEME, spelled
from paimon_provider.pages.reports_folder import dag_of_report, report_text
from paimon_provider.pages.tables import LIMIT, TableEvents, render
from paimon_provider.pages.text import security_headers
from table_core.errors import ArgumentError

__all__ = ["app"]

_SEARCH_MAX: Final = 200
_NO_DAG: Final = "~"
"""No Dag is called so: what nobody's Dag made is for those who may read every Dag."""

app = FastAPI(
    dependencies=[Depends(requires_access_asset(method="GET"))],
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
)
"""Whoever may see assets may see these pages, nobody else; plugin routes are open by default."""


@app.get("/reports/{name}")
def report(name: str, request: Request, user: GetUserDep) -> HTMLResponse:
    """A change report that a task has rendered, for those who may read its Dag."""
    try:
        # Without one Airflow would take the Dag from the address, so from whoever asks.
        dag_id = dag_of_report(name) or _NO_DAG
        requires_access_dag(method="GET", param_dag_id=dag_id)(request, user)
        return _page(report_text(name))
    except ArgumentError as error:
        raise HTTPException(404, "no such report") from error


@app.get("/tables")
def tables(session: SessionDep, search: str = "") -> HTMLResponse:
    """Every table that Airflow knows, with the newest event of each."""
    search = search[:_SEARCH_MAX].replace("\0", "")
    newest = (
        sa.select(AssetEvent.asset_id, sa.func.max(AssetEvent.id).label("event_id"))
        .group_by(AssetEvent.asset_id)
        .subquery()
    )
    known = (
        sa.select(AssetModel.uri, AssetEvent)
        .outerjoin(newest, newest.c.asset_id == AssetModel.id)
        .outerjoin(AssetEvent, AssetEvent.id == newest.c.event_id)
        .where(AssetModel.uri.startswith(f"{SCHEME}://", autoescape=True))
        .where(
            sa.or_(
                AssetModel.uri.contains(search, autoescape=True),
                AssetModel.uri.contains(spelled(search), autoescape=True),
            )
        )
        .order_by(AssetModel.uri)
    )
    total = session.scalar(sa.select(sa.func.count()).select_from(known.subquery()))
    rows: Any = session.execute(known.limit(LIMIT))
    found = [_events(uri, event) for uri, event in rows]
    return _page(render(found, search=search, total=total))


def _page(text: str) -> HTMLResponse:
    return HTMLResponse(text, headers=security_headers(text))


def _events(uri: str, event: AssetEvent | None) -> TableEvents:
    if event is None:
        return TableEvents(uri=uri)
    return TableEvents(uri=uri, at=event.timestamp, by=_source(event), extra=event.extra)


def _source(event: AssetEvent) -> str:
    if event.source_task_id:
        return f"{event.source_dag_id}.{event.source_task_id}"
    extra: object = event.extra  # may be any JSON
    told = isinstance(extra, dict) and extra.get("from_trigger")
    return "watcher" if told else "REST"
