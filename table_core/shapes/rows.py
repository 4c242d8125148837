"""What an argument may say of how rows stand in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.options.row_options import (
    RowOptions,
    directives,
    wrong_encoding,
    wrong_timezone,
)
from table_core.shapes.around import Judged
from table_core.shapes.containers import ListOf, Record
from table_core.shapes.shape import Flag, Number, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ROWS_OPTIONS"]

_LINES_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words(ListOf):
    """Texts, which a command line separates by commas."""

    def of_text(self, text: str) -> Any:
        """``,NA`` is the empty text and ``NA``."""
        return text.split(",")


def _mark(about: str) -> Text:
    return Text(about=about, pattern=r"[^\r\n]|\\t", what="one character")


def _mark_or_none(about: str) -> Text:
    return Text(about=about, pattern=r"[^\r\n]?", what="one character, or ''")


def _judged_directives(*, times: bool) -> Callable[[str], str]:
    return lambda text: directives(text, times=times)[1]


_MEMBERS: Final = Record(
    members={
        "delimiter": _mark("What stands between two cells of CSV. `\\t` is a tab. Default: `,`."),
        "quote": _mark_or_none(
            "What stands around a cell of CSV that has delimiters. `''`: nothing does. Default: `\"`."
        ),
        "escape": _mark_or_none(
            "What stands before a mark that is meant as text. Default: a quote in quotes is written twice."
        ),
        "encoding": Text(
            about="The encoding, e.g. `cp1252`, `utf-16`. Default: what a byte order mark says, otherwise UTF-8.",
            what="the name of an encoding",
            judge=wrong_encoding,
        ),
        "header": Flag(
            about="Whether a line of CSV names the columns. `false`: they are those of the table, in its order. Default: `true`."
        ),
        "skip_lines": Number(
            about="How many lines come before the header, or before the rows. Default: 0.",
            minimum=0,
            maximum=_LINES_MAX,
        ),
        "null_values": _Words(
            about="Cells that are NULL where they are not quoted. They replace the default, which is the empty cell.",
            item=Text(pattern=r"[^\r\n]*", what="text of one line"),
            each_once=True,
            what="a list of texts",
        ),
        "decimal": Text(about="The mark before decimals in CSV. Default: `.`.", one_of=(".", ",")),
        "thousands": Text(
            about="The mark that may stand between groups of digits in CSV. Default: none.",
            one_of=(",", ".", " ", "'", "_"),
        ),
        "date_format": Text(
            about="How a DATE is written, in directives of strftime, e.g. `%d.%m.%Y`. Default: ISO 8601.",
            what="a date in directives, e.g. %d.%m.%Y",
            judge=_judged_directives(times=False),
        ),
        "timestamp_format": Text(
            about="How a TIMESTAMP is written, e.g. `%d.%m.%Y %H:%M`. Default: ISO 8601.",
            what="a time in directives, e.g. %d.%m.%Y %H:%M",
            judge=_judged_directives(times=True),
        ),
        "timezone": Text(
            about="The zone of times without an offset, e.g. `Europe/Berlin`. Default: UTC.",
            what="the name of a time zone",
            judge=wrong_timezone,
        ),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowsOptions(Judged):
    """A record whose members a command line gives as texts."""

    inner: Record

    def of_members(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """The values that ``texts`` stand for, by name; of an unknown name the text."""
        shapes = self.inner.members
        return {
            name: shapes[name].of_text(text) if name in shapes else text
            for name, text in texts.items()
        }


ROWS_OPTIONS: Final = _RowsOptions(
    inner=_MEMBERS,
    judge=RowOptions.of,
    what="a mapping",
)
"""The options of a file of rows, the same for each door."""
