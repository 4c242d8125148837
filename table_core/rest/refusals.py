"""What a REST catalog answers when it does not do what it was asked.

Source: ``org.apache.paimon.rest.DefaultErrorHandler``, ``responses.ErrorResponse`` of 2.0.0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from table_core.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    ArgumentError,
    NotFoundError,
    OptionError,
    StorageUnavailableError,
    TableError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Refusal", "RefusedError", "is_rejected", "is_undecided", "merged"]

_MESSAGE_MAX: Final = 500
_OF_FILES: Final = "dlf.token-path"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with a status of an error."""

    status: int
    resource_type: str | None
    """``TABLE``, ``SNAPSHOT``, ``DATABASE`` ..., in capitals."""
    message: str

    @classmethod
    def of(cls, status: int, body: bytes) -> Refusal:
        """Read ``body``; what is not the document of an error is not repeated: a proxy may have sent anything."""
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            return cls(status, None, f"no reason that this release can read (HTTP {status})")
        kind, message = document.get("resourceType"), document.get("message")
        return cls(
            status,
            kind.upper() if isinstance(kind, str) else None,
            str(message or f"no reason (HTTP {status})")[:_MESSAGE_MAX],
        )

    def error(self, what: str, place: str) -> TableError:
        """The error of ``what``, which was asked of the server at ``place``."""
        told = f"{what} of {place}: {self.message}"
        match self.status:
            case HTTPStatus.UNAUTHORIZED:
                return AccessDeniedError(
                    f"{told}. The server does not take the token: look at 'token.provider', and whether the "
                    "token has expired",
                    path=place,
                    reason="unauthorized",
                )
            case HTTPStatus.FORBIDDEN:
                return AccessDeniedError(told, path=place, reason="forbidden")
            case HTTPStatus.NOT_FOUND:
                return NotFoundError(told, name=what, available=[])
            case HTTPStatus.CONFLICT:
                return AlreadyExistsError(told, name=what)
            case HTTPStatus.BAD_REQUEST:
                return ArgumentError(told, argument="name", value=what)
            case HTTPStatus.NOT_IMPLEMENTED:
                return UnsupportedFeatureError(told, feature=what)
            case _:
                return StorageUnavailableError(told, path=place, reason=f"HTTP {self.status}")


class RefusedError(Exception):
    """The server has refused a request.  Whoever asked knows what that means, and says so."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def is_rejected(status: int) -> bool:
    """Whether a server with this answer has looked at nothing yet, so that the same request may be made again."""
    return status == HTTPStatus.TOO_MANY_REQUESTS


def is_undecided(status: int) -> bool:
    """Whether nobody can tell from the answer if a change was made: a server, or a proxy before it, failed."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED


def merged(config: Mapping[str, object], own: Mapping[str, str]) -> dict[str, str]:
    """The options in force: the server's defaults, then one's ``own``, then the server's overrides.

    Raises:
        OptionError: the server names a file of this machine, whose content it would get.
    """
    options: dict[str, str] = {}
    for which in (config.get("defaults"), own, config.get("overrides")):
        if isinstance(which, dict):
            options |= {str(key): str(value) for key, value in which.items() if value is not None}
    if options.get(_OF_FILES) != own.get(_OF_FILES):
        raise OptionError(
            f"the server of the REST catalog sets {_OF_FILES!r}: which file is read and sent to it, it may not say. "
            "Set it in the options of the catalog, if it is meant",
            option=_OF_FILES,
            value=None,
        )
    return options
