"""The driver's connection to MySQL and MariaDB, for a server that may be anybody.

Where TLS is only preferred, whoever is between us and the server can say that there is none, and choose how we
log in.  Two of those ways send the password as it is.  MySQL's own client refuses them without TLS, too.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, Final

from table_core.options.tls import system_context

__all__ = ["mysql_connection"]

_IN_CLEAR: Final = frozenset({b"mysql_clear_password", b"dialog"})
_PART_BYTES: Final = 0xFFFFFF
"""A part of a packet of this size is followed by another one."""
_HEAD_BYTES: Final = 4
_PACKET_MAX: Final = 1 << 30
"""Bytes of a packet; no server sends more."""
_FIRST_OF_CLIENT: Final = 2000


@cache
def mysql_connection() -> Any:
    """The class.  Where TLS is only preferred, it loads the system's certificates once, not for each connection."""
    base = importlib.import_module("pymysql.connections").Connection
    refused = importlib.import_module("pymysql.err").OperationalError

    class Connection(base):  # type: ignore[misc, valid-type]  # the driver has no types
        _parts = 0

        def _create_ssl_ctx(self, said: Any) -> Any:
            return super()._create_ssl_ctx(said) if said else system_context("prefer")

        def _process_auth(self, plugin_name: bytes, *more: Any) -> Any:
            if plugin_name in _IN_CLEAR and not self._secure:
                raise refused(
                    _FIRST_OF_CLIENT,
                    f"the server asks for the password in clear ({plugin_name.decode()}), and there is no SSL: "
                    "it is not sent",
                )
            return super()._process_auth(plugin_name, *more)

        def _read_bytes(self, num_bytes: int) -> Any:
            data = super()._read_bytes(num_bytes)
            if num_bytes == _PART_BYTES:
                self._parts += num_bytes
            elif num_bytes != _HEAD_BYTES:
                self._parts = 0
            if self._parts > _PACKET_MAX:
                self._force_close()
                raise refused(
                    _FIRST_OF_CLIENT,
                    f"the server sends a packet of more than {_PACKET_MAX:,} bytes",
                )
            return data

    return Connection
