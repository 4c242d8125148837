"""The real clock, the real randomness, and which process this is."""

from __future__ import annotations

import datetime as dt
import os
import random
import socket
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = ["ProcessId", "SystemClock", "SystemIds"]

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/pid")


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


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process, among those of all machines."""

    machine: str
    """With what tells containers of one name apart; '' if nobody knows."""
    number: int

    @classmethod
    def of_this(cls) -> ProcessId:
        """This process."""
        return cls(_machine(), os.getpid())

    def runs(self) -> bool | None:
        """Whether it runs; None: it is of another machine, and nobody can tell."""
        if not self.machine or self.machine != _machine():
            return None
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


@lru_cache(maxsize=1)
def _machine() -> str:
    with suppress(OSError):
        boot, namespace = _BOOT.read_text().strip(), _NAMESPACE.stat().st_ino
        return f"{socket.gethostname()}/{boot}/{namespace}"
    return ""
