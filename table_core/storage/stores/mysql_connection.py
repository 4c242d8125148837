"""The driver's connection to MySQL and MariaDB, for a server that may be anybody.

So a login ends in time and takes few bytes, whatever comes, and so does an answer that is held whole.  Rows that are
fetched one by one may be as many as there are, and a statement may take as long as it takes.

Where TLS is only preferred, whoever is between us and the server can say that there is none, and choose how we
log in.  Two of those ways send the password as it is.  MySQL's own client refuses them without TLS, too.
"""

from __future__ import annotations

import importlib
import struct
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from table_core.options.budgets import DOCUMENT_BYTES
from table_core.options.tls import system_context

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["mysql_connection"]

_IN_CLEAR: Final = frozenset({b"mysql_clear_password", b"dialog"})
_PART_BYTES: Final = 0xFFFFFF
"""A part of a packet of this size is followed by another one."""
_HEAD_BYTES: Final = 4
_PACKET_MAX: Final = 1 << 30
"""Bytes of a packet; no server sends more."""
_FIRST_OF_CLIENT: Final = 2000
_LOST, _MALFORMED = 2013, 2027
_LOGIN_SECONDS: Final = 60.0
_SHORTEST_SECONDS: Final = 0.001
_LOGIN_BYTES: Final = 1 << 20
_DAMAGES: Final = (struct.error, LookupError, ValueError, TypeError, AttributeError, AssertionError)
"""What the driver raises of bytes that are no MySQL."""


@cache
def mysql_connection() -> Any:
    """The class.  Where TLS is only preferred, it loads the system's certificates once, not for each connection."""
    base = importlib.import_module("pymysql.connections").Connection

    class Connection(_Bounded, base):  # type: ignore[misc, valid-type]  # the driver has no types
        def _create_ssl_ctx(self, said: Any) -> Any:
            return super()._create_ssl_ctx(said) if said else system_context("prefer")

        def _process_auth(self, plugin_name: bytes, *more: Any) -> Any:
            if plugin_name in _IN_CLEAR and not self._secure:
                raise _refused(
                    f"the server asks for the password in clear ({plugin_name.decode()}), and there is no SSL: "
                    "it is not sent",
                )
            return super()._process_auth(plugin_name, *more)

    return Connection


def _refused(text: str, code: int = _FIRST_OF_CLIENT) -> Any:
    return importlib.import_module("pymysql.err").OperationalError(code, text)


class _Bounded:
    """What the driver does not bound."""

    _parts = 0
    """Bytes of a packet that came in several parts so far."""
    _until: float | None = None
    """When a login has to be over."""
    _left: int | None = None
    """How many bytes may still come; None: any number."""

    def connect(self, sock: Any = None) -> None:
        """Log in."""
        self._until = time.monotonic() + _LOGIN_SECONDS
        with self._within(_LOGIN_BYTES):
            super().connect(sock)  # type: ignore[misc]  # of the driver
        self._until = None

    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        """Ask; without ``unbuffered`` the whole answer is held."""
        ask = super().query  # type: ignore[misc]  # of the driver
        if unbuffered or self._left is not None:
            return ask(sql, unbuffered)
        with self._within(DOCUMENT_BYTES.most):
            return ask(sql, unbuffered)

    @contextmanager
    def _within(self, most: int) -> Iterator[None]:
        """No more bytes than ``most`` come meanwhile, and what is no MySQL is an error of the driver."""
        self._left = most
        try:
            yield
        except _DAMAGES as error:
            raise self._ended(f"it answers with no MySQL: {error!r:.200}", _MALFORMED) from error
        finally:
            self._left = None

    def _read_bytes(self: Any, num_bytes: int) -> Any:
        if self._left is not None:
            self._left -= num_bytes
            if self._left < 0:
                raise self._ended(self._too_much(), _MALFORMED)
        if self._until is not None:
            return self._in_time(num_bytes)
        data = super()._read_bytes(num_bytes)  # type: ignore[misc]  # of the driver
        if num_bytes == _PART_BYTES:
            self._parts += num_bytes
        elif num_bytes != _HEAD_BYTES:
            self._parts = 0
        if self._parts > _PACKET_MAX:
            raise self._ended(f"the server sends a packet of more than {_PACKET_MAX:,} bytes")
        return data

    def _too_much(self) -> str:
        if self._until is not None:
            return f"the server sends more than {_LOGIN_BYTES:,} bytes for a login"
        return DOCUMENT_BYTES.told("the server sends an answer of more bytes")

    def _in_time(self: Any, num_bytes: int) -> bytes:
        """So many bytes, before a login has to be over: one now and then is late in the end."""
        data = bytearray()
        while len(data) < num_bytes:
            self._current_timeout = max(self._until - time.monotonic(), _SHORTEST_SECONDS)
            try:
                self._sock.settimeout(self._current_timeout)
                piece = self._rfile.read1(num_bytes - len(data))
            except OSError as error:
                raise self._ended(f"no login within {_LOGIN_SECONDS:g} s ({error})") from error
            if not piece:
                raise self._ended("the server ended the connection at login", _LOST)
            data += piece
        return bytes(data)

    def _ended(self: Any, text: str, code: int = _FIRST_OF_CLIENT) -> Any:
        self._force_close()
        return _refused(text, code)
