"""Parameters of a connection to PostgreSQL that a source may add, and what they mean for TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.options.tls import default_mode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["connection_parameters", "require_parameters"]

_OWN: Final = frozenset(
    {
        *("host", "port", "dbname", "user", "password", "options", "replication", "service"),
        *(
            "conninfo",
            "autocommit",
            "cursor_factory",
            "row_factory",
            "context",
            "prepare_threshold",
        ),
    }
)
"""What a source says by its members, or what is not to be chosen."""


def require_parameters(options: Mapping[str, Any]) -> None:
    """Refuse parameters that would lead to another server, or change what the driver gives.

    Raises:
        ArgumentError: names them.
    """
    taken = sorted(_OWN.intersection(options))
    if taken:
        raise ArgumentError(
            f"options: {', '.join(taken)} is said by a member of the source, or is not to be chosen",
            argument="options",
            value=taken,
        )


def connection_parameters(host: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """``options``, and the mode of TLS where they say none.

    A server elsewhere has to prove who it is, by the certificates of this system or those given.  To libpq
    an empty mode is the weakest one; here it is as if nothing was said.
    """
    mode = default_mode(str(options.get("hostaddr") or host))
    if mode != "verify-full" or options.get("sslmode"):
        return dict(options)
    root = options.get("sslrootcert") or "system"
    return {**options, "sslmode": mode, "sslrootcert": root}
