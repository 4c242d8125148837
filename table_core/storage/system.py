"""The real clock and the real randomness."""

from __future__ import annotations

import datetime as dt
import random
import time
import uuid
from dataclasses import dataclass, field

__all__ = ["SystemClock", "SystemIds"]


@dataclass(frozen=True, slots=True)
class SystemClock:
    """Time of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def local_offset_ms(self, at_ms: int) -> int:
        """Offset of this machine's zone from UTC at ``at_ms``."""
        at = dt.datetime.fromtimestamp(at_ms // 1000, dt.UTC).astimezone()
        offset = at.utcoffset()
        return 0 if offset is None else offset // dt.timedelta(milliseconds=1)

    def sleep_ms(self, duration_ms: int) -> None:
        """Sleep."""
        time.sleep(max(duration_ms, 0) / 1000)


@dataclass(frozen=True, slots=True)
class SystemIds:
    """Randomness of this machine.  A forked process draws other numbers than its parent."""

    _random: random.SystemRandom = field(default_factory=random.SystemRandom, repr=False)

    def uuid(self) -> str:
        """A new random UUID."""
        return str(uuid.uuid4())

    def __reduce__(self) -> tuple[object, ...]:
        return SystemIds, ()  # the system's randomness has no state to carry to another process

    def jitter(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()
