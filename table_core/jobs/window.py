"""What lies between two snapshots that a flow goes over: do its changes tell of all rows, each once?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import CommitConflictError
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.properties import ROWS_KEPT_PROPERTY
from table_core.ondisk.snapshot import CommitKind
from table_core.position.decide import Diverged
from table_core.table.metadata.timeline import find_snapshot
from table_core.table.read.producers import between_readings, refuse_switch

if TYPE_CHECKING:
    from table_core.errors import PositionDivergedError
    from table_core.ondisk.snapshot import Snapshot
    from table_core.position.reader import Reader
    from table_core.position.source import TableId
    from table_core.table.api.table import Table

__all__ = ["refuse_half_told", "refuse_window", "turned"]

_TAKES_AWAY: Final = frozenset({"TRUNCATE", "DELETE"})
"""Operations of snapshots that bring no row."""


def refuse_window(
    table: Table, reader: Reader, source: TableId, after: int, to: int
) -> list[Snapshot]:
    """Refuse to go over rows of (``after``, ``to``] that no change tells of, or that come twice; the snapshots.

    Raises:
        CommitConflictError: snapshots were rolled back since they were looked at.
        PositionDivergedError: a snapshot has expired, an overwrite has brought rows, or another changelog
            producer has come while rows waited for their compaction.
    """
    access, window, between = table.access, _Window(reader, source, after), []
    # Without an ALTER there is one producer: nothing is asked for.
    before = find_snapshot(access, after) if access.schema.id else None
    for id in range(after + 1, to + 1):
        snapshot = find_snapshot(access, id)
        if snapshot is None:
            earliest = access.metadata.earliest_id()
            if earliest is not None and earliest < id:  # what expires goes from below
                raise turned(table, id)
            raise window.diverged(
                "expired",
                f"snapshot {id} of {table.name} has expired before it was read, and the earliest is {earliest}: "
                "somebody has removed the consumer that keeps it, or it was idle for too long",
                actual=f"snapshot {earliest}",
                way_on=f"'table-core position set --snapshot {(earliest or 1) - 1}', to go on without the "
                "rows between",
            )
        between.append(snapshot)
        if before is not None:
            refuse_switch(access, reader, source, before, snapshot)
        if access.schema.id:
            before = snapshot
        if snapshot.commit_kind is CommitKind.OVERWRITE and _brings_rows(table, snapshot):
            raise window.diverged(
                "overwritten",
                f"snapshot {id} of {table.name} has overwritten rows with others, and its changes do not tell "
                "which",
                actual=f"snapshot {id}, {snapshot.operation or 'OVERWRITE'}",
                way_on=f"'table-core position set --snapshot {id}', to go on after it",
            )
    return between


def turned(table: Table, id: int) -> CommitConflictError:
    """The error of a flow whose source has turned while the flow began: snapshot ``id`` is not what it was."""
    problem = f"snapshot {id} is not the one of a moment ago"
    return CommitConflictError(
        f"source {table.name}: {problem}, because the table was rolled back or made anew meanwhile. Nothing was "
        "read; run again",
        table=table.name,
        head_id=id,
        conflicts=[problem],
    )


def refuse_half_told(table: Table, reader: Reader, source: TableId, after: int) -> None:
    """Refuse to go on by changes from a state that has shown rows which changes tell again, or neither does.

    Raises:
        PositionDivergedError: rows of the state wait for a compaction.
    """
    access = table.access
    snapshot = find_snapshot(access, after) if after else None
    files = 0 if snapshot is None else between_readings(access, snapshot)
    if files:
        raise _Window(reader, source, after).diverged(
            "waiting",
            f"it has read the state of snapshot {after} of {table.name}, and {files} files of it waited for a "
            "compaction: changes from there on tell their rows again, or never",
            actual=f"snapshot {after}",
            way_on="run a full compaction of the source, then the flow by states once more, then by changes",
        )


@dataclass(frozen=True, slots=True)
class _Window:
    """Who reads what, and after which snapshot."""

    reader: Reader
    source: TableId
    after: int

    def diverged(self, reason: str, why: str, *, actual: str, way_on: str) -> PositionDivergedError:
        """The error of a flow; ``way_on`` is the other way out than to compute the target anew."""
        return Diverged(
            reason=reason,
            why=why,
            reader=str(self.reader),
            source=str(self.source),
            stored=f"snapshot {self.after}",
            actual=actual,
            ways_out=(
                "empty the target and 'table-core position reset', to compute it anew",
                way_on,
            ),
        ).error()


def _brings_rows(table: Table, snapshot: Snapshot) -> bool:
    if ROWS_KEPT_PROPERTY in (snapshot.properties or {}) or snapshot.operation in _TAKES_AWAY:
        return False
    delta = table.access.metadata.delta(snapshot)
    return any(entry.kind is EntryKind.ADD for entry in delta)
