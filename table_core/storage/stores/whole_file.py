"""Reads a file whole, if it is no larger than a document may be."""

from __future__ import annotations

import os
from functools import cache
from typing import IO, TYPE_CHECKING

from table_core.errors import CorruptFileError
from table_core.options.budgets import DOCUMENT_BYTES, take_budgets
from table_core.storage.stores.beneath import file_at

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_any", "read_plain", "within_budget"]


@cache
def _take_budgets() -> None:
    """Once, for processes that open no warehouse, where they are taken anew; twelve variables cost more than a read."""
    take_budgets(os.environ)


def within_budget(file: IO[bytes], path: str) -> bytes:
    """All bytes of the open file, of which no more are read than a document may have.

    Raises:
        CorruptFileError: there are more.
    """
    _take_budgets()
    most = DOCUMENT_BYTES.most
    # A file says its size, but for what is none: a sparse one says what reading it would give.
    size = os.fstat(file.fileno()).st_size
    body = file.read(most + 1) if size <= most else b""
    if size > most or len(body) > most:
        what = DOCUMENT_BYTES.told(f"it has {max(size, len(body)):,} bytes or more")
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
    return body


def read_plain(path: Path) -> bytes:
    """The bytes of a file by its path, on which links are followed.

    Raises:
        AccessDeniedError: it is no plain file: a FIFO would block, a device has no end.
        CorruptFileError: it is larger than a document may be.
        OSError: it cannot be read.
    """
    with os.fdopen(file_at(path), "rb") as file:
        return within_budget(file, str(path))


def read_any(path: Path) -> bytes:
    """As ``read_plain``, of a pipe too, for who names it himself.

    Raises:
        CorruptFileError: it is larger than a document may be.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return within_budget(file, str(path))
