"""Which live files an overwrite takes out.

Source: ``org.apache.paimon.operation.FileStoreCommitImpl.overwritePartition``; format 10.5.
Whether new files go to the highest level (``overwrite-upgrade``) is the writer's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from table_core.errors import ArgumentError
from table_core.ondisk.data_file import EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.commit.live import IndexFile, LiveFiles, Partitions
    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["Matches", "Overwritten", "Selection", "matcher"]

Matches: TypeAlias = Callable[[bytes], bool]
"""Whether a serialized partition is selected."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is overwritten.  Make one with the class methods, which are the only five ways."""

    partitions: Partitions
    must_belong: bool = False
    """Every new file must lie in a selected partition."""
    spares_postponed: bool = False
    """Leave files of bucket -2, whose rows wait for their bucket, where they are."""

    @classmethod
    def dynamic(cls, entries: Iterable[ManifestEntry]) -> Selection:
        """The partitions that occur in the new files; none if there are no new files."""
        return cls(frozenset(e.partition for e in entries))

    @classmethod
    def table(cls) -> Selection:
        """Everything: overwrite of an unpartitioned table, or TRUNCATE."""
        return cls(None)

    @classmethod
    def static(cls, matches: Matches) -> Selection:
        """Partitions that match a (possibly partial) spec; new files must belong to it."""
        return cls(matches, must_belong=True)

    @classmethod
    def rescaled(cls, matches: Matches) -> Selection:
        """Partitions whose rows are written anew; rows that wait for a bucket are not read, and stay."""
        return cls(matches, must_belong=True, spares_postponed=True)

    @classmethod
    def drop(cls, matches: Matches) -> Selection:
        """Partitions to drop; there are no new files."""
        return cls(matches, must_belong=True)

    @property
    def may_select(self) -> bool:
        """Whether any live file could be selected."""
        return self.partitions is None or callable(self.partitions) or bool(self.partitions)

    def selects(self, partition: bytes) -> bool:
        """Whether ``partition`` is overwritten."""
        if self.partitions is None:
            return True
        if callable(self.partitions):
            return self.partitions(partition)
        return partition in self.partitions

    def apply(self, live: LiveFiles, added: tuple[ManifestEntry, ...]) -> Overwritten:
        """The delta and the index files that go, given what is live in the head.

        Raises:
            ArgumentError: a new file lies outside the static partition spec.
        """
        if self.must_belong:
            outside = [
                e.file.file_name
                for e in added
                if e.kind is EntryKind.ADD and not self.selects(e.partition)
            ]
            if outside:
                raise ArgumentError(
                    f"{len(outside)} new files do not belong to the overwritten partition: "
                    f"{', '.join(outside[:3])}",
                    argument="overwrite",
                    value=tuple(outside),
                )
        gone = {e.identity for e in added if e.kind is EntryKind.DELETE}
        deletes = tuple(
            e.deleted()
            for e in live.entries
            if self.selects(e.partition)
            and (e.bucket >= 0 or not self.spares_postponed)
            and e.identity not in gone
        )
        index = tuple(i for i in live.index if self.selects(i.partition))
        return Overwritten(deletes + added, index)


@dataclass(frozen=True, slots=True)
class Overwritten:
    """What an overwrite amounts to on one head."""

    delta: tuple[ManifestEntry, ...]
    """Deletes first, then what the writer brings."""
    index_deleted: tuple[IndexFile, ...]


def matcher(
    names: Sequence[str],
    decode: Callable[[bytes], tuple[object, ...]],
    specs: Iterable[Mapping[str, object]],
) -> Matches:
    """Whether a partition agrees with at least one of ``specs`` (column to value; {} is all).

    ``names`` are the partition columns, ``decode`` gives their values in that order; spec values
    are of the same Python domain.  Verdicts are kept: a table has few partitions and many files.

    Raises:
        ArgumentError: a spec names a column that is no partition column.
    """
    wanted: list[tuple[tuple[int, object], ...]] = []
    for spec in specs:
        unknown = sorted(set(spec) - set(names))
        if unknown:
            raise ArgumentError(
                f"{', '.join(unknown)} are no partition columns; there are {list(names)}",
                argument="partition",
                value=dict(spec),
            )
        wanted.append(tuple((names.index(name), value) for name, value in spec.items()))
    verdicts: dict[bytes, bool] = {}

    def matches(partition: bytes) -> bool:
        known = verdicts.get(partition)
        if known is None:
            values = decode(partition)
            known = any(all(values[at] == value for at, value in spec) for spec in wanted)
            verdicts[partition] = known
        return known

    return matches
