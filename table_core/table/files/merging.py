"""Merges sorted runs in bounded memory and with so many files open, however many runs there are.

Where there are more, some of them are merged first to one run on the local disk, which is one open file.

Seven runs, three at once: A B C to one, D E F to one, then ABC DEF G.
"""

from __future__ import annotations

import resource
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from table_core.datatypes.arrow import arrow_type, is_varied
from table_core.datatypes.pieces import wide_bytes
from table_core.errors import OptionError
from table_core.lsm.triggers import needs_lookup
from table_core.merge.engines.deduplicate import Deduplicate
from table_core.merge.engines.kway import merge_runs
from table_core.merge.engines.sort_only import SortOnly
from table_core.options import keys_files, keys_scan, keys_write
from table_core.storage.columns.data_format import format_name
from table_core.storage.spill import Spill

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.lsm.sorted_run import SortedRun
    from table_core.merge.engines.engine import MergeEngine
    from table_core.ondisk.data_file import DataFile
    from table_core.options.table import TableOptions

__all__ = [
    "BUCKETS_AT_ONCE",
    "COPIES_AS_ORC",
    "COPIES_SORTED",
    "COPIES_WRITTEN",
    "MergeLimits",
    "fitting_bytes",
    "merge_in_passes",
    "refuse_wide_row",
    "rows_for_merge",
]

