"""All rows that are committed: what a statement changes and what a check looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import UnsupportedFeatureError
from table_core.options import keys_scan
from table_core.scan.time_travel import SnapshotRef
from table_core.table.read.scan import Scan, state_scan
from table_core.table.read.state_plan import fallback_of, refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.expression import Expression
    from table_core.table.metadata.access import TableAccess

__all__ = ["committed_rows", "refuse_fallback_rows"]


def committed_rows(
    access: TableAccess,
    head: Snapshot | None,
    where: str | Expression | None = None,
    *,
    columns: Sequence[str] | None = None,
    explicit: bool = False,
) -> Scan:
    """The rows of ``head``, whatever else the options of the handle show.

    Rows that wait for a compaction to be read are among them.  A statement that did not see them would
    undo what was acknowledged, and a check would let them pass.

    Args:
        access: the table, under the schema that the rows are to have.
        head: the snapshot.
        where: only rows for which it holds.
        columns: only these.
        explicit: see ``SnapshotRef``.

    Raises:
        PredicateError: ``where`` does not parse or does not fit.
    """
    refuse_unreadable(access)
    state = SnapshotRef(snapshot=head, explicit=explicit, committed=True)
    return state_scan(access, state, columns, where, None)


def refuse_fallback_rows(
    access: TableAccess, head: Snapshot | None, where: str | Expression | None = None
) -> None:
    """Refuse a statement about rows that a fallback branch lends to the table.

    They are not the table's own.  What is written of one of them makes the partition one that the table
    has, and its other rows are seen no more.

    Raises:
        UnsupportedFeatureError: ``where`` holds for such a row.
    """
    fallback = fallback_of(access)
    if fallback is None:
        return
    state = SnapshotRef(snapshot=head, explicit=False)
    whole = state_scan(access, state, None, where, None)
    lent = (split for split in whole.splits() if split.branch == fallback.branch)
    if not any(batch.num_rows for split in lent for batch in whole.read_split(split)):
        return
    option = keys_scan.SCAN_FALLBACK_BRANCH.key
    raise UnsupportedFeatureError(
        f"{access.name} shows rows of its fallback branch {fallback.branch!r}, and this statement would "
        "hide those of the same partition that it leaves alone. Change that branch "
        f"({access.name}$branch_{fallback.branch}), or copy the partition first; a handle with "
        f"{option}={access.branch} sees the rows of the table alone. Nothing was written",
        feature=f"statements about rows of {option}",
    )
