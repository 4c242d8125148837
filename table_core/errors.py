"""Every error this package raises, named for what broke and tagged with what to do next.

The class says *what* happened.  ``kind`` says *what the caller should do*, and there are only
a few answers, so an Airflow trigger or a Spark driver branches on ``kind`` and never on message
text.  Messages are for people and may change; ``kind`` and the ``facts`` keys are API.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AccessDeniedError",
    "AlreadyExistsError",
    "ArgumentError",
    "CommitConflictError",
    "CorruptFileError",
    "DataError",
    "ErrorKind",
    "EventError",
    "FilesExpiredError",
    "ForeignOverwriteError",
    "GaveUpError",
    "JobFailedError",
    "MissingPackageError",
    "NotFoundError",
    "OptionError",
    "OutcomeUnknownError",
    "PositionDivergedError",
    "PredicateError",
    "SchemaError",
    "SourceDivergedError",
    "SqlError",
    "StorageUnavailableError",
    "TableError",
    "UnsupportedFeatureError",
    "error_from_document",
    "error_to_document",
]


class ErrorKind(StrEnum):
    """What the caller should do.  Add a member only with an ADR."""

    CONFLICT = "conflict"
    """Another writer won.  Rebase on the new head and try again."""
    UNAVAILABLE = "unavailable"
    """Storage, network or process fault.  The same call may work later."""
    INVALID = "invalid"
    """The arguments, options, data or schema change are wrong.  Retrying cannot help."""
    CORRUPT = "corrupt"
    """Stored bytes contradict the format.  Stop, and do not overwrite anything."""
    UNSUPPORTED = "unsupported"
    """A feature of the format that this release names and refuses."""
    NOT_FOUND = "not-found"
    """No such table, snapshot, tag or branch.  Facts say which, and what there is."""
    UNKNOWN_OUTCOME = "unknown-outcome"
    """A write may or may not have landed.  Read back before doing anything else."""


class TableError(Exception):
    """Base of every error raised by ``table_core``.

    Picklable with all its facts, because errors cross from Spark executors to the driver and
    from there to the Airflow worker.
    """

    kind: ClassVar[ErrorKind]

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.facts: Mapping[str, object] = facts

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args[0], dict(self.facts))


def _rebuild(cls: type[TableError], message: str, facts: dict[str, object]) -> TableError:
    return cls(message, **facts)


class CommitConflictError(TableError):
    """A concurrent commit touched the same files.

    Facts: ``table``, ``head_id``, ``conflicts`` (every conflict, not the first).
    """

    kind = ErrorKind.CONFLICT


class GaveUpError(TableError):
    """Every attempt to commit lost a race.  Nothing is visible.  Facts: ``user``, ``attempts``."""

    kind = ErrorKind.CONFLICT


class OutcomeUnknownError(TableError):
    """It is unknown whether the write landed. Facts: ``user``, ``id``, ``floor``; of a tag or branch ``table``."""

    kind = ErrorKind.UNKNOWN_OUTCOME


class PositionDivergedError(OutcomeUnknownError, TableError):
    """The source is not what was read, or the target of a stream was rolled back. Nothing was read or written.

    Facts: ``reader``, ``source``, ``reason`` (``made-anew``, ``rolled-back``, ``went-back``, ``expired``,
    ``changed``, ``unclear``, ``another-reader``, ``unreadable``), ``stored``, ``found``, ``ways_out``.
    """

    kind = ErrorKind.UNKNOWN_OUTCOME


class CorruptFileError(TableError, ValueError):
    """A stored file does not decode.  Facts: ``path``, ``problems`` (all of them)."""

    kind = ErrorKind.CORRUPT


class ForeignOverwriteError(TableError):
    """Another writer replaced a snapshot after it was committed.

    Facts: ``path``, ``ours``, ``theirs`` (commit users).
    """

    kind = ErrorKind.CORRUPT


class FilesExpiredError(TableError):
    """Files of the snapshot being read were expired under the reader.  Facts: ``path``, ``snapshot``."""

    kind = ErrorKind.NOT_FOUND

    @classmethod
    def of(cls, path: str, *, needed: bool | None = None) -> FilesExpiredError:
        """The error for the file ``path``, which the snapshot that is read names.

        ``needed``: whether the newest snapshot names it too, which no expiry takes files from; None: unknown.
        """
        if needed:
            return cls(
                f"{path} is gone, and the newest snapshot needs it: something else than expiry deleted it. Put "
                "the file back if there is a copy; 'table-core recover' says what can be saved",
                path=path,
            )
        unknown = (
            ""
            if needed is False
            else (". If the newest snapshot needs it, 'table-core recover' says what can be saved")
        )
        return cls(
            f"{path} is gone: its snapshot was expired while it was read; read a newer snapshot, "
            f"or raise 'snapshot.time-retained', or create a tag or a consumer{unknown}",
            path=path,
        )


class StorageUnavailableError(TableError):
    """The store did not answer, is full or failed.  Facts: ``path``, ``reason``."""

    kind = ErrorKind.UNAVAILABLE


class AccessDeniedError(TableError):
    """The store denies reading or writing. Facts: ``path``, ``reason``."""

    kind = ErrorKind.INVALID


class ArgumentError(TableError, ValueError):
    """An argument of a call is wrong.  Facts: ``argument``, ``value``."""

    kind = ErrorKind.INVALID


class AlreadyExistsError(TableError):
    """A database, table, tag or branch of that name exists already. Facts: ``name``."""

    kind = ErrorKind.INVALID


class MissingPackageError(TableError):
    """A required package is not installed. Facts: ``extra``, which installs it.

    ``what`` begins the message: what needs it.
    """

    kind = ErrorKind.INVALID

    @classmethod
    def of(cls, what: str, extra: str, reason: ImportError) -> Self:
        """The error of ``what``, which the extra ``extra`` of ``paimon-table-core`` brings."""
        return cls(
            f"{what} needs a package that is not installed ({reason}): "
            f'pip install "paimon-table-core[{extra}]"',
            extra=extra,
        )


class OptionError(TableError, ValueError):
    """A table option is unknown or its value does not parse.  Facts: ``option``, ``value``."""

    kind = ErrorKind.INVALID


class SchemaError(TableError, ValueError):
    """A schema or schema change breaks a rule.  Facts: ``problems`` (all of them)."""

    kind = ErrorKind.INVALID


class DataError(TableError, ValueError):
    """A value does not fit its column.  Facts: ``column``, ``row``, ``value`` (shortened)."""

    kind = ErrorKind.INVALID


class PredicateError(TableError, ValueError):
    """A condition does not parse or does not fit the table.  Facts: ``where``."""

    kind = ErrorKind.INVALID


class SqlError(TableError, ValueError):
    """A SQL statement is wrong.  Facts: ``line``, ``column`` and ``near``, the text that stands there."""

    kind = ErrorKind.INVALID


class EventError(TableError, ValueError):
    """A change event cannot be read.  Facts: ``file`` or ``topic``, ``line`` or ``offset``."""

    kind = ErrorKind.INVALID


class SourceDivergedError(PositionDivergedError, EventError):
    """A source of change events has changed or lost the next events. No event was read.

    Facts: those of ``PositionDivergedError``.
    """


class NotFoundError(TableError, LookupError):
    """No such database, table, snapshot, tag or branch.  Facts: ``name``, ``available``."""

    kind = ErrorKind.NOT_FOUND


class UnsupportedFeatureError(TableError):
    """The table uses a feature that this release refuses by name.  Facts: ``feature``."""

    kind = ErrorKind.UNSUPPORTED


class JobFailedError(TableError):
    """A job process ended without a result.  Facts: ``exit_code``, ``log_tail``."""

    kind = ErrorKind.UNAVAILABLE


def error_to_document(error: TableError) -> dict[str, object]:
    """Describe ``error`` as JSON-safe members: ``error, kind, message, facts``."""
    facts = {key: value if _is_json(value) else str(value) for key, value in error.facts.items()}
    return {
        "error": type(error).__name__,
        "kind": error.kind.value,
        "message": str(error),
        "facts": facts,
    }


def error_from_document(document: Mapping[str, object]) -> TableError:
    """Rebuild the error that ``error_to_document`` described, in another process.

    A class this release does not know becomes a plain error of the same kind.
    """
    known = {cls.__name__: cls for cls in TableError.__subclasses__()}
    facts = document.get("facts")
    cls = known.get(str(document["error"])) or _of_kind(ErrorKind(str(document["kind"])))
    told = facts if isinstance(facts, dict) else {}
    return cls(str(document["message"]), **{k: v for k, v in told.items() if k not in _PLACES})


_PLACES: Final = frozenset({"self", "message"})
"""Parameters of an error that are no facts."""


def _of_kind(kind: ErrorKind) -> type[TableError]:
    return type("RemoteError", (TableError,), {"kind": kind})


def _is_json(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)
