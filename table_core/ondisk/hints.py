"""Hint files: the earliest and latest id of a folder, as text that nobody may rely on.

``LATEST`` is believed only if the next id does not exist, ``EARLIEST`` only if its own does;
otherwise the folder is listed.  So a hint that does not parse is no fault, but no hint.

Source: ``org.apache.paimon.utils.HintFileUtils``; format 1.2 and T8.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EARLIEST", "LATEST", "decode_hint", "encode_hint"]

EARLIEST: Final = "EARLIEST"
LATEST: Final = "LATEST"
_DIGITS_MAX: Final = 19


def encode_hint(id: int) -> bytes:
    """The bytes of a hint at ``id``: digits, no newline."""
    return str(id).encode()


def decode_hint(body: bytes) -> int | None:
    """The id in a hint file; None if it holds none, as with a half-written one."""
    if not body.isdigit() or len(body) > _DIGITS_MAX:
        return None
    return int(body) or None
