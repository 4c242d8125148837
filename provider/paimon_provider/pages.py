"""The pages of the provider.  Imported in the web server only."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_asset
from airflow.models.asset import AssetEvent, AssetModel
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from paimon_provider.assets import SCHEME
from paimon_provider.reports_folder import report_path
from paimon_provider.tables_page import LIMIT, TableEvents, render
from table_core.errors import ArgumentError

__all__ = ["app"]

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "Cache-Control": "private, no-store",
    "X-Content-Type-Options": "nosniff",
}

app = FastAPI(
    dependencies=[Depends(requires_access_asset(method="GET"))],
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
)
"""Whoever may see assets may see these pages, nobody else; plugin routes are open by default."""


@app.get("/reports/{name}")
def report(name: str) -> HTMLResponse:
    """A change report that a task has rendered."""
    try:
        path = report_path(name)
        text = path.read_text(encoding="utf-8")
    except (ArgumentError, FileNotFoundError) as error:
        raise HTTPException(404, "no such report") from error
    return HTMLResponse(text, headers=_HEADERS)


@app.get("/tables")
def tables(session: SessionDep, search: str = "") -> HTMLResponse:
    """Every table that Airflow knows, with the newest event of each."""
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
        .where(AssetModel.uri.contains(search, autoescape=True))
        .order_by(AssetModel.uri)
    )
    total = session.scalar(sa.select(sa.func.count()).select_from(known.subquery()))
    rows: Any = session.execute(known.limit(LIMIT))
    found = [_events(uri, event) for uri, event in rows]
    return HTMLResponse(render(found, search=search, total=total), headers=_HEADERS)


def _events(uri: str, event: AssetEvent | None) -> TableEvents:
    if event is None:
        return TableEvents(uri=uri)
    return TableEvents(uri=uri, at=event.timestamp, by=_source(event), extra=event.extra)


def _source(event: AssetEvent) -> str:
    if event.source_task_id:
        return f"{event.source_dag_id}.{event.source_task_id}"
    return "watcher" if (event.extra or {}).get("from_trigger") else "REST"
