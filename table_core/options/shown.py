"""Text of others, for a terminal, a log or a page: what would steer it is shown by its number."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["shown", "shown_in_json"]

_STEERS: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
)
_LINES: Final = re.compile(f"[{_STEERS}]")
_ONE_LINE: Final = re.compile(f"[{_STEERS}\t\n\ufeff]")


def shown(text: str, *, one_line: bool = False) -> str:
    r"""``text`` with escapes, direction marks and other control characters as ``\x1b``.

    Line feeds and tabs stay, unless it has to be ``one_line``.
    """
    return (_ONE_LINE if one_line else _LINES).sub(lambda match: ascii(match[0])[1:-1], text)


def shown_in_json(text: str) -> str:
    """The same for JSON text, which stays JSON and says the same."""
    return _LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
