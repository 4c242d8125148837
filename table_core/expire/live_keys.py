"""Which data files a state has, as 8 bytes each.

Additions and deletions are counted by hash: what was added more often than it was taken out is there.
Two files of one hash that are both whole or gone leave the count right; where one is there and the
other is gone, both count as there.  So a file more is kept, never one less.

Entries come in any order: -a, +a, +b, +a.  Of a there are two ADDs (it was upgraded, which is a DELETE and an
ADD of one file) and one DELETE: it is there.  A set would have to know which came last.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from table_core.ondisk.data_file import EntryKind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from table_core.expire.plan import FileKey
    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["LiveKeys", "key_of"]

K = TypeVar("K", bound="Hashable")
_Hashes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


def key_of(entry: ManifestEntry) -> FileKey:
    """Where the file of ``entry`` is."""
    return entry.partition, entry.bucket, entry.file.file_name, entry.file.external_path


@dataclass(slots=True)
class LiveKeys:
    """The files of one or more states, each told by its manifest entries in any order."""

    key: Callable[[ManifestEntry], Hashable] = key_of
    _added: array[int] = field(default_factory=lambda: array("q"))
    _deleted: array[int] = field(default_factory=lambda: array("q"))
    _live: _Hashes = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self._settled())

    def take(self, entries: Iterable[ManifestEntry]) -> None:
        """Count ``entries`` of the state that is being told."""
        for entry in entries:
            side = self._added if entry.kind is EntryKind.ADD else self._deleted
            side.append(hash(self.key(entry)))

    def take_added(self, entries: Iterable[ManifestEntry]) -> None:
        """Take in whatever ``entries`` add, taken out again or not."""
        self._settled()
        self._added.extend(hash(self.key(e)) for e in entries if e.kind is EntryKind.ADD)
        self._settled()

    def end_of_state(self) -> None:
        """The state is told; what follows is another one's."""
        self._settled()

    def among(self, keys: Iterable[K]) -> frozenset[K]:
        """Those of ``keys`` that are there."""
        asked = tuple(keys)
        if not asked:
            return frozenset()
        live = self._settled()
        hashes = np.fromiter(map(hash, asked), np.int64, len(asked))
        at = np.searchsorted(live, hashes)
        within = at < len(live)
        is_live = np.zeros(len(asked), np.bool_)
        is_live[within] = live[at[within]] == hashes[within]
        return frozenset(key for key, there in zip(asked, is_live.tolist(), strict=True) if there)

    def _settled(self) -> _Hashes:
        if self._added or self._deleted:
            added, count = np.unique(np.array(self._added, np.int64), return_counts=True)
            gone = np.sort(np.array(self._deleted, np.int64))
            taken = np.searchsorted(gone, added, "right") - np.searchsorted(gone, added, "left")
            self._live = np.union1d(self._live, added[count > taken])
            self._added, self._deleted = array("q"), array("q")
        return self._live
