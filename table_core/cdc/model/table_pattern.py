"""Regular expressions of table names, of which none takes long, whoever wrote them.

Routes of syncs are kept in the warehouse, so others may write them.  Python's engine tries all ways in
which an expression can match, and some have more ways than a sync has time.  Those with few ways are left
to it; of the others Arrow's engine takes its time from the length of the name alone, and has no lookarounds
or references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.errors import ArgumentError
from table_core.shortened import shortened

__all__ = ["TablePattern"]

_LETTERS_MAX: Final = 100_000
_DEPTH_MAX: Final = 40
_NAME: Final = 100
"""Letters of a long name: in so many ways ``.*`` may match."""
_TEXT_MAX: Final = 200
"""So much of a pattern is in a message."""
_WAYS_MAX: Final = 10**8
"""Four times ``.*``: a second at most."""
_OPENING: Final = re.compile(r"\((\?(:|=|!|<=|<!|P<\w+>|i:))?(?!\?)")
_FLAG: Final = re.compile(r"\(\?i\)")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_TIMES: Final = re.compile(r"(?:([*+?])|\{(\d*)(,?)(\d*)\})[?+]?")
_REFERENCE: Final = re.compile(r"\\[1-9]")


@dataclass(frozen=True)
class TablePattern:
    """A regular expression that is matched whole; ``argument`` gave it.

    Raises:
        ArgumentError: it is none, or may take too long.
    """

    argument: str
    text: str

    def __post_init__(self) -> None:
        _ = self._quick

    @cached_property
    def _quick(self) -> re.Pattern[str] | None:
        """For Python; None where it might take too long there, and Arrow takes it."""
        if len(self.text) > _LETTERS_MAX:
            raise self._refused(f"has {len(self.text):,} letters, more than {_LETTERS_MAX:,}")
        try:
            compiled = re.compile(self.text)
        except (re.error, RecursionError, OverflowError) as error:
            raise self._refused(f"is no regular expression: {error}") from error
        if _Ways(self.text).count() <= _WAYS_MAX:
            return compiled
        try:
            self._in_arrow("")
        except pa.ArrowInvalid as error:
            reason = "may take for ever: a repetition within a repetition, or too many of them"
            raise self._refused(f"{reason}; write it with fewer") from error
        return None

    def matches(self, name: str) -> bool:
        """Whether all of ``name`` matches."""
        quick = self._quick
        return self._in_arrow(name) if quick is None else quick.fullmatch(name) is not None

    def _in_arrow(self, name: str) -> bool:
        return bool(pc.match_substring_regex(pa.scalar(name), f"^(?:{self.text})$").as_py())

    def _refused(self, why: str) -> ArgumentError:
        text = shortened(self.text, _TEXT_MAX)
        return ArgumentError(f"{self.argument}={text!r} {why}", argument=self.argument, value=text)


class _Ways:
    """In how many ways an expression may match at most: those of a sequence multiply."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def count(self) -> int:
        """The ways; more than ``_WAYS_MAX`` where nobody can tell."""
        ways = self._branches(0)
        return ways if self._at == len(self._text) else _WAYS_MAX + 1

    def _branches(self, depth: int) -> int:
        total, ways = 0, 1
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._text[self._at] == "|":
                self._at += 1
                total, ways = total + ways, 1
            else:
                ways = min(ways * self._repeated(depth), _WAYS_MAX + 1)
        return min(total + ways, _WAYS_MAX + 1)

    def _repeated(self, depth: int) -> int:
        is_group = self._text[self._at] == "("
        ways = self._group(depth) if is_group else self._letter()
        times = _TIMES.match(self._text, self._at)
        if times is None or times[0].startswith("{}"):
            return ways
        self._at = times.end()
        sign, low, comma, high = times[1], times[2], times[3], times[4]
        if sign == "?":
            return ways + 1
        least = int(sign == "+") if sign else int(low or 0)
        most = least + _NAME if sign or (comma and not high) else int(high or low)
        if most <= 1:
            return ways + 1
        if ways > 1:
            return _WAYS_MAX + 1
        return max(most if is_group else 1, most - least + 1)

    def _letter(self) -> int:
        """A letter, an escape or a class of letters."""
        text, at = self._text, self._at
        if text[at] == "[":
            match = _CLASS.match(text, at)
            self._at = len(text) + 1 if match is None else match.end()
        elif text[at] == "\\":
            self._at += 2
            return _WAYS_MAX + 1 if _REFERENCE.match(text, at) else 1
        else:
            self._at += 1
        return 1

    def _group(self, depth: int) -> int:
        flag = _FLAG.match(self._text, self._at)
        if flag is not None:
            self._at = flag.end()
            return 1
        opening = _OPENING.match(self._text, self._at)
        if opening is None or depth > _DEPTH_MAX:
            self._at = len(self._text) + 1
            return _WAYS_MAX + 1
        self._at = opening.end()
        ways = self._branches(depth + 1)
        self._at += 1
        return ways
