"""Which upkeep a table needs, and how soon: numbers against thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.health.buckets import FileShape

__all__ = ["Measures", "Thresholds", "Urgency", "Verdict", "verdicts", "worst"]


class Urgency(StrEnum):
    """How soon."""

    OK = "ok"
    DUE = "due"
    URGENT = "urgent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """When an action becomes due, and when urgent."""

    sorted_runs_due: int = 5
    """Of the worst bucket; the table's ``num-sorted-run.compaction-trigger`` unless given."""
    sorted_runs_urgent: int = 8
    """The table's ``num-sorted-run.stop-trigger`` unless given: from there on writers wait."""
    small_files_due: int = 20
    """Of the worst bucket."""
    small_files_urgent: int = 200
    deletion_ratio_due: float = 0.2
    deletion_ratio_urgent: float = 0.5
    snapshots_urgent: int = 1_000
    manifest_entries_due: float = 3.0
    """Manifest entries for each live file."""
    manifest_entries_urgent: float = 20.0
    manifests_due: int = 30
    """Below so many manifests no ratio is a reason."""
    orphans_due: int = 1_000
    """Files in ``manifest/`` that nothing names, about."""
    orphans_urgent: int = 100_000
    partitions_near_ms: int = 24 * 3_600_000
    """Partitions that expire within this time are near expiry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The numbers of one table at one snapshot."""

    shape: FileShape
    keyed: bool
    deleted_by_vectors: int = 0
    """Rows that deletion vectors hide."""
    snapshots: int = 0
    snapshots_expirable: bool = False
    """Whether the oldest snapshot may go by count and age."""
    oldest_snapshot_age_ms: int = 0
    newest_snapshot_age_ms: int = 0
    newest_snapshot_ahead_ms: int = 0
    """How far its time is in the future: the clock of its writer, or of one before it, was ahead."""
    schemas: int = 0
    tags: int = 0
    tags_expired: int = 0
    branches: int = 0
    consumers: int = 0
    partitions: int = 0
    partitions_expired: int = 0
    partitions_near_expiry: int = 0
    partitions_undated: int = 0
    retention_advice: str = ""
    """Why no partition can ever expire, although the table says how long they are kept; empty: some can."""
    manifests: int = 0
    manifest_bytes: int = 0
    manifest_entries: int = 0
    orphans_estimated: int = 0
    """Metadata files older than a day that nothing names, about."""

    @property
    def deletion_ratio(self) -> float:
        """Share of the physical rows that a reader drops."""
        rows = self.shape.rows
        return (self.shape.delete_rows + self.deleted_by_vectors) / rows if rows else 0.0

    @property
    def manifest_entries_per_file(self) -> float:
        """Entries that a plan reads for each file that lives."""
        return self.manifest_entries / max(self.shape.files, 1)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do about one thing."""

    action: str
    """As the job actions are called."""
    urgency: Urgency
    reasons: tuple[str, ...]


_ORDER: Final = (Urgency.OK, Urgency.DUE, Urgency.URGENT)


def verdicts(measures: Measures, limits: Thresholds) -> tuple[Verdict, ...]:
    """One verdict for each action, in a fixed order."""
    return (
        _compact(measures, limits),
        _expire_snapshots(measures, limits),
        _expire_partitions(measures),
        _expire_tags(measures),
        _rewrite_manifests(measures, limits),
        _remove_orphans(measures, limits),
    )


def worst(verdicts: Iterable[Verdict]) -> Urgency:
    """The most urgent of ``verdicts``."""
    return max((v.urgency for v in verdicts), key=_ORDER.index, default=Urgency.OK)


def _compact(measures: Measures, limits: Thresholds) -> Verdict:
    shape = measures.shape
    rated = []
    if measures.keyed:
        rated.append(
            _rate(
                shape.sorted_runs_max,
                limits.sorted_runs_due,
                limits.sorted_runs_urgent,
                "sorted runs in the worst bucket",
            )
        )
    rated.append(
        _rate(
            shape.small_files_max,
            limits.small_files_due,
            limits.small_files_urgent,
            "small files in the worst bucket",
        )
    )
    rated.append(
        _rate(
            measures.deletion_ratio,
            limits.deletion_ratio_due,
            limits.deletion_ratio_urgent,
            "of the rows are deleted",
        )
    )
    return _joined("compact", rated)


def _expire_snapshots(measures: Measures, limits: Thresholds) -> Verdict:
    if not measures.snapshots_expirable:
        return Verdict("expire-snapshots", Urgency.OK, ())
    many = measures.snapshots >= limits.snapshots_urgent
    days = measures.oldest_snapshot_age_ms / 86_400_000
    reason = f"{measures.snapshots} snapshots, the oldest {days:.1f} days old and free to go"
    return Verdict("expire-snapshots", Urgency.URGENT if many else Urgency.DUE, (reason,))


def _expire_partitions(measures: Measures) -> Verdict:
    if measures.retention_advice:
        return Verdict("expire-partitions", Urgency.DUE, (measures.retention_advice,))
    if measures.partitions_undated and measures.partitions_undated == measures.partitions:
        reason = (
            f"none of {measures.partitions} partitions has a value that can be dated: none expires"
        )
        return Verdict("expire-partitions", Urgency.DUE, (reason,))
    if not measures.partitions_expired:
        return Verdict("expire-partitions", Urgency.OK, ())
    reason = f"{measures.partitions_expired} partitions are past their time"
    return Verdict("expire-partitions", Urgency.DUE, (reason,))


def _expire_tags(measures: Measures) -> Verdict:
    if not measures.tags_expired:
        return Verdict("expire-tags", Urgency.OK, ())
    return Verdict(
        "expire-tags", Urgency.DUE, (f"{measures.tags_expired} tags are past their time",)
    )


def _rewrite_manifests(measures: Measures, limits: Thresholds) -> Verdict:
    if measures.manifests < limits.manifests_due:
        return Verdict("rewrite-manifests", Urgency.OK, ())
    rated = _rate(
        measures.manifest_entries_per_file,
        limits.manifest_entries_due,
        limits.manifest_entries_urgent,
        f"manifest entries a live file, in {measures.manifests} manifests",
    )
    return _joined("rewrite-manifests", [rated])


def _remove_orphans(measures: Measures, limits: Thresholds) -> Verdict:
    rated = _rate(
        measures.orphans_estimated,
        limits.orphans_due,
        limits.orphans_urgent,
        "metadata files that nothing names",
    )
    return _joined("remove-orphan-files", [rated])


def _rate(value: float, due: float, urgent: float, measure: str) -> tuple[Urgency, str]:
    shown = f"{value:.2f}".removesuffix(".00")
    if value >= urgent:
        return Urgency.URGENT, f"{shown} {measure}, urgent from {urgent} on"
    if value >= due:
        return Urgency.DUE, f"{shown} {measure}, due from {due} on"
    return Urgency.OK, ""


def _joined(action: str, rated: list[tuple[Urgency, str]]) -> Verdict:
    urgency = max((u for u, _ in rated), key=_ORDER.index)
    return Verdict(action, urgency, tuple(reason for _, reason in rated if reason))
