"""The driver's connection to PostgreSQL, for a server that may be anybody.

libpq holds a message whole, however long the server says it is.  So does the driver with the rows of an answer.  It
has no limit for either, and within libpq no Python runs.  So a thread looks at how much the system got of the
server since the driver began to wait, and ends the connection past the limit::

    rows of a COPY, one wait each     any number of rows, each below the limit
    an answer that is held whole      below the limit

Linux tells that of TCP, with TLS or without.  Elsewhere, and of a Unix socket, nothing is bounded.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from table_core.options.budgets import DOCUMENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["driver_connection"]

_LOGIN_BYTES: Final = 1 << 20
_LOOK_S: Final = 0.005
_TCP_INFO_BYTES: Final = 136
_RECEIVED_AT: Final = 128
"""Where ``struct tcp_info`` of Linux has ``tcpi_bytes_received``."""


@cache
def driver_connection() -> Any:
    """The class."""
    driver = import_module("psycopg")

    class Connection(driver.Connection):  # type: ignore[misc, name-defined]  # the driver has no types
        _watch: _Watch | None = None

        @classmethod
        def _connect_gen(cls, *arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
            raw = yield from _login(super()._connect_gen(*arguments, **named), driver)
            raw._watch = _Watch(raw.pgconn.socket)  # noqa: SLF001 - one of this class
            return raw

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            """Let ``gen`` read; an answer that is too long is an error of the driver."""
            watch = self._watch
            if watch is None:
                return super().wait(gen, *arguments, **named)
            try:
                return super().wait(watch.watched(gen), *arguments, **named)
            except driver.Error as error:
                if not watch.is_exceeded:
                    raise
                raise driver.OperationalError(
                    DOCUMENT_BYTES.told("the server sends an answer of more bytes")
                ) from error

        def close(self) -> None:
            super().close()
            if self._watch is not None:
                self._watch.end()

    return Connection


def _login(steps: Any, driver: Any) -> Generator[Any, Any, Any]:
    """The same steps, until the server has sent more than a login takes: many settings, of many names."""
    ready = None
    while True:
        try:
            wanted = steps.send(ready)
        except StopIteration as done:
            return done.value
        ready = yield wanted
        with socket.socket(fileno=os.dup(wanted[0])) as connection:
            if _received(connection) > _LOGIN_BYTES:
                steps.close()
                raise driver.OperationalError(
                    f"the server sends more than {_LOGIN_BYTES:,} bytes for a login"
                )


def _received(connection: socket.socket) -> int:
    """Bytes that came so far; 0 where the system does not tell."""
    if sys.platform != "linux" or connection.family not in {socket.AF_INET, socket.AF_INET6}:
        return 0
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    return (
        int(struct.unpack_from("<Q", told, _RECEIVED_AT)[0]) if len(told) == _TCP_INFO_BYTES else 0
    )


class _Watch:
    """What ends a connection that brings too much while the driver waits once."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._most = DOCUMENT_BYTES.most
        self._turn = 0
        """Waits so far."""
        self._waits = threading.Event()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self.is_exceeded = False

    def watched(self, steps: Any) -> Generator[Any, Any, Any]:
        """``steps`` of the driver; most have what they want and do not wait."""
        try:
            wanted = next(steps)
        except StopIteration as done:
            return done.value
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()
        self._turn += 1
        self._waits.set()
        try:
            while True:
                wanted = steps.send((yield wanted))
        except StopIteration as done:
            return done.value
        finally:
            self._waits.clear()

    def _look(self) -> None:
        while self._waits.wait() and not self._is_over.is_set():
            turn, before = self._turn, _received(self._socket)
            while self._turn == turn and self._waits.is_set():
                if self._is_over.wait(_LOOK_S):
                    break
                if _received(self._socket) - before > self._most and self._turn == turn:
                    self.is_exceeded = True
                    self._socket.shutdown(socket.SHUT_RDWR)
                    return

    def end(self) -> None:
        """Look no longer."""
        self._is_over.set()
        self._waits.set()
        if self._thread is not None:
            self._thread.join()
        self._socket.close()
