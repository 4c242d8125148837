"""What a statement makes of a key table: rows that go, rows that come, keys that move.

    rows that were met ──┐
                         ├─ by key: changed, new, gone ─ versions ─ writer
    rows that are wanted ┘

A wanted row whose key was met replaces what was there; a key that was met and is not wanted any more is
deleted.  So a key that moves takes the old row away, and two rows may change places.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import KIND_COLUMN, ROW_KIND_COLUMN
from table_core.errors import DataError
from table_core.merge.aggregators.equal import equal_rows
from table_core.merge.engines.versions import Versions
from table_core.merge.ordinal import single_chunk
from table_core.merge.pairs import pairs_of
from table_core.table.dml.row_deletes import refuse_deletes
from table_core.table.files.row_form import RowForm
from table_core.table.read.committed_rows import committed_rows
from table_core.table.write.coerce import coerce

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["KeyChanges", "MetRows", "target_rows", "wanted_rows", "windows", "with_kind"]


def wanted_rows(access: TableAccess, rows: pa.Table, *, inserted: bool) -> pa.Table:
    """``rows`` with every column of the table, in its types; a default only where a row is ``inserted``.

    Raises:
        DataError: a value does not fit, or NULL where none may be.
    """
    schema = access.for_whole_rows().schema
    if inserted:
        schema = replace(schema, fields=access.schema.fields)
    return coerce(schema, rows).drop_columns([KIND_COLUMN])


def with_kind(rows: pa.Table, kind: str) -> pa.Table:
    """``rows`` with ``_ROW_KIND``."""
    return rows.append_column(ROW_KIND_COLUMN, pa.repeat(pa.scalar(kind), rows.num_rows))


@dataclass(frozen=True, kw_only=True)
class KeyChanges:
    """All that a statement changes, of keys that lie together."""

    access: TableAccess
    met: pa.Table
    """Rows as they are, of keys that are changed or deleted."""
    wanted: pa.Table
    """Rows as they shall be: of those keys, of others to which they move, and of new ones."""
    inserted: int
    """So many of them, the last, were not there: two that are alike are one."""
    others: pa.Table
    """The keys of rows that are there and not changed."""
    deleted: pa.Table
    """What is left of keys that were deleted, where it may count: a ``-D`` each."""

    def written(self) -> Iterator[pa.Table]:
        """What to write, with ``_ROW_KIND``.

        Raises:
            DataError: two rows would have one key.
            UnsupportedFeatureError: the merge engine cannot do it.
        """
        wanted = self._distinct()
        of_wanted, of_met = self._pairs(wanted, self.met)
        self._refuse_taken(wanted)
        versions = Versions(self.access.schema)
        there = of_met >= 0
        gone = np.setdiff1d(np.arange(self.met.num_rows), of_met[there])
        if len(gone):
            refuse_deletes(self.access.schema)
            old = self.met.take(pa.array(gone))
            yield with_kind(versions.removed(old), "-D")
        if there.any():
            old = self.met.take(pa.array(of_met[there]))
            new = wanted.take(pa.array(of_wanted[there]))
            yield with_kind(versions.changed(old, new), "+U")
        if not there.all():
            yield from self._inserts(versions, wanted.take(pa.array(of_wanted[~there])))

    def _inserts(self, versions: Versions, new: pa.Table) -> Iterator[pa.Table]:
        at, of_deleted = self._pairs(new, self.deleted)
        for there in (False, True):
            chosen = (of_deleted >= 0) == there
            rows = new.take(pa.array(at[chosen]))
            if there and rows.num_rows:
                gone = self.deleted.take(pa.array(of_deleted[chosen]))
                yield with_kind(versions.again(gone, rows), "+I")
            elif rows.num_rows:
                yield with_kind(versions.fresh(rows), "+I")

    @cached_property
    def _key(self) -> list[str]:
        return list(self.access.schema.primary_keys)

    def _pairs(
        self, left: pa.Table, right: pa.Table
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows of ``left``, each with that of ``right`` that has its key, or -1."""
        return pairs_of(left.select(self._key), right.select(self._key), "left outer", stored=True)

    def _distinct(self) -> pa.Table:
        """The wanted rows, each key once.

        Raises:
            DataError: two of them have one key, and they are not the same new row.
        """
        wanted = self.wanted
        mine, other = self._pairs(wanted, wanted)
        twice = mine != other
        if not twice.any():
            return wanted
        left, right = wanted.take(pa.array(mine[twice])), wanted.take(pa.array(other[twice]))
        new = wanted.num_rows - self.inserted
        same = (mine[twice] >= new) & (other[twice] >= new)
        for name in wanted.column_names:
            same &= equal_rows(single_chunk(left[name]), single_chunk(right[name]), stored=True)
        if not same.all():
            raise self._two_rows(left, int(np.argmin(same)), "several rows would have")
        first = np.full(wanted.num_rows, wanted.num_rows)
        np.minimum.at(first, mine, other)
        return wanted.take(pa.array(np.unique(first)))

    def _refuse_taken(self, wanted: pa.Table) -> None:
        at, other = self._pairs(wanted, self.others)
        taken = at[other >= 0]
        if len(taken):
            raise self._two_rows(wanted, int(taken[0]), "another row of the table has")

    def _two_rows(self, rows: pa.Table, at: int, what: str) -> DataError:
        key = {name: str(rows[name][at]) for name in self._key}
        return DataError(
            f"{self.access.name}: {what} the key {key}, and a key has one row; change the values or the "
            "condition so that every row keeps a key of its own. Nothing was written",
            column=self._key[0],
            row=at,
            value=key,
        )


