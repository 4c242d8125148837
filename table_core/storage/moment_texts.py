"""Dates and moments in a format of their own, as the ISO texts that Arrow reads, by whole columns.

A format becomes a pattern with a group for each directive, and the groups are put together anew:
``%d.%m.%Y`` makes ``31.1.2026`` the text ``2026-01-31``.  Arrow then says whether there is such a day, which
``strptime`` of the C library does not: it makes the 30th of February the 2nd of March.
"""

from __future__ import annotations

import calendar
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.options.row_options import spelled_out

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MomentTexts", "in_zone", "trimmed"]

_ONE_OR_TWO: Final = r"\d{1,2}"
_LETTERS: Final = r"\pL+\.?"
_GROUPS: Final = {
    **dict.fromkeys(("%m", "%d", "%e", "%H", "%I", "%M", "%S"), r"\s?" + _ONE_OR_TWO),
    "%Y": r"\d{4}",
    "%y": r"\d{2}",
    "%f": r"\d{1,9}",
    "%p": r"(?i:[ap]\.?m\.?)",
    **dict.fromkeys(("%b", "%B", "%a", "%A"), _LETTERS),
    "%z": r"Z|[+-]\d{2}(?::?\d{2})?",
}
_MONTHS: Final = [name.lower() for name in calendar.month_name[1:]]
_MONTHS_SHORT: Final = [name[:3] for name in _MONTHS]
_CENTURY_ENDS: Final = "68"
"""Two digits up to these are of this century, as POSIX and Python have it."""
_NOON: Final = 12
_ZONED: Final = r"\d:\d{2}.*(?:Z|[+-]\d{2}(?::?\d{2})?)$"
"""A day ends as an offset might, so a time must come first."""


class MomentTexts:
    """Texts of one format."""

    def __init__(self, format: str) -> None:
        self.format = format
        spelled = spelled_out(format)
        self._used = [one for one in re.findall(r"%.", spelled) if one != "%%"]
        self._pattern = f"^{re.sub(r'%.|[^%]+', self._group, spelled)}$"

    @staticmethod
    def _group(part: re.Match[str]) -> str:
        text = part[0]
        if text == "%%":
            return "%"
        if text.startswith("%"):
            return f"(?P<{_letter(text)}>{_GROUPS[text]})"
        # any blanks stand for blanks
        return re.sub(r"(\\?\s)+", r"\\s+", re.escape(text))

    @cached_property
    def has_time(self) -> bool:
        """Whether it says more than a day."""
        return any(one in self._used for one in ("%H", "%I"))

    def iso(self, texts: pa.Array) -> pa.Array:
        """``texts[n]`` as ISO 8601; NULL where one is not of this format."""
        # re.escape of a letter that is no ASCII is that letter, which RE2 reads as such
        parts = pc.extract_regex(trimmed(texts), self._pattern)
        fields = dict(zip((f.name for f in parts.type), parts.flatten(), strict=True))
        day = self._joined(
            "-", self._year(fields), self._month(fields), self._two(fields, "d", "e")
        )
        if not self.has_time:
            return day
        clock = self._joined(
            ":", self._hour(fields), self._two(fields, "M"), self._two(fields, "S")
        )
        whole = self._joined("T", day, clock)
        if "f" in fields:
            whole = self._joined(".", whole, fields["f"])
        return self._joined("", whole, fields["z"]) if "z" in fields else whole

    @staticmethod
    def _joined(mark: str, *parts: pa.Array) -> pa.Array:
        return pc.binary_join_element_wise(*parts, mark)

    @staticmethod
    def _two(fields: dict[str, pa.Array], *names: str) -> Any:
        """Two digits; ``00`` where the format does not have the part."""
        column = next((fields[name] for name in names if name in fields), None)
        if column is None:
            return pa.scalar("00")
        return pc.utf8_lpad(trimmed(column), 2, "0")

    @staticmethod
    def _year(fields: dict[str, pa.Array]) -> pa.Array:
        if "Y" in fields:
            return fields["Y"]
        century = pc.if_else(pc.less_equal(fields["y"], _CENTURY_ENDS), "20", "19")
        return pc.binary_join_element_wise(century, fields["y"], "")

    def _month(self, fields: dict[str, pa.Array]) -> pa.Array:
        for name, names in (("b", _MONTHS_SHORT), ("B", _MONTHS)):
            if name in fields:
                letters = pc.utf8_lower(pc.utf8_rtrim(fields[name], "."))
                if name == "b":  # Sept is one too
                    letters = pc.utf8_slice_codeunits(letters, 0, 3)
                number = pc.add(pc.index_in(letters, pa.array(names)), 1)
                return pc.utf8_lpad(pc.cast(number, pa.string()), 2, "0")
        return self._two(fields, "m")

    def _hour(self, fields: dict[str, pa.Array]) -> Any:
        if "I" not in fields:
            return self._two(fields, "H")
        digits = trimmed(fields["I"])
        hour = pc.cast(pc.if_else(pc.equal(digits, ""), None, digits), pa.int32())
        is_hour = pc.and_(pc.greater(hour, 0), pc.less_equal(hour, _NOON))
        hour = pc.if_else(pc.equal(hour, _NOON), 0, pc.if_else(is_hour, hour, None))
        later = pc.starts_with(pc.utf8_lower(fields["p"]), "p")
        return pc.utf8_lpad(pc.cast(pc.add(hour, pc.if_else(later, _NOON, 0)), pa.string()), 2, "0")


def trimmed(texts: pa.Array) -> pa.Array:
    """``texts`` without blanks around; a line that ends there is no blank."""
    return pc.utf8_trim(texts, " \t\u00a0\u202f")


def in_zone(texts: pa.Array, type_: pa.TimestampType, zone: str) -> pa.Array:
    """ISO texts as moments; those without an offset, or for a column without a zone, are of ``zone``.

    A local time that comes twice, as a clock is set back, is the earlier one.

    Raises:
        pa.ArrowInvalid: one is no moment, or a time that the clock of ``zone`` leaves out.
    """
    zoned = pc.match_substring_regex(texts, _ZONED)
    moments = pc.if_else(zoned, texts, None).cast(pa.timestamp(type_.unit, "UTC"))
    local = pc.if_else(zoned, None, texts).cast(pa.timestamp(type_.unit))
    if type_.tz is None:
        there = moments.cast(pa.timestamp(type_.unit, zone))
        return pc.coalesce(pc.local_timestamp(there), local)
    assumed: Callable[..., pa.Array] = pc.assume_timezone
    here = assumed(local, zone, ambiguous="earliest", nonexistent="raise")
    return pc.coalesce(moments, here.cast(moments.type)).cast(type_)


def _letter(directive: str) -> str:
    return directive[1]
