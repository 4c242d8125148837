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
    declared = {name: rule for name, rule in rules.items() if rule is not None}
    unknown = sorted(set(declared) - set(RULES))
    if unknown or not set(declared) - _OF_OTHERS:
        what = f"unknown rules {unknown}" if unknown else "no rule to check"
        raise _refused(f"{what}; there are {', '.join(RULES)}", unknown)
    for name in declared.keys() & _FORMS.keys():
        declared[name] = _FORMS[name](name, declared[name])
    if "change" in declared and not against:
        raise _refused("change: say with `against` what to compare with", declared["change"])
    return declared


def _period(_: str, period: Any) -> int:
    """Milliseconds."""
    if isinstance(period, str) and not period.strip().isdigit():
        try:
            millis = duration_ms(period)
        except ValueError:
            millis = 0
        if millis > 0:
            return millis
    raise _refused(f"freshness: {period!r} is no length of time with its unit, e.g. 2 h", period)


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


def _columns(name: str, columns: Any) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, list | tuple) or not columns:
        raise _refused(f"{name}: give a list of columns, which is not empty", columns)
    return tuple(dict.fromkeys(str(column) for column in columns))


def _pair(name: str, bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise _refused(f"{name}: expected [smallest, largest], got {bounds!r}", bounds)
    low, high = bounds
    if low is None and high is None:
        raise _refused(f"{name}: both bounds are open, which checks nothing", bounds)
    return low, high


def _counted(name: str, count: Any) -> float | None:
    """A number, also as the text that a template gives."""
    if count is None:
        return None
    if not isinstance(count, bool) and isinstance(count, int | float | str):
        try:
            number = float(count)
        except ValueError:
            number = -1.0
        if number >= 0:
            return int(number) if number.is_integer() else number
    raise _refused(f"{name}: {count!r} is no number of at least 0", count)


def _ends(name: str, bounds: Any) -> tuple[Any, ...]:
    return tuple(_counted(name, end) for end in _pair(name, bounds))


def _ranges(name: str, ranges: Any) -> dict[str, tuple[Any, Any]]:
    if not isinstance(ranges, dict) or not ranges:
        raise _refused(f"{name}: give columns with [smallest, largest]", ranges)
    return {column: _pair(f"range of {column}", ends) for column, ends in ranges.items()}


def _sql(name: str, sql: Any) -> str:
    if not isinstance(sql, str) or not sql.strip():
        raise _refused(f"{name}: give SQL", sql)
    return sql


def _at_most(_: str, limit: Any) -> Any:
    allowed_rows(limit, 0)
    return limit


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
