"""The clauses of a merge: which rows each decides about, and what it makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from table_core.errors import ArgumentError

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
    "clauses_of",
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


def clauses_of(when: object) -> tuple[MergeClause, ...]:
    """The clauses of a merge; one alone is one.

    Raises:
        ArgumentError: something is no clause.
    """
    known = get_args(MergeClause)
    clauses = (when,) if isinstance(when, known) else when
    if not isinstance(clauses, list | tuple) or not all(isinstance(one, known) for one in clauses):
        raise ArgumentError(
            f"when is a list of clauses such as [MatchedUpsert(), NotMatchedInsert()], not {when!r:.100}",
            argument="when",
            value=repr(when)[:100],
        )
    return tuple(clauses)


def needs_target(clause: MergeClause) -> bool:
    """Whether there must be a target row."""
    return not isinstance(clause, NotMatchedInsert)


def needs_source(clause: MergeClause) -> bool:
    """Whether there must be a source row."""
    return not isinstance(clause, _ONLY_TARGET)


def deletes(clause: MergeClause) -> bool:
    """Whether the target row goes."""
    return isinstance(clause, DELETES)
