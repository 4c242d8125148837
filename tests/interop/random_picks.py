"""Random shapes of a bucket, of which a compaction picks some runs."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["case"]


def case(seed: int) -> dict[str, Any]:
    """Runs in compaction order with their levels and sizes, and the settings of the table."""
    chance = random.Random(seed)
    levels = chance.choice([2, 3, 4, 6, 6, 8])
    size = chance.choice(
        [
            lambda: chance.randint(1, 9),
            lambda: 10 ** chance.randint(0, 9),
            lambda: 100 + chance.randint(-2, 2),
        ]
    )
    above = sorted(chance.sample(range(1, levels), chance.randint(0, min(levels - 1, 4))))
    zero = [0] * chance.choice([0, 1, 1, 2, 3, 5, 8])
    made: dict[str, Any] = {
        "levels": levels,
        "runs": [[level, size()] for level in [*zero, *above]] or [[0, size()]],
        "trigger": chance.choice([1, 2, 3, 5, 5]),
        "ratio": chance.choice([0, 1, 1, 10, 100, -50]),
        "amplification": chance.choice([200, 200, 0, 50, 10**8]),
        "force": chance.random() < 0.4,
    }
    if chance.random() < 0.15:
        made["total"] = chance.choice([10, 1000, 10**8])
    if chance.random() < 0.15:
        made["incremental"] = chance.choice([10, 1000, 10**8])
    return made
