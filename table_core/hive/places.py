"""Where the metastore says that a table lies, against a warehouse.

Hadoop writes ``file:/data/wh`` where we write ``file:///data/wh``, and ``s3a:`` where others write ``s3:``.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

__all__ = ["below"]

_URI: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<host>[^/]*))?(?P<path>.*)", re.DOTALL
)
_SAME: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}


def below(warehouse: str, location: str) -> str | None:
    """The path of ``location`` in ``warehouse``; None if it lies elsewhere.

    ``below("file:///data/wh", "file:/data/wh/shop.db/orders")`` is ``shop.db/orders``.
    """
    (store, root), (other, path) = _parts(warehouse), _parts(location)
    prefix = f"{root.rstrip('/')}/"
    if store != other or not path.startswith(prefix) or path == prefix:
        return None
    return path[len(prefix) :]


def _parts(uri: str) -> tuple[tuple[str, str], str]:
    """Store and normalized path."""
    match = _URI.fullmatch(uri)
    if match is None:
        return ("file", ""), posixpath.normpath(uri)
    scheme = match["scheme"].lower()
    path = posixpath.normpath(f"/{match['path'].lstrip('/')}")
    return (_SAME.get(scheme, scheme), match["host"] or ""), path
