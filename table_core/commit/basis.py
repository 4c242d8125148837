"""What a commit read to make its files.  Each attempt checks that it still is so (docs/adr/0009).

What a commit takes out is in its delta.  This is the rest: files that a compaction looked into and left
alone, files that it needs to be absent, the numbers that its rows go on from, the index that says where
keys are.

A compaction of a lookup table merged a and b of level 0 into c of level 4, with old values from d of level 5.
Its delta says -a -b +c, its basis ``Merged(level=4, files=(a, b), above={d})``.  If another commit meanwhile
replaced d by e, the delta still fits, but c was made with values that are no longer the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.ondisk.data_file import DataFile
    from table_core.ondisk.snapshot import Snapshot
    from table_core.schema.table_schema import TableSchema

__all__ = ["AsOf", "Basis", "Hashed", "Merged", "Numbered", "Opened"]


@dataclass(frozen=True, slots=True)
class AsOf:
    """A snapshot, told from another one of its number by the name of its delta list.

    After a rollback to 6 the next commit is 7 again, and not the 7 that was read before.
    """

    id: int
    delta_manifest_list: str

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> Self:
        """``snapshot``; None: the empty table."""
        return cls(0, "") if snapshot is None else cls(snapshot.id, snapshot.delta_manifest_list)


@dataclass(frozen=True, slots=True)
class Numbered:
    """New rows of one bucket: they were numbered on from the largest number that ``as_of`` has there."""

    partition: bytes
    bucket: int
    as_of: AsOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """The index of keys of one partition with dynamic buckets, as a writer read it."""

    partition: bytes
    as_of: AsOf
    files: Mapping[int, str]
    """Bucket to its index file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What the compaction of one bucket of a key table holds for true, besides the files it takes out.

    Nothing as old as what it merges is left beside it below or at its ``level``, and above it lie
    exactly the files that it saw, where its keys could be.
    """

    partition: bytes
    bucket: int
    level: int
    """Where its result goes."""
    files: tuple[DataFile, ...]
    """What it merges, also files that came and went within it."""
    above: frozenset[str] | None
    """Files of higher levels that could hold keys it merges.  None: it does not matter what is there,
    because nothing was looked up and no delete was dropped."""
    writes_vectors: bool
    """Whether it read the deletion vectors of the bucket."""
    vectors: str | None
    """The index file that they were in; None: there was none."""

    @property
    def newest(self) -> int:
        """The largest sequence number that it merges."""
        return max((file.max_sequence_number for file in self.files), default=-1)


@dataclass(frozen=True, slots=True)
class Opened:
    """The schema that a writer opened its table with: what tells the table from another of its name."""

    schema_id: int
    time_millis: int
    highest_field_id: int

    @classmethod
    def of(cls, schema: TableSchema) -> Self:
        """That ``schema``, also where a handle has options of its own."""
        return cls(schema.id, schema.time_millis, schema.highest_field_id)

    @property
    def birth(self) -> str:
        """As text: of the earliest schema it tells a table from others that stood at its place."""
        return f"{self.schema_id}.{self.time_millis}.{self.highest_field_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """All that one half of a commit read."""

    numbered: tuple[Numbered, ...] = ()
    hashed: tuple[Hashed, ...] = ()
    merged: tuple[Merged, ...] = ()
    homes: frozenset[AsOf] = field(default=frozenset())
    """States of the table in which was looked up where keys are (cross-partition tables)."""
    dealers: int = 0
    """Writers that put keys into partitions and took all keys for theirs (cross-partition tables)."""
    rows: frozenset[AsOf] = field(default=frozenset())
    """States of the table whose rows were read, by a statement that writes other versions of them: of the
    keys that are written, none may have another version since."""
    idle: frozenset[AsOf] = field(default=frozenset())
    """States of the table in which partitions that are taken out were idle: nothing may have come since."""
    opened: frozenset[Opened] = field(default=frozenset())
    """The table, as the writers opened it."""

    @classmethod
    def joined(cls, bases: Iterable[Basis]) -> Self:
        """What several writers read."""
        bases = list(bases)
        return cls(
            numbered=tuple(n for basis in bases for n in basis.numbered),
            hashed=tuple(h for basis in bases for h in basis.hashed),
            merged=tuple(m for basis in bases for m in basis.merged),
            homes=frozenset(as_of for basis in bases for as_of in basis.homes),
            dealers=sum(basis.dealers for basis in bases),
            rows=frozenset(as_of for basis in bases for as_of in basis.rows),
            idle=frozenset(as_of for basis in bases for as_of in basis.idle),
            opened=frozenset(opened for basis in bases for opened in basis.opened),
        )
