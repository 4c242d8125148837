"""Columns of texts, as a file's options say they are written, as the types of a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.plain_values import WrongValueError, column_of_texts, is_nested
from table_core.storage.moment_texts import MomentTexts, in_zone, trimmed

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.options.row_options import RowOptions

__all__ = ["TextColumns"]

_BLANKS: Final = "[ \u00a0\u202f\u2009]"
_APOSTROPHES: Final = "['\u2019]"
_NULL_WORDS: Final = frozenset(
    {
        "null",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "none",
        "nil",
        "-",
        "--",
        "\\n",
        "?",
        "(null)",
        "<na>",
        ".",
    }
)
_DAY_FIRST, _MONTH_MAX, _DAY_MAX = r"(\d{1,2})([./-])(\d{1,2})[./-](\d{4}|\d{2})", 12, 31


class TextColumns:
    """Reads columns of texts."""

    def __init__(self, options: RowOptions) -> None:
        self._options = options
        self._date = MomentTexts(options.date_format) if options.date_format else None
        self._moment = MomentTexts(options.timestamp_format) if options.timestamp_format else None
        self._groups = _number_pattern(options)
        self._zone = options.timezone

    def reads(self, type_: pa.DataType) -> bool:
        """Whether the options say anything of columns of ``type_``."""
        return self._rewriter(type_) is not None or self._is_in_zone(type_)

    def column(self, texts: pa.Array, type_: pa.DataType) -> pa.Array:
        """Texts as a column of ``type_``; NULL stays NULL, and blanks around what is no text are nothing.

        Shape: ``texts[n]`` of strings to ``[n]`` of ``type_``.

        Raises:
            WrongValueError: the first text that is none; with what cures it.
        """
        rewritten = texts
        if (rewrite := self._rewriter(type_)) is not None:
            rewritten = rewrite(texts)
            self._require(pc.or_(pc.is_valid(rewritten), pc.is_null(texts)), texts, type_)
        try:
            if self._is_in_zone(type_):
                return self._in_zone(rewritten, texts, type_)
            return self._column(rewritten, type_)
        except WrongValueError as error:
            raise self._wrong(texts[error.row].as_py(), error.row, type_) from error

    @staticmethod
    def _column(texts: pa.Array, type_: pa.DataType) -> pa.Array:
        try:
            return column_of_texts(texts, type_)
        except WrongValueError:
            if is_nested(type_):
                raise
            return column_of_texts(trimmed(texts), type_)

    def _rewriter(self, type_: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
        """What makes of texts of these options what Arrow reads; NULL where one is not of them."""
        if pa.types.is_date(type_) and self._date is not None:
            return self._date.iso
        if pa.types.is_timestamp(type_) and self._moment is not None:
            return self._moment.iso
        is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        if (is_number or pa.types.is_decimal(type_)) and self._groups is not None:
            return self._number
        return None

    def _is_in_zone(self, type_: pa.DataType) -> bool:
        return pa.types.is_timestamp(type_) and self._zone != "UTC"

    def _in_zone(self, iso: pa.Array, texts: pa.Array, type_: pa.TimestampType) -> pa.Array:
        iso = trimmed(iso)
        try:
            return in_zone(iso, type_, self._zone)
        except pa.ArrowInvalid:
            for row in range(len(iso)):
                try:
                    in_zone(iso.slice(row, 1), type_, self._zone)
                except pa.ArrowInvalid as error:
                    raise self._wrong(texts[row].as_py(), row, type_) from error
            raise

    def plain_numbers(self, texts: pa.Array) -> pa.Array:
        """Texts of numbers with a dot and without groups; NULL where one is no number of the options."""
        return texts if self._groups is None else self._number(texts)

    def _number(self, texts: pa.Array) -> pa.Array:
        assert self._groups is not None
        texts = trimmed(texts)
        of_options = pc.match_substring_regex(texts, self._groups)
        plain = texts
        if self._options.thousands:
            plain = pc.replace_substring_regex(plain, _mark(self._options.thousands), "")
        if self._options.decimal != ".":
            plain = pc.replace_substring(plain, self._options.decimal, ".")
        return pc.if_else(of_options, plain, None)

    def _require(self, right: pa.Array, texts: pa.Array, type_: pa.DataType) -> None:
        row = pc.index(right, False).as_py()
        if row >= 0:
            raise self._wrong(texts[row].as_py(), row, type_)

    def _wrong(self, text: str, row: int, type_: pa.DataType) -> WrongValueError:
        return WrongValueError(row, text, type_, self._cure(text.strip(), type_))

    def _cure(self, text: str, type_: pa.DataType) -> str:
        """What to write into the options, as far as ``text`` tells it."""
        options = self._options
        if not text and "" not in options.null_values:
            return "null_values names what is NULL, and not the empty cell: add ''"
        if text.lower() in _NULL_WORDS:
            words = [*options.null_values, text]
            return f"if it means NULL, say rows_options null_values={words!r}"
        if pa.types.is_temporal(type_) and not pa.types.is_time(type_):
            return self._cure_of_moment(text, type_)
        if pa.types.is_boolean(type_):
            return "a BOOLEAN is true, false, 1 or 0"
        if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
            return self._cure_of_number(text)
        return ""

    def _cure_of_moment(self, text: str, type_: pa.DataType) -> str:
        name, format = "timestamp_format", self._options.timestamp_format
        if pa.types.is_date(type_):
            name, format = "date_format", self._options.date_format
        if format:
            return f"{name} is {format!r}"
        if not (match := re.match(_DAY_FIRST, text)):
            return f"rows_options {name} says how it is written, e.g. {name}='%d.%m.%Y'"
        first, mark, second, year = match.groups()
        parts = ["%d", "%m"]
        if int(second) > _MONTH_MAX or (mark == "/" and int(first) <= _MONTH_MAX):
            parts.reverse()
        likely = mark.join([*parts, "%Y" if len(year) > len("26") else "%y"])
        if name == "timestamp_format":
            likely += " %H:%M:%S" if text.count(":") > 1 else " %H:%M"
        doubt = max(int(first), int(second)) <= _MONTH_MAX
        return f"say rows_options {name}={likely!r}" + (
            ", or with %d and %m the other way round" if doubt else ""
        )

    def _cure_of_number(self, text: str) -> str:
        marks: list[str] = re.findall(r"[^\d+\-eE]", text)
        digits = re.sub(r"[.,'\u2019\s]", "", text)
        if not re.fullmatch(r"[+-]?\d+", digits):
            has_sign = re.search(r"\d", text) and re.search(r"[%€$£¥]|[A-Z]{3}", text)
            return (
                "a number with a sign of its own is text: make the column STRING"
                if has_sign
                else ""
            )
        cure = []
        if marks and marks[-1] == "," and (marks.count(",") == 1):
            cure.append("decimal=','")
        groups = {
            m for m in (marks[:-1] if cure else marks) if m not in {".", self._options.decimal}
        }
        if cure and "." in marks[:-1]:
            groups.add(".")
        if groups:
            cure.append(f"thousands={min(groups)!r}")
        if not cure:
            return ""
        also = (
            ""
            if cure != ["decimal=','"]
            else ", or thousands=',' if the comma parts groups of digits"
        )
        return f"say rows_options {', '.join(cure)}{also}"


def _number_pattern(options: RowOptions) -> str | None:
    r"""What a number looks like; None where Arrow knows it.

    Groups have three digits, in India two behind the last; ``1.50`` with ``.`` between groups is no number.
    """
    if options.decimal == "." and not options.thousands:
        return None
    decimal = re.escape(options.decimal)
    whole = r"\d*"
    if options.thousands:
        mark = _mark(options.thousands)
        whole = rf"(?:\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}|\d*)"
    return rf"^(?:[+-]?{whole}(?:{decimal}\d*)?(?:[eE][+-]?\d+)?|[+-]?(?i:nan|inf|infinity))$"


def _mark(thousands: str) -> str:
    """The pattern of the mark between groups, in all its forms."""
    if thousands == " ":
        return _BLANKS
    return _APOSTROPHES if thousands == "'" else re.escape(thousands)
