"""The parts of a date pattern of Java: its fields, and what stands between them.

Source: ``java.time.format.DateTimeFormatterBuilder#appendPattern``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["DatePart", "date_parts"]

_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_LONGEST: Final = 1000
_RESERVED: Final = frozenset("{}#'")


@dataclass(frozen=True, slots=True)
class DatePart:
    """One of three: the ``letters`` of a field, ``text`` as it is, or a ``mark``.

    The mark ``[`` begins what is optional, ``]`` ends it.
    """

    letters: str = ""
    text: str = ""
    mark: str = ""


def date_parts(pattern: str) -> list[DatePart]:
    """The parts of ``pattern`` in order; an optional part that is not ended ends with the pattern.

    Raises:
        ValueError: more than a thousand characters, a quote without its other half, a reserved character, or an end without beginning.
    """
    if len(pattern) > _LONGEST:
        raise ValueError(f"it has more than {_LONGEST} characters")
    parts: list[DatePart] = []
    depth = 0
    for token in _TOKEN.finditer(pattern):
        quoted, letter, other = token.groups()
        if letter is not None:
            parts.append(DatePart(letters=token[0]))
        elif quoted is not None:
            parts.append(DatePart(text=quoted.replace("''", "'") or "'"))
        elif other in _RESERVED or (other == "]" and not depth):
            raise ValueError(
                "a quote has no other half" if other == "'" else f"{other!r} is out of place"
            )
        elif other in "[]":
            depth += 1 if other == "[" else -1
            parts.append(DatePart(mark=other))
        else:
            parts.append(DatePart(text=other))
    return [*parts, *[DatePart(mark="]")] * depth]
