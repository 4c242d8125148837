"""The clauses of a merge: which rows each decides about, and what it makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DELETES",
    "MatchedDelete",
    "MatchedUpsert",
    "MergeClause",
    "NotMatchedBySourceDelete",
    "NotMatchedBySourceUpsert",
    "NotMatchedInsert",
    "deletes",
    "needs_source",
    "needs_target",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedUpsert:
    """Where source and target agree: write ``values``, or every source column of the same name.

    ``values`` maps a target column to SQL over ``source.x`` and ``target.x``; columns that it does
    not name keep their target value.  ``condition`` is SQL over the same names.
    """

    values: Mapping[str, str] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedDelete:
    """Where source and target agree: delete the target row."""

    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMatchedInsert:
    """A source row without target: insert it, or ``values``."""

    values: Mapping[str, str] | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMatchedBySourceUpsert:
    """A target row without source: write ``values``, SQL over ``target.x``."""

    values: Mapping[str, str]
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMatchedBySourceDelete:
    """A target row without source: delete it."""

    condition: str | None = None


MergeClause: TypeAlias = (
    MatchedUpsert
    | MatchedDelete
    | NotMatchedInsert
    | NotMatchedBySourceUpsert
    | NotMatchedBySourceDelete
)
DELETES: Final = (MatchedDelete, NotMatchedBySourceDelete)
_ONLY_TARGET: Final = (NotMatchedBySourceUpsert, NotMatchedBySourceDelete)


def needs_target(clause: MergeClause) -> bool:
    """Whether there must be a target row."""
    return not isinstance(clause, NotMatchedInsert)


def needs_source(clause: MergeClause) -> bool:
    """Whether there must be a source row."""
    return not isinstance(clause, _ONLY_TARGET)


def deletes(clause: MergeClause) -> bool:
    """Whether the target row goes."""
    return isinstance(clause, DELETES)
