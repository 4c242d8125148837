"""Cron expressions of a declaration, with ``H``: some minute or hour, the same one each day.

Warehouses whose schedules say ``H 3 * * *`` do not begin all at once: each begins at a minute of
that hour that its name gives.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from table_core.declaration.located import Diagnostic
from table_core.options.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.declaration.located import Located

__all__ = ["schedule_diagnostics", "spread"]

_FIELDS: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_SPREAD: Final = 2
"""``H`` may stand in the first two fields."""
_NAMES: Final[Mapping[int, tuple[str, ...]]] = {
    3: ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    4: ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
_END: Final = r"\d+|[A-Za-z]{3}"
_PART: Final = re.compile(
    rf"(?:\*|(?P<spread>H)|(?P<low>{_END})(?:-(?P<high>{_END}))?)(?:/(?P<step>[1-9]\d*))?"
)
_SPECIAL: Final[Mapping[int, re.Pattern[str]]] = {
    2: re.compile(r"L|\?", re.IGNORECASE),
    4: re.compile(r"\?|[0-7]#[1-5]|L[0-7]", re.IGNORECASE),
}
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NONE: Final = ("none", "null", "manual", "never", "once", "off", "no", "false")
_PRESETS: Final = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
_AT: Final = (("pipeline", "schedule"), ("upkeep", "schedule"))


def schedule_diagnostics(root: Located, file: str) -> list[Diagnostic]:
    """Schedules that are no cron expressions, or name no day that ever comes."""
    diagnostics = []
    for group, member in _AT:
        above = root.value.get(group)
        node = above.value.get(member) if above and isinstance(above.value, dict) else None
        if node is not None and node.text is not None:
            problem = _problem(node.text)
            if problem:
                line, column = node.place
                diagnostics.append(
                    Diagnostic(file, line, column, f"schedule {node.text!r}: {problem}")
                )
    return [*diagnostics, *_zone_diagnostics(root, file)]


def _zone_diagnostics(root: Located, file: str) -> list[Diagnostic]:
    pipeline = root.value.get("pipeline")
    zone = pipeline.value.get("timezone") if pipeline and isinstance(pipeline.value, dict) else None
    if zone is None or zone.text is None:
        return []
    try:
        ZoneInfo(zone.text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = hint(zone.text.replace(" ", "_"), sorted(available_timezones()))
        more = f"; {near}" if near.startswith("did") else ""
        line, column = zone.place
        return [Diagnostic(file, line, column, f"no time zone {zone.text!r}{more}")]
    return []


def spread(cron: str, name: str) -> str:
    """``cron`` with each ``H`` replaced by a number that ``name`` gives, always the same."""
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    fields = cron.split()
    for position, (_, low, high) in enumerate(_FIELDS[:_SPREAD]):
        number, mine = divmod(number, 60)
        if position >= len(fields) or not fields[position].startswith("H"):
            continue
        step = fields[position].partition("/")[2]
        if step:
            fields[position] = f"{mine % min(int(step), high + 1)}-{high}/{step}"
        else:
            fields[position] = str(low + mine % (high - low + 1))
    return " ".join(fields)


def _problem(cron: str) -> str:
    if cron in _PRESETS:
        return ""
    if f"@{cron.lower().lstrip('@')}" in _PRESETS:
        return f"write '@{cron.lower().lstrip('@')}'"
    if cron == "@midnight":
        return "write '@daily'"
    if cron.lower() in _NONE:
        return "leave schedule out where nothing is to start it"
    if cron.startswith("@"):
        return f"expected one of {', '.join(_PRESETS)}, or five fields; without a schedule leave it out"
    fields = cron.split()
    if len(fields) != len(_FIELDS):
        message = f"a cron expression has {len(_FIELDS)} fields, this has {len(fields)}"
        names = ", ".join(name for name, _, _ in _FIELDS)
        seconds = "; leave the seconds out" if len(fields) in {6, 7} and _looks_cron(fields) else ""
        return f"{message}: {names}{seconds}"
    for position, field in enumerate(fields):
        for part in field.split(","):
            problem = _part_problem(position, part, alone=part == field)
            if problem:
                return problem
    return _day_problem(fields[2], fields[3], fields[4])


def _looks_cron(fields: list[str]) -> bool:
    return all(re.fullmatch(r"[\d*/,?#LW-]+|[A-Za-z]{3}", field) for field in fields)


def _part_problem(position: int, part: str, *, alone: bool) -> str:
    name, low, high = _FIELDS[position]
    if position in _SPECIAL and _SPECIAL[position].fullmatch(part):
        return ""
    match = _PART.fullmatch(part)
    if match is None or (match["spread"] and (position >= _SPREAD or not alone)):
        names = _NAMES.get(position, ())
        near = next((one for one in names if part.lower().startswith(one)), None)
        return f"{name} {part!r} is not understood" + (f": write {near}" if near else "")
    for end in (match["low"], match["high"]):
        if end is None:
            continue
        if not end.isdigit() and end.lower() not in _NAMES.get(position, ()):
            known = _NAMES.get(position)
            more = f": expected a number or one of {', '.join(known)}" if known else ""
            return f"{name} {part!r} is not understood{more}"
        if end.isdigit() and not low <= int(end) <= high:
            return f"{name} {end} is not between {low} and {high}"
    return ""


def _day_problem(days: str, months: str, weekdays: str) -> str:
    """A 30th of February: no run would ever start."""
    if weekdays not in {"*", "?"} or not re.fullmatch(r"[\d,]+", days):
        return ""
    wanted = [int(day) for day in days.split(",") if day]
    longest = max(_DAYS[month - 1] for month in _months(months))
    if min(wanted, default=0) > longest:
        return f"there is no day {min(wanted)} in month {months}"
    return ""


def _months(field: str) -> list[int]:
    months: list[int] = []
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None or match["low"] is None or match["step"]:
            return list(range(1, 13))
        low = _month(match["low"])
        high = _month(match["high"] or match["low"])
        if low > high:
            return list(range(1, 13))
        months += range(low, high + 1)
    return months


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _NAMES[3].index(text.lower()) + 1
