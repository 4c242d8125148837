"""Changes between snapshots: which files hold them, and a reader that goes on for ever.

Snapshot order, then order within each bucket.  ``changelog`` reads changelog files, whatever kind of
snapshot they hang on; ``delta`` the files that APPEND snapshots added; both leave OVERWRITE out
(spec 9.3, 9.4).  Ranges are read under the newest schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError, UnsupportedFeatureError
from table_core.ondisk import layout
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.options import keys_scan
from table_core.scan.plan import ScanPlan
from table_core.scan.prune import Pruner
from table_core.scan.split import change_splits
from table_core.table.consumers import next_snapshot_of, set_consumer
from table_core.table.scan import Scan, batch_scan, bound_where, selected_fields
from table_core.table.split_reader import SplitReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from table_core.predicate.bound import Bound
    from table_core.predicate.expression import Expression
    from table_core.table.access import TableAccess

__all__ = ["change_mode", "changes_scan", "delivers_changes", "follow"]


def changes_scan(
    access: TableAccess,
    *,
    after: int | None,
    to: int | None,
    columns: Sequence[str] | None,
    where: str | Expression | None,
    mode: str,
    consumer: str | None,
) -> Scan:
    """See ``Table.changes``.

    Raises:
        NotFoundError: a snapshot of the range is expired and its changelog too.
        ArgumentError: ``after`` lies behind ``to``, or an unknown mode.
    """
    mode = change_mode(access, mode)
    head = access.metadata.head_id()
    if consumer is not None and after is None:
        stored = next_snapshot_of(access, consumer)
        after = None if stored is None else stored - 1
    last = (head or 0) if to is None else to
    first = after if after is not None else (access.metadata.earliest_id() or 1) - 1
    if last > (head or 0):
        raise NotFoundError(
            f"{access.name} has no snapshot {last} yet; the newest is {head}",
            name=str(last),
            available=[head],
        )
    if first > last:
        raise ArgumentError(f"after={first} lies behind to={last}", argument="after", value=first)
    bound = bound_where(access.schema, where)
    if mode == "diff":
        from table_core.table.difference import difference_scan

        return difference_scan(access, first, last, columns=columns, where=where)
    reader = SplitReader(
        access=access, fields=selected_fields(access.schema, columns), where=bound, with_kind=True
    )
    return Scan(reader, lambda: _plan(access, first, last, mode, bound))


def change_mode(access: TableAccess, mode: str) -> str:
    """``mode`` with ``auto`` resolved: changelog if the table has a producer, else delta."""
    if mode not in {"auto", "changelog", "delta", "diff"}:
        raise ArgumentError(
            f"mode={mode!r}: use auto, changelog, delta or diff", argument="mode", value=mode
        )
    if mode != "auto":
        return mode
    producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    return "delta" if producer == "none" else "changelog"


def delivers_changes(snapshot: Snapshot, producer: str) -> bool:
    """Whether ``snapshot`` delivers changes to readers (architecture: "What changes are")."""
    if producer != "none":
        return bool(snapshot.changelog_record_count)
    kinds = {CommitKind.APPEND, CommitKind.OVERWRITE}
    return snapshot.commit_kind in kinds and snapshot.delta_record_count != 0


def _plan(access: TableAccess, first: int, last: int, mode: str, where: Bound | None) -> ScanPlan:
    pruner = Pruner(
        access.schema, access.options, where, schema_of=access.metadata.schema, batch=False
    )
    splits = []
    for id in range(first + 1, last + 1):
        snapshot = _snapshot_or_changelog(access, id)
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            continue
        if mode == "delta" and snapshot.commit_kind is not CommitKind.APPEND:
            continue
        read = access.metadata.changelog if mode == "changelog" else access.metadata.delta
        entries = [entry for entry in read(snapshot) if pruner.keep_entry(entry)]
        splits.extend(change_splits(entries, snapshot_id=id))
    return ScanPlan(tuple(splits), pruner.explain())


def _snapshot_or_changelog(access: TableAccess, id: int) -> Snapshot:
    """Snapshot ``id``, or what is kept of it for its changes (spec 11.3)."""
    try:
        return access.metadata.snapshot(id)
    except NotFoundError as error:
        path = layout.changelog_path(id, access.branch)
        try:
            return Snapshot.from_json(access.storage.read(path), path=path)
        except NotFoundError:
            raise error from None


def follow(
    access: TableAccess, *, after: int | None, consumer: str | None, poll_seconds: float
) -> Iterator[pa.Table]:
    """See ``Table.follow``."""
    scan_mode = access.options.get(keys_scan.SCAN_MODE)
    if scan_mode not in {"default", "full", "latest-full", "latest"}:
        raise UnsupportedFeatureError(
            f"follow with scan.mode={scan_mode}", feature=f"scan.mode={scan_mode}"
        )
    position = after
    if position is None and consumer is not None:
        stored = next_snapshot_of(access, consumer)
        position = None if stored is None else stored - 1
    if position is None:
        head = access.metadata.head_id() or 0
        if head and scan_mode != "latest":
            state = batch_scan(access, snapshot=head).to_arrow()
            yield state.add_column(0, "_ROW_KIND", [["+I"] * state.num_rows])
        position = head
    while True:
        if consumer is not None:
            set_consumer(access, consumer, position + 1)
        head = access.metadata.head_id() or 0
        if head <= position:
            access.clock.sleep_ms(int(poll_seconds * 1000))
            continue
        position += 1
        rows = changes_scan(
            access,
            after=position - 1,
            to=position,
            columns=None,
            where=None,
            mode="auto",
            consumer=None,
        ).to_arrow()
        if rows.num_rows:
            yield rows
