"""Which process this is, and whether one of this machine still runs: so that what a killed one left is known at once."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = ["ProcessId"]

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/pid")


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
