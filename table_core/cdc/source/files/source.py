"""Change events in files: one event, or one Kafka record, a line."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.json_lines import is_unfinished
from table_core.cdc.model.line_settings import EVENT_BYTES_MAX, FORMATS, check_choices
from table_core.cdc.source.files.content import ContentSum
from table_core.errors import ArgumentError, EventError, NotFoundError, UnsupportedFeatureError
from table_core.position.files import FileFacts
from table_core.storage.globs import glob_pattern, list_files, meant_files
from table_core.storage.stores.locate import open_storage
from table_core.validation_errors import VALUES_MAX, too_large, too_many_values, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.ports import FileInfo, Storage

__all__ = ["BINLOG", "FilesConnection", "FilesSource", "TextBlock", "head_digest"]

_WILD: Final = re.compile(r"[*?]")
BINLOG: Final = "mysql-binlog"
"""Files of a server's binary log."""
_BINLOG_NAME: Final = re.compile(r"\.\d{6,}(\.gz)?$")
_ENDINGS: Final = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
_COMPRESSED: Final = (".zst", ".bz2", ".xz", ".lz4", ".snappy", ".zip", ".br", ".lzo", ".z")
_SHOWN: Final = 5
_CHUNK_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Whole lines of one file."""

    body: bytes
    """Every line ends with a line feed; one is added to the last line if it has none."""
    first_line: int
    """1-based."""
    lines: int
    """Lines of the file consumed when this block is."""
    offset: int
    """Bytes of the file consumed then; of a compressed file 0 until its end, then its size."""
    start: int | None
    """Where ``body`` starts in the file; None in a compressed file."""
    content: str = ""
    """What stands for all bytes of the file up to ``offset``; '' if nobody knows, or in a compressed file."""


@dataclass(frozen=True, slots=True)
class FilesSource:
    """Files of events, read in the order of their names.

    Args:
        uri: files as a URI or path with ``*``, ``?`` and ``**``, one file, or a folder of ``.jsonl``
            and ``.json`` files.  ``**`` stands for any folders, as in ``**/*.jsonl``; no star matches a
            hidden name.  Names that end in ``.gz`` are decompressed.
        format: ``debezium-json``, with or without embedded schemas; ``canal-json``,
            ``maxwell-json``, ``ogg-json``; ``json``: each line is a row to insert; or
            ``mysql-binlog``: the files of a server's binary log.
        tables: regular expression for the source tables to read, matched against ``database.table``
            and ``table``. Needed if the files hold more than one table.
        decimals: how events without a schema hold a DECIMAL: ``text``, ``base64`` as Debezium's
            ``decimal.handling.mode=precise`` writes it, or ``auto``: base64 if a column has text
            that is not a number.
        binary: how events without a schema hold bytes: ``base64``, ``hex``, or ``auto``: hex if all
            text of a column is hexadecimal.
        timestamps: unit of numbers in TIMESTAMP columns of events without a schema. ``adaptive``
            uses the precision of the column. ``auto`` does so too, but uses milliseconds for
            numbers that do not fit it.
        times: unit of numbers in TIME columns of events without schema; None: as they show it.
        max_event_bytes: a longer line is not read; it is reported as an unreadable event. A longer
            event of a binary log is an error, but up to 128 MiB are always read.
        storage_options: for the store that holds the files; never logged or stored.
    """

    uri: str
    format: str = "debezium-json"
    tables: str | None = None
    decimals: str = "auto"
    binary: str = "auto"
    timestamps: str = "auto"
    times: str | None = None
    max_event_bytes: int = EVENT_BYTES_MAX
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_choices(self, (*FORMATS, BINLOG))
        glob_pattern(self.pattern)  # refuses what is none

    @property
    def folder(self) -> str:
        """The URI of the folder below which all files are."""
        return self._split[0]

    @property
    def pattern(self) -> str:
        """Which files below the folder are meant; '' for the usual ones."""
        return self._split[1]

    @property
    def _split(self) -> tuple[str, str]:
        """Folder and pattern; '' is the pattern of a whole folder."""
        wild = _WILD.search(self.uri)
        alone = self.uri.endswith(_ENDINGS) or (
            self.format == BINLOG and _BINLOG_NAME.search(self.uri) is not None
        )
        if wild is None and not alone:
            return self.uri.rstrip("/"), ""
        cut = self.uri.rfind("/", 0, wild.start() if wild else len(self.uri))
        return (self.uri[:cut] or "/", self.uri[cut + 1 :]) if cut >= 0 else (".", self.uri)

    def connect(self) -> FilesConnection:
        """Open the store of the files."""
        return FilesConnection(self, open_storage(self.folder, self.storage_options))

    def listing(self, storage: Storage) -> list[FileInfo]:
        """The files that there are now, by path, which is relative to ``folder``.

        Args:
            storage: rooted at ``folder``.

        Raises:
            NotFoundError: nothing is there: not the one file that is meant, not even the folder.
        """
        ends = ("",) if self.format == BINLOG else _ENDINGS
        files = meant_files(storage, self.uri, self.pattern or "*")
        if not self.pattern:
            files = [i for i in files if not i.path.startswith("_")]
            others = sorted(i.path for i in files if not i.path.endswith(ends))
            files = [i for i in files if i.path.endswith(ends)]
            if others and not files:
                raise ArgumentError(
                    f"{self.uri} has no file that ends in {', '.join(_ENDINGS)}, but {shown(others)}: of a "
                    f"folder only those are read; name others by a pattern, e.g. {self.uri.rstrip('/')}/*",
                    argument="uri",
                    value=self.uri,
                )
        is_one_file = self.pattern and not _WILD.search(self.pattern)
        if not files and (is_one_file or not storage.exists("")):
            raise NotFoundError(f"no events at {self.uri}", name=self.uri, available=[])
        return files

    def ignored(self, storage: Storage) -> list[str]:
        """Files of a whole folder that are not read, because they end otherwise than events do."""
        if self.pattern or self.format == BINLOG:
            return []
        names = (info.path for info in list_files(storage, "*"))
        return sorted(n for n in names if not n.startswith("_") and not n.endswith(_ENDINGS))

    def blocks(
        self,
        storage: Storage,
        name: str,
        *,
        size: int,
        lines: int = 0,
        offset: int = 0,
        content: str = "",
        block_bytes: int = 8 << 20,
    ) -> Iterator[TextBlock]:
        """The lines of one file in blocks of about ``block_bytes``.

        Args:
            storage: rooted at ``folder``.
            name: of the file, as ``listing`` gave it.
            size: read no further, even if the file has grown.
            lines: lines that were consumed before.
            offset: where they end; a compressed file is read from its start and its lines skipped.
            content: what stands for the bytes before ``offset``, of an earlier block.
            block_bytes: how much to hold at once; a longer line is held whole.

        Raises:
            EventError: the file is no gzip file though it is called so.
            UnsupportedFeatureError: it is compressed otherwise.
        """
        if name.lower().endswith(_COMPRESSED):
            raise UnsupportedFeatureError(
                f"{name} is compressed, and of compressed files only those that end in .gz are read: unpack it, "
                "compress it with gzip, or leave it out by a pattern",
                feature="compressed files of events other than gzip",
            )
        with storage.open_input(name) as file:
            if name.endswith(".gz"):
                chunks = _chunks(gzip.GzipFile(fileobj=file), name, block_bytes, None)
                yield from _in_lines(chunks, lines, None, size, self.max_event_bytes)
                return
            file.seek(offset)
            seen = ContentSum(offset, content)
            chunks = seen.of(_chunks(file, name, block_bytes, size - offset))
            for block in _in_lines(chunks, lines, offset, size, self.max_event_bytes):
                yield replace(block, content=seen.up_to(block.offset))


@dataclass(slots=True)
class FilesConnection:
    """The stores of a ``FilesSource``.

    A file that was read from another folder is found there: positions know files by their whole paths.
    """

    source: FilesSource
    _store: Storage
    _stores: dict[str, Storage] = field(default_factory=dict)
    """Those of other folders."""

    def close(self) -> None:
        """Nothing: stores hold no connection of their own."""

    @property
    def root(self) -> str:
        """The URI of the folder of the source."""
        return str(self._store.uri).rstrip("/")

    def whole(self, name: str) -> str:
        """The path of a file; one with a folder of its own has it already."""
        return name if "://" in name else f"{self.root}/{name}"

    def listing(self) -> dict[str, FileFacts]:
        """The files that there are now, by their whole paths."""
        files = (FileFacts.of(self.root, info) for info in self.source.listing(self._store))
        return {file.path: file for file in files}

    def ignored(self) -> list[str]:
        """Files of a whole folder that are not read."""
        return self.source.ignored(self._store)

    def exists(self, path: str) -> bool:
        """Whether a file is there, and the folder that it was in."""
        try:
            storage, name = self._at(path)
            return bool(storage.exists(name))
        except NotFoundError:
            return False

    def blocks(self, path: str, **how: Any) -> Iterator[TextBlock]:
        """The lines of one file; see ``FilesSource.blocks``."""
        storage, name = self._at(path)
        return self.source.blocks(storage, name, **how)

    def head(self, path: str, length: int) -> str:
        """What tells a file by its first bytes."""
        storage, name = self._at(path)
        with storage.open_input(name) as file:
            return head_digest(bytes(file.read(length)))

    def content(self, path: str, length: int) -> str:
        """What stands for the first bytes of a file."""
        storage, name = self._at(path)
        seen, left, content = ContentSum(0), length, ""
        with storage.open_input(name) as file:
            while left and (chunk := bytes(file.read(min(_CHUNK_BYTES, left)))):
                left -= len(chunk)
                content = seen.after(chunk)
        return content

    def _at(self, path: str) -> tuple[Any, str]:
        """The store that has a file, and its name there."""
        if path.startswith(f"{self.root}/"):
            return self._store, path.removeprefix(f"{self.root}/")
        folder, _, name = path.rpartition("/")
        if folder not in self._stores:
            self._stores[folder] = open_storage(folder, self.source.storage_options)
        return self._stores[folder], name


def head_digest(head: bytes) -> str:
    """What tells a file by how it begins: the length of that, and a digest of it."""
    return f"{len(head)}:{hashlib.sha256(head).hexdigest()[:16]}"


def shown(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _chunks(file: Any, name: str, size: int, limit: int | None) -> Iterator[bytes]:
    """Reads of about ``size`` bytes until ``limit`` or the end."""
    left = limit
    while left is None or left > 0:
        try:
            chunk = file.read(size if left is None else min(size, left))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise EventError(f"{name} is no whole gzip file: {error}", file=name, line=0) from error
        if not chunk:
            return
        left = None if left is None else left - len(chunk)
        yield bytes(chunk)


def _in_lines(
    chunks: Iterator[bytes], lines: int, start: int | None, size: int, limit: int
) -> Iterator[TextBlock]:
    """Cut ``chunks`` behind line feeds.  A last line without one is left if it is not finished.

    ``lines`` come before: of a file read from ``start`` they are behind us, of a compressed one
    (None) they are skipped first.  A line of more than ``limit`` bytes is not held; what stands for it
    says so.
    """
    skip, done = (lines, 0) if start is None else (0, lines)
    rest, at, dropped = b"", start, 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        rest = b"".join((rest, memoryview(chunk)[: cut or None]))
        if not cut:
            if len(rest) > limit:
                dropped, rest = dropped + len(rest), b""
            continue
        if dropped:
            end = rest.index(b"\n") + 1
            if skip:
                skip, done = skip - 1, done + 1
            else:
                yield _instead_of(dropped + end, limit, done + 1, at)
                done += 1
                at = None if at is None else at + dropped + end
            rest, dropped = rest[end:], 0
        body, skipped = _after_lines(rest, skip)
        skip, done = skip - skipped, done + skipped
        for block in _blocks(body, done + 1, at, limit):
            yield block
            done, at = block.lines, None if at is None else block.offset
        rest = chunk[cut:]
    if dropped and not skip:
        yield replace(_instead_of(dropped + len(rest), limit, done + 1, at), offset=size)
    elif rest and not skip:
        if start is not None and is_unfinished(rest):
            return
        yield TextBlock(_uncrowded(rest + b"\n"), done + 1, done + 1, size, at)
    elif done:
        yield TextBlock(b"", done + 1, done, size, at)


def _blocks(body: bytes, first: int, at: int | None, limit: int) -> Iterator[TextBlock]:
    """Whole lines as a block; those that are longer than ``limit`` are cut out."""
    while body:
        long = _long_line(body, limit)
        short = body if long is None else body[: long[0]]
        if short:
            lines = first + short.count(b"\n") - 1
            yield TextBlock(
                _uncrowded(short), first, lines, 0 if at is None else at + len(short), at
            )
            first, at = lines + 1, None if at is None else at + len(short)
        if long is None:
            return
        yield _instead_of(long[1] - long[0], limit, first, at)
        first, at = first + 1, None if at is None else at + long[1] - long[0]
        body = body[long[1] :]


def _uncrowded(body: bytes) -> bytes:
    """Lines with very many values are not read; what stands for them says so."""
    parts: list[bytes] = []
    while (long := _long_line(body, VALUES_MAX)) is not None:
        line = body[long[0] : long[1]]
        why = too_many_values(line)
        parts += [body[: long[0]], line if why is None else unreadable(why, line) + b"\n"]
        body = body[long[1] :]
    return b"".join((*parts, body)) if parts else body


def _long_line(body: bytes, limit: int) -> tuple[int, int] | None:
    """Where the first line of more than ``limit`` bytes begins and ends."""
    start = 0
    while len(body) - start > limit:
        last = body.rfind(b"\n", start, start + limit + 1) + 1
        if not last:
            return start, body.index(b"\n", start) + 1
        start = last
    return None


def _instead_of(size: int, limit: int, line: int, at: int | None) -> TextBlock:
    """What stands for a line that is too long."""
    body = unreadable(too_large(size, limit)) + b"\n"
    return TextBlock(body, line, line, 0 if at is None else at + size, at)


def _after_lines(body: bytes, skip: int) -> tuple[bytes, int]:
    """``body`` without its first ``skip`` lines, and how many that were."""
    start = 0
    for n in range(skip):
        end = body.find(b"\n", start) + 1
        if not end:
            return b"", n
        start = end
    return body[start:], skip
