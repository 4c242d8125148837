"""Documents of many like members, packed into a text: a snapshot carries it with each commit."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, Final

__all__ = ["MANY", "packed", "unpacked"]

MANY: Final = 200
"""So many files stand in a document as they are: people read it."""
_BYTES_MAX: Final = 64 << 20
"""Of more than half a million files."""


def packed(document: Any) -> str:
    """``document`` as letters and digits."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 6)).decode()


def unpacked(text: Any) -> Any:
    """What ``packed`` was given.

    Raises:
        ValueError: anybody may have written ``text``, and it is nothing of that kind.
    """
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(base64.urlsafe_b64decode(text), _BYTES_MAX)
        document = json.loads(plain) if unpacker.eof else None
    except (zlib.error, TypeError, RecursionError) as error:
        raise ValueError(f"no packed document: {error!r:.80}") from error
    if not unpacker.eof:
        raise ValueError(f"a packed document is cut off, or has more than {_BYTES_MAX} bytes")
    return document
