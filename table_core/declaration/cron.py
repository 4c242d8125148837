"""Cron expressions of a declaration, with ``H``: some minute or hour, the same one each day.

Warehouses whose schedules say ``H 3 * * *`` do not begin all at once: each begins at a minute of
that hour that its name gives.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from table_core.declaration.located import Fault

if TYPE_CHECKING:
    from table_core.declaration.located import Located

__all__ = ["schedule_faults", "spread"]

_FIELDS: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_SPREAD: Final = 2
"""``H`` may stand in the first two fields."""
_END: Final = r"\d+|[A-Za-z]{3}"
_PART: Final = re.compile(
    rf"(?:\*|(?P<spread>H)|(?P<low>{_END})(?:-(?P<high>{_END}))?)(?:/(?P<step>[1-9]\d*))?"
)
_PRESETS: Final = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly", "@once")
_AT: Final = (("pipeline", "schedule"), ("upkeep", "schedule"))


def schedule_faults(root: Located, file: str) -> list[Fault]:
    """Schedules that are no cron expressions."""
    faults = []
    for group, member in _AT:
        above = root.value.get(group)
        here = above.value.get(member) if above and isinstance(above.value, dict) else None
        if here is not None and isinstance(here.value, str):
            problem = _problem(here.value)
            if problem:
                line, column = here.place
                faults.append(Fault(file, line, column, f"schedule {here.value!r}: {problem}"))
    return faults


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
    fields = cron.split()
    if len(fields) != len(_FIELDS):
        return f"a cron expression has {len(_FIELDS)} fields, this has {len(fields)}"
    for position, (given, (name, low, high)) in enumerate(zip(fields, _FIELDS, strict=True)):
        for part in given.split(","):
            match = _PART.fullmatch(part)
            if match is None or (match["spread"] and (position >= _SPREAD or part != given)):
                return f"{name} {part!r} is not understood"
            for end in (match["low"], match["high"]):
                if end is not None and end.isdigit() and not low <= int(end) <= high:
                    return f"{name} {end} is not between {low} and {high}"
    return ""
