"""Appends the rows of files, each file once.

With a position, which files were taken is committed with their rows, under ``expect`` of what was read:
whoever runs again, or at the same time, finds nothing left to take.  Files are known by their whole
paths and by what the store says of them, so neither order, folder nor pattern matters, and one that
has changed since is noticed: see ``position.files``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

import pyarrow as pa

from table_core.errors import ArgumentError, DataError, NotFoundError
from table_core.options.row_options import RowOptions
from table_core.position.decide import Diverged, FilesNow, GoOn, unreadable, what_next
from table_core.position.document import Position, Positions
from table_core.position.files import FileFacts, FilesTaken
from table_core.position.reader import Reader, ReaderKind, require_position_name
from table_core.position.source import FilesId
from table_core.storage.globs import meant_files, split_glob
from table_core.storage.row_files import read_rows, wrong_row
from table_core.storage.stores.locate import open_storage
from table_core.table.dml.overwrite import begin_write
from table_core.table.metadata.describing import committed
from table_core.table.metadata.progress import tell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ports import FileInfo, Storage
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument
    from table_core.table.write.writer import TableWriter

__all__ = ["Computes", "append_files", "rows_of_files"]


class Computes(Protocol):
    """Adds columns to rows that lack them."""

    @property
    def names(self) -> frozenset[str]:
        """The columns."""
        ...

    def added(self, rows: pa.RecordBatch, first_row: int = 0) -> pa.Table:
        """``rows`` with the columns."""
        ...


def append_files(
    table: Table,
    args: Mapping[str, Any],
    commit: CommitAs,
    storage_options: Mapping[str, str],
    computed: Computes | None = None,
) -> ResultDocument:
    """Write the files that ``args["rows_uri"]`` matches, or those of ``rows_files``, in one commit.

    ``args``: ``rows_uri``, or ``rows_files``; ``rows_format`` (None: by their names); ``rows_options`` (how
    rows stand in CSV and JSON); ``rows_position`` (None, or the property that keeps which files were taken); ``overwrite``; ``computed_columns``, if
    ``computed`` adds some; ``dry_run``: rows are read and checked, and nothing is committed.

    Raises:
        ArgumentError: no position can be kept under that name; an option means nothing for a format.
        PositionDivergedError: files that were taken have changed, or nobody can tell.
        DataError: a file does not decode or does not fit the table; facts name the file.
        NotFoundError: without a position, when no file matches.
        CommitConflictError: another run has taken files meanwhile.
    """
    started_ms = table.access.clock.now_ms()
    commit = commit.with_request("write", table.access.branch, **_requested(args, computed))
    begun = begin_write(table.access, commit)
    landed = begun.landed
    details: dict[str, Any] = {}
    done = landed
    dry_run = bool(args.get("dry_run"))
    options = RowOptions.of(args.get("rows_options"))
    loading = _Files(table, args.get("rows_format"), options, computed)
    if landed is None and args.get("rows_files"):
        named_files = [_named(uri, storage_options) for uri in args["rows_files"]]
        details |= {"files": len(named_files), "position": None}
        done = loading.append(named_files, commit, args.get("overwrite"), dry_run=dry_run)
    elif landed is None:
        folder, pattern = split_glob(args["rows_uri"])
        storage = open_storage(folder, storage_options)
        files = meant_files(storage, args["rows_uri"], pattern)
        key = args.get("rows_position")
        if key is not None:
            listing = [FileFacts.of(storage.uri, info) for info in files]
            stored = _Stored.of(table, key, FilesId(folder=storage.uri, pattern=pattern))
            new = stored.ahead(listing)
            files = [info for info, facts in zip(files, listing, strict=True) if facts in new]
            if files:
                commit = replace(
                    commit,
                    properties={**commit.properties, key: stored.after(listing)},
                    expect={**commit.expect, key: stored.text},
                )
        elif not files:
            raise NotFoundError(f"no file matches {args['rows_uri']}", name=args["rows_uri"])
        details |= {"files": len(files), "position": files[-1].path if files else None}
        if files:
            pairs = [(storage, info) for info in files]
            done = loading.append(pairs, commit, args.get("overwrite"), dry_run=dry_run)
    result = committed(table.access, "write", done, begun.head, details, started_ms=started_ms)
    return result.having(dry_run=True, rows_written=loading.rows) if dry_run else result


def _requested(args: Mapping[str, Any], computed: Computes | None) -> dict[str, Any]:
    """What of ``args`` makes one commit another."""
    request = {name: args.get(name) for name in ("rows_uri", "rows_position", "overwrite")}
    for name in ("rows_files", "rows_format", "rows_options"):
        if args.get(name):
            request[name] = args[name]
    if computed is not None:
        request["computed_columns"] = args["computed_columns"]
    return request


def rows_of_files(
    table: Table,
    files: Sequence[str],
    format: str | None,
    storage_options: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
) -> pa.Table:
    """The rows of ``files`` together, in memory: the source of a merge into ``table``.

    CSV and JSON have columns of ``table`` and their types, written as ``options`` say; Parquet has its own.

    Raises:
        DataError: a file does not decode, or two files have other columns; facts name the file.
        NotFoundError: a file is not there.
    """
    batches: list[pa.RecordBatch] = []
    written = RowOptions.of(options)
    for uri in files:
        storage, info = _named(uri, storage_options)
        batches += read_rows(storage, info.path, table.arrow_schema, format, options=written)
    try:
        return pa.Table.from_batches(batches) if batches else table.arrow_schema.empty_table()
    except pa.ArrowInvalid as error:
        raise DataError(f"the files {', '.join(files)} have other columns: {error}") from error


@dataclass(frozen=True, slots=True)
class _Stored:
    """Which files were taken before."""

    table: Table
    key: str
    text: str | None
    source: FilesId
    position: Position | None

    @classmethod
    def of(cls, table: Table, key: str, source: FilesId) -> _Stored:
        require_position_name("rows_position", key)
        reader, text = Reader(ReaderKind.FLOW, key, explicit=True), table.position(key)
        held = Positions.parse(text)
        if text is not None and held is None:
            raise unreadable(reader, key, text).error()
        position = held.of(reader, source) if held else None
        if held and position is None and held.held:
            position = held.held[0]  # of something else: refused below
        return cls(table, key, text, source, position)

    def ahead(self, listing: Sequence[FileFacts]) -> frozenset[FileFacts]:
        """What of ``listing`` is to be taken."""
        if self.position is None:
            return frozenset(listing)
        step = what_next(self.position, FilesNow(source=self.source, listing=tuple(listing)))
        if isinstance(step, Diverged):
            raise step.error()
        assert isinstance(step, GoOn)
        assert isinstance(step.place, FilesTaken)
        return frozenset(step.place.look(listing).new)

    def after(self, listing: Sequence[FileFacts]) -> str:
        """What is stored once all of ``listing`` is taken."""
        place = self.position.place if self.position is not None else FilesTaken()
        assert isinstance(place, FilesTaken)
        reader = Reader(ReaderKind.FLOW, self.key, explicit=True)
        return Position(reader, self.source, place.after(listing)).text


def _named(uri: str, storage_options: Mapping[str, str]) -> tuple[Storage, FileInfo]:
    """One file that was named, in its store.

    Raises:
        NotFoundError: it is not there.
    """
    folder, _, name = uri.rpartition("/")
    storage = open_storage(folder or ("/" if uri.startswith("/") else "."), storage_options)
    names = {name, unquote(name)} if uri.startswith("file:") else {name}
    matches = [info for info in storage.list("") if info.path in names and not info.is_dir]
    if len(matches) > 1:
        raise ArgumentError(
            f"{uri} means two files, and both are there: {', '.join(info.path for info in matches)}. Write the "
            "one that you mean as a plain path, without file:",
            argument="uri",
            value=uri,
        )
    if not matches:
        raise NotFoundError(f"no file {uri}", name=uri)
    return storage, matches[0]


@dataclass(slots=True)
class _Files:
    """Files on their way into ``table``."""

    table: Table
    format: str | None
    options: RowOptions
    computed: Computes | None
    rows: int = 0
    bytes: int = 0

    def append(
        self,
        files: Sequence[tuple[Storage, FileInfo]],
        commit: CommitAs,
        overwrite: Any,
        *,
        dry_run: bool,
    ) -> Commit | None:
        """All of ``files`` with one commit; None where that was only tried."""
        total = sum(info.size for _, info in files)
        with self.table.write(commit=commit, overwrite=overwrite) as writer:
            for storage, info in files:
                self._append(writer, storage, info, total)
            tell("sorting and committing", 0, None)
            return None if dry_run else writer.commit()

    def _append(self, writer: TableWriter, storage: Storage, info: FileInfo, total: int) -> None:
        made = frozenset[str]() if self.computed is None else self.computed.names
        schema = pa.schema([f for f in self.table.arrow_schema if f.name not in made])
        first_row, before = self.rows, self.bytes

        def taken(part: float) -> None:
            self.bytes = before + int(part * info.size)
            tell("reading", self.bytes, total)

        for batch in read_rows(storage, info.path, schema, self.format, taken, self.options):
            try:
                writer.write(batch if self.computed is None else self.computed.added(batch))
            except DataError as error:
                raise wrong_row(
                    error, storage, info.path, self.format, first_row, self.options
                ) from error
            self.rows += batch.num_rows
