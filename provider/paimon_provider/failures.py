"""Which table errors Airflow should retry, when, and which it should not.

One table, no message matching.  A new ``ErrorKind`` fails the test that reads this table until
somebody decides.  An attempt that was killed raises nothing: Airflow retries it by itself.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import (
    AirflowException,
    AirflowFailException,
    RetryDecision,
    RetryPolicy,
)
from table_core.errors import ErrorKind, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from paimon_provider._compat import Context

__all__ = ["RETRY", "TABLE_RETRIES", "TableRetryPolicy", "airflow_failures"]

RETRY: Final[Mapping[ErrorKind, bool]] = {
    ErrorKind.CONFLICT: True,
    ErrorKind.UNAVAILABLE: True,  # a job that died is of this kind: its commit user is the same
    ErrorKind.INVALID: False,
    ErrorKind.CORRUPT: False,
    ErrorKind.UNSUPPORTED: False,
    ErrorKind.NOT_FOUND: False,
    ErrorKind.UNKNOWN_OUTCOME: False,  # the proof is gone: another attempt could not know either
}

_SOON_SECONDS: Final = (1.0, 5.0)


class TableRetryPolicy(RetryPolicy):
    """After a lost race soon again, at a random moment; else after the task's own ``retry_delay``.

    The default of the operators on tables.  It never adds to the task's ``retries``.  What no retry
    can mend comes as an exception that Airflow fails at once, and is not asked about here.
    """

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,  # noqa: ARG002  # Airflow counts by itself
        context: Context | None = None,  # noqa: ARG002
    ) -> RetryDecision:
        """The delay after ``exception``; it grows with the attempts, which makes races rarer."""
        cause = exception.__cause__
        if not isinstance(cause, TableError) or cause.kind is not ErrorKind.CONFLICT:
            return RetryDecision.default()
        seconds = random.uniform(*_SOON_SECONDS) * max(1, try_number)
        return RetryDecision.retry(timedelta(seconds=seconds), "another commit was first")

    def serialize(self) -> dict[str, Any]:
        """It has no settings."""
        return {}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> TableRetryPolicy:
        """It has no settings."""
        return cls(**data)


TABLE_RETRIES: Final = TableRetryPolicy()
"""The default of our operators, in their signatures: mapped tasks look there."""


@contextmanager
def airflow_failures() -> Iterator[None]:
    """Turn a ``TableError`` into the Airflow exception that retries, or the one that does not."""
    try:
        yield
    except TableError as error:
        wrapper = AirflowException if RETRY[error.kind] else AirflowFailException
        raise wrapper(f"[{error.kind}] {error}") from error
