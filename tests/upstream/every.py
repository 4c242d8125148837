"""Every case, and what is to be told of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.upstream import (
    ages,
    aggregation,
    catalogs,
    changelogs,
    engines,
    evolution,
    reports,
    statements,
    states,
    tables,
    upkeep,
    validation,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.upstream.play import Case

__all__ = ["CASES", "counts"]

CASES: tuple[Case, ...] = (
    *engines.CASES,
    *aggregation.CASES,
    *changelogs.CASES,
    *tables.CASES,
    *evolution.CASES,
    *states.CASES,
    *values.CASES,
    *ages.CASES,
    *upkeep.CASES,
    *catalogs.CASES,
    *reports.CASES,
    *statements.CASES,
    *validation.CASES,
)


NAMES = {
    "custom": "marks of partitions by a class",
    "expired snapshots can be read through a tag": "tags and rollbacks of expired snapshots",
    "fixed number of buckets": "rescales of postponed partitions",
    "http-report": "marks of partitions by http",
    "lacks partition columns": "keys without their partition columns in fixed buckets",
    "last second before 1970": "the last second before 1970 in ORC",
    "m[a]": "indexes of members of a MAP",
    "s.x": "members of a ROW in SET",
    "s.y": "members of a ROW in SET",
    "select": "subqueries",
    "type": "format tables",
    "||": "texts joined by two bars",
}
"""What a case that is missing lacks, where the words of its refusal do not say it."""


def counts(cases: Iterable[Case], wrong: Iterable[Case] = ()) -> dict[str, dict[str, object]]:
    """By area: how many cases hold, how many are missing by which name, and how many are wrong."""
    bad = {(one.area, one.promise) for one in wrong}
    told: dict[str, dict[str, object]] = {}
    everything = tuple(cases)
    for area in dict.fromkeys(one.area for one in everything):
        here = [one for one in everything if one.area == area]
        missing = Counter(NAMES.get(one.missing, one.missing) for one in here if one.missing)
        failed = sum((one.area, one.promise) in bad for one in here)
        told[area] = {
            "cases": len(here),
            "held": len(here) - missing.total() - failed,
            "missing": dict(sorted(missing.items())),
            "wrong": failed,
        }
    return told
