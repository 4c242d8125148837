"""A declaration's file, and the manifest that ``table-core validate --compile`` wrote beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from table_core.declaration.manifest import digest_of, head_of, included, whole
from table_core.errors import ArgumentError, NotFoundError
from table_core.options.budgets import DOCUMENT_BYTES, take_budgets

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.declaration.model import Declaration

__all__ = ["manifest_path", "read_head", "read_whole"]


def manifest_path(file: str | Path) -> Path:
    """Where the manifest of ``file`` is: ``warehouse.yaml`` has ``warehouse.manifest.json``."""
    return Path(file).with_suffix(".manifest.json")


def read_head(file: str | Path) -> Declaration:
    """What Dags are made of; a fresh manifest spares reading the tables.

    Raises:
        ArgumentError: the declaration has faults.
        NotFoundError: there is no such file.
    """
    return _read(file, lambda manifest, digest: head_of(manifest.readline(), digest))


def read_whole(file: str | Path) -> Declaration:
    """The declaration with its tables and policies; raises as ``read_head`` does."""
    return _read(file, lambda manifest, digest: whole(manifest.read(), digest))


def _read(
    file: str | Path, of_manifest: Callable[[TextIO, str], Declaration | None]
) -> Declaration:
    body = _body(file)
    path = manifest_path(file)
    if path.exists():
        with path.open(encoding="utf-8", errors="replace") as manifest:
            beside = [path.parent / name for name in included(manifest.readline())]
            others = [_plain(one) if one.is_file() else b"" for one in beside]
            manifest.seek(0)
            declaration = of_manifest(manifest, digest_of(body, os.environ, others))
        if declaration is not None:
            return declaration
    return _parsed(file, body)


def _parsed(file: str | Path, body: bytes) -> Declaration:
    from table_core.declaration.document import parse  # a manifest spares loading the grammar
    from table_core.declaration.located import decoded

    def text_of(name: str) -> str:
        return decoded(_body(Path(file).parent / name), name)

    text = decoded(body, str(file))
    return parse(text, str(file), environment=os.environ, texts=text_of)


def _body(file: str | Path) -> bytes:
    try:
        return _plain(Path(file))
    except FileNotFoundError as error:
        raise NotFoundError(f"no declaration at {file}", name=str(file), available=[]) from error
    except OSError as error:
        raise ArgumentError(
            f"{file} cannot be read: {error.strerror}", argument="file", value=str(file)
        ) from error


def _plain(path: Path) -> bytes:
    """The bytes of a file: a FIFO would block the Dag processor, and a device has no end.

    Raises:
        ArgumentError: it is no plain file, or larger than a document may be.
        OSError: it cannot be read.
    """
    take_budgets(os.environ)
    most = DOCUMENT_BYTES.most
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(number, "rb") as file:
        told = os.fstat(number)
        if not stat.S_ISREG(told.st_mode):
            raise ArgumentError(f"{path} is no plain file", argument="file", value=str(path))
        if told.st_size > most:
            what = DOCUMENT_BYTES.told(f"{path} has {told.st_size:,} bytes")
            raise ArgumentError(what, argument="file", value=str(path))
        return file.read(most)
