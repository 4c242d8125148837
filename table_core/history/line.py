"""Health in a word, the next due maintenance, and badges: what a list of tables says of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.health.verdict import Urgency, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "badges_of",
    "health_word",
    "merged_verdicts",
    "next_maintenance",
    "verdicts_document",
    "verdicts_of",
]

_WORDS: Final = {Urgency.OK: "ok", Urgency.DUE: "due", Urgency.URGENT: "bad"}
_RANK: Final = {Urgency.OK: 0, Urgency.DUE: 1, Urgency.URGENT: 2}
_SEVERITY: Final = {Urgency.DUE: "warning", Urgency.URGENT: "error"}


def health_word(verdicts: Iterable[Verdict]) -> str:
    """``ok``, ``due`` or ``bad``: of the most urgent."""
    return _WORDS[max((v.urgency for v in verdicts), key=_RANK.__getitem__, default=Urgency.OK)]


def next_maintenance(verdicts: Sequence[Verdict]) -> dict[str, str] | None:
    """The most urgent action and why; None if nothing is due."""
    due = [v for v in verdicts if v.urgency is not Urgency.OK]
    if not due:
        return None
    first = max(due, key=lambda v: _RANK[v.urgency])
    return {"action": first.action, "reason": "; ".join(first.reasons)}


def badges_of(verdicts: Iterable[Verdict]) -> list[dict[str, str]]:
    """One for each action that is due or urgent."""
    return [
        {"code": v.action, "text": "; ".join(v.reasons), "severity": _SEVERITY[v.urgency]}
        for v in verdicts
        if v.urgency is not Urgency.OK
    ]


def merged_verdicts(whole: Sequence[Verdict], quick: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """``whole``, which was found some time ago, with ``quick`` in the place of those of the same action."""
    newer = {v.action: v for v in quick}
    return tuple(newer.get(v.action, v) for v in whole)


def verdicts_document(verdicts: Iterable[Verdict]) -> list[list[Any]]:
    """JSON-safe."""
    return [[v.action, v.urgency.value, list(v.reasons)] for v in verdicts]


def verdicts_of(document: Iterable[Sequence[Any]]) -> tuple[Verdict, ...]:
    """Read what ``verdicts_document`` made."""
    return tuple(Verdict(str(a), Urgency(u), tuple(map(str, r))) for a, u, r in document)
