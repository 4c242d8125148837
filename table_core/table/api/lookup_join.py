"""Lookup join: each row gets the columns of the dimension row that has its key.

The dimension is a table, as of one state or at its newest.  It is read once for each state and kept
by the process while ``lookup.cache-max-memory-size`` allows; a larger one goes to the local disk, up to
``lookup.cache-max-disk-size``, and from there passes by batch by batch: only what matches is held.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from table_core.errors import ArgumentError, DataError
from table_core.merge.pairs import pairs_of, side_of
from table_core.options import keys_write
from table_core.scan.time_travel import resolve
from table_core.storage.spill import Spill
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.timestamps import epoch_ms
from table_core.table.read.chosen_partitions import chosen_partitions
from table_core.table.read.scan import state_scan
from table_core.table.read.state_plan import fallback_of, refuse_unreadable
from table_core.table.write.coerce import cast_column, gathered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.time_travel import SnapshotRef
    from table_core.storage.spill import SpilledRows
    from table_core.table.api.table import Table
    from table_core.table.metadata.access import TableAccess
    from table_core.table.read.scan import Scan

__all__ = ["CACHE", "AsOf", "Dimension", "DimensionCache", "lookup_join"]

AsOf: TypeAlias = "int | str | datetime | None"
"""A snapshot by its id, a tag by its name, an aware datetime; None for the newest state."""
_MISSING: Final = ("null", "fail", "wait")
_POLL_MS: Final = 200
_POLL_MAX_MS: Final = 5_000


def lookup_join(
    rows: Any,
    table: Table,
    on: Sequence[str] | Mapping[str, str],
    as_of: AsOf = None,
    missing: str = "null",
    columns: Sequence[str] | None = None,
    wait_seconds: float = 60.0,
) -> pa.Table:
    """Join ``rows`` (anything Arrow), in their order, with ``columns`` of ``table`` by key.

    ``on`` names the columns to match: names that both sides share, or ``{"row column": "table
    column"}``. A row with several matches comes once for each. ``missing`` says what happens to a
    key without a match: NULLs (``null``), an error (``fail``), or a wait until the table has it
    (``wait``). A key with a NULL never matches and is not waited for.

    Raises:
        ArgumentError: an unknown column or argument, or a column that both sides have.
        DataError: a key is missing; with ``wait``, after ``wait_seconds``.
        NotFoundError: there is no such state.
    """
    dimension = Dimension.of(
        table.access, on, as_of, missing=missing, columns=columns, wait_seconds=wait_seconds
    )
    return dimension.join(gathered(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """The right side of lookup joins.  Picklable."""

    access: TableAccess
    on: Mapping[str, str]
    """Column of the rows to column of the table."""
    keys: tuple[Field, ...]
    """Of the table, in the order of ``on``."""
    added: tuple[Field, ...]
    as_of: AsOf
    state: SnapshotRef | None
    """What ``as_of`` was found to be; None: found anew for each join."""
    missing: str
    wait_ms: int

    @classmethod
    def of(
        cls,
        access: TableAccess,
        on: Sequence[str] | Mapping[str, str],
        as_of: AsOf,
        *,
        missing: str,
        columns: Sequence[str] | None,
        wait_seconds: float,
        pins: bool = False,
    ) -> Dimension:
        """See ``lookup_join``; ``pins``: all joins see the state of now, wherever they are done."""
        pairs = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
        if not pairs:
            raise ArgumentError("on: name the columns that must be equal", argument="on", value=on)
        if missing not in _MISSING:
            raise ArgumentError(
                f"missing={missing!r}: use one of {', '.join(_MISSING)}",
                argument="missing",
                value=missing,
            )
        if missing == "wait" and as_of is not None:
            raise ArgumentError(
                "missing='wait': a state of the past gets no more rows; leave as_of out",
                argument="missing",
                value=missing,
            )
        refuse_unreadable(access)
        state = _state_of(access, as_of)
        fields = {f.name: f for f in _described(access, state).schema.fields}
        theirs = list(pairs.values())
        names = [n for n in fields if n not in theirs] if columns is None else list(columns)
        unknown = [name for name in (*theirs, *names) if name not in fields]
        if unknown:
            raise ArgumentError(
                f"{access.name} has no columns {unknown}; it has {list(fields)}",
                argument="columns",
                value=unknown,
            )
        return cls(
            access=access,
            on=pairs,
            keys=tuple(fields[name] for name in theirs),
            added=tuple(fields[name] for name in names),
            as_of=as_of,
            state=state if pins else None,
            missing=missing,
            wait_ms=int(wait_seconds * 1000),
        )

    def refuse_columns(self, names: Sequence[str]) -> None:
        """Refuse rows of columns ``names`` that cannot be joined.

        Raises:
            ArgumentError: a column of ``on`` is not there, or one that is added is.
        """
        lacking = [name for name in self.on if name not in names]
        if lacking:
            raise ArgumentError(
                f"on: the rows have no column {lacking}; they have {list(names)}",
                argument="on",
                value=lacking,
            )
        twice = [f.name for f in self.added if f.name in names]
        if twice:
            raise ArgumentError(
                f"both the rows and {self.access.name} have {twice}: name the columns to add, or "
                "rename those of the rows",
                argument="columns",
                value=twice,
            )

    def join(self, rows: pa.Table) -> pa.Table:
        """``rows`` with the columns of the dimension."""
        self.refuse_columns(rows.column_names)
        sides = enumerate(zip(self.on, self.keys, strict=True))
        keys = pa.table({f"{at}": cast_column(f, rows[name]) for at, (name, f) in sides})
        waited_ms, pause_ms = 0, _POLL_MS
        while True:
            dimension = self._matching(keys)
            at, matches = pairs_of(keys, self._keys_of(dimension), "left outer")
            lost = matches < 0
            if self.missing == "null" or not lost.any():
                break
            absent = keys.take(pa.array(at[lost]))
            if self.missing == "wait" and not absent.drop_null().num_rows:
                break
            if self.missing == "fail" or waited_ms >= self.wait_ms:
                raise self._missing_error(absent, waited_ms)
            self.access.clock.sleep_ms(pause_ms)
            waited_ms, pause_ms = waited_ms + pause_ms, min(pause_ms * 2, _POLL_MAX_MS)
        joined = rows if matches.size == rows.num_rows else rows.take(pa.array(at))
        added = side_of(dimension.select([f.name for f in self.added]), matches)
        for name in added.column_names:
            joined = joined.append_column(name, added[name])
        return joined

    def _missing_error(self, absent: pa.Table, waited_ms: int) -> DataError:
        repeated = len(set(self.on.values())) < len(self.on)
        names = self.on.keys() if repeated else self.on.values()
        example = {name: str(c[0]) for name, c in zip(names, absent.columns, strict=True)}
        waited = f" after {waited_ms / 1000:g} s" if self.missing == "wait" else ""
        return DataError(
            f"{self.access.name} has no row for {example}{waited}, and {absent.num_rows - 1} more "
            "keys of these rows; write the rows first, or take missing='null'",
            column=next(iter(self.on)),
            row=None,
            value=example,
        )

    def _keys_of(self, dimension: pa.Table) -> pa.Table:
        """The columns to compare, in the order of ``on``, which may name one several times."""
        return pa.table({f"{at}": dimension[f.name] for at, f in enumerate(self.keys)})

    def _matching(self, keys: pa.Table) -> pa.Table:
        """The rows of the dimension, or at least those with ``keys``."""
        state = _state_of(self.access, self.as_of) if self.state is None else self.state
        known = CACHE.find(self, state)
        if isinstance(known, pa.Table):
            return known
        wanted = keys.group_by(keys.column_names).aggregate([])
        parts = []
        for batch in self.scan(state).to_batches() if known is None else known.batches():
            part = pa.Table.from_batches([batch])
            at, _ = pairs_of(self._keys_of(part), wanted, "inner")
            parts.append(part.take(pa.array(at)))
        return pa.concat_tables(parts) if parts else self.scan(state).schema.empty_table()

    def scan(self, state: SnapshotRef) -> Scan:
        """All rows of ``state``: keys and added columns."""
        names = dict.fromkeys(f.name for f in (*self.keys, *self.added))
        access = _described(self.access, state)
        keeps = chosen_partitions(access, state.snapshot)
        return state_scan(access, state, list(names), None, None, keeps_partition=keeps)

    def name(self, state: SnapshotRef) -> tuple[Any, ...]:
        """What the rows of ``state`` depend on: nothing that could stand for others later."""
        access = self.access
        fallback = fallback_of(access)
        behind = None if fallback is None else fallback.metadata.head()
        return (
            access.storage.uri,
            access.branch,
            _identity(state.snapshot),
            (state.delta_only, state.created_after_ms),
            _identity(behind),
            tuple((f.id, f.name, str(f.type)) for f in (*self.keys, *self.added)),
            tuple(sorted(access.options.raw.items())),
        )


def _state_of(access: TableAccess, as_of: AsOf) -> SnapshotRef:
    """The state that ``as_of`` stands for now.

    Raises:
        NotFoundError: there is no such state.
    """
    return resolve(
        access.options,
        TableTimeline(access),
        snapshot=as_of if isinstance(as_of, int) else None,
        tag=as_of if isinstance(as_of, str) else None,
        timestamp_ms=epoch_ms("as_of", as_of) if isinstance(as_of, datetime) else None,
    )


def _described(access: TableAccess, state: SnapshotRef) -> TableAccess:
    """The table under the schema that applies to ``state``."""
    if not state.explicit or state.snapshot is None:
        return access
    return access.with_schema(access.metadata.schema(state.snapshot.schema_id))


def _identity(snapshot: Snapshot | None) -> tuple[object, ...]:
    """What tells a snapshot from any other, of this table or one that stood at its place."""
    if snapshot is None:
        return ()
    return (
        snapshot.id,
        snapshot.schema_id,
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.index_manifest,
    )


@dataclass(slots=True, eq=False, weakref_slot=True)
class _OnDisk:
    """The rows of a dimension that is too large for memory."""

    spill: Spill
    rows: SpilledRows

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.rows.batches()


@dataclass(slots=True)
class _Kept:
    rows: pa.Table | _OnDisk | None
    """None for a dimension that is too large to be kept."""
    used_ms: int


@dataclass(slots=True, eq=False)
class DimensionCache:
    """Dimensions in memory and on disk, the least recently used first.  Several threads may use it."""

    _kept: OrderedDict[tuple[Any, ...], _Kept] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, dimension: Dimension, state: SnapshotRef) -> pa.Table | _OnDisk | None:
        """All rows of ``dimension`` as of ``state``, None where they are too large to be kept."""
        options, now_ms = dimension.access.options, dimension.access.clock.now_ms()
        memory = options.get(keys_write.LOOKUP_CACHE_MAX_MEMORY_SIZE)
        disk = options.get(keys_write.LOOKUP_CACHE_MAX_DISK_SIZE)
        retention = options.get(keys_write.LOOKUP_CACHE_FILE_RETENTION)
        name = dimension.name(state)
        with self._lock:
            for old in [n for n, kept in self._kept.items() if now_ms - kept.used_ms > retention]:
                del self._kept[old]
            if name in self._kept:
                self._kept.move_to_end(name)
                self._kept[name].used_ms = now_ms
                return self._kept[name].rows
        rows = _within(dimension.scan(state), memory, disk)
        with self._lock:
            self._kept[name] = _Kept(rows, now_ms)
            while len(self._kept) > 1 and self._is_over(memory, disk):
                self._kept.popitem(last=False)
        return rows

    def _is_over(self, memory: int, disk: int | None) -> bool:
        rows = [kept.rows for kept in self._kept.values()]
        on_disk = sum(entry.spill.size for entry in rows if isinstance(entry, _OnDisk))
        held = sum(entry.nbytes for entry in rows if isinstance(entry, pa.Table))
        return held > memory or (disk is not None and on_disk > disk)

    def clear(self) -> None:
        """Free everything."""
        with self._lock:
            self._kept.clear()


def _within(scan: Scan, memory: int, disk: int | None) -> pa.Table | _OnDisk | None:
    """All rows of ``scan``, where there is room for them; None where there is not."""
    held: list[pa.RecordBatch] = []
    size, batches = 0, iter(scan.to_batches())
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > memory:
            break
    else:
        return pa.Table.from_batches(held, schema=scan.schema).combine_chunks()
    if disk is not None and size > disk:
        return None
    spill = Spill(compression="none")  # it is read again and again

    def pieces() -> Iterator[pa.Table]:
        while held:
            yield pa.Table.from_batches([held.pop(0)])
        for batch in batches:
            yield pa.Table.from_batches([batch])
            if disk is not None and spill.size > disk:
                return

    with undone_by(spill.close):
        rows = spill.put_all(pieces())
    if disk is not None and spill.size > disk:
        spill.close()
        return None
    kept = _OnDisk(spill, rows)
    weakref.finalize(kept, spill.close)
    return kept


CACHE: Final = DimensionCache()
"""The cache of this process."""
