"""Which changelog producer a snapshot was written under: it says what the snapshot delivers.

``changelog-producer`` may be altered.  Without one, the rows of a commit are its changes; ``lookup`` and
``full-compaction`` deliver them with the compaction that comes later.  So a reader that asked the table's newest
options would pass over the rows of commits before an ALTER, or take them twice.

What waits for its compaction when the producer changes is delivered by both, or by neither: ``waiting``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError
from table_core.lsm.triggers import number_of_levels
from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.options import keys_scan
from table_core.position.decide import Diverged
from table_core.position.reader import ReaderKind
from table_core.scan.follow import Levels, levels_of
from table_core.scan.split import hides_level0

if TYPE_CHECKING:
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot
    from table_core.position.reader import Reader
    from table_core.position.source import TableId
    from table_core.table.metadata.access import TableAccess

__all__ = ["between_readings", "producer_of", "refuse_switch", "waiting", "waits_unseen"]

_LOOKUP: Final = "lookup"
_FULL: Final = "full-compaction"


def producer_of(access: TableAccess, snapshot: Snapshot) -> str:
    """The changelog producer of ``snapshot``: of its schema, or what this handle was told to take for it."""
    ours: str = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    if snapshot.schema_id == access.schema.id:
        return ours
    try:
        tables = _declared(access, access.schema.id)
        return _declared(access, snapshot.schema_id) if tables == ours else ours
    except NotFoundError:
        return ours


def _declared(access: TableAccess, schema_id: int) -> str:
    producer: str = access.metadata.schema(schema_id).options.get(keys_scan.CHANGELOG_PRODUCER)
    return producer


def waits_unseen(access: TableAccess, snapshot: Snapshot) -> bool:
    """Whether rows that wait in the postpone bucket have been changes when they were committed.

    No state shows them yet, and without a producer their compaction tells nothing.
    """
    postpones = access.schema.is_key_table and access.schema.bucket == POSTPONE_BUCKET
    return postpones and producer_of(access, snapshot) == "none"


def waiting(access: TableAccess, before: Snapshot, after: Snapshot) -> int:
    """How many files of ``before`` another producer, that of ``after``, delivers twice or never.

    0 where both have one producer, or where nothing waits for a compaction.
    """
    pair = {producer_of(access, before), producer_of(access, after)}
    if len(pair) == 1:
        return 0
    top = number_of_levels(access.options) - 1
    lowest = 1 if pair == {_LOOKUP, _FULL} else 0
    highest = -1  # without one that compares with what was there, commits tell all
    if pair & {_LOOKUP, _FULL}:
        highest = top - 1 if _FULL in pair else 0

    def is_waiting(entry: ManifestEntry) -> bool:
        if entry.bucket == POSTPONE_BUCKET:  # told when it is committed, or when it gets its bucket
            return "none" in pair
        return lowest <= entry.file.level <= highest

    return sum(map(is_waiting, access.live_entries(before)))


def between_readings(access: TableAccess, snapshot: Snapshot) -> int:
    """How many files of ``snapshot`` a batch read shows and its later changes tell again, or neither does."""
    levels, top = levels_of(producer_of(access, snapshot)), number_of_levels(access.options) - 1
    hidden, unseen = hides_level0(access.schema, access.options), waits_unseen(access, snapshot)

    def is_between(entry: ManifestEntry) -> bool:
        if entry.bucket == POSTPONE_BUCKET:
            return unseen
        level = entry.file.level
        if levels is Levels.ALL:
            return hidden and level == 0
        told_later = level == 0 if levels is Levels.ABOVE_ZERO else level < top
        return told_later != (hidden and level == 0)

    return sum(map(is_between, access.live_entries(snapshot)))


def refuse_switch(
    access: TableAccess, reader: Reader, source: TableId, before: Snapshot, after: Snapshot
) -> None:
    """Refuse to go from ``before`` to ``after``, where rows between them come twice, or never.

    Raises:
        PositionDivergedError: another changelog producer has come while rows waited for their compaction.
    """
    files = waiting(access, before, after)
    if not files:
        return
    was, now = producer_of(access, before), producer_of(access, after)
    again = {
        ReaderKind.FLOW: "empty the target and 'table-core position reset', to compute it anew",
        ReaderKind.STREAM: "a new checkpoint (a drain: another name), to begin again",
    }.get(reader.kind, "'table-core consumer delete', to begin as a new reader does")
    raise Diverged(
        reason="producer-changed",
        why=f"the changelog-producer of {access.name} was {was} up to snapshot {before.id} and is {now} "
        f"from then on, while {files} files waited for a compaction: their rows are told twice, or never",
        reader=str(reader),
        source=str(source),
        stored=f"snapshot {before.id}, {was}",
        actual=f"snapshot {after.id}, {now}",
        ways_out=(
            f"{again}; next time run a full compaction before the producer is altered",
            f"tell the reader to go on after snapshot {after.id}, if you know what its target has",
        ),
    ).error()
