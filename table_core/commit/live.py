"""What a snapshot holds, as far as a commit looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["IndexFile", "LiveFiles", "MaskedFile", "Partitions"]

Partitions: TypeAlias = "frozenset[bytes] | Callable[[bytes], bool] | None"
"""Which partitions: these, those that match, or (None) all."""


class MaskedFile(Protocol):
    """A data file that has a deletion vector."""

    @property
    def file_name(self) -> str: ...  # noqa: D102
    @property
    def cardinality(self) -> int | None:
        """Its rows that are deleted; None where an old writer did not count."""
        ...


class IndexFile(Protocol):
    """What the protocol asks of one line of an index manifest: ``index_manifest.IndexEntry`` is one."""

    @property
    def partition(self) -> bytes: ...  # noqa: D102
    @property
    def bucket(self) -> int: ...  # noqa: D102
    @property
    def index_type(self) -> str: ...  # noqa: D102
    @property
    def file_name(self) -> str: ...  # noqa: D102
    @property
    def ranges(self) -> Sequence[MaskedFile] | None:
        """The deletion vectors in it; None for other index types."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFiles:
    """What a snapshot holds in some partitions."""

    entries: tuple[ManifestEntry, ...]
    """Folded (format 4.6); a leftover DELETE is dropped."""
    index: tuple[IndexFile, ...]
    """The whole index manifest, of all partitions; () if there is none."""
