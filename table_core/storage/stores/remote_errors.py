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
    from table_core.errors import TableError

__all__ = ["library_errors", "lost_the_race", "met_another", "remote_error"]

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


def remote_error(error: BaseException, *, root: str, path: str, action: str) -> TableError:
    """The error that tells what ``error`` means."""
    if isinstance(error, OSError) and (error.errno or isinstance(error, FileNotFoundError)):
        if isinstance(error, FileNotFoundError | PermissionError) or error.errno != errno.EINVAL:
            return table_error(error, root=root, path=path, action=action)
    elif isinstance(error, PermissionError):
        return table_error(error, root=root, path=path, action=action)
    where = f"{root}/{path}" if path else root
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


def _codes(error: BaseException) -> set[str]:
    """Codes of the store's answer, wherever the library keeps them."""
    codes: set[str] = set()
    seen: BaseException | None = error
    while seen is not None:
        response: Any = getattr(seen, "response", None)
        if isinstance(response, dict):
            codes.add(str(response.get("Error", {}).get("Code")))
        for name in ("code", "status", "status_code", "error_code"):
            if (value := getattr(seen, name, None)) is not None:
                codes.add(str(value))
        seen = seen.__cause__
    return codes
