"""The event of a task: what its job says it has committed.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider.watching.events import event_document
from paimon_provider.watching.snapshot_facts import SnapshotFacts, delivers_changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["event_of_commits", "note_delivers", "own_commits", "with_earlier"]

_BRANCH: Final = "$branch_"


def own_commits(result: Mapping[str, Any], table: str) -> list[Mapping[str, Any]]:
    """The commits in the result of a job (``table_core.table.commit_io.deliveries.CommitNote``) to ``table``.

    A job may write to others besides: rows that wait, dead letters.
    """
    name, _, branch = table.partition(_BRANCH)
    return [
        note
        for note in result.get("commits") or ()
        if note["table"] == name and branch in ("", note["branch"])
    ]


def with_earlier(
    notes: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """``notes`` with those of ``earlier`` that they do not tell, oldest first."""
    known = {id for note in notes for id in range(note["first"], note["last"] + 1)}
    return sorted(
        [*notes, *(note for note in earlier if note["last"] not in known)],
        key=lambda note: int(note["last"]),
    )


def note_delivers(note: Mapping[str, Any]) -> bool:
    """Whether a reader of changes gets rows from it; what is no longer known may give some."""
    return delivers_changes(SnapshotFacts.told(note), note["producer"])


def event_of_commits(table: str, notes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The event document of ``notes``, oldest first."""
    return event_document(
        table, [SnapshotFacts.told(note) for note in notes], notes[-1]["producer"]
    )
