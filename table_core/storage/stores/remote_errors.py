"""Errors of the client libraries of object stores, told as ours.

fsspec file systems raise ``OSError`` for what their store answers, and exceptions of the client
library for what never got an answer.  Libraries that are not imported cannot raise.
"""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import AccessDeniedError, StorageUnavailableError
from table_core.storage.stores.os_errors import table_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.errors import TableError

__all__ = [
    "has_expired",
    "is_beyond_end",
    "is_passing",
    "is_refusal",
    "library_errors",
    "lost_the_race",
    "met_another",
    "reason_of",
    "remote_error",
]

_LIBRARY_ERRORS: Final = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("aiohttp", "ClientError"),
    ("azure.core.exceptions", "AzureError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("gcsfs.retry", "HttpError"),
    ("requests.exceptions", "RequestException"),
    ("fsspec.exceptions", "FSTimeoutError"),
)
_TAKEN: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
_MET: Final = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""What S3 answers (409) when two conditional puts of one name overlap: it took neither, or one."""
_THROTTLED: Final = frozenset(
    {
        "429",
        "503",
        "BandwidthLimitExceeded",
        "RequestLimitExceeded",
        "ServerBusy",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
    }
)
_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
_SKEWED: Final = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_PASSING: Final = _THROTTLED | {
    "408",
    "500",
    "502",
    "504",
    "BadDigest",
    "IncompleteBody",
    "InternalError",
    "RequestTimeout",
    "XAmzContentSHA256Mismatch",
}
_UNANSWERED: Final = frozenset(
    {
        "ClientError",  # of aiohttp
        "ClientPayloadError",
        "ConnectionError",
        "FSTimeoutError",
        "FlexibleChecksumError",
        "HTTPClientError",
        "IncompleteRead",
        "IncompleteReadError",
        "ResponseParserError",
        "TimeoutError",
    }
)
"""Names of errors, or of what they are derived from, of requests that never got a whole answer."""
_NO_RIGHTS: Final = frozenset({"AccessDenied", "401", "403", "InvalidAccessKeyId"})
_NO_KEYS: Final = frozenset({"NoCredentialsError", "PartialCredentialsError", "GoogleAuthError"})


def library_errors() -> tuple[type[BaseException], ...]:
    """Exceptions that mean a store or the way to it, for ``except``."""
    classes = [getattr(sys.modules.get(module), name, None) for module, name in _LIBRARY_ERRORS]
    return OSError, *(cls for cls in classes if isinstance(cls, type))


def lost_the_race(error: BaseException) -> bool:
    """Whether a conditional put was refused because something is there."""
    return isinstance(error, FileExistsError) or bool(_codes(error) & _TAKEN)


def met_another(error: BaseException) -> bool:
    """Whether a conditional put was refused because another one was under way."""
    return bool(_codes(error) & _MET)


def has_expired(error: BaseException) -> bool:
    """Whether the credentials have expired: others may do."""
    return bool(_codes(error) & _EXPIRED)


def is_passing(error: BaseException) -> bool:
    """Whether the same request may succeed: the store is busy or ill, or there was no whole answer."""
    codes = _codes(error)
    if codes:
        return bool(codes & _PASSING)
    return any(cls.__name__ in _UNANSWERED for seen in _chain(error) for cls in type(seen).__mro__)


def is_beyond_end(error: BaseException) -> bool:
    """Whether nothing is in the range of an object that was asked for."""
    return "416" in _codes(error)


def is_refusal(error: BaseException) -> bool:
    """Whether the store has said that it did not do what was asked, because of who asked."""
    return bool(_codes(error) & (_NO_RIGHTS | _EXPIRED | _SKEWED))


def reason_of(error: BaseException) -> str:
    """What stopped a request, for a log."""
    codes = " ".join(sorted(_codes(error)))
    return codes or f"{type(error).__name__}: {error}".rstrip(": ")


def remote_error(error: BaseException, *, root: str, path: str, action: str) -> TableError:
    """The error that tells what ``error`` means."""
    where = f"{root}/{path}" if path else root
    told = _passing_error(_codes(error), where, action)
    if told is not None:
        return told
    if isinstance(error, OSError) and (error.errno or isinstance(error, FileNotFoundError)):
        if isinstance(error, FileNotFoundError | PermissionError) or error.errno != errno.EINVAL:
            return table_error(error, root=root, path=path, action=action)
    elif isinstance(error, PermissionError):
        return table_error(error, root=root, path=path, action=action)
    reason = str(error) or type(error).__name__
    if _codes(error) & _NO_RIGHTS or type(error).__name__ in _NO_KEYS:
        return AccessDeniedError(
            f"may not {action} {where}: {reason}; give the credentials in storage_options the "
            f"right to {action} objects there",
            path=where,
            reason=reason,
        )
    return StorageUnavailableError(
        f"cannot {action} {where}: {reason}; try again", path=where, reason=reason
    )


def _passing_error(codes: set[str], where: str, action: str) -> TableError | None:
    """What the store means that will do the same later, or for other credentials."""
    if codes & _EXPIRED:
        what = "the credentials have expired"
        cure = "try again with new ones; give storage_options a source that renews them"
    elif codes & _SKEWED:
        what = "the clock of this machine differs too much from that of the store"
        cure = "set the clock (NTP), then try again"
    elif codes & _THROTTLED:
        what = f"the store takes no more requests for now ({', '.join(sorted(codes & _THROTTLED))})"
        cure = "try again later, with fewer writers at once"
    else:
        return None
    return StorageUnavailableError(
        f"cannot {action} {where}: {what}; {cure}", path=where, reason=what
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what it was raised from."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def _codes(error: BaseException) -> set[str]:
    """Codes of the store's answer, wherever the library keeps them."""
    codes: set[str] = set()
    for seen in _chain(error):
        response: Any = getattr(seen, "response", None)
        if isinstance(response, dict):
            codes.add(str(response.get("Error", {}).get("Code")))
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if str(status) in _PASSING:
                codes.add(str(status))
        for name in ("code", "status", "status_code", "error_code"):
            if (value := getattr(seen, name, None)) is not None:
                codes.add(str(value))
    return codes
