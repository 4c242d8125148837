"""Clocks that tests own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from table_core.storage.system import SystemClock

__all__ = ["DAY_MS", "HOUR_MS", "Impatient", "Later", "SetClock", "WouldWaitError"]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class WouldWaitError(Exception):
    """The reader has caught up."""


@dataclass(frozen=True)
class Impatient:
    """A clock on which nobody can wait: whoever does has caught up."""

    clock: Any

    def now_ms(self) -> int:
        return self.clock.now_ms()

    def local_offset_ms(self, at_ms: int) -> int:
        return self.clock.local_offset_ms(at_ms)

    def sleep_ms(self, duration_ms: int) -> None:
        raise WouldWaitError(duration_ms)


@dataclass(frozen=True)
class Later(SystemClock):
    """The clock of the machine, so much ahead: what is young is old."""

    ahead_ms: int = 3 * DAY_MS

    def now_ms(self) -> int:
        return SystemClock.now_ms(self) + self.ahead_ms


@dataclass
class SetClock:
    """Stands still until it is set or somebody waits; its zone is UTC.  It notes how long one was to wait."""

    at_ms: int = 1_800_000_000_000
    waits_ms: list[int] = field(default_factory=list)

    def now_ms(self) -> int:
        return self.at_ms

    def local_offset_ms(self, at_ms: int) -> int:
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        self.waits_ms.append(duration_ms)
        self.at_ms += duration_ms
