"""Which snapshots count?  Pure, so that sensor, trigger and operator cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from paimon_provider.watching.events import event_document
from paimon_provider.watching.seen import Seen, UnseenSnapshots, unseen
from paimon_provider.watching.snapshot_facts import (
    TRUNCATE,
    SnapshotFacts,
    delivers_changes,
    rows_of,
)
from table_core.errors import ArgumentError
from table_core.options.nearest import meant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "BRING_ROWS",
    "ON",
    "RESET",
    "NewSnapshots",
    "Seen",
    "SnapshotFacts",
    "UnseenSnapshots",
    "counts",
    "delivers_changes",
    "event_document",
    "matching_partitions",
    "require_known",
    "rows_of",
    "unseen",
]

ON: Final = ("changes", "append", "overwrite", "delete", "compact", "any")
"""What to wait for: ``changes`` are snapshots that a reader of changes gets rows from."""
BRING_ROWS: Final = frozenset({"changes", "append"})
"""Those that rows come with."""
RESET: Final = frozenset({"changes", "overwrite", "delete", "any"})
"""Those that hear of a table that was rolled back, fast-forwarded or recreated."""


def counts(snapshot: SnapshotFacts, producer: str, on: str) -> bool:
    """Whether ``snapshot`` is one of those that ``on`` names.

    Raises:
        ArgumentError: ``on`` is none of ``ON``.
    """
    match on:
        case "any":
            return True
        case "changes":
            return delivers_changes(snapshot, producer)
        case "delete":
            return _deletes(snapshot)
        case "append" | "overwrite" | "compact":
            return snapshot.kind == on.upper()
    raise _unknown(on)


def _deletes(snapshot: SnapshotFacts) -> bool:
    """Whether it took rows away, by whatever means; of foreign ones as far as the document tells."""
    if snapshot.kind is None:
        return True
    if snapshot.is_known:  # what nobody has counted may be rows
        return snapshot.kind != "COMPACT" and snapshot.deleted != 0
    fewer = snapshot.delta_rows < 0 and snapshot.operation != "OVERWRITE"
    named = snapshot.operation in {"DELETE", TRUNCATE}
    return snapshot.kind == "OVERWRITE" and (fewer or named)


def require_known(on: str) -> None:
    """Refuse what is none of ``ON``.

    Raises:
        ArgumentError: it is none.
    """
    if on not in ON:
        raise _unknown(on)


def _unknown(on: str) -> ArgumentError:
    return ArgumentError(
        f"on={on!r} is none of {', '.join(ON)}{meant(str(on), ON)}", argument="on", value=on
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSnapshots:
    """Satisfied when snapshots after ``after`` count for ``on`` and hold ``min_rows`` together."""

    after: int = 0
    on: str = "changes"
    min_rows: int = 0

    def __post_init__(self) -> None:
        require_known(self.on)

    def matching(self, snapshots: Sequence[SnapshotFacts], producer: str) -> list[SnapshotFacts]:
        """The snapshots that satisfy this, oldest first; none while it is not satisfied.

        Some that expired after ``after`` satisfy it: the first then stands for them, of no kind.
        Without ``after``, the rows of those that expired are counted as far as the table has them; where
        no other one counts, these satisfy it, if rows are what is waited for.
        """
        ordered = sorted(snapshots, key=lambda s: s.id)
        new = [s for s in ordered if s.id > self.after and counts(s, producer, self.on)]
        earliest = ordered[0] if ordered else None
        if earliest is not None and self.after and earliest.id > self.after + 1:
            return [SnapshotFacts.expired(self.after + 1, earliest.id - 1), *new]
        before = 0
        if earliest is not None and not self.after and earliest.id > 1:
            before = max(0, earliest.total_rows - earliest.delta_rows)
        if before + sum(map(rows_of, new)) < self.min_rows:
            return []
        if before and not new and self.on in BRING_ROWS:
            return [SnapshotFacts.expired(1, earliest.id - 1)] if earliest is not None else []
        return new


def matching_partitions(
    touched: Sequence[Mapping[str, str | None]] | None,
    wanted: Sequence[Mapping[str, str | None]],
) -> bool:
    """Whether one of ``touched`` agrees with one of ``wanted``, both in the core's spelling.

    Unknown ones may.
    """
    if touched is None:
        return True
    return any(all(one.get(k) == v for k, v in want.items()) for one in touched for want in wanted)
