"""The pages of the provider.  Imported in the web server only."""

from __future__ import annotations

from typing import Final

from airflow.api_fastapi.core_api.security import requires_access_asset
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from paimon_provider.reports_folder import report_path
from table_core.errors import ArgumentError

__all__ = ["app"]

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
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
