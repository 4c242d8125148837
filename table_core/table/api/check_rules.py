"""Rules of a check as they are given: each of its own form, and none that checks nothing."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RULES", "allowed_rows", "sound_rules"]

RULES: Final = (
    *("not_null", "unique", "range", "rows", "change", "freshness", "sql", "where", "at_most"),
)
_OF_OTHERS: Final = {"where", "at_most"}
"""What says something about other rules, and is none by itself."""
_SHARE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


def sound_rules(rules: Mapping[str, Any], *, against: bool) -> dict[str, Any]:
    """``rules`` without those that are None; pairs of bounds as tuples.

    Raises:
        ArgumentError: a rule that there is not, that is of another form, or that checks nothing.
    """
    given = {name: rule for name, rule in rules.items() if rule is not None}
    unknown = sorted(set(given) - set(RULES))
    if unknown or not set(given) - _OF_OTHERS:
        what = f"unknown rules {unknown}" if unknown else "no rule to check"
        raise _refused(f"{what}; there are {', '.join(RULES)}", unknown)
    for name in given.keys() & _FORMS.keys():
        given[name] = _FORMS[name](name, given[name])
    if "change" in given and not against:
        raise _refused("change: say with `against` what to compare with", given["change"])
    return given


def _period(_: str, given: Any) -> int:
    """Milliseconds."""
    if isinstance(given, str) and not given.strip().isdigit():
        try:
            found = duration_ms(given)
        except ValueError:
            found = 0
        if found > 0:
            return found
    raise _refused(f"freshness: {given!r} is no length of time with its unit, e.g. 2 h", given)


def allowed_rows(at_most: Any, count: int) -> int:
    """How many of ``count`` rows may break a rule: a number of them, or a share such as ``"1 %"``.

    Raises:
        ArgumentError: neither.
    """
    if at_most is None:
        return 0
    share = _SHARE.fullmatch(at_most) if isinstance(at_most, str) else None
    if share is not None:
        return int(Decimal(share[1]) * count / 100)
    rows = _counted("at_most", at_most)
    if rows is None or rows != int(rows):
        raise _refused(f"at_most: {at_most!r} is neither rows nor a share such as '1 %'", at_most)
    return int(rows)


def _columns(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple) or not given:
        raise _refused(f"{name}: give a list of columns, which is not empty", given)
    return tuple(dict.fromkeys(str(column) for column in given))


def _pair(name: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise _refused(f"{name}: expected [smallest, largest], got {given!r}", given)
    low, high = given
    if low is None and high is None:
        raise _refused(f"{name}: both bounds are open, which checks nothing", given)
    return low, high


def _counted(name: str, given: Any) -> float | None:
    """A number, also as the text that a template gives."""
    if given is None:
        return None
    if not isinstance(given, bool) and isinstance(given, int | float | str):
        try:
            number = float(given)
        except ValueError:
            number = -1.0
        if number >= 0:
            return int(number) if number.is_integer() else number
    raise _refused(f"{name}: {given!r} is no number of at least 0", given)


def _ends(name: str, given: Any) -> tuple[Any, ...]:
    return tuple(_counted(name, end) for end in _pair(name, given))


def _ranges(name: str, given: Any) -> dict[str, tuple[Any, Any]]:
    if not isinstance(given, dict) or not given:
        raise _refused(f"{name}: give columns with [smallest, largest]", given)
    return {column: _pair(f"range of {column}", ends) for column, ends in given.items()}


def _sql(name: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise _refused(f"{name}: give SQL", given)
    return given


def _at_most(_: str, given: Any) -> Any:
    allowed_rows(given, 0)
    return given


def _refused(what: str, value: Any) -> ArgumentError:
    return ArgumentError(f"checks: {what}", argument="rules", value=str(value))


_FORMS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "not_null": _columns,
    "unique": _columns,
    "range": _ranges,
    "rows": _ends,
    "change": _ends,
    "freshness": _period,
    "sql": _sql,
    "where": _sql,
    "at_most": _at_most,
}
"""What makes of each rule what the check takes."""
