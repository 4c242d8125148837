"""Time and memory of the part of a workload that counts."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.engines import Engine

__all__ = ["Stopwatch"]

RESET = Path("/proc/self/clear_refs")


@dataclass
class Stopwatch:
    """Seconds between the ``with`` lines of a workload, and memory above what was there before.

    An engine elsewhere measures itself: it counts its seconds in ``spent``.
    """

    engine: Engine
    seconds: float = 0.0
    above_mb: int | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        before = _resident("VmRSS")
        RESET.write_text("5")  # the peak starts anew
        started = self._now()
        yield
        self.seconds += self._now() - started
        self.above_mb = (_resident("VmHWM") - before) >> 10

    def _now(self) -> float:
        return float(getattr(self.engine, "spent", time.perf_counter()))


def _resident(name: str) -> int:
    """KiB, of the line ``name`` of what Linux knows of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])
