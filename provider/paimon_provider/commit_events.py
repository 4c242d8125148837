"""The event of a task: what its job says it has committed.  Pure; nothing is read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from paimon_provider.conditions import SnapshotFacts, delivers_changes, event_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["event_of_commits", "note_delivers", "own_commits"]

_PARTITIONS_MAX: Final = 100
_BRANCH: Final = "$branch_"


def own_commits(result: Mapping[str, Any], table: str) -> list[Mapping[str, Any]]:
    """The commits in the result of a job (``table_core.table.deliveries.CommitNote``) to ``table``.

    A job may write to others besides: rows that wait, dead letters.
    """
    name, _, branch = table.partition(_BRANCH)
    return [
        note
        for note in result.get("commits") or ()
        if note["table"] == name and branch in ("", note["branch"])
    ]


def note_delivers(note: Mapping[str, Any]) -> bool:
    """Whether a reader of changes gets rows from it; what is no longer known may give some."""
    return note["kind"] is None or delivers_changes(_facts(note), note["producer"])


def event_of_commits(table: str, notes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The event document of ``notes``, oldest first."""
    producer = notes[-1]["producer"]
    told = event_document(table, [_facts(note) for note in notes], producer, _partitions(notes))
    told["snapshots"] = {
        "first": notes[0]["first"],
        "last": notes[-1]["last"],
        "count": sum(note["count"] for note in notes),
    }
    told["delivers_changes"] = any(map(note_delivers, notes))
    return told


def _facts(note: Mapping[str, Any]) -> SnapshotFacts:
    return SnapshotFacts(
        id=note["last"],
        kind=note["kind"] or "UNKNOWN",
        operation=note["operation"],
        user=note["user"],
        time_millis=note["committed_at_ms"] or 0,
        total_rows=note["total_rows"],
        delta_rows=note["delta_rows"],
        changelog_rows=note["changelog_rows"],
        watermark=note["watermark"],
    )


def _partitions(notes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Those that the commits touched; None if they are many, or one of them is no longer known."""
    if any(note["partitions"] is None for note in notes):
        return None
    every = {tuple(one.items()): dict(one) for note in notes for one in note["partitions"]}
    return list(every.values()) if len(every) <= _PARTITIONS_MAX else None
