"""Rows dealt into shares by a hash, on the local disk: whoever works on one share holds no other.

Rows of one key are in one share, in the order in which they came.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa

from table_core.bucketing.hash import row_hash
from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.datatypes.kinds import DataType
    from table_core.storage.spill import Spill, SpilledRows

__all__ = ["Shares", "can_deal"]

_SHARES: Final = 64
_WAITING_ROWS: Final = 100_000
"""Rows that wait in memory for the disk: written one by one the parts would be many and small."""
_DEALT: Final = frozenset(
    {
        *(Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.BOOLEAN, Root.DECIMAL),
        *(Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY, Root.DATE, Root.TIMESTAMP),
        Root.TIMESTAMP_LTZ,
    }
)


def can_deal(type_: DataType) -> bool:
    """Whether equal values of a type have equal hashes: those of floats need not."""
    return isinstance(type_, Atomic) and type_.root in _DEALT


class Shares:
    """Rows by the hash of some columns; without columns all are one share."""

    most_rows: ClassVar[int] = 100_000
    """Of a part, which is worked on at once: as Python objects they are about 50 MB."""

    def __init__(self, spill: Spill, columns: Mapping[str, DataType]) -> None:
        self._spill, self._columns = spill, dict(columns)
        self._waiting: list[list[pa.Table]] = [[] for _ in range(_SHARES)]
        self._on_disk: list[list[SpilledRows]] = [[] for _ in range(_SHARES)]
        self._rows_waiting = 0
        self.counts = np.zeros(_SHARES, np.int64)
        """Rows of each share."""

    def add(self, rows: pa.Table) -> None:
        """Deal rows out."""
        share = self._hash(rows) % _SHARES
        order = np.argsort(share, kind="stable")
        dealt, edges = (
            rows.take(pa.array(order)),
            np.searchsorted(share[order], np.arange(_SHARES + 1)),
        )
        for n in np.unique(share).tolist():
            self._waiting[n].append(dealt.slice(edges[n], edges[n + 1] - edges[n]))
        self.counts += np.bincount(share, minlength=_SHARES)
        self._rows_waiting += len(rows)
        if self._rows_waiting >= _WAITING_ROWS:
            self._write()

    def _write(self) -> None:
        for waiting, there in zip(self._waiting, self._on_disk, strict=True):
            if waiting:
                there.append(self._spill.put(pa.concat_tables(waiting)))
                waiting.clear()
        self._rows_waiting = 0

    def parts(self) -> Iterator[tuple[int, int, int]]:
        """Shares, each cut so that its rows are few: number of the share, of how many cuts, which."""
        for share, count in enumerate(self.counts.tolist()):
            cuts = max(-(-count // self.most_rows), 1) if self._columns else 1
            for cut in range(cuts):
                yield share, cuts, cut

    def rows(self, share: int, cuts: int, cut: int) -> pa.Table | None:
        """The rows of a part, in their order; None if there are none."""
        batches = [part for part in self.batches(share, cuts, cut) if part.num_rows]
        return pa.concat_tables(batches) if batches else None

    def batches(self, share: int, cuts: int, cut: int) -> Iterator[pa.Table]:
        """The same, one after the other."""
        on_disk = (b for rows in self._on_disk[share] for b in rows.batches())
        every = chain((pa.Table.from_batches([b]) for b in on_disk), self._waiting[share])
        for rows in every:
            if cuts == 1:
                yield rows
            else:
                yield rows.filter(pa.array(self._hash(rows) // _SHARES % cuts == cut))

    def _hash(self, rows: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        if not self._columns:
            return np.zeros(len(rows), np.uint32)
        columns = [rows[name] for name in self._columns]
        return row_hash(columns, list(self._columns.values())).view(np.uint32)
