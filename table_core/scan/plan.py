"""A plan: the splits of one state of a table, and how they were found.

The steps, in order: choose manifests, read entries, fold them, drop files that cannot match, pack the
rest into splits.  The caller reads manifests between the steps; nothing here touches a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from table_core.ondisk.manifest import fold_entries
from table_core.scan.split import Split, batch_splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.lsm.sorted_run import Bounds
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.options.table import TableOptions
    from table_core.scan.prune import Explain, KeepHeads, Pruner
    from table_core.scan.split import DeletionRef
    from table_core.schema.table_schema import TableSchema

__all__ = ["ScanPlan", "kept_entries", "limited", "live_entries", "plan_batch"]


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """What to read."""

    splits: tuple[Split, ...]
    explain: Explain


def live_entries(
    pruner: Pruner,
    manifests: Iterable[ManifestMeta],
    read: Callable[[Iterable[ManifestMeta], KeepHeads | None], Iterable[Sequence[ManifestEntry]]],
) -> list[ManifestEntry]:
    """The live files of ``manifests`` (oldest first) that ``pruner`` lets through.

    ``read`` is asked only for manifests that may matter; what it is given tells it which entries
    it may leave out.
    """
    wanted = list(filter(pruner.keep_manifest, manifests))
    newest = max((manifest.schema_id for manifest in wanted), default=0)
    entries = chain.from_iterable(kept_entries(pruner, wanted, read, newest_schema=newest))
    return list(fold_entries(entries).live.values())


def kept_entries(
    pruner: Pruner,
    wanted: Sequence[ManifestMeta],
    read: Callable[[Iterable[ManifestMeta], KeepHeads | None], Iterable[Sequence[ManifestEntry]]],
    *,
    newest_schema: int,
) -> Iterator[list[ManifestEntry]]:
    """Of each manifest of ``wanted`` the entries, ADD and DELETE, that ``pruner`` lets through.

    ``newest_schema`` is that of all manifests of the plan: an ADD is let through if and only if its
    DELETE is, also where another task reads that.
    """
    keep = pruner.keep_heads if pruner.decides_by_head(newest_schema) else None
    for entries in read(wanted, keep):
        pruner.foresee(entry.partition for entry in entries)
        yield list(filter(pruner.keep_entry, entries))


def plan_batch(
    schema: TableSchema,
    options: TableOptions,
    entries: Iterable[ManifestEntry],
    pruner: Pruner,
    *,
    snapshot_id: int,
    bounds: Bounds,
    deletions: Mapping[str, DeletionRef] | None = None,
    limit: int | None = None,
) -> ScanPlan:
    """The plan of one state; ``entries`` are its live files.

    ``limit`` drops splits that are surely not needed for so many rows; give it only where no
    condition is evaluated on rows.
    """
    kept = pruner.prune(entries, bounds)
    splits = batch_splits(
        schema, options, kept, snapshot_id=snapshot_id, bounds=bounds, deletions=deletions
    )
    return ScanPlan(tuple(splits if limit is None else limited(splits, limit)), pruner.explain())


def limited(splits: Sequence[Split], limit: int) -> list[Split]:
    """As many ``splits`` as surely hold ``limit`` rows; all of them if that is not known.

    Only raw splits without deletion vectors say how many rows they give.
    """
    chosen: list[Split] = []
    rows = 0
    for split in splits:
        if rows >= limit:
            return chosen
        chosen.append(split)
        if split.raw_convertible and not split.deletions:
            rows += split.row_count
    return chosen
