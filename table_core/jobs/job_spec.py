"""What a job is told and what it answers, as JSON.

``python -m table_core.spark.entrypoint --spec FILE --result FILE`` runs one; ``run_embedded`` in
``table_core.jobs.run`` runs the same spec inside the calling process.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import (
    ArgumentError,
    TableError,
    UnsupportedFeatureError,
    error_from_document,
    error_to_document,
)
from table_core.jobs import registry
from table_core.options.spark_settings import require_printable, require_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ACTIONS", "RESULT_SCHEMA", "SPEC_SCHEMA", "VERSION", "JobResult", "JobSpec"]

VERSION: Final = 1
ACTIONS: Final = tuple(registry.ACTIONS)
SPEC_SCHEMA: Final[Mapping[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Job spec",
    "type": "object",
    "required": ["version", "action", "warehouse", "args"],
    "additionalProperties": False,
    "properties": {
        "version": {"const": VERSION},
        "action": {"enum": list(ACTIONS)},
        "warehouse": {"type": "string", "minLength": 1},
        "table": {"type": ["string", "null"]},
        "commit_user": {"type": ["string", "null"]},
        "commit_identifier": {"type": ["integer", "null"]},
        "commit_since_ms": {"type": ["integer", "null"]},
        "args": {"type": "object"},
        "options": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
"""JSON Schema of a spec.  ``options`` are storage and session options, e.g. ``storage.endpoint_url``."""
RESULT_SCHEMA: Final[Mapping[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Job result",
    "type": "object",
    "required": ["version", "status", "result", "error"],
    "additionalProperties": False,
    "properties": {
        "version": {"const": VERSION},
        "status": {"enum": ["done", "failed"]},
        "result": {"type": ["object", "null"]},
        "error": {"type": ["object", "null"]},
    },
}
"""JSON Schema of a result; ``error`` is what ``errors.error_to_document`` makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One verb on one table, with everything that it needs."""

    action: str
    warehouse: str
    table: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The keyword arguments of the verb, JSON-safe; those of a source have its password."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    commit_user: str | None = None
    commit_identifier: int | None = None
    commit_since_ms: int | None = None
    """``CommitAs.since_ms``: of an attempt that is not the first."""
    version: int = VERSION

    def __post_init__(self) -> None:
        """Refuse names and options that would be something else to who gets them.

        They become names of applications, lines of files and parts of paths.

        Raises:
            ArgumentError: says which.
        """
        for member in ("table", "commit_user", "warehouse"):
            if getattr(self, member) is not None:
                require_printable(getattr(self, member), member)
        if self.table is not None and ("/" in self.table or "\\" in self.table):
            raise ArgumentError(
                f"table={self.table!r} is a path, not a name", argument="table", value=self.table
            )
        for name, value in self.options.items():
            require_printable(name, "the name of an option")
            if name.startswith("spark."):
                require_settings({name: value}, "options")

    def to_json(self) -> str:
        """Encode, in the order of the attributes."""
        document = {name: getattr(self, name) for name in SPEC_SCHEMA["properties"]}
        return json.dumps(document | {"args": dict(self.args), "options": dict(self.options)})

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        """Decode and check.

        Raises:
            UnsupportedFeatureError: the spec is of another version or names an unknown action.
            ArgumentError: it is no spec.
        """
        document = _object(text, "job spec")
        if not isinstance(document.get("args"), dict):
            raise ArgumentError("job spec lacks 'args'", argument="spec")
        if document.get("version") != VERSION:
            raise UnsupportedFeatureError(
                f"job spec version {document.get('version')} is not {VERSION}: install the same "
                "release of paimon-table-core where the job runs",
                feature=f"job spec version {document.get('version')}",
            )
        registry.action_of(str(document.get("action")))
        unknown = sorted(set(document) - set(SPEC_SCHEMA["properties"]))
        wrong = [*unknown, *(name for name, of in _TYPES.items() if not of(document.get(name)))]
        if wrong:
            raise ArgumentError(f"job spec is malformed: {', '.join(wrong)}", argument="spec")
        return cls(**{**document, "options": document.get("options") or {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a job answers: a result document, or an error."""

    result: Mapping[str, object] | None = None
    error: TableError | None = None

    def to_json(self) -> str:
        """Encode as ``RESULT_SCHEMA`` says."""
        return json.dumps(
            {
                "version": VERSION,
                "status": "failed" if self.error else "done",
                "result": None if self.result is None else dict(self.result),
                "error": None if self.error is None else error_to_document(self.error),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> JobResult:
        """Decode; the error becomes an exception of its class again.

        Raises:
            ArgumentError: it is no result.
        """
        document = _object(text, "job result")
        result, error = document.get("result"), document.get("error")
        if not isinstance(result, dict | None) or not isinstance(error, dict | None):
            raise ArgumentError("job result is malformed", argument="result")
        try:
            return cls(result=result, error=None if error is None else error_from_document(error))
        except (ValueError, LookupError, TypeError) as wrong:
            raise ArgumentError(
                f"job result reports an error that is not one: {wrong!r}", argument="result"
            ) from wrong


def _object(text: str, noun: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{noun} is not JSON: {type(error).__name__}: {error}", argument="spec"
        ) from error
    if not isinstance(document, dict):
        raise ArgumentError(f"{noun} is no JSON object", argument="spec")
    return document


def _optional(kind: type) -> Callable[[object], bool]:
    return lambda value: value is None or (isinstance(value, kind) and not isinstance(value, bool))


_TYPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "warehouse": lambda value: isinstance(value, str) and bool(value),
    "table": _optional(str),
    "commit_user": _optional(str),
    "commit_identifier": _optional(int),
    "commit_since_ms": _optional(int),
    "options": lambda value: (
        value is None
        or (isinstance(value, dict) and all(isinstance(one, str) for one in value.values()))
    ),
}
"""What a member of a spec may be."""
