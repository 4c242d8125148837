"""Keeps the metadata history of the tables of a database in a table: ``Catalog.collect_metadata``.

A table whose head has not moved costs one request: its ``LATEST`` hint.  Of one that has moved the new
snapshots are read, and the documents about it are written anew.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError, ErrorKind, NotFoundError, TableError
from table_core.history import kinds
from table_core.history.kinds import Kind, table_uri, uris_of
from table_core.history.snapshots import Chunk
from table_core.history.state import State, is_news
from table_core.table.api.database_maintenance import chosen_tables_of
from table_core.table.maintenance.observe import Within, observe
from table_core.table.metadata.describing import committed
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.results import CommitAs
from table_core.table.metadata.several import failed_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.table.api.catalog_view import CatalogView
    from table_core.table.api.database_maintenance import Choice
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument

__all__ = ["collect_metadata", "metadata_table"]

_AT_ONCE: Final = 100
"""Of so many tables the open chunks are in memory at a time."""
_DEAD: Final = frozenset({ErrorKind.CORRUPT, ErrorKind.UNSUPPORTED})
"""What no second attempt helps: the page tells it of that table."""
_TOLD_MAX: Final = 300


def metadata_table(catalog: CatalogView, name: str) -> Table:
    """The table ``name`` that keeps the documents; it is made, with its database, if it is not there.

    Raises:
        ArgumentError: a table of that name has other columns.
    """
    database, _, _ = name.partition(".")
    catalog.create_database(database, if_not_exists=True)
    columns = kinds.COLUMNS.items()
    fields = [Field(at, column, parse_type(text)) for at, (column, text) in enumerate(columns)]
    table = catalog.create_table(
        name,
        fields,
        primary_key=kinds.KEY,
        partition_by=kinds.PARTITION_BY,
        options=kinds.OPTIONS,
        comment="The history of the metadata of tables, as the tables page shows it.",
        if_not_exists=True,
    )
    if table.primary_key != kinds.KEY or not {*kinds.COLUMNS} <= {*table.definition.by_name}:
        raise ArgumentError(
            f"{name} is another table than one that keeps metadata: name one that is not there yet",
            argument="to",
            value=name,
        )
    return table


def collect_metadata(
    catalog: CatalogView,
    choice: Choice,
    to: str,
    *,
    catalog_name: str,
    within: Within,
    tables_max: int,
    dry_run: bool,
    commit: CommitAs,
) -> ResultDocument:
    """See ``Catalog.collect_metadata``.

    Raises:
        TableError: of the first table that failed or cannot be read, when the others are kept; it notes which.
    """
    started_ms = catalog.clock.now_ms()
    target = metadata_table(catalog, to)
    before = target.latest_snapshot()
    work = _Work(catalog, choice, target, catalog_name, within)
    moved = work.moved(except_=to)
    chosen = moved[:tables_max]
    done = None
    if not dry_run:
        # No identifier: a second attempt finds what the first has kept, and goes on from there.
        with target.write(commit=CommitAs(user=commit.user)) as writer:
            for rows in work.rows(chosen):
                writer.write(rows)
            done = writer.commit()
    details = {
        "catalog": catalog_name,
        "database": choice.database,
        "tables": len(work.names),
        "looked_at": len(chosen),
        "left": len(moved) - len(chosen),
        "dropped": len(work.dropped),
        "snapshots": work.snapshots,
    }
    bad = {**work.unreadable, **work.failed}
    if bad:
        good = [name for name in chosen if name not in bad]
        raise failed_of(f"collect-metadata {choice.database}", bad, good)
    result = committed(
        target.access, "collect-metadata", done, before, details, started_ms=started_ms
    )
    return result.having(dry_run=dry_run)


@dataclass(slots=True)
class _Work:
    """One run over a database."""

    catalog: CatalogView
    choice: Choice
    target: Table
    catalog_name: str
    within: Within
    names: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    states: dict[str, State | None] = field(default_factory=dict)
    unreadable: dict[str, TableError] = field(default_factory=dict)
    failed: dict[str, TableError] = field(default_factory=dict)
    snapshots: int = 0

    def moved(self, except_: str) -> list[str]:
        """The tables that have to be looked at, those that were longest ago first."""
        catalog, database = self.catalog, self.choice.database
        chosen = chosen_tables_of(self.choice, catalog.directory.candidates(database))
        self.names = [name for name in chosen if f"{database}.{name}" != except_]
        self.states = {
            uri: State.from_document(document)
            for uri, _, document in self._kept(Kind.STATE, uris_of(self.catalog_name, database))
        }
        now_ms, recheck_ms = catalog.clock.now_ms(), self.within.recheck_ms
        moved = []
        for name in self.names:
            known = self.states.get(self._uri(name))
            hinted = self._hinted(name) if known else None
            if is_news(known, hinted, now_ms=now_ms, recheck_ms=recheck_ms):
                moved.append((known.looked_ms if known else 0, name))
        there = {self._uri(name) for name in catalog.directory.candidates(database)}
        self.dropped = sorted(uri for uri in self.states if uri not in there)
        return [name for _, name in sorted(moved)]

    def _hinted(self, name: str) -> int | None:
        """What its hint says; one that cannot be read is told when the table is looked at."""
        try:
            return Metadata(self.catalog.root(self.choice.database, name)).hinted_head()
        except TableError:
            return None

    def _is_there(self, name: str) -> bool:
        """Whether there is such a table, and not only a folder of that name."""
        try:
            return self.catalog.directory.has_table(self.choice.database, name)
        except TableError:
            return True

    def rows(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """What to write, some tables at a time."""
        for uri in self.dropped:
            yield _rows(uri, {}, self._all_of(uri), self.catalog.clock.now_ms())
        for at in range(0, len(names), _AT_ONCE):
            some = names[at : at + _AT_ONCE]
            opened = self._opened([self._uri(name) for name in some])
            for name in some:
                part = self._one(name, opened.get(self._uri(name)))
                if part is not None:
                    yield part

    def _one(self, name: str, opened: Chunk | None) -> pa.Table | None:
        uri, now_ms = self._uri(name), self.catalog.clock.now_ms()
        known = self.states.get(uri)
        try:
            table = self.catalog.table(f"{self.choice.database}.{name}")
            observed = observe(table.access, known, opened, uri, self.within)
        except TableError as error:
            if isinstance(error, NotFoundError | ArgumentError) and not self._is_there(name):
                # A folder without a table, or a table that was dropped meanwhile.
                return _rows(uri, {}, self._all_of(uri), now_ms) if uri in self.states else None
            if error.kind not in _DEAD:
                self.failed[name] = error
                return None
            self.unreadable[name] = error
            return _rows(uri, {(Kind.LINE, ""): self._unreadable(name, error)}, [], now_ms)
        self.snapshots += observed.new_snapshots
        return _rows(uri, observed.documents, observed.gone, now_ms)

    def _unreadable(self, name: str, error: TableError) -> dict[str, Any]:
        badge = {"code": "unreadable", "text": str(error)[:_TOLD_MAX], "severity": "error"}
        return {
            "version": kinds.VERSION,
            "uri": self._uri(name),
            "table": f"{self.choice.database}.{name}",
            "kind": "unknown",
            "health": "unknown",
            "badges": [badge],
            "cut": {},
        }

    def _uri(self, name: str) -> str:
        return table_uri(self.catalog_name, f"{self.choice.database}.{name}")

    def _all_of(self, uri: str) -> list[tuple[Kind, str]]:
        """Every document of a table that is gone."""
        state = self.states[uri]
        single = [kind for kind in Kind if kind is not Kind.SNAPSHOTS]
        parts = [part for part, _, _ in state.chunks] if state else []
        return [*((kind, "") for kind in single), *((Kind.SNAPSHOTS, part) for part in parts)]

    def _opened(self, uris: Sequence[str]) -> dict[str, Chunk]:
        wanted = set(uris)
        chunks = {}
        for uri, _, document in self._kept(
            Kind.OPEN, uris_of(self.catalog_name, self.choice.database)
        ):
            if uri not in wanted:
                continue
            try:
                chunks[uri] = Chunk.from_document(document)
            except ValueError:  # somebody else wrote it: begin anew with this table
                self.states[uri] = None
        return chunks

    def _kept(self, kind: Kind, prefix: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """URI, part and document of what is kept of one kind."""
        scan = self.target.read(columns=["uri", "part", "document"], where=f"kind = '{kind.value}'")
        for batch in scan.to_batches():
            chosen = batch.filter(pc.starts_with(batch["uri"], prefix))
            columns = (chosen[name].to_pylist() for name in ("uri", "part", "document"))
            for uri, part, text in zip(*columns, strict=True):
                yield uri, part, json.loads(text)


def _rows(
    uri: str,
    documents: Mapping[tuple[Kind, str], Mapping[str, Any]],
    gone: Sequence[tuple[Kind, str]],
    now_ms: int,
) -> pa.Table:
    """``documents`` as upserts and ``gone`` as deletes."""
    columns: dict[str, list[Any]] = defaultdict(list)
    upserts = [
        (kind, part, json.dumps(d, separators=(",", ":"))) for (kind, part), d in documents.items()
    ]
    deletes = [(kind, part, None) for kind, part in gone if (kind, part) not in documents]
    for kind, part, text in (*upserts, *deletes):
        columns["kind"].append(kind.value)
        columns["part"].append(part)
        columns["document"].append(text)
        columns["_ROW_KIND"].append("-D" if text is None else "+I")
    count = len(columns["kind"])
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    return pa.table(
        {
            "kind": pa.array(columns["kind"], pa.string()),
            "uri": pa.array([uri] * count, pa.string()),
            "part": pa.array(columns["part"], pa.string()),
            "collected_at": pa.array([at] * count, pa.timestamp("ms", "UTC")),
            "document": pa.array(columns["document"], pa.string()),
            "_ROW_KIND": pa.array(columns["_ROW_KIND"], pa.string()),
        }
    )
