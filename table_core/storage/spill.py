"""Rows that wait on the local disk, in a file without a name.

Whoever is killed leaves nothing behind: the system frees the file with its last descriptor.
"""

from __future__ import annotations

import os
import tempfile
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.pieces import pieces
from table_core.errors import OptionError
from table_core.storage.stores.os_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Spill", "SpilledRows"]

_BATCH_BYTES: Final = 1 << 18
_COLUMN_BYTES: Final = 1 << 10
"""Less of a column in a batch is more description than rows."""
_CODECS: Final = {"zstd": "zstd", "lz4": "lz4", "none": None}


@dataclass(frozen=True, slots=True)
class SpilledRows:
    """Rows of one ``Spill.put``, to be read any number of times."""

    _spill: Spill
    _extents: tuple[tuple[int, int], ...]

    @property
    def batch_bytes(self) -> int:
        """Bytes on the disk of the largest batch."""
        return max((length for _, length in self._extents), default=0)

    def batches(self, batch_bytes: int = 0) -> Iterator[pa.RecordBatch]:
        """The rows in their order; one batch is in memory at a time.

        A batch is what was written together, or as many of these as ``batch_bytes`` hold: a reader that
        merges has the less to do the fewer batches there are.
        """
        held: list[pa.RecordBatch] = []
        size = 0
        for offset, length in self._extents:
            with pa.ipc.open_stream(self._spill.read(offset, length)) as stream:
                for batch in stream:
                    held.append(batch)
                    size += batch.nbytes
                    if size >= batch_bytes:
                        yield _one(held)
                        held, size = [], 0
        if held:
            yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


class Spill:
    """One file below the system's folder for temporary files; several threads may use it.

    ``compression`` is ``zstd``, ``lz4`` or ``none``.
    """

    def __init__(self, *, compression: str = "zstd", zstd_level: int = 1) -> None:
        if compression not in _CODECS:
            raise OptionError(
                f"spill-compression={compression!r}: use one of {sorted(_CODECS)}",
                option="spill-compression",
                value=compression,
            )
        codec: Any = _CODECS[compression]
        if codec == "zstd":
            codec = pa.Codec("zstd", compression_level=zstd_level)
        self._options = pa.ipc.IpcWriteOptions(compression=codec)
        self._folder = tempfile.gettempdir()
        with explained(self._folder, "", "write"):
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  closed by close()
        self._lock = threading.Lock()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._size

    def put(self, rows: pa.Table) -> SpilledRows:
        """Write ``rows``.

        Raises:
            StorageUnavailableError: the disk is full or fails.
        """
        return self.put_all([rows])

    def put_all(self, tables: Iterable[pa.Table]) -> SpilledRows:
        """Write ``tables`` one after the other, as one."""
        return SpilledRows(self, tuple(extent for rows in tables for extent in self._put(rows)))

    def _put(self, rows: pa.Table) -> Iterator[tuple[int, int]]:
        for piece in pieces(rows, max(_BATCH_BYTES, _COLUMN_BYTES * rows.num_columns)):
            if piece.num_rows:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, rows.schema, options=self._options) as stream:
                    stream.write_table(piece.combine_chunks())
                yield self._append(sink.getvalue())

    def _append(self, body: pa.Buffer) -> tuple[int, int]:
        with self._lock:
            offset = self._size
            self._size += body.size
        view = memoryview(body)
        with explained(self._folder, "", "write"):
            done = 0
            while done < len(view):
                done += os.pwrite(self._file.fileno(), view[done:], offset + done)
        return offset, body.size

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the file, for ``SpilledRows``."""
        parts = []
        with explained(self._folder, "", "read"):
            while length:
                part = os.pread(self._file.fileno(), length, offset)
                if not part:
                    raise OSError(None, "the spill file is shorter than what was written")
                parts.append(part)
                offset, length = offset + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Free the disk."""
        self._file.close()
