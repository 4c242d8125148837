"""Lines that were taken out of their turn, where a batch was cut in the order of the source.

Within a window lines come in the order of the source, which is not that of their files.  A commit in
the middle of a window has taken some lines of a file and not those before them: bits say which.

NumPy is loaded by those who have such lines: a Dag processor, which knows of places, loads none.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

    Ints = np.ndarray[Any, np.dtype[np.int64]]
    Flags = np.ndarray[Any, np.dtype[np.bool_]]

__all__ = ["all_taken", "lines_ahead", "lines_of_both", "still_ahead", "taken_ahead"]


def lines_ahead(lines: Ints, behind: int) -> str:
    """Text that says which lines, all of them behind the line ``behind``, were taken; '' for none."""
    import numpy as np

    if not len(lines):
        return ""
    bits = np.zeros(int(lines.max()) - behind, bool)
    bits[lines - behind - 1] = True
    return f"{behind}:{base64.b64encode(zlib.compress(np.packbits(bits).tobytes())).decode()}"


def taken_ahead(text: str, lines: Ints) -> Flags:
    """Which of ``lines`` were taken."""
    import numpy as np

    behind, bits = _bits(text)
    at = lines - behind - 1
    inside = (at >= 0) & (at < len(bits))
    taken = np.zeros(len(lines), bool)
    taken[inside] = bits[at[inside]] == 1
    return taken


def all_taken(text: str, behind: int, ahead: str) -> bool:
    """Whether all lines that ``text`` says are up to the line ``behind``, or taken in ``ahead`` too."""
    lines = _lines(text, behind)
    return not len(lines) or (bool(ahead) and bool(taken_ahead(ahead, lines).all()))


def lines_of_both(texts: Iterable[str], behind: int) -> str:
    """Text that says the lines behind the line ``behind`` that one of ``texts`` says."""
    import numpy as np

    parts = [_lines(text, behind) for text in texts if text]
    return lines_ahead(np.unique(np.concatenate(parts)), behind) if parts else ""


def still_ahead(ahead: Mapping[str, str], name: str, line: int) -> dict[str, str]:
    """What is left of ``ahead`` once all lines of ``name`` up to ``line`` are taken."""
    left = dict(ahead)
    if name in left:
        behind, bits = _bits(left[name])
        if behind + len(bits) <= line:
            del left[name]
    return left


def _lines(text: str, behind: int) -> Ints:
    """The lines behind the line ``behind`` that ``text`` says."""
    import numpy as np

    start, bits = _bits(text)
    lines: Ints = np.flatnonzero(bits) + start + 1
    return lines[lines > behind]


def _bits(text: str) -> tuple[int, np.ndarray[Any, np.dtype[np.uint8]]]:
    import numpy as np

    behind, _, packed = text.partition(":")
    body = zlib.decompress(base64.b64decode(packed))
    return int(behind), np.unpackbits(np.frombuffer(body, np.uint8))
