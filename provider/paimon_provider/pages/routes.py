"""The pages of the provider.  Imported in the web server only."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from airflow.api_fastapi.core_api.security import (
    GetUserDep,
    requires_access_asset,
    requires_access_dag,
    requires_authenticated,
)
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from paimon_provider.arguments.table_identity import SCHEME
from paimon_provider.links import TABLES_PATH
from paimon_provider.pages import api, live_api
from paimon_provider.pages.bundle import BUNDLE_PATH, bundle_text, etag_of
from paimon_provider.pages.refusals import tell_errors
from paimon_provider.pages.reports_folder import dag_of_report, report_text
from paimon_provider.pages.text import security_headers
from table_core.errors import ArgumentError

__all__ = ["app"]

_NO_DAG: Final = "~"
"""No Dag is called so: what nobody's Dag made is for those who may read every Dag."""

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
_pages = APIRouter(dependencies=[Depends(requires_access_asset(method="GET"))])
"""Whoever may see assets may see these pages, nobody else; plugin routes are open by default."""
_pages.include_router(api.router)
_pages.include_router(live_api.router)
tell_errors(app)


@_pages.get("/reports/{name}")
def report(name: str, request: Request, user: GetUserDep) -> HTMLResponse:
    """A change report that a task has rendered, for those who may read its Dag."""
    try:
        # Without one Airflow would take the Dag from the address, so from whoever asks.
        dag_id = dag_of_report(name) or _NO_DAG
        requires_access_dag(method="GET", param_dag_id=dag_id)(request, user)
        return _page(report_text(name))
    except ArgumentError as error:
        raise HTTPException(404, "no such report") from error


@app.get(f"/{BUNDLE_PATH}", dependencies=[Depends(requires_authenticated())])
def bundle(request: Request) -> Response:
    """The script of the page of tables; a browser keeps it until there is another.

    It tells nothing of tables.  Every user gets it: a part of it is on every page, and Airflow shows an
    error there if it cannot be loaded.
    """
    script = bundle_text()
    headers = {
        "ETag": etag_of(script),
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(script, media_type="text/javascript", headers=headers)


@_pages.get("/tables")
def tables(search: str = "") -> RedirectResponse:
    """Where the page of tables was: buttons of old runs lead here."""
    view = "table" if search.startswith(f"{SCHEME}://") else "search"
    return RedirectResponse(f"..{TABLES_PATH}?{urlencode({view: search})}")


app.include_router(_pages)


def _page(text: str) -> HTMLResponse:
    return HTMLResponse(text, headers=security_headers(text))
