"""S3 through s3fs, with one loop of retries in place of the three that its libraries nest.

Botocore, s3fs and its files each try five times, so one silent request would be made 125 times.
Here each request is made once by them, and again by the loop, within the bounds of ``Retries``.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import s3fs  # noqa: TID253  this module is imported where a store is S3
from fsspec.asyn import sync_wrapper

from table_core.errors import CorruptFileError
from table_core.options.budgets import DOCUMENT_BYTES
from table_core.storage.stores.remote_errors import (
    has_expired,
    is_passing,
    is_refusal,
    reason_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from table_core.storage.stores.retries import Retries

__all__ = ["BoundedS3"]

_PIECE_BYTES: Final = 1 << 20
_log: Final = logging.getLogger(__name__)
_inside: Final[ContextVar[bool]] = ContextVar("inside a request that is tried again", default=False)


class _ShortBodyError(ConnectionError):
    """An answer that is shorter than what was asked for."""


class _BoundedBody:
    """The body of an answer, of which no more is held than was asked for, whatever the server sends."""

    def __init__(self, body: Any, most: int, where: str) -> None:
        self._body, self._most, self._where = body, most, where

    async def read(self, amount: int | None = None) -> bytes:
        """All bytes, or the next ones.

        Raises:
            CorruptFileError: there are more than there may be.
        """
        if amount is not None and amount >= 0:
            return bytes(await self._body.read(amount))
        parts, size = [], 0
        while part := await self._body.read(_PIECE_BYTES):
            parts.append(part)
            size += len(part)
            if size > self._most:
                what = f"the store sends {size:,} bytes or more, and {self._most:,} may come"
                if self._most == DOCUMENT_BYTES.most:
                    what = DOCUMENT_BYTES.told(f"the store sends {size:,} bytes or more")
                raise CorruptFileError(f"{self._where}: {what}", path=self._where, problems=[what])
        return b"".join(parts)

    def close(self) -> None:
        """Close the connection if there is more."""
        self._body.close()


def _most(wanted: str | None) -> int:
    """Bytes of a range of HTTP; of a whole object, what is read of one.

    >>> _most("bytes=10-19")
    10
    """
    first, dash, last = (wanted or "").removeprefix("bytes=").partition("-")
    if dash and first.isdigit() and last.isdigit():
        return int(last) - int(first) + 1
    return DOCUMENT_BYTES.most


class BoundedS3(s3fs.S3FileSystem):  # type: ignore[misc]  # s3fs has no types
    """S3 where each request ends within ``bounds``."""

    retries = 1

    def __init__(self, *args: Any, bounds: Retries, **options: Any) -> None:
        self.bounds = bounds
        config = dict(options.pop("config_kwargs", None) or {})
        config["retries"] = {"mode": "standard", "total_max_attempts": 1}
        config.setdefault("connect_timeout", bounds.connect_seconds)
        config.setdefault("read_timeout", bounds.read_seconds)
        super().__init__(*args, config_kwargs=config, **options)

    async def _call_s3(self, method: str, *args: Any, **kwargs: Any) -> Any:
        where = "/".join(str(kwargs[name]) for name in ("Bucket", "Key") if name in kwargs)
        call = super()._call_s3
        await self.set_session()
        _try_once(await self.get_s3(kwargs.get("Bucket")))
        answer = await self._tried(f"{method} {where}", lambda: call(method, *args, **kwargs))
        if method == "get_object":
            answer["Body"] = _BoundedBody(answer["Body"], _most(kwargs.get("Range")), where)
        return answer

    call_s3 = sync_wrapper(_call_s3)  # what files call that are written in parts

    async def _entries(self, folder: str) -> list[dict[str, Any]]:
        """What is directly in ``folder``; nothing where it is not there.

        ``ls`` would then list the folder above, which may have thousands of others.
        """
        listed: list[dict[str, Any]] = await self._lsdir(folder, refresh=True)
        return listed

    entries = sync_wrapper(_entries)

    async def _page_below(
        self, folder: str, token: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Some of all objects below ``folder``, however deep, and what to ask for the next ones with; None: that is all."""
        bucket, key, _ = self.split_path(folder)
        more = {} if token is None else {"ContinuationToken": token}
        prefix = f"{key}/" if key else ""
        page = await self._call_s3(
            "list_objects_v2", Bucket=bucket, Prefix=prefix, **more, **self.req_kw
        )
        objects = [
            {**entry, "name": f"{bucket}/{entry['Key']}", "size": entry["Size"], "type": "file"}
            for entry in page.get("Contents", ())
        ]
        return objects, page.get("NextContinuationToken")

    page_below = sync_wrapper(_page_below)

    async def _cat_file(self, path: str, *args: Any, **kwargs: Any) -> Any:
        read = super()._cat_file
        start, end = kwargs.get("start"), kwargs.get("end")

        async def whole() -> bytes:
            body: bytes = await read(path, *args, **kwargs)
            if start is not None and end is not None and len(body) != end - start:
                raise _ShortBodyError(f"{len(body)} bytes came instead of {end - start}")
            return body

        return await self._tried(f"get_object {path}", whole)

    async def _tried(self, what: str, request: Callable[[], Awaitable[Any]]) -> Any:
        """What ``request`` gives, made again while what stopped it may pass.

        An error that follows one whose request may have been carried out is marked ``unanswered``.
        """
        if _inside.get():  # by whom the whole is tried again
            return await request()
        loop, bounds = asyncio.get_running_loop(), self.bounds
        until = loop.time() + bounds.total_seconds
        unanswered = renewed = False
        inside = _inside.set(True)
        try:
            for attempt in range(1, bounds.attempts + 1):
                try:
                    async with asyncio.timeout_at(until):
                        return await request()
                except Exception as error:
                    pause = bounds.pause_seconds(attempt, random.random())
                    expired = has_expired(error) and not renewed
                    again = expired or is_passing(error)
                    last = attempt == bounds.attempts or loop.time() + pause >= until
                    if not again or last:
                        if again:
                            _log.warning(
                                "s3: %s failed for good, after %d of %d attempts: %s",
                                what,
                                attempt,
                                bounds.attempts,
                                reason_of(error),
                            )
                        error.unanswered = unanswered or not is_refusal(error)  # type: ignore[attr-defined]  # a mark for ``create``
                        raise
                    _log.warning(
                        "s3: %s failed: %s; attempt %d of %d in %.1f s",
                        what,
                        reason_of(error),
                        attempt + 1,
                        bounds.attempts,
                        pause,
                    )
                    unanswered |= not is_refusal(error)
                    if expired:
                        renewed = True
                        await self.set_session(refresh=True)
                await asyncio.sleep(pause)
            raise AssertionError(what)
        finally:
            _inside.reset(inside)


def _try_once(client: Any) -> None:
    """Keep aiohttp from sending a request again by itself, where a connection breaks that it used before.

    Nobody would know that the first one may have been carried out.
    """
    http = getattr(getattr(client, "_endpoint", None), "http_session", None)
    for session in (getattr(http, "_sessions", None) or {}).values():
        session._retry_connection = False  # noqa: SLF001 - there is no public way
