"""Puts dead letters back: events that could not be applied, once what was in their way is gone.

The letters take the place of the source in a run of the sync, in the order of the source, and leave the
positions of the tables as they are.  A letter that was applied goes; one that still cannot be stays.

The letters of offsets 5 and 9 are in the way, 5 because its value did not fit.  The column was widened: the
row of 5 is written, and its letter deleted.  The row of 9 came again later, with 12, and is in the table: its
letter stays, because what it says may be older, and ``replace=True`` writes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.apply.dead_letters import DeadLetters
from table_core.cdc.apply.earlier_rows import rows_of_keys
from table_core.cdc.source.files.source import BINLOG, FilesSource
from table_core.cdc.source.kafka.source import KafkaSource
from table_core.cdc.source.lines import LineReader
from table_core.cdc.sync.replayed import LetterLines, LetterReader
from table_core.cdc.sync.sync import database_context, database_result, table_context, table_result
from table_core.datatypes.row_kind import KIND_TEXTS, ROW_KIND_COLUMN, RowKind
from table_core.errors import ArgumentError, DataError
from table_core.options import keys_merge
from table_core.predicate.expression import col
from table_core.validation_errors import stored_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy as np

    from table_core.cdc.apply.reader import Reader
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.bad import BadEvent
    from table_core.cdc.model.record import Place
    from table_core.cdc.sync.readers import Source
    from table_core.errors import TableError
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["replay"]

REPLAYED_PROPERTY: Final = "tc.source.replayed"
"""Property: the dead letters that the newest replay put into a table, as a JSON list."""
_LETTERS_MAX: Final = 10_000
_AT_ONCE: Final = 50


def replay(
    catalog: Catalog,
    target: str,
    source: Source,
    dead_letter: str,
    *,
    overwrite: bool = False,
    commit: CommitAs | None = None,
    **more: Any,
) -> ResultDocument:
    """Apply the events in a table of dead letters once more, and delete the letters that were applied.

    Give what the sync was given that wrote them; letters of other topics, clusters and folders stay.
    Positions stay as they are.  An event is not applied
    if the table has a row of its key: that may be newer.  The letter stays then.  A table with a
    ``sequence.field`` tells by itself which is newer.

    Args:
        catalog: where the tables are.
        target: ``database.table`` as for ``sync_table``, or a database as for ``sync_database``.
        source: topics or files, as for the sync; schemas of a registry are asked for there.
        dead_letter: the table of dead letters.
        overwrite: apply events to rows that are there, too.
        commit: who commits.
        more: keywords of the sync.

    Returns: The result document.  ``details`` has the letters ``applied`` and ``left``.

    Raises:
        ArgumentError: the source is a database: its tables are read again with ``resync``; or no such
            sync has fed the tables.
        NotFoundError: there is no table of dead letters.
    """
    if not isinstance(source, FilesSource | KafkaSource) or source.format == BINLOG:
        raise ArgumentError(
            "only dead letters of topics and files of events are put back; the tables of a database are "
            "read again: table-core source resync",
            argument="source",
            value=type(source).__name__,
        )
    letters = _Letters(catalog=catalog, name=dead_letter, overwrite=overwrite)
    letters.open()
    options = {**more, "dead_letter": dead_letter, "commit": commit}
    build = table_context if "." in target else database_context
    context = replace(
        build(catalog, target, source, **options),
        dead_letters=letters,
        guard=None if overwrite else letters.newer,
        reader_of=letters.reader,
    )
    run = table_result if "." in target else database_result
    result = run(context, source, target, "now")
    letters.settle()
    details = {**result.details, "applied": letters.applied, "left": letters.left}
    details.pop("dead_letters", None)
    return replace(result, action="replay", details=details)


@dataclass(slots=True, kw_only=True)
class _Letters(DeadLetters):
    """A table of dead letters, while they are put back."""

    overwrite: bool
    _order: list[tuple[str, str]] = field(default_factory=list)
    """Source and place of the letters, in the order of their events."""
    _id: str = ""
    """Of the letter at hand."""
    _done: list[str] = field(default_factory=list)
    """Letters that were applied."""
    _before: frozenset[str] = frozenset()
    """Those that an earlier replay applied, which was killed before it deleted them."""
    _bad: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Letters that still cannot be applied, as rows."""
    _keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    _written: dict[str, set[tuple[Any, ...]]] = field(default_factory=dict)
    """By table, the keys of rows that this replay has written."""
    _row: Mapping[str, Any] = field(default_factory=dict)

    @property
    def applied(self) -> int:
        """How many letters were applied."""
        return len(self._good)

    @property
    def left(self) -> int:
        """How many stay."""
        return len(self._order) - self.applied

    @property
    def _good(self) -> list[str]:
        return [id for id in self._done if id not in self._bad]

    def open(self) -> None:
        """Look which letters there are."""
        table = self.catalog.table(self.name)
        names = [n for n in ("source", "place") if n in table.arrow_schema.names]
        rows = table.read(columns=names).to_arrow().to_pylist()
        places = [(row.get("source") or "", row["place"]) for row in rows]
        self._order = sorted(places, key=lambda one: (one[0], LetterLines.order_of(one[1])))

    def reader(self, reader: Reader[Any], tables: SyncTables) -> Reader[Any]:
        """What reads the letters instead of the source."""
        assert isinstance(reader, LineReader)
        tables.told = lambda _: {REPLAYED_PROPERTY: json.dumps(self._good)}
        return LetterReader(
            decoder=reader.decoder, inner=reader, letters=lambda: self._lines(tables)
        )

    def put(
        self, error: TableError, place: str, event: bytes | str, source_table: str | None = None
    ) -> None:
        """The letter at hand cannot be applied: it stays, with the reason of today."""
        DeadLetters.put(self, error, place, event, source_table)
        new = self.waiting.pop()
        kept = {
            name: new[name] for name in ("source_table", "column", "value", "reason", "seen_at")
        }
        self._bad[self._id] = {**self._row, **kept}

    def flush(self) -> None:
        """Nothing: letters change at the end."""

    def newer(
        self,
        table: Table,
        rows: pa.Table,
        numbers: np.ndarray[Any, Any],
        place: Callable[[int], Place],
    ) -> Iterable[BadEvent]:
        """Rows whose key the table has already, from another event."""
        if not table.primary_key or table.options.get(keys_merge.SEQUENCE_FIELD.key):
            return []
        mine = self._written.setdefault(table.name, set())
        columns = [rows[name].to_pylist() for name in table.primary_key]
        keys = [key for key in zip(*columns, strict=True) if key not in mine]
        rows_there = rows_of_keys(table, keys, ()) if keys else []
        there = {tuple(row[name] for name in table.primary_key) for row in rows_there}
        if not there & set(keys):
            mine.update(keys)
            return []
        at = place(int(numbers[0]))
        return [
            DataError(
                f"{at.text}: {table.name} has a row of this key, which may be newer: look at it, and "
                "replay with overwrite=True (--overwrite) if it is not",
                row=at.number,
                table=table.name,
            )
        ]

    def settle(self) -> None:
        """Delete the letters that were applied, and keep the others with today's reasons."""
        table = self.catalog.table(self.name)
        changed = [(self._of(id), RowKind.DELETE) for id in self._good]
        changed += [(row, RowKind.INSERT) for row in self._bad.values()]
        schema = table.arrow_schema
        for start in range(0, len(changed), _AT_ONCE):
            part = changed[start : start + _AT_ONCE]
            rows = pa.Table.from_pylist([dict(row) for row, _ in part], schema=schema)
            kinds = pa.array([KIND_TEXTS[kind] for _, kind in part])
            with table.write() as writer:
                writer.write(rows.append_column(ROW_KIND_COLUMN, kinds))
                writer.commit()

    def _of(self, id: str) -> dict[str, Any]:
        source, place = self._keys[id]
        return {"source": source, "place": place}

    def _lines(self, tables: SyncTables) -> Iterator[LetterLines]:
        """The letters one by one; each was applied, or put back, when the next one is asked for."""
        there = {name: feed.target for name, feed in tables.feeds.items() if feed.state.table}
        held = {
            name: target.state.table.position(REPLAYED_PROPERTY)
            for name, target in there.items()
            if target.state.table is not None
        }
        for name, target in there.items():
            target.wait(expect={REPLAYED_PROPERTY: held[name]})
        self._before = frozenset(
            id for text in held.values() for id in stored_names("replayed letters", text)
        )
        mine = [one for one in self._order if LetterLines.is_of(self.source, *one)]
        for row in self._rows(mine[:_LETTERS_MAX]):
            self._id, self._row = _id_of(row), row
            self._keys[self._id] = (row.get("source") or "", row["place"])
            if self._id not in self._before:
                yield LetterLines(row)
            self._done.append(self._id)

    def _rows(self, order: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        table = self.catalog.table(self.name)
        for start in range(0, len(order), _AT_ONCE):
            part = order[start : start + _AT_ONCE]
            where = col("place").isin([place for _, place in part])
            rows = table.read(where=where).to_arrow().to_pylist()
            by_key = {(row.get("source") or "", row["place"]): row for row in rows}
            yield from (by_key[key] for key in part if key in by_key)


def _id_of(row: Mapping[str, Any]) -> str:
    event = row.get("event_bytes") or (row["event"] or "").encode()
    name = f"{row.get('source') or ''}\n{row['place']}\n{row['seen_at']}\n".encode()
    return sha256(name + event).hexdigest()[:12]
