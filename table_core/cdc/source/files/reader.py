"""Reads change events out of files, in the order of the source where the files tell it.

Files are known by their whole paths and by their content: another folder or pattern takes what was not
taken, a file that grew goes on where it was left, and one that is another one by now is refused.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.record import LineBlock
from table_core.cdc.model.window import Window
from table_core.cdc.source.diverged import diverged
from table_core.cdc.source.files.source import head_digest
from table_core.cdc.source.lines import WINDOW_BYTES, LineReader, window_is_full
from table_core.errors import EventError
from table_core.position.decide import Diverged
from table_core.position.files import FILES_MAX, FileFacts
from table_core.position.lines import FilesRead, Taken
from table_core.position.source import FilesId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.source.files.source import FilesConnection, FilesSource, TextBlock
    from table_core.position.lines import Piece
    from table_core.position.source import SourceId

__all__ = ["FilesReader"]

_BLOCK_BYTES: Final = WINDOW_BYTES + (1 << 20)
"""One block of a large file fills a window: several would have to be joined."""
_HEAD_BYTES: Final = 4096
_IGNORED_TOLD: Final = 20
"""So many are named: a folder may hold thousands of others."""
_THEN: Final = "/"
"""Between what a mark says of the beginning of a file, where nobody knows more, and of all that was read of it."""


@dataclass(slots=True, kw_only=True)
class FilesReader(LineReader[FilesRead]):
    """Batches of a ``FilesSource``."""

    source: FilesSource
    _connection: FilesConnection | None = None
    _seen: Mapping[str, FileFacts] = field(default_factory=dict)
    """The files as this pass found them."""
    _sums: dict[tuple[str, int], str] = field(default_factory=dict)
    """What stands for the content of new files, which are compared with many that are gone."""
    _unfinished: dict[str, str] = field(default_factory=dict)
    """Files whose last line waits for its end, and where that is."""

    @property
    def _files(self) -> FilesConnection:
        """The stores, which are opened when something is first looked at."""
        if self._connection is None:
            self._connection = self.source.connect()
        return self._connection

    @property
    def details(self) -> dict[str, object]:
        """Lines that wait for their end, and files of the folder that are not read."""
        parts = {
            "unfinished": sorted(self._unfinished.values()),
            "ignored_files": self._files.ignored()[:_IGNORED_TOLD],
        }
        return {name: part for name, part in parts.items() if part}

    def parse(self, text: str | None) -> FilesRead:
        """The position that a table holds; names without a folder are of this one."""
        return FilesRead.parse(text).renamed(self._files.whole)

    def identity(self) -> tuple[SourceId, str]:
        """Files are files, wherever they are: each is known by its path."""
        return FilesId(folder=self._files.root, pattern=self.source.pattern), ""

    def check(self, claims: Sequence[Claim]) -> None:
        """Refuse files that are not those that were read.

        Raises:
            SourceDivergedError: a file is shorter than what was read of it, or begins otherwise.
        """
        listing = self._files.listing()
        for claim in claims:
            at = claim.at
            if not isinstance(at, FilesRead):
                continue
            for path, taken in at.files.items():
                file = listing.get(path)
                if file is not None and not self._is_same(taken, file):
                    raise diverged(self._changed(path, taken.lines, taken.size, file.size))

    @staticmethod
    def _changed(path: str, lines: int, read: int, size: int) -> Diverged:
        return Diverged(
            reason="changed",
            why=f"{path} had {lines} lines and {read} bytes when it was read; it has {size} bytes now "
            f"and {'is shorter' if size < read else 'has other bytes there'}: it was replaced; "
            "events go into new files or to the end of old ones",
            reader="sync",
            source=path,
            stored=f"{read} bytes",
            actual=f"{size} bytes",
        )

    def _is_same(self, taken: Taken, file: FileFacts) -> bool:
        """Whether a file that was ``taken`` so far is still that file.

        It has what it had.  That is looked at if its store shows it otherwise than it did then.
        """
        if file.size < taken.size:
            return False
        if file.size == taken.size and taken.state in {"", _state(file)}:
            return True
        content = _content_of(taken)
        if content and taken.size:  # all of it: another file may begin so, with the same schema
            return self._files.content(file.path, taken.size) == content
        return self._begins(file.path, taken.mark)

    def _begins(self, path: str, head: str) -> bool:
        """Whether a file begins with what ``head`` was made of; '' says nothing."""
        head = head.partition(_THEN)[0]
        return not head or head == self._files.head(path, int(head.partition(":")[0]))

    # ------------------------------------------------------------------------------- reading
    def _pass(self, start: FilesRead, end: FilesRead | None) -> Iterator[SourceBatch[FilesRead]]:
        reached = start
        for blocks in self._windows(start, end):
            before = reached
            lines = [(path, LineBlock(path, b.first_line, _unmarked(b))) for path, b in blocks]
            for path, block in blocks:
                reached = reached.after(path, self._read_to(reached.files.get(path), path, block))
            yield self._batch(Window.of(lines), before, reached)

    def _read_to(self, known: Taken | None, path: str, block: TextBlock) -> Taken:
        """How far a file is read behind a block, and what tells it from now on.

        That is what it has, or how it begins, and how the store shows it.
        """
        known, file = known or Taken(0, 0), self._seen.get(path)
        taken = Taken(
            block.lines, block.offset, state=known.state if file is None else _state(file)
        )
        content = block.content
        if block.start is None and file is not None and block.offset:
            content = self._files.content(path, block.offset)
        if content:  # says more than how it begins, and a snapshot has it for every file
            return replace(taken, mark=f"{_THEN}{content}")
        head = known.mark
        if block.start == 0:
            head = head_digest(block.body[: min(_HEAD_BYTES, block.offset)])
        elif block.start is None and not head and file is not None:
            head = self._files.head(path, min(_HEAD_BYTES, file.size))
        return replace(taken, mark=head.partition(_THEN)[0])

    def settled(self, position: FilesRead) -> FilesRead:
        """``position`` with the new paths of files that were moved, and without many that are gone."""
        present = self._files.listing()
        gone = [path for path in position.files if path not in present]
        paths: dict[str, str] = {}
        for path, file in present.items():
            if path in position.files:
                continue
            for old in gone:
                if old not in paths and self._is_moved(position, old, file):
                    paths[old] = path
                    break
        start = position.renamed(lambda name: paths.get(name, name))
        gone = sorted(path for path in start.files if path not in present)
        if len(start.files) <= FILES_MAX or not gone:
            return start
        return start.only(set(start.files) - set(gone[: len(start.files) - FILES_MAX]))

    def _is_moved(self, start: FilesRead, old: str, file: FileFacts) -> bool:
        """Whether a file that was read is gone, and stands at another place now.

        It has the same name or was renamed, which leaves its time, and the same content: that of which no
        digest is known has the same size and begins as it did.
        """
        taken = start.files[old]
        if not taken.mark:
            return False
        is_renamed = bool(taken.state) and taken.state == _state(file)
        has_name = old.rpartition("/")[2] == file.path.rpartition("/")[2]
        if not (is_renamed or (has_name and file.size == taken.size)):
            return False
        content = _content_of(taken)
        if not self._begins(file.path, taken.mark):
            return False
        if content and (not taken.size or self._sum(file.path, taken.size) != content):
            return False
        return not self._files.exists(old)

    def _sum(self, path: str, length: int) -> str:
        if (path, length) not in self._sums:
            self._sums[path, length] = self._files.content(path, length)
        return self._sums[path, length]

    def _windows(
        self, start: FilesRead, end: FilesRead | None
    ) -> Iterator[list[tuple[str, TextBlock]]]:
        waiting: list[tuple[str, TextBlock]] = []
        size = lines = 0
        for path, block in self._blocks(start, end):
            waiting.append((path, block))
            size += len(block.body)
            lines += block.lines - block.first_line + 1
            if window_is_full(size, lines, block.body):
                yield waiting
                waiting, size, lines = [], 0, 0
        if waiting:
            yield waiting

    def _blocks(self, start: FilesRead, end: FilesRead | None) -> Iterator[tuple[str, TextBlock]]:
        for piece in self._pieces(start, end):
            lines, read = piece.lines, piece.offset
            blocks = self._files.blocks(
                piece.name,
                size=piece.size,
                lines=piece.lines,
                offset=piece.offset,
                content=_content_of(start.files.get(piece.name)),
                block_bytes=_BLOCK_BYTES,
            )
            try:
                for block in blocks:
                    yield piece.name, block
                    lines, read = block.lines, block.offset
            except EventError as error:
                self._leave(error, f"{piece.name}, line {lines + 1}")
                continue
            self._unfinished.pop(piece.name, None)
            if read < piece.size:
                self._unfinished[piece.name] = f"{piece.name}, line {lines + 1}"

    def _leave(self, error: EventError, place: str) -> None:
        """A file that is broken from some line on; it is tried again by the next run.

        Raises:
            EventError: there are no dead letters, so it ends the run.
        """
        if self.decoder.dead_letters is None:
            raise error
        self.decoder.dead_letters.put(error, place, b"")

    def _pieces(self, start: FilesRead, end: FilesRead | None) -> list[Piece]:
        self._seen = self._files.listing() if end is None else {}
        if end is None:
            return start.ahead([(path, file.size) for path, file in self._seen.items()])
        return start.ahead([(path, taken.size) for path, taken in end.files.items()])

    def line(self, path: str, number: int) -> bytes | None:
        """A line of a file, counted from 1; None if there is no such file or line any more."""
        file = self._files.listing().get(path)
        if file is None:
            return None
        for block in self._files.blocks(path, size=file.size):
            if block.first_line <= number <= block.lines:
                return block.body.split(b"\n")[number - block.first_line]
        return None


def _unmarked(block: TextBlock) -> bytes:
    """The lines of a block without the mark with which some editors begin a file."""
    return block.body.removeprefix(BOM_UTF8) if block.first_line == 1 else block.body


def _content_of(taken: Taken | None) -> str:
    """What a mark says of all that was read; '' where it says only how the file begins."""
    return "" if taken is None else taken.mark.partition(_THEN)[2]


def _state(file: FileFacts) -> str:
    return file.state.hex()
