"""How rows stand in a file of text: its encoding, its marks, its words for NULL, its dates."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.time_zone import zone_of
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DATE_DIRECTIVES",
    "DEFAULTS",
    "OF_FORMAT",
    "TIME_DIRECTIVES",
    "RowOptions",
    "directives",
    "spelled_out",
    "wrong_encoding",
    "wrong_timezone",
]

OF_FORMAT: Final[Mapping[str, frozenset[str]]] = {
    "csv": frozenset(
        {
            "delimiter",
            "quote",
            "escape",
            "header",
            "skip_lines",
            "null_values",
            "decimal",
            "thousands",
        }
        | {"encoding", "date_format", "timestamp_format", "timezone"}
    ),
    "json": frozenset({"encoding", "date_format", "timestamp_format", "timezone"}),
    "parquet": frozenset(),
}
"""Which options mean something for which format."""
_SHORT: Final = {"%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%T": "%H:%M:%S", "%R": "%H:%M"}
DATE_DIRECTIVES: Final = ("%Y", "%y", "%m", "%b", "%B", "%d", "%e", "%a", "%A")
"""A year, a month, a day and the name of a weekday, in one of their forms."""
TIME_DIRECTIVES: Final = ("%H", "%I", "%M", "%S", "%f", "%p", "%z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """How rows stand in CSV and JSON; the defaults are those of RFC 4180 and of ISO 8601."""

    delimiter: str = ","
    quote: str = '"'
    """Empty: no mark quotes."""
    escape: str = ""
    """What stands before a mark that is meant as text; empty: a quote in quotes is written twice."""
    encoding: str = ""
    """Empty: what a byte order mark says, and UTF-8 without one."""
    header: bool = True
    """Whether a line names the columns; without one they are those of the table, in their order."""
    skip_lines: int = 0
    """How many lines come before the header, or before the rows."""
    null_values: tuple[str, ...] = ("",)
    """Cells without quotes that are NULL."""
    decimal: str = "."
    thousands: str = ""
    """What may stand between groups of digits; a blank is any of the blanks that do not break too."""
    date_format: str = ""
    """In the directives of ``strftime``; empty: ISO 8601."""
    timestamp_format: str = ""
    timezone: str = "UTC"
    """Of moments that are written without an offset."""

    @classmethod
    def of(cls, members: Mapping[str, Any] | None) -> RowOptions:
        """The options that ``members`` names; None is left out.

        Raises:
            ArgumentError: two marks are one and the same, or one takes another's place.
        """
        known = {name: value for name, value in (members or {}).items() if value is not None}
        if "null_values" in known:
            known["null_values"] = tuple(known["null_values"])
        for name in ("delimiter", "quote", "escape"):
            if known.get(name) == "\\t":  # as shells, SQL and Spark write it
                known[name] = "\t"
        options = cls(**known)
        options._require_apart()
        return options

    def _require_apart(self) -> None:
        marks = [self.delimiter, self.quote, *([self.escape] if self.escape else [])]
        if self.escape and self.escape == self.quote:
            marks.pop()  # a quote in quotes is written twice, as always
        if len(set(marks)) < len(marks):
            raise ArgumentError(
                "delimiter, quote and escape must be different marks", argument="rows_options"
            )
        if self.decimal == self.thousands:
            raise ArgumentError(
                f"decimal and thousands are both {self.decimal!r}", argument="rows_options"
            )
        if self.escape and any(self.escape in word for word in self.null_values):
            raise ArgumentError(
                f"escape={self.escape!r} is taken off a cell before it is compared with null_values, so no cell would "
                f"be NULL by {next(w for w in self.null_values if self.escape in w)!r}. Leave escape out if the file "
                "needs none, or write NULL as an empty cell",
                argument="rows_options",
            )

    @property
    def non_default(self) -> tuple[str, ...]:
        """The options that are not as they are by default."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)

    def require_for(self, format: str) -> None:
        """Refuse options that mean nothing for ``format``.

        Raises:
            ArgumentError: names one of them, and those that there are.
        """
        for name in self.non_default:
            if name not in OF_FORMAT[format]:
                known = ", ".join(sorted(OF_FORMAT[format])) or "none"
                raise ArgumentError(
                    f"rows_options: {name} means nothing for {format}, whose options are {known}",
                    argument="rows_options",
                    value=name,
                )


DEFAULTS: Final = RowOptions()


def wrong_encoding(name: str) -> str:
    """What is wrong with the name of an encoding; '' if nothing is."""
    try:
        codecs.getincrementaldecoder(name)
        b"".decode(name)
    except (LookupError, ValueError, UnicodeError):
        return "no such encoding; e.g. utf-8, utf-16, cp1252, iso-8859-1"
    return ""


def wrong_timezone(name: str) -> str:
    """What is wrong with the name of a zone; '' if nothing is."""
    try:
        zone_of(name)
    except ValueError as error:
        return str(error)
    return ""


def spelled_out(format: str) -> str:
    """``format`` without directives that stand for several.

    >>> spelled_out("%F %R")
    '%Y-%m-%d %H:%M'
    """
    return re.sub(r"%.", lambda one: _SHORT.get(one[0], one[0]), format)


def directives(format: str, *, times: bool) -> tuple[list[str], str]:
    """The directives of ``format``, and what is wrong with them; '' if nothing is.

    >>> directives("%d.%m.%Y", times=False)
    (['%d', '%m', '%Y'], '')
    """
    used = [one for one in re.findall(r"%.?", spelled_out(format)) if one != "%%"]
    known = (*DATE_DIRECTIVES, *TIME_DIRECTIVES) if times else DATE_DIRECTIVES
    if not used:
        return used, "write it in directives, e.g. %d.%m.%Y"
    for one in used:
        if one not in known:
            more = " of a date" if one in TIME_DIRECTIVES else ""
            return used, f"{one} is no directive{more}; there are {' '.join(known)}"
    if len(set(used)) < len(used):
        return used, "a directive is there twice"
    parts = {"a year": ("%Y", "%y"), "a month": ("%m", "%b", "%B"), "a day": ("%d", "%e")}
    for part, ways in parts.items():
        if sum(way in used for way in ways) != 1:
            return used, f"it needs {part}, once: {' or '.join(ways)}"
    if ("%I" in used) != ("%p" in used) or ("%I" in used and "%H" in used):
        return used, "%I goes with %p, and without %H"
    return used, ""