BUCKETS_AT_ONCE: Final = 2
"""So many buckets of a table are compacted beside one another, each with its share of the memory."""
_RUNS_MAX: Final = 128
_OF_OPEN_FILES: Final = 8
"""Several buckets are merged beside one another, and a process has other files open."""
_VARIED_BYTES, _FIXED_BYTES = 5 << 18, 5 << 16
"""What a reader of a file holds of a column: a page, and the piece of the file that it comes from."""
_READER_BYTES: Final = 10 << 10
"""What a reader takes for each column, however little is in it."""
_DECODED: Final = 4
"""Bytes in memory per byte of a small file."""
_COPIES_READ, _COPIES_COMPACTED, COPIES_WRITTEN = 4, 8, 6
"""So often a row is in memory: as page, value, in a window, as result; then in a group, encoded, packed.  A writer holds it
once where it is encoded, and beside one of another run."""
_COPIES_TOLD, COPIES_SORTED = 12, 16
"""Where changes are told of too; and to sort rows without a key, in the buffer and on its way to the local disk."""
COPIES_AS_ORC: Final = 16
"""For a writer of ORC, which encodes a stripe at once."""
_SPARE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeLimits:
    """What one merge may hold."""

    options: TableOptions
    memory: int
    """Bytes; half of them for the batches in hand."""
    copies: int = _COPIES_READ
    """How often a row is in memory at the same time."""

    @classmethod
    def of_read(cls, options: TableOptions, *, shares: int) -> Self:
        """Of ``read.memory-limit``, where ``shares`` merges go on beside one another."""
        return cls(options=options, memory=options.get(keys_files.READ_MEMORY_LIMIT) // shares)

    @classmethod
    def of_compaction(cls, options: TableOptions) -> Self:
        """For one bucket of several, whose rows are written again."""
        whole = options.get(keys_files.READ_MEMORY_LIMIT)
        tells = needs_lookup(options) or options.get(keys_scan.CHANGELOG_PRODUCER) != "none"
        as_orc = format_name(options, level=1) == "orc"
        copies = _COPIES_TOLD if tells or as_orc else _COPIES_COMPACTED
        return cls(options=options, memory=whole // BUCKETS_AT_ONCE, copies=copies)

    def at_once(self, runs: Sequence[SortedRun], fields: Sequence[Field]) -> int:
        """How many of ``runs`` are merged at once, of which ``fields`` are read."""
        of_columns = sum(
            _VARIED_BYTES if is_varied(arrow_type(f.type)) else _FIXED_BYTES for f in fields
        )
        files = [file for run in runs for file in run.files]
        largest = max((file.file_size for file in files), default=0)
        run_bytes = max(min(of_columns, _DECODED * largest), _READER_BYTES * len(fields)) + 1
        widest = max((file.file_size // max(file.row_count, 1) for file in files), default=0)
        limit = self.options.get(keys_files.READ_MEMORY_LIMIT)
        rows_at_once = fitting_bytes(limit, self.copies) // (_DECODED * widest + 1)
        most = min(self.memory // run_bytes, rows_at_once, _most_runs(self.options))
        return max(2, min(len(runs), most))

    def batch_bytes(self, at_once: int) -> int:
        """Bytes of a batch of each run."""
        return max(self.memory // (2 * at_once), 1)

    def merged(
        self,
        runs: Sequence[Generator[pa.RecordBatch]],
        engine: MergeEngine,
        *,
        at_once: int,
        without: Sequence[str] = (),
    ) -> Iterator[pa.Table]:
        """``merge_runs`` of any number of ``runs``, of which at most ``at_once`` are open."""
        wide = dict.fromkeys(range(len(runs)), 0)
        return merge_in_passes(
            [self._checked(run, number, wide, at_once) for number, run in enumerate(runs)],
            engine,
            at_once=at_once,
            memory=self.memory // 2,
            window_bytes=max(self.memory // 8, 1),
            without=without,
        )

    def refuse_wide(self, row_bytes: int) -> None:
        """Refuse a row of so many bytes, or more, before it is decoded: a row of one run alone is too much.

        Raises:
            OptionError: it does not fit.
        """
        limit = self.options.get(keys_files.READ_MEMORY_LIMIT)
        refuse_wide_row(row_bytes, limit, keys_files.READ_MEMORY_LIMIT.key, self.copies)

    def fitting(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """``batches`` that nothing is merged with, unless a row of them does not fit.

        Raises:
            OptionError: one does not.
        """
        limit = self.options.get(keys_files.READ_MEMORY_LIMIT)
        most = fitting_bytes(limit, self.copies)
        for batch in batches:
            wide = wide_bytes(batch, most)
            refuse_wide_row(wide, limit, keys_files.READ_MEMORY_LIMIT.key, self.copies)
            yield batch

    def _checked(
        self, run: Generator[pa.RecordBatch], number: int, wide: dict[int, int], at_once: int
    ) -> Iterator[pa.RecordBatch]:
        """The batches of ``run``, unless its wide rows and those in hand of other runs do not fit.

        One row may be far wider than the others of its file, so what counts are the rows that came.
        ``wide``: bytes of the wide rows in hand, by run.
        """
        limit = self.options.get(keys_files.READ_MEMORY_LIMIT)
        most = min(self.batch_bytes(at_once), fitting_bytes(limit, self.copies) // at_once)
        with closing(run):  # at once, also where an error keeps it
            for batch in run:
                wide[number] = wide_bytes(batch, most)
                if wide[number]:
                    held = sum(wide.values())
                    refuse_wide_row(held, limit, keys_files.READ_MEMORY_LIMIT.key, self.copies)
                yield batch
            wide[number] = 0


def merge_in_passes(
    runs: Sequence[Iterator[pa.RecordBatch]],
    engine: MergeEngine,
    *,
    at_once: int,
    memory: int,
    window_bytes: int | None = None,
    without: Sequence[str] = (),
) -> Iterator[pa.Table]:
    """``merge_runs`` of any number of ``runs``, oldest first, of which ``at_once`` are merged at a time.

    ``memory``: bytes for the batches in hand.  ``window_bytes``: see ``merge_runs``.
    """
    batch_bytes = memory // (2 * at_once)  # Spill may come to twice that
    left = list(runs)
    with ExitStack() as held:
        while len(left) > at_once:
            spill = held.enter_context(closing(Spill(compression="none")))
            start = 0
            fewer: list[Iterator[pa.RecordBatch]] = []
            while start < len(left):  # no more are merged than have to be, and their order stays
                too_many = len(fewer) + len(left) - start - at_once
                count = max(1, min(at_once, too_many + 1))
                group = left[start : start + count]
                if count > 1:
                    merged = merge_runs(group, _of_parts(engine), window_bytes=window_bytes)
                    group = [spill.put_all(merged).batches(batch_bytes)]
                fewer += group
                start += count
            left = fewer
        yield from merge_runs(left, engine, window_bytes=window_bytes, without=without)


def _of_parts(engine: MergeEngine) -> MergeEngine:
    """What merges some runs before they meet the others.

    Where the newest version is all that counts, the older ones go at once: of a wide row there may be as many as runs.
    """
    if isinstance(engine, Deduplicate) and not engine.ignore_delete:
        return engine
    return SortOnly(engine.order)


def rows_for_merge(
    batches: Iterator[pa.RecordBatch], file: DataFile, batch_bytes: int
) -> Iterator[pa.RecordBatch]:
    """The rows of ``file``, one of several that are read at once.

    A reader of ORC holds a stripe.  So that one does at a time, its rows go by way of the local disk.
    """
    if file.format != "orc" or _DECODED * file.file_size <= batch_bytes:
        yield from batches
        return
    with closing(Spill(compression="none")) as spill:
        rows = spill.put_all(pa.Table.from_batches([batch]) for batch in batches)
        yield from rows.batches(batch_bytes)


def fitting_bytes(limit: int, copies: int) -> int:
    """How many bytes of rows that are in memory ``copies`` times ``limit`` has room for."""
    return (limit + _SPARE_BYTES) // copies


def refuse_wide_row(held: int, limit: int, option: str, copies: int) -> None:
    """Refuse rows of which ``held`` bytes have to be in memory ``copies`` times, a row of each run.

    Raises:
        OptionError: ``limit`` is too small for them; names ``option``, and what would do.
    """
    if held <= fitting_bytes(limit, copies):
        return
    enough = -(-(held * copies - _SPARE_BYTES) // (1 << 20))
    raise OptionError(
        f"{option}={limit} is too small for one row: rows of {held:,} bytes have to be in memory "
        f"at once, and while they are worked on they take {copies} times that. Set {option} to "
        f"'{enough} mb' or more",
        option=option,
        value=str(limit),
    )


def _most_runs(options: TableOptions) -> int:
    """``sort-spill-threshold``, or what the limit of open files of this process allows."""
    asked = options.get(keys_write.SORT_SPILL_THRESHOLD)
    if asked:
        return asked
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _RUNS_MAX if soft < 0 else min(_RUNS_MAX, max(soft // _OF_OPEN_FILES, 2))
