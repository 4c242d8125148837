"""Settings that stand in another Airflow connection: ``{{ conn.minio.password }}``.

So a key that several warehouses use, or that a secrets backend turns over, is kept in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paimon_provider._compat import Connection

__all__ = ["References"]

_REFERENCE: Final = re.compile(r"\{\{\s*conn\.([\w-]+)\.([\w.-]+)\s*\}\}")
_PLAIN: Final = ("login", "host", "port", "schema")
_SECRET: Final = "password"
_EXTRA: Final = "extra_dejson."


class References:
    """Puts what other connections say where they are named.

    :param lookup: gives a connection by its id; raises ``LookupError`` or what Airflow raises.
    """

    def __init__(self, lookup: Callable[[str], Connection]) -> None:
        self._lookup = lookup
        self.secrets: list[str] = []
        """What was put in and must not be shown: passwords and members of extras."""

    def filled(self, document: Any) -> Any:
        """``document``, JSON-like, with every reference in its texts replaced.

        Raises:
            ArgumentError: the connection has no such member, or nothing in it.
        """
        if isinstance(document, str):
            return _REFERENCE.sub(lambda match: self._member(match[1], match[2]), document)
        if isinstance(document, Mapping):
            return {key: self.filled(value) for key, value in document.items()}
        if isinstance(document, list):
            return [self.filled(value) for value in document]
        return document

    def _member(self, conn_id: str, member: str) -> str:
        connection = self._lookup(conn_id)
        if member.startswith(_EXTRA):
            value = connection.extra_dejson.get(member.removeprefix(_EXTRA))
        elif member in {*_PLAIN, _SECRET}:
            value = getattr(connection, member)
        else:
            known = ", ".join((*_PLAIN, _SECRET, f"{_EXTRA}NAME"))
            raise ArgumentError(
                f"{{{{ conn.{conn_id}.{member} }}}}: {member!r} is none of {known}",
                argument="conn",
                value=member,
            )
        if value in {None, ""}:
            raise ArgumentError(
                f"connection {conn_id!r} has no {member}, which another connection refers to",
                argument="conn",
                value=f"{conn_id}.{member}",
            )
        if member not in _PLAIN:
            self.secrets.append(str(value))
        return str(value)
