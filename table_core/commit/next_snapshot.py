"""The snapshot document that follows a head.

Source: ``org.apache.paimon.operation.FileStoreCommitImpl.tryCommitOnce``; format 3 and T10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.commit.asked import ASKED_PROPERTY
from table_core.commit.delivery import DELIVERY_PROPERTY, NOT_MASKED, Masked, delivery_of
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.line import FOLLOWS, follows
from table_core.ondisk.properties import (
    COMMITS_PROPERTY,
    HISTORY_INCOMPLETE,
    HISTORY_PROPERTY,
    NUMBER,
    with_commit,
)
from table_core.ondisk.snapshot import FIRST_ID, CommitKind, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.commit.effects import Head, Written
    from table_core.commit.request import ChangedRows, CommitRequest
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.properties import CarriedProperties

__all__ = ["SEQUENCE_PROPERTY", "Content", "delta_record_count", "next_snapshot"]

SEQUENCE_PROPERTY: Final = "sequence.generation.max-sequence-number"
_NO_WATERMARK: Final = -(2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What one half brings."""

    delta: tuple[ManifestEntry, ...]
    changelog: tuple[ManifestEntry, ...]
    statistics: str | None
    carried: CarriedProperties
    next_row_id: int | None
    masked: Masked = NOT_MASKED
    changed: ChangedRows | None = None


def delta_record_count(entries: Iterable[ManifestEntry]) -> int:
    """Rows of added files minus rows of deleted ones; an upgrade counts nothing (format T10)."""
    return sum(e.file.row_count if e.kind is EntryKind.ADD else -e.file.row_count for e in entries)


def next_snapshot(
    request: CommitRequest,
    *,
    head: Head | None,
    kind: CommitKind,
    first_part: bool,
    content: Content,
    schema_id: int,
    written: Written,
    birth: str,
) -> Snapshot:
    """The snapshot with id head + 1.

    ``first_part``: the request's own properties and operation belong to this snapshot.  ``birth`` is that of
    the table (``TableState.birth``).  Its time is never before the head's, although clocks go back: time travel searches by it.
    """
    last = head.snapshot if head else None
    delta, changelog = content.delta, content.changelog
    rows = delta_record_count(delta)
    operation = request.operation if first_part else None
    properties = _properties(
        request, last, kind, content, operation=operation, first_part=first_part
    )
    return Snapshot(
        id=last.id + 1 if last else FIRST_ID,
        schema_id=schema_id,
        base_manifest_list=written.base_manifest_list,
        base_manifest_list_size=written.base_manifest_list_size,
        delta_manifest_list=written.delta_manifest_list,
        delta_manifest_list_size=written.delta_manifest_list_size,
        changelog_manifest_list=written.changelog_manifest_list,
        changelog_manifest_list_size=written.changelog_manifest_list_size,
        index_manifest=written.index_manifest,
        commit_user=request.user,
        commit_identifier=request.identifier,
        commit_kind=kind,
        time_millis=max(written.time_ms, last.time_millis) if last else written.time_ms,
        total_record_count=(last.total_record_count if last else 0) + rows,
        delta_record_count=rows,
        changelog_record_count=sum(e.file.row_count for e in changelog) if changelog else None,
        watermark=_watermark(request.watermark, last.watermark if last else None),
        statistics=content.statistics or _inherited_statistics(last, schema_id),
        properties=properties or None,
        next_row_id=content.next_row_id,
        operation=operation,
        uuid=written.uuid,
        writer_version=request.writer_version,
        extra={FOLLOWS: follows(birth, last)},
    )


def _properties(
    request: CommitRequest,
    last: Snapshot | None,
    kind: CommitKind,
    content: Content,
    *,
    operation: str | None,
    first_part: bool,
) -> dict[str, str]:
    """What is carried on, what the caller gave, and what the snapshot delivers."""
    delta, changelog = content.delta, content.changelog
    properties = _sequence(last, delta) | dict(content.carried.properties)
    if not content.carried.complete:
        properties[HISTORY_PROPERTY] = HISTORY_INCOMPLETE
    if not request.fresh_user:
        properties[COMMITS_PROPERTY] = with_commit(
            properties, request.user, request.identifier, growing=request.growing
        )
    if request.asked is not None:
        properties[ASKED_PROPERTY] = request.asked
    if first_part:
        properties |= dict(request.properties)
    if request.key_of is not None:
        delivery = delivery_of(
            kind=kind,
            operation=operation,
            delta=delta,
            changelog=changelog,
            masked=content.masked,
            key_of=request.key_of,
            changed=content.changed,
        )
        properties[DELIVERY_PROPERTY] = delivery.to_text()
    return properties


def _watermark(new: int | None, last: int | None) -> int | None:
    """The larger of the two; Java's ``Long.MIN_VALUE`` counts as missing."""
    known = [w for w in (new, last) if w is not None and w != _NO_WATERMARK]
    return max(known, default=None)


def _inherited_statistics(last: Snapshot | None, schema_id: int) -> str | None:
    """Statistics hold while the schema stays: each snapshot since theirs had its schema id."""
    return last.statistics if last and last.schema_id == schema_id else None


def _sequence(last: Snapshot | None, delta: tuple[ManifestEntry, ...]) -> dict[str, str]:
    """The largest sequence number, kept up where ``write.sequence-number-init-mode`` stores it."""
    before = (last.properties or {}).get(SEQUENCE_PROPERTY) if last else None
    if before is None or not NUMBER.fullmatch(before):
        return {}
    added = (e.file.max_sequence_number for e in delta if e.kind is EntryKind.ADD)
    return {SEQUENCE_PROPERTY: str(max(int(before), max(added, default=int(before))))}
