"""Values of others on a page: as text, bounded, with control characters shown, whatever they are."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any, Final

from table_core.options.shown import shown
from table_core.shortened import shortened

__all__ = ["cell_text", "number_text", "security_headers"]

_CELL_MAX: Final = 120
_NUMBER_MAX: Final = 10**18
_STYLE: Final = re.compile("<style>(.*?)</style>", re.DOTALL)


def cell_text(value: object, most: int = _CELL_MAX) -> str:
    """``value`` for one cell; what is longer than ``most`` characters is cut, and says so."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        text = bytes(value[: most + 1]).hex()
    elif isinstance(value, str):
        text = value[: most + 1]
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _NUMBER_MAX:
        text = f"a number of {value.bit_length()} bits"
    elif isinstance(value, dict | list | tuple | set):
        text = _nested(value, most + 1, depth=0)
    else:
        text = str(value)
    return shown(shortened(text, most), one_line=True)


def _nested(value: Any, width: int, depth: int) -> str:
    """What fits into ``width`` of a list or mapping, without looking at the rest."""
    if depth > 4:
        return "…"
    parts: list[str] = []
    used = 0
    is_mapping = isinstance(value, dict)
    for item in value.items() if is_mapping else value:
        name, inner = item if is_mapping else (None, item)
        nested = isinstance(inner, dict | list | tuple | set)
        text = _nested(inner, width - used, depth + 1) if nested else cell_text(inner, width)
        parts.append(f"{cell_text(name, width)}: {text}" if is_mapping else text)
        used += len(parts[-1]) + 2
        if used >= width:
            break
    inside = ", ".join(parts)
    return f"{{{inside}}}" if is_mapping else f"[{inside}]"


def number_text(value: object) -> str:
    """A number with its thousands apart; anything else as ``cell_text``."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_MAX:
        return f"{value:,}"
    return cell_text(value)


def security_headers(page: str) -> dict[str, str]:
    """Headers of ``page``: its own style and nothing else, in no frame of others, in no cache."""
    own = _STYLE.search(page)
    style = "'none'" if own is None else f"'sha256-{_digest(own[1])}'"
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src {style}; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
        "Cache-Control": "no-store, private",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
    }


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
