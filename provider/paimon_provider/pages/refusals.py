"""Errors of the routes in the one form that the page reads: ``{"error": {kind, message, facts}}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from table_core.errors import AccessDeniedError, ErrorKind, TableError

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

__all__ = ["error_document", "tell_errors"]

_TEXT_MAX: Final = 500
_STATUS: Final = {ErrorKind.NOT_FOUND: 404, ErrorKind.UNAVAILABLE: 503}
_KINDS: Final = {401: "unauthenticated", 403: "forbidden", 404: "not-found", 503: "unavailable"}


def tell_errors(app: FastAPI) -> None:
    """Let ``app`` tell every error so, Airflow's own refusals too, and let no answer be cached."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(TableError, _failed)


def error_document(error: TableError) -> dict[str, Any]:
    """The document of an error of ours, with what it knows."""
    facts = {name: str(value)[:_TEXT_MAX] for name, value in error.facts.items()}
    return _document(str(error.kind), str(error), facts)


async def _refused(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    kind = _KINDS.get(error.status_code, "invalid")
    document = _document(kind, str(error.detail), {})
    return JSONResponse(document, status_code=error.status_code, headers=error.headers)


async def _invalid(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    """A parameter that is missing or is none."""
    assert isinstance(error, RequestValidationError)
    told = [f"{one['loc'][-1]}: {one['msg']}" for one in error.errors()]
    return JSONResponse(_document("invalid", "; ".join(told), {}), status_code=422)


async def _failed(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, TableError)
    status = 403 if isinstance(error, AccessDeniedError) else _STATUS.get(error.kind, 422)
    return JSONResponse(error_document(error), status_code=status)


def _document(kind: str, message: str, facts: dict[str, str]) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message[: 4 * _TEXT_MAX], "facts": facts}}
