"""Clocks that tests own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
