"""Reads a file whole, if it is no larger than a document may be."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Final

from table_core.errors import CorruptFileError
from table_core.options.budgets import DOCUMENT_BYTES, take_budgets
from table_core.storage.stores.beneath import file_at

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_any", "read_plain", "whole_body"]

_PIECE_BYTES: Final = 1 << 14
"""What is read at once of what does not say how long it is."""


@cache
def _take_budgets() -> None:
    """Once, for processes that open no warehouse, where they are taken anew; twelve variables cost more than a read."""
    take_budgets(os.environ)


def whole_body(opened: int, path: str) -> bytes:
    """All bytes of the open file, of which no more are read than a document may have; ``opened`` is closed.

    Raises:
        CorruptFileError: there are more.
        OSError: it cannot be read.
    """
    _take_budgets()
    most = DOCUMENT_BYTES.most
    pieces: list[bytes] = []
    length = 0
    try:
        # A file says its size, but for what is none: a sparse one says what reading it would give.
        size = os.fstat(opened).st_size
        while size <= most and length <= most:
            piece = os.read(opened, min(max(size - length, _PIECE_BYTES), most + 1 - length))
            if not piece:
                break
            pieces.append(piece)
            length += len(piece)
    finally:
        os.close(opened)
    if max(size, length) > most:
        what = DOCUMENT_BYTES.told(f"it has {max(size, length):,} bytes or more")
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_plain(path: Path) -> bytes:
    """The bytes of a file by its path, on which links are followed.

    Raises:
        AccessDeniedError: it is no plain file: a FIFO would block, a device has no end.
        CorruptFileError: it is larger than a document may be.
        OSError: it cannot be read.
    """
    return whole_body(file_at(path), str(path))


def read_any(path: Path) -> bytes:
    """As ``read_plain``, of a pipe too, for who names it himself.

    Raises:
        CorruptFileError: it is larger than a document may be.
        OSError: it cannot be read.
    """
    return whole_body(os.open(path, os.O_RDONLY | os.O_CLOEXEC), str(path))