def target_rows(
    access: TableAccess, head: Snapshot | None, at_least: int
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The rows of a key table, and what is left of deleted keys where that may count; ``at_least`` bytes at a time."""
    scan = committed_rows(access, head)
    if Versions(access.schema).is_plain:
        none = arrow_schema(access.schema.fields).empty_table()
        yield from ((rows, none) for rows in windows(scan.to_batches(), at_least))
        return
    audit = scan.read_by(lambda reader: replace(reader, form=RowForm.AUDIT))
    for window in windows(audit.to_batches(), at_least):
        rows, kinds = window.drop_columns([ROW_KIND_COLUMN]), window[ROW_KIND_COLUMN]
        gone = pc.is_in(kinds, value_set=pa.array(["-D", "-U"]))
        yield rows.filter(pc.invert(gone)), rows.filter(gone)


def windows(batches: Iterable[pa.RecordBatch], at_least: int) -> Iterator[pa.Table]:
    """The rows of ``batches``, of so many bytes at a time."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= at_least:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


@dataclass(slots=True)
class MetRows:
    """What a statement has met and decided about so far."""

    access: TableAccess
    moves: bool
    """Whether a row may come to the key of another one: then no row is done before all are met."""
    _met: list[pa.Table] = field(init=False, default_factory=list)
    _updated: list[pa.Table] = field(init=False, default_factory=list)
    _others: list[pa.Table] = field(init=False, default_factory=list)
    _deleted: list[pa.Table] = field(init=False, default_factory=list)

    def take(self, rows: pa.Table, touched: npt.NDArray[np.int64], updated: list[pa.Table]) -> None:
        """``rows`` of the table, of which those ``touched`` go, and ``updated`` come in their place."""
        mask = np.zeros(rows.num_rows, np.bool_)
        mask[touched] = True
        self._met.append(rows.filter(pa.array(mask)))
        self._updated += updated
        if self.moves:
            keys = list(self.access.schema.primary_keys)
            self._others.append(rows.select(keys).filter(pa.array(~mask)))

    def take_deleted(self, rows: pa.Table) -> None:
        """What is left of deleted keys that may come back."""
        self._deleted.append(rows)

    def done(self) -> KeyChanges | None:
        """What can be written by now, which is forgotten then."""
        if self.moves:
            return None
        changes = self.rest([])
        self._met, self._updated = [], []
        return changes

    def rest(self, inserted: list[pa.Table]) -> KeyChanges:
        """All that is left, and the rows that were not there."""
        none = arrow_schema(self.access.schema.fields).empty_table()
        keys = none.select(list(self.access.schema.primary_keys))
        return KeyChanges(
            access=self.access,
            met=pa.concat_tables([none, *self._met]),
            wanted=pa.concat_tables([none, *self._updated, *inserted]).combine_chunks(),
            inserted=sum(rows.num_rows for rows in inserted),
            others=pa.concat_tables([keys, *self._others]),
            deleted=pa.concat_tables([none, *self._deleted]),
        )
