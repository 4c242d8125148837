"""What commits deliver, as events tell it: kept by their snapshots, else read from their manifests.

A job says in its result what it has committed (``told``), so that announcing it reads nothing back: by then
a snapshot may be compacted away or expired.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from table_core.commit.delivery import (
    NOT_MASKED,
    Delivery,
    Masked,
    delivery_of,
    masked_rows,
    recorded_delivery,
)
from table_core.errors import NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import IndexEntry, decode_index_manifest
from table_core.ondisk.partition_key import partition_key, values_of_key
from table_core.options import keys_files, keys_scan
from table_core.table.read.producers import producer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.commit.outcome import Outcome
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "CommitNote",
    "Notes",
    "delivery",
    "note_of",
    "partitions_of",
    "recorded_delivery",
    "tell",
    "tell_of",
    "told",
]

_NOTES_MAX: Final = 64
_PARTITIONS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitNote:
    """What is told of a commit, or of neighbours that are alike."""

    table: str
    branch: str
    first: int
    last: int
    """Ids of snapshots."""
    count: int = 1
    kind: str | None
    """None: it has landed and is expired, and what it delivered is known no more."""
    operation: str | None = None
    user: str
    committed_at_ms: int | None
    producer: str
    """The changelog producer that it was written under."""
    mark: str = ""
    """What tells the snapshot from another of that number."""
    recorded: bool = True
    """Whether rows and partitions are known: as the snapshot says, or by its manifests."""
    total_rows: int = 0
    delta_rows: int = 0
    changelog_rows: int = 0
    added: int = 0
    updated: int = 0
    deleted: int | None = 0
    """None: rows went, and nobody has counted them."""
    watermark: int | None = None
    partitions: tuple[dict[str, str | None], ...] | None = ()
    """Values by column, in one spelling; None: many.  None at all without partition columns."""
    partitions_total: int = 0

    def to_document(self) -> dict[str, Any]:
        """Members as JSON has them, under the same names: what a job here returns is what one elsewhere does."""
        known = None if self.partitions is None else list(self.partitions)
        return {**asdict(self), "partitions": known}

    @property
    def sort(self) -> tuple[object, ...]:
        """Notes of one sort may be told as one."""
        return (self.table, self.branch, self.kind, self.operation, self.changes_nothing)

    @property
    def changes_nothing(self) -> bool:
        """Whether neither rows nor changelog records came or went."""
        return not (self.added or self.updated or self.deleted != 0 or self.changelog_rows)

    def with_later(self, later: CommitNote) -> CommitNote:
        """Both as one."""
        partitions = None
        if self.partitions is not None and later.partitions is not None:
            both = {tuple(one.items()): one for one in (*self.partitions, *later.partitions)}
            partitions = tuple(both.values()) if len(both) <= _PARTITIONS_MAX else None
        sums = {
            name: getattr(self, name) + getattr(later, name)
            for name in ("count", "delta_rows", "changelog_rows", "added", "updated")
        }
        known = self.deleted is not None and later.deleted is not None
        most = max(self.partitions_total, later.partitions_total)
        total = most if partitions is None else len(partitions)
        return replace(
            later,
            first=self.first,
            recorded=self.recorded and later.recorded,
            partitions=partitions,
            partitions_total=total,
            deleted=(self.deleted or 0) + (later.deleted or 0) if known else None,
            **sums,
        )


class Notes:
    """Commits as they are made; bounded, by telling neighbours that are alike as one."""

    def __init__(self) -> None:
        self._notes: list[CommitNote] = []
        self._known: dict[tuple[str, str], int] = {}

    def add(self, note: CommitNote) -> None:
        """Note a commit; one that is known is not told twice."""
        where = (note.table, note.branch)
        if note.last <= self._known.get(where, 0):
            return
        self._known[where] = note.last
        self._notes.append(note)
        if len(self._notes) > _NOTES_MAX:
            self._notes = _merged(self._notes)

    def to_documents(self) -> list[dict[str, Any]]:
        """All of them, oldest first."""
        return [note.to_document() for note in self._notes]


def _merged(notes: list[CommitNote]) -> list[CommitNote]:
    """``notes``, those that are alike as one, in the order of the last."""
    latest: dict[tuple[object, ...], CommitNote] = {}
    for note in notes:
        earlier = latest.pop(note.sort, None)
        latest[note.sort] = note if earlier is None else earlier.with_later(note)
    return list(latest.values())


_TOLD: Final[ContextVar[Notes | None]] = ContextVar("commits", default=None)


@contextmanager
def told() -> Iterator[Notes]:
    """Collects what is committed inside, by this thread."""
    notes = Notes()
    token = _TOLD.set(notes)
    try:
        yield notes
    finally:
        _TOLD.reset(token)


def tell(access: TableAccess, outcome: Outcome, user: str) -> None:
    """Note what ``outcome`` made or found, for the one who collects it."""
    notes = _TOLD.get()
    if notes is None:
        return
    for half in (outcome.append, outcome.compact):
        if half is not None:
            notes.add(note_of(access, half.snapshot, read=half.replayed))
    if outcome.superseded_by is not None and outcome.append is None and outcome.compact is None:
        id = outcome.superseded_by
        notes.add(
            CommitNote(
                table=access.name,
                branch=access.branch,
                first=id,
                last=id,
                kind=None,
                user=user,
                committed_at_ms=None,
                producer=str(access.options.get(keys_scan.CHANGELOG_PRODUCER)),
                recorded=False,
                partitions=None,
            )
        )


def tell_of(access: TableAccess, snapshots: Iterable[Snapshot]) -> None:
    """Note ``snapshots`` that became the table's by another way than a commit."""
    notes = _TOLD.get()
    if notes is not None:
        for snapshot in snapshots:
            notes.add(note_of(access, snapshot, read=True))


