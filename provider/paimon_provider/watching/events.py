"""What an event says: a watcher's payload, a task's event extra.  Pure.

Its size is bounded: it tells of many snapshots as of one, and names partitions as long as they are few.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.watching.snapshot_facts import SnapshotFacts, delivers_changes, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "EVENT_VERSION",
    "PARTITIONS_MAX",
    "Gathered",
    "bounded_result",
    "event_document",
    "gathered",
]

EVENT_VERSION: Final = 1
PARTITIONS_MAX: Final = 100
"""More are not named, but counted: whoever is told asks the table."""
_DETAILS_MAX: Final = 4_096
_Partitions = tuple[dict[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Snapshots, told as one."""

    first: int
    last: int
    count: int = 0
    committed_at_ms: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    operations: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int | None] = field(default_factory=dict)
    """None where the writer of one did not say, and its files do not tell."""
    touched: int = 0
    """Rows, for thresholds."""
    delivers: bool = False
    watermark: int | None = None
    partitions: _Partitions | None = ()
    """None where nobody can tell, or where they are many."""
    partitions_total: int | None = 0
    gap: tuple[int, int] | None = None
    reset: str | None = None

    @classmethod
    def of(
        cls,
        snapshot: SnapshotFacts,
        producer: str,
        partitions: Sequence[Mapping[str, str | None]] | None = None,
    ) -> Gathered:
        """One snapshot; ``partitions`` are those that it touched, if they are not its own."""
        told = snapshot.partitions if partitions is None else partitions
        few = None if told is None or len(told) > PARTITIONS_MAX else tuple(map(dict, told))
        total = snapshot.partitions_total if told is None else len(told)
        rows: dict[str, int | None] = {"changelog": snapshot.changelog_rows}
        if snapshot.kind is not None:
            rows[snapshot.kind.lower()] = snapshot.delta_rows
        known = {name: getattr(snapshot, name) for name in ("added", "updated", "deleted")}
        return cls(
            first=snapshot.first or snapshot.id,
            last=snapshot.id,
            count=snapshot.count if snapshot.kind is not None else 0,
            committed_at_ms=snapshot.time_millis,
            kinds={} if snapshot.kind is None else {snapshot.kind: snapshot.count},
            operations={snapshot.operation: snapshot.count} if snapshot.operation else {},
            rows=rows | known,
            touched=rows_of(snapshot),
            delivers=delivers_changes(snapshot, producer),
            watermark=snapshot.watermark,
            partitions=few,
            partitions_total=total,
            gap=None if snapshot.kind is not None else (snapshot.first or snapshot.id, snapshot.id),
        )

    def and_then(self, later: Gathered) -> Gathered:
        """Both, told as one."""
        partitions = None
        if self.partitions is not None and later.partitions is not None:
            both = {tuple(one.items()): one for one in (*self.partitions, *later.partitions)}
            partitions = tuple(both.values()) if len(both) <= PARTITIONS_MAX else None
        gaps = [gap for gap in (self.gap, later.gap) if gap is not None]
        return replace(
            later,
            first=min(self.first, later.first),
            count=self.count + later.count,
            committed_at_ms=later.committed_at_ms or self.committed_at_ms,
            kinds=_sum(self.kinds, later.kinds),
            operations=_sum(self.operations, later.operations),
            rows=_known_sum(self.rows, later.rows),
            touched=self.touched + later.touched,
            delivers=self.delivers or later.delivers,
            watermark=later.watermark if later.watermark is not None else self.watermark,
            partitions=partitions,
            partitions_total=len(partitions) if partitions is not None else None,
            gap=(min(gap[0] for gap in gaps), max(gap[1] for gap in gaps)) if gaps else None,
            reset=self.reset or later.reset,
        )

    def to_document(self) -> dict[str, Any]:
        """JSON-safe, for a mark."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Gathered:
        """Read what ``to_document`` made, also from JSON."""
        members = dict(document)
        if members["partitions"] is not None:
            members["partitions"] = tuple(members["partitions"])
        if members["gap"] is not None:
            members["gap"] = tuple(members["gap"])
        return cls(**members)

    def event(self, table: str) -> dict[str, Any]:
        """The event document.

        ``rows`` by kind of commit are signed: a compaction that drops old versions has fewer rows
        after than before.  ``snapshot_id`` is the newest; who may see an event twice compares it.
        ``partitions`` are None if nobody looked or they are many.  What does not apply is left out:
        ``operations``, ``watermark``, ``partitions_total``, and ``gap`` and ``reset``, which say that
        this is not all there was.
        """
        document: dict[str, Any] = {
            "version": EVENT_VERSION,
            "table": table,
            "snapshot_id": self.last,
            "snapshots": {"first": self.first, "last": self.last, "count": self.count},
            "committed_at_ms": self.committed_at_ms,
            "kinds": dict(self.kinds),
            "delivers_changes": self.delivers,
            "rows": dict(self.rows),
            "partitions": None if self.partitions is None else list(map(dict, self.partitions)),
        }
        if self.operations:
            document["operations"] = dict(self.operations)
        if self.watermark is not None:
            document["watermark_ms"] = self.watermark
        if self.partitions is None and self.partitions_total:
            document["partitions_total"] = self.partitions_total
        if self.gap is not None:
            document["gap"] = {"first": self.gap[0], "last": self.gap[1]}
        if self.reset is not None:
            document["reset"] = self.reset
        return document


def bounded_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """A job's result as an event carries it.

    Its commits are what the event tells, and details that are long are left to the task's XCom.
    """
    kept = {key: value for key, value in result.items() if key != "commits"}
    details = kept.get("details")
    if details and len(json.dumps(details, default=str)) > _DETAILS_MAX:
        kept["details"] = {"left_out": True}
    return kept


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    total = Counter(one)
    total.update(other)
    return dict(total)


def _known_sum(
    one: Mapping[str, int | None], other: Mapping[str, int | None]
) -> dict[str, int | None]:
    """The sums of what both know; what one of them does not know is not known."""
    sums: dict[str, int | None] = {}
    for name in dict.fromkeys((*one, *other)):
        parts = [one.get(name, 0), other.get(name, 0)]
        known = [n for n in parts if n is not None]
        sums[name] = sum(known) if len(known) == len(parts) else None
    return sums


def gathered(ones: Sequence[Gathered]) -> Gathered:
    """All of ``ones`` (oldest first, at least one), told as one."""
    total = ones[0]
    for one in ones[1:]:
        total = total.and_then(one)
    return total


def event_document(
    table: str,
    snapshots: Sequence[SnapshotFacts],
    producer: str,
    partitions: Sequence[Mapping[str, str | None]] | None = None,
) -> dict[str, Any]:
    """Describe ``snapshots`` (oldest first): see ``Gathered.event``.

    ``partitions`` are those that all of them touched, where they do not say themselves.
    """
    total = gathered([Gathered.of(s, producer) for s in snapshots])
    if partitions is not None:
        few = tuple(map(dict, partitions)) if len(partitions) <= PARTITIONS_MAX else None
        total = replace(total, partitions=few, partitions_total=len(partitions))
    return total.event(table)
