"""Which table errors Airflow should retry, and which it should not.

One table, no message matching.  A new ``ErrorKind`` fails the test that reads this table until
somebody decides.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from paimon_provider._compat import AirflowException, AirflowFailException
from table_core.errors import ErrorKind, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RETRY", "airflow_failures"]

RETRY: Final[Mapping[ErrorKind, bool]] = {
    ErrorKind.CONFLICT: True,
    ErrorKind.UNAVAILABLE: True,  # a job that died is of this kind: its commit user is the same
    ErrorKind.INVALID: False,
    ErrorKind.CORRUPT: False,
    ErrorKind.UNSUPPORTED: False,
    ErrorKind.NOT_FOUND: False,
    ErrorKind.UNKNOWN_OUTCOME: False,  # the proof is gone: another attempt could not know either
}


@contextmanager
def airflow_failures() -> Iterator[None]:
    """Turn a ``TableError`` into the Airflow exception that retries, or the one that does not."""
    try:
        yield
    except TableError as error:
        wrapper = AirflowException if RETRY[error.kind] else AirflowFailException
        raise wrapper(f"[{error.kind}] {error}") from error
