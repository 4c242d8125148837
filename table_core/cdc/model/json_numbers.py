"""Numbers of JSON as they were written: ``2.50`` is no ``2.5`` where text is kept.

>>> json_text({"a": WrittenNumber("2.50"), "b": [WrittenNumber("1e400"), 1, True, None, "x"]})
'{"a":2.50,"b":[1e400,1,true,null,"x"]}'
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Self

__all__ = ["WrittenNumber", "json_text"]


class WrittenNumber(Decimal):
    """A number with a point or an exponent."""

    __slots__ = ("written",)
    written: str

    def __new__(cls, text: str) -> Self:
        """``text``: as it was written."""
        number = super().__new__(cls, text)
        number.written = text
        return number


def json_text(value: Any) -> str:
    """``value`` as compact JSON, its numbers as they were written."""
    match value:
        case dict():
            return (
                "{" + ",".join(f"{_plain(str(k))}:{json_text(v)}" for k, v in value.items()) + "}"
            )
        case list():
            return "[" + ",".join(map(json_text, value)) + "]"
        case WrittenNumber():
            return value.written
        case Decimal():
            return str(value)
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
