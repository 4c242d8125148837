"""Values of Canal's events as the text that their columns hold.

Canal hands on what the log has: of an ENUM the place of its word, of a SET a number whose bits are its words,
of a geometry its bytes, a letter for each.  Words and GeoJSON stay as they are.

Source: ``org.apache.paimon.flink.action.cdc.format.canal.CanalFieldParser``; Canal's ``RowsLogBuffer``.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.geometry import geometry_text
from table_core.cdc.model.mysql_types import mysql_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["as_text"]

_WORD: Final = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED: Final = re.compile(r"'(')|\\(.)", re.DOTALL)
_GEOMETRIES: Final = frozenset(
    {
        *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
        *("multipolygon", "geometrycollection", "geomcollection"),
    }
)


def as_text(row: Any, types: Mapping[str, Any]) -> Any:
    """``row`` with what its values mean, if it is one; ``types`` are MySQL's, by column.

    Raises:
        ValueError: a type has no such word, or bytes are no geometry.
    """
    if not isinstance(row, dict):
        return row
    texts = dict(row)
    for name, value in row.items():
        read = _reader(str(types[name])) if name in types else None
        if read is not None and isinstance(value, str):
            texts[name] = read(value)
    return texts


@lru_cache(maxsize=1024)
def _reader(type_: str) -> Callable[[str], str] | None:
    """What reads a column of ``type_``; None where its text is what it means."""
    name = mysql_column(type_).name
    if name in {"enum", "set"}:
        words = [_ESCAPED.sub(r"\1\2", word) for word in _WORD.findall(type_)]
        return partial(_word if name == "enum" else _words, words)
    return _geometry if name in _GEOMETRIES else None


def _word(words: Sequence[str], text: str) -> str:
    if not text.isdecimal():
        return text
    place = int(text)
    if place > len(words):
        raise ValueError(f"an ENUM of {len(words)} words has none at place {place}")
    return words[place - 1] if place else ""


def _words(words: Sequence[str], text: str) -> str:
    if not text.isdecimal():
        return text
    bits = int(text)
    if bits >> len(words):
        raise ValueError(f"a SET of {len(words)} words has no bits {bits}")
    return ",".join(word for place, word in enumerate(words) if bits >> place & 1)


def _geometry(text: str) -> str:
    if text.startswith("{"):
        return text
    try:
        return geometry_text(text.encode("latin-1"))
    except (UnicodeEncodeError, IndexError, struct.error) as error:
        raise ValueError(f"no geometry: {error}") from error
