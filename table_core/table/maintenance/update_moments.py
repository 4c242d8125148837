"""When the newest file of a partition was made, also where the clock that stamped it showed that time twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from table_core.ondisk.data_file import EntryKind

if TYPE_CHECKING:
    from table_core.ondisk.file_columns import FileColumns
    from table_core.table.metadata.access import TableAccess

__all__ = ["CHANGE_MS", "UpdateMoments", "made_ms"]

CHANGE_MS: Final = 3 * 3_600_000
"""No clock is changed by more."""


@dataclass(frozen=True, slots=True)
class UpdateMoments:
    """The last updates of the partitions of ``live`` files."""

    access: TableAccess
    live: FileColumns

    def of(self, partition: int, newest_ms: int) -> int:
        """When the partition with that number was last updated; its largest stamp is ``newest_ms``.

        Around a change of the hour the largest stamp need not be the newest file, so each near it is asked.
        """
        clock = self.access.wall_clock
        if len({clock.offset_ms(newest_ms + far) for far in (-2 * CHANGE_MS, 2 * CHANGE_MS)}) == 1:
            return clock.moment(newest_ms)
        stamps = self.live.created_ms[self._near(partition, newest_ms)]
        row = self.live.partitions[partition]
        return max(made_ms(self.access, row, stamp) for stamp in np.unique(stamps).tolist())

    def _near(self, partition: int, newest_ms: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        own: np.ndarray[tuple[int], np.dtype[np.bool_]] = self.live.partition == partition
        return own & (self.live.created_ms >= newest_ms - CHANGE_MS)


def made_ms(access: TableAccess, row: bytes, stamp_ms: int) -> int:
    """When a file of the partition ``row`` with that stamp was made.

    Of two moments it is the later one that the commit of the file leaves possible.
    """
    clock = access.wall_clock
    moments = clock.moments(stamp_ms)
    if len(moments) < 2:
        return clock.moment(stamp_ms)
    return clock.last_moment(stamp_ms, _committed_ms(access, row, stamp_ms, moments[0]))


def _committed_ms(access: TableAccess, row: bytes, stamp_ms: int, since_ms: int) -> int:
    """When such a file was there; if its snapshot is gone, when the oldest one was there."""
    by_ms = access.clock.now_ms()
    for id in reversed(access.snapshot_ids()):
        snapshot = access.metadata.snapshot(id)
        if snapshot.time_millis < since_ms:
            break
        by_ms = min(by_ms, snapshot.time_millis)
        for entry in access.metadata.delta(snapshot):
            is_it = entry.kind is EntryKind.ADD and entry.partition == row
            if is_it and entry.file.creation_time_ms == stamp_ms:
                return snapshot.time_millis
    return by_ms
