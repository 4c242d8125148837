"""Picks of Apache Paimon's own ``UniversalCompaction``, recorded; and ours of the same bucket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from table_core.lsm import universal
from table_core.lsm.levels import Levels
from table_core.lsm.triggers import EarlyFull
from table_core.lsm.universal import Settings
from tests.unit.lsm.keyed import bounds, keyed

__all__ = ["RECORDED", "Recorded", "ours"]

Recorded: TypeAlias = tuple[dict[str, Any], list[int] | None]
RECORDED: list[Recorded] = [
    (case, answer)
    for line in Path(__file__).with_name("picks.jsonl").read_text().splitlines()
    for case, answer in [json.loads(line)]
]


def ours(case: dict[str, Any]) -> list[int] | None:
    """The output level and the number of runs that we pick, or None."""
    files = [
        keyed(f"f{i}", 0, 9, level=level, size=size, seq=1000 - i)
        for i, (level, size) in enumerate(case["runs"])
    ]
    settings = Settings(
        trigger=case["trigger"],
        size_ratio=case["ratio"],
        max_size_amplification=case["amplification"],
        early_full=EarlyFull(
            total_size=case.get("total"), incremental_size=case.get("incremental")
        ),
        force_level_zero=case["force"],
    )
    found = universal.pick(Levels.of(files, bounds, case["levels"]), settings)
    return None if found is None else [found.output_level, len(found.files)]
