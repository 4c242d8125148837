"""The rows that a statement changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.scan.time_travel import SnapshotRef
from table_core.table.reading.scan import Scan, state_scan
from table_core.table.reading.state_plan import refuse_unreadable

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.expression import Expression
    from table_core.table.access import TableAccess

__all__ = ["statement_scan"]


def statement_scan(
    access: TableAccess, head: Snapshot | None, where: str | Expression | None = None
) -> Scan:
    """The rows of ``head`` that a statement changes, whatever else the options of the handle show.

    Rows that wait for a compaction to be read are among them: a statement that did not see them would
    undo what was acknowledged.

    Raises:
        PredicateError: ``where`` does not parse or does not fit.
    """
    refuse_unreadable(access)
    found = SnapshotRef(snapshot=head, explicit=False, committed=True)
    return state_scan(access, found, None, where, None)