def note_of(access: TableAccess, snapshot: Snapshot, *, read: bool = False) -> CommitNote:
    """What is told of ``snapshot``; with ``read`` its manifests are asked where it does not say."""
    known = recorded_delivery(snapshot)
    if known is None and read:
        known = delivery(access, snapshot)
    recorded = known is not None
    if known is None:
        known = Delivery(partitions=None)
    return CommitNote(
        table=access.name,
        branch=access.branch,
        first=snapshot.id,
        last=snapshot.id,
        kind=snapshot.commit_kind.value,
        operation=snapshot.operation,
        user=snapshot.commit_user,
        committed_at_ms=snapshot.time_millis,
        producer=producer_of(access, snapshot),
        mark=snapshot.delta_manifest_list,
        recorded=recorded,
        total_rows=snapshot.total_record_count,
        delta_rows=snapshot.delta_record_count,
        changelog_rows=snapshot.changelog_record_count or 0,
        added=known.added,
        updated=known.updated,
        deleted=known.deleted,
        watermark=snapshot.watermark,
        partitions=partitions_of(access, known),
        partitions_total=known.partitions_total if access.schema.partition_keys else 0,
    )


def partitions_of(access: TableAccess, known: Delivery) -> tuple[dict[str, str | None], ...] | None:
    """The values of the partitions of ``known``; None if they are many."""
    if not access.schema.partition_keys:
        return ()
    if known.partitions is None:
        return None
    default = access.options.get(keys_files.PARTITION_DEFAULT_NAME)
    return tuple(values_of_key(key, default) for key in known.partitions)


def delivery(access: TableAccess, snapshot: Snapshot) -> Delivery | None:
    """What ``snapshot`` delivers: as it says itself, else from its manifests.

    None where these are gone: it is expired.
    """
    known = recorded_delivery(snapshot)
    if known is not None:
        return known
    metadata = access.metadata
    try:
        before = metadata.snapshot(snapshot.id - 1) if snapshot.index_manifest else None
    except NotFoundError:
        before = None
    try:
        return delivery_of(
            kind=snapshot.commit_kind,
            operation=snapshot.operation,
            delta=list(metadata.delta(snapshot)),
            changelog=list(metadata.changelog(snapshot))
            if snapshot.changelog_manifest_list
            else (),
            masked=_masked(access, before, snapshot),
            key_of=partial(partition_key, access.schema),
            merges=access.schema.is_key_table,
        )
    except NotFoundError:
        return None


def _masked(access: TableAccess, before: Snapshot | None, after: Snapshot) -> Masked:
    """How deletion vectors grew between two snapshots, as far as can be told."""
    if before is None or before.index_manifest == after.index_manifest:
        return NOT_MASKED
    old, new = (_index(access, one.index_manifest) for one in (before, after))
    return masked_rows(
        [entry for name, entry in new.items() if name not in old],
        [entry for name, entry in old.items() if name not in new],
    )


def _index(access: TableAccess, name: str | None) -> dict[str, IndexEntry]:
    if name is None:
        return {}
    path = layout.manifest_path(name)
    entries = decode_index_manifest(access.metadata.named_file(path), path=path)
    return {entry.file_name: entry for entry in entries}
