"""Lines of JSON to columns, by Arrow's reader."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.json

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["ends_of", "is_unfinished", "read_lines"]

_PARSE_BYTES: Final = 1 << 20
_OBJECT: Final = ord("{")
_CUT: Final = re.compile(r"-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|\\|\\?u?[0-9a-fA-F]{0,4}")
"""What is left of a number, a word or an escape that was cut."""


def ends_of(lines: pa.LargeBinaryArray) -> npt.NDArray[np.int64]:
    """Where the lines begin in their buffer, and last where the last one ends.

    Shape: ``large_binary[n]`` to ``int64[n + 1]``.
    """
    offsets: npt.NDArray[np.int64] = np.frombuffer(lines.buffers()[1], np.int64)
    return offsets[lines.offset : lines.offset + len(lines) + 1]


def read_lines(lines: pa.LargeBinaryArray, schema: pa.Schema, unexpected: str) -> pa.Table | None:
    """The members of ``schema``, and the others if ``unexpected`` is ``infer``.

    Shape: ``large_binary[n]`` with line feeds to ``n`` rows; None if there are not as many values.

    Raises:
        ArrowInvalid: a line is no JSON object, or a value is not of the type of ``schema``.
    """
    offsets = ends_of(lines)
    body = lines.buffers()[2]
    if np.any(np.frombuffer(body, np.uint8)[offsets[:-1]] != _OBJECT):
        raise pa.ArrowInvalid("not every line is an object")  # of ``null`` Arrow's reader dies
    body = body.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    longest = int(np.diff(offsets).max())
    table = pa.json.read_json(
        pa.BufferReader(body),
        pa.json.ReadOptions(use_threads=False, block_size=max(_PARSE_BYTES, longest + 1)),
        pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )
    return table if table.num_rows == len(lines) else None


def is_unfinished(line: bytes) -> bool:
    """Whether more bytes could make JSON of a line that is none: it is still being written.

    >>> is_unfinished(b'{"id": 1, "name": "a')
    True
    >>> is_unfinished(b'{"id": 1,}')
    False
    """
    try:
        json.loads(codecs.getincrementaldecoder("utf-8")().decode(line).rstrip())
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string"):
            return True
        return _CUT.fullmatch(error.doc[error.pos :]) is not None
    except (ValueError, RecursionError):
        return False
    return False
