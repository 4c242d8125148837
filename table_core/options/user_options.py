"""Options as a user gives them: known, of the type that Apache Paimon reads, and in their range.

What is stored in a table may be of another writer, so it is read with less to ask (``TableOptions``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import OptionError
from table_core.options import fits, parse
from table_core.options.aggregate_functions import FUNCTION_OPTIONS
from table_core.options.refused import REFUSED
from table_core.options.table import OPTIONS, canonical_key, refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.options.option import Option

    Reader = Callable[[str], object]

__all__ = ["refuse_wrong"]

_INT, _LONG = 31, 63
_DOUBLE: Final = re.compile(r"\s*[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)\s*")


def refuse_wrong(options: Mapping[str, object]) -> None:
    """Refuse options that nobody knows, and values that are none of theirs.

    Raises:
        OptionError: names the option, the value, what it must be and what may have been meant.
    """
    refuse_unknown(options)
    for key, value in options.items():
        text = str(value)
        reader = _reader(key, text)
        if reader is None:
            continue
        try:
            reader(text)
        except (ValueError, OverflowError) as error:
            raise OptionError(
                f"option {key!r} cannot be {text!r}: {error}", option=key, value=text
            ) from error


def _reader(key: str, text: str) -> Reader | None:
    """What raises ``ValueError`` on a wrong ``text`` of the option ``key``; None: it is right."""
    canonical = canonical_key(key)
    option = OPTIONS.get(canonical)
    if option is not None:
        if not text and canonical in REFUSED and "" in REFUSED[canonical].idle:
            return None  # so a handle says that it does without
        return _reader_of(option)
    return next((read for pattern, read in _PATTERNS if pattern.fullmatch(key)), None)


def _reader_of(option: Option[Any]) -> Reader:
    return _both(_STRICT.get(option.parse, _strict(option.parse)), option.fits)


def _both(read: Callable[[str], Any], check: Callable[[Any], object] | None) -> Reader:
    return read if check is None else lambda text: check(read(text))


def _strict(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """``read``, without the spellings that Apache Paimon does not understand."""
    if not isinstance(read, parse.Choice):
        return read
    words = {word.lower() for word in read.written}

    def one(text: str) -> str:
        choice: str = read(text)
        if text.lower() not in words:
            raise ValueError(f"Apache Paimon writes it {read.spelled.get(choice, choice)!r}")
        return choice

    return one


def _bare(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """``read`` of a text without blanks around it, which Java does not take away."""

    def bare(text: str) -> Any:
        parsed = read(text)
        if text != text.strip():
            raise ValueError("there are blanks around it")
        return parsed

    return bare


def _within(bits: int, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """``read``, where the number fits ``bits`` and a sign."""

    def within(text: str) -> Any:
        number = read(text)
        if not -(1 << bits) <= number < 1 << bits:
            raise ValueError(f"it does not fit {bits + 1} bits")
        return number

    return within


def _amount(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A duration or a size: digits as Java's ``Long.parseLong`` of them."""

    def amount(text: str) -> Any:
        parsed = read(text)
        if not text.strip()[0].isascii():
            raise ValueError("write it with the digits 0 to 9")
        return parsed

    return _within(_LONG, amount)


def _double(text: str) -> float:
    if not _DOUBLE.fullmatch(text) or not text.isascii():
        raise ValueError("expected a number")
    return parse.number(text)


_STRICT: Final[Mapping[Any, Callable[[str], Any]]] = {
    parse.boolean: _bare(parse.boolean),
    parse.integer: _bare(_within(_INT, parse.integer)),
    parse.long_integer: _bare(_within(_LONG, parse.integer)),
    parse.size_bytes: _amount(parse.size_bytes),
    parse.duration_ms: _amount(parse.duration_ms),
    parse.number: _double,
}
_BOOLEAN, _WHOLE = _STRICT[parse.boolean], _STRICT[parse.integer]
_SIZE: Final = _both(_STRICT[parse.size_bytes], fits.at_least(1))
_PATTERNS: Final[tuple[tuple[re.Pattern[str], Reader], ...]] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (r"parquet\.enable\.dictionary(#.+)?", _BOOLEAN),
        (r"parquet\.(block\.size|page\.size|dictionary\.page\.size)", _SIZE),
        (r"parquet\.compression\.codec\.zstd\.level", _both(_WHOLE, fits.ZSTD_LEVEL)),
        (r"orc\.stripe\.size", _SIZE),
        (r"orc\.row\.index\.stride", _both(_WHOLE, fits.at_least(0))),
        (r"orc\.dictionary\.key\.threshold", _both(_double, fits.between(0, 1))),
        (r"file-index\.bloom-filter\..+\.items", _both(_WHOLE, fits.at_least(1))),
        (r"file-index\.bloom-filter\..+\.fpp", _both(_double, fits.ratio)),
        (r"fields\..+\.ignore-retract", _BOOLEAN),
        (r"fields\..+\.stats-mode", fits.stats_mode),
        *(
            (rf"fields\..+\.{re.escape(key)}", _reader_of(option))
            for key, option in FUNCTION_OPTIONS.items()
        ),
    )
)
"""Options of formats and of single columns."""
