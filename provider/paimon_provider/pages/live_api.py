"""The two routes that show rows: a sample, and what changes.  For who may see rows; read in threads of their own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Final, Literal, TypeVar

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from paimon_provider.pages.answers import require_line
from paimon_provider.pages.api import Dags, Uri, cache_for, not_kept
from paimon_provider.pages.bars import BarsOf
from paimon_provider.pages.live import LIVE, Viewer
from paimon_provider.pages.rows_right import RowsRight, rows_right
from paimon_provider.pages.text import cell_text
from paimon_provider.pages.warehouses import hook_of
from table_core.errors import ArgumentError, NotFoundError, StorageUnavailableError
from table_core.position.source import time_of_birth

__all__ = ["router"]

_COLUMN_MAX: Final = 500
_SAMPLE_S: Final = 20.0
_KEEP_ALIVE_S: Final = 15.0
_STREAM_S: Final = 1800.0
"""Then the browser connects anew, and the right to see rows is asked for again."""
_READERS: Final = ThreadPoolExecutor(4, thread_name_prefix="paimon-sample")
Column = Annotated[str, Query(max_length=_COLUMN_MAX)]
T = TypeVar("T")

router = APIRouter(prefix="/api/table", dependencies=[Depends(not_kept)])


async def table_with_rows(dags: Dags, uri: Uri) -> tuple[str, str]:
    """URI and name of a table whose rows who asks may see.

    Raises:
        NotFoundError: no such table.
        AccessDeniedError: they may not.
        StorageUnavailableError: the warehouse does not say in time when the table was made.
    """
    return await _within_time(uri, _allowed, dags, uri)


RowsOf = Annotated[tuple[str, str], Depends(table_with_rows)]


def _allowed(dags: frozenset[str], uri: str) -> tuple[str, str]:
    name, right = _asked(dags, uri, None)
    if right.rests_on_creation:  # what is collected may be of a table that was there before
        _, right = _asked(dags, uri, time_of_birth(_table(uri, name).birth))
    right.require(uri)
    return uri, name


def _asked(dags: frozenset[str], uri: str, made_ms: int | None) -> tuple[str, RowsRight]:
    """The table's name and the right to its rows.

    A session of its own: one of the route's would stay open as long as the stream.
    """
    from airflow.utils.session import create_session

    with cache_for(dags) as asker, create_session() as session:
        line, _ = require_line(asker, uri)
        return str(line["table"]), rows_right(session, asker, uri, made_ms)


async def _within_time(uri: str, read: Callable[..., T], *arguments: Any) -> T:
    """What ``read`` gives, in a thread of those that read warehouses.

    Raises:
        StorageUnavailableError: it takes too long.
    """
    reading = asyncio.get_running_loop().run_in_executor(_READERS, read, *arguments)
    try:
        return await asyncio.wait_for(reading, _SAMPLE_S)
    except TimeoutError as error:
        raise StorageUnavailableError(
            f"the rows did not come within {_SAMPLE_S:.0f} s: the warehouse is slow, or others read",
            path=uri,
            reason="timeout",
        ) from error


@router.get("/sample")
async def sample(of: RowsOf, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> dict[str, Any]:
    """Some rows of the newest state, as text."""
    return await _within_time(of[0], _sample, *of, limit)


def _sample(uri: str, name: str, limit: int) -> dict[str, Any]:
    table = _table(uri, name)
    head = table.latest_snapshot()
    columns = [
        {"name": cell_text(field.name), "type": cell_text(str(field.type))}
        for field in table.arrow_schema
    ]
    if head is None:
        return {"columns": columns, "rows": [], "snapshot_id": None}
    rows = table.read(limit=limit, snapshot=head.id).to_arrow()
    texts = [
        [None if value is None else cell_text(value) for value in row.values()]
        for row in rows.to_pylist()
    ]
    return {"columns": columns, "rows": texts, "snapshot_id": head.id}


def _table(uri: str, name: str) -> Any:
    """The table's handle.

    Raises:
        NotFoundError: it is gone.  Which others there are, and where, is not for everybody who sees this one.
    """
    try:
        return hook_of(uri).catalog().table(name)
    except NotFoundError as error:
        raise NotFoundError(
            f"there is no table {name} any more: it was dropped or renamed since its metadata was collected. The next "
            "collection takes it off this page",
            name=name,
        ) from error


@router.get("/live")
async def live(
    of: RowsOf,
    by: Column = "",
    value: Column = "",
    agg: Literal["sum", "count"] = "count",
) -> StreamingResponse:
    """What is committed, as server-sent events, with bars by the values of ``by``."""
    if agg == "sum" and by and not value:
        raise ArgumentError("agg=sum needs the column to sum up: value=…", argument="value")
    uri, name = of
    wanted = BarsOf(by, value if agg == "sum" else None) if by else None

    LIVE.require_room(uri)

    async def events() -> AsyncIterator[str]:
        viewer = Viewer(asyncio.get_running_loop(), wanted)
        follower = LIVE.join(uri, viewer, lambda: _table(uri, name).access)
        until = time.monotonic() + _STREAM_S
        try:
            yield "retry: 2000\n\n"
            while time.monotonic() < until:
                try:
                    await asyncio.wait_for(viewer.arrived.wait(), _KEEP_ALIVE_S)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                viewer.arrived.clear()
                while viewer.waiting:
                    event, document = viewer.waiting.popleft()
                    yield f"event: {event}\ndata: {json.dumps(document)}\n\n"
                    if event == "gone":
                        return
        finally:
            LIVE.leave(follower, viewer)

    headers = {"Cache-Control": "no-store, private", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)
