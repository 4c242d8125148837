"""An HTTP answer of a server that may be anything: within a time and a size, whatever it sends.

A timeout of a socket is one of each read.  A server that sends a byte now and then is never late for it, so a
clock beside the request closes the connection.
"""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence
    from types import TracebackType

__all__ = ["Answer", "NoRedirects", "http_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server says."""

    status: int
    body: bytes
    """Cut where the status is an error."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for the answer that it is."""

    def redirect_request(self, *_: Any) -> None:
        """No request."""


def http_answer(
    request: urllib.request.Request,
    handlers: Sequence[urllib.request.BaseHandler] = (),
    *,
    seconds: float,
    most: int,
    trusted: ssl.SSLContext | None = None,
) -> Answer:
    """The answer to ``request``, also one with a status of an error.

    Args:
        request: what is asked.
        handlers: of urllib, e.g. for redirects.
        seconds: from the connection to the last byte, redirects included.
        most: bytes of the answer.
        trusted: whose certificates are.

    Raises:
        OSError: there is no whole answer in time, it is larger, or it is no HTTP.
    """
    with _Deadline(seconds) as deadline:
        opener = urllib.request.build_opener(*handlers, _Http(deadline), _Https(deadline, trusted))
        try:
            try:
                response: Any = opener.open(request, timeout=seconds)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                body = response.read(most + 1)
                status = int(response.status)
                missing = bool(getattr(response, "length", None))
        except (OSError, http.client.HTTPException, ValueError) as error:
            if deadline.is_over:
                raise _late(seconds) from error
            if isinstance(error, OSError):
                raise
            raise OSError(f"it answers with no HTTP: {error!r:.200}") from error
        if deadline.is_over:
            raise _late(seconds)
    if status >= http.client.BAD_REQUEST:
        return Answer(status, body[:most])
    if len(body) > most:
        raise OSError(f"an answer of more than {most:,} bytes")
    if missing:
        raise OSError("an answer that ends before its length")
    return Answer(status, body)


def _late(seconds: float) -> OSError:
    return TimeoutError(f"there is no whole answer within {seconds:.0f} s")


class _Deadline:
    """Shuts the connections down that were made within it when the time is over."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    def hold(self, connection: Any) -> Any:
        """``connection``, whose socket this ends."""
        connect = connection.connect

        def connected() -> None:
            connect()
            with self._lock:
                self._sockets.append(connection.sock)
                if self.is_over:
                    _shut(connection.sock)

        connection.connect = connected
        return connection

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            for one in self._sockets:
                _shut(one)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        one.shutdown(socket.SHUT_RDWR)


class _Http(urllib.request.HTTPHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Any) -> Any:
        def made(*args: Any, **options: Any) -> Any:
            return self._deadline.hold(http.client.HTTPConnection(*args, **options))

        return self.do_open(made, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, deadline: _Deadline, trusted: ssl.SSLContext | None) -> None:
        super().__init__(context=trusted)
        self._deadline, self._trusted = deadline, trusted

    def https_open(self, req: Any) -> Any:
        def made(*args: Any, **options: Any) -> Any:
            options["context"] = self._trusted
            return self._deadline.hold(http.client.HTTPSConnection(*args, **options))

        return self.do_open(made, req)
