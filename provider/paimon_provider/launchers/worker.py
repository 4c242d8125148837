"""What this worker has: memory that is free, and modules that it can import."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from table_core.jobs.engine_choice import Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["free_memory", "this_worker"]

_SELF: Final = Path("/proc/self/cgroup")
_MEMINFO: Final = Path("/proc/meminfo")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_UNLIMITED: Final = 1 << 60
"""How a control group says that it has no limit: a number of about this size, or ``max``."""


def this_worker(packages: Sequence[str]) -> Worker:
    """The memory that is free now, and which of ``packages`` are missing."""
    missing = frozenset(name for name in packages if find_spec(name) is None)
    return Worker(free_memory=free_memory(), missing=missing)


def free_memory(
    own: Path = _SELF, meminfo: Path = _MEMINFO, cgroups: Path = _CGROUPS
) -> int | None:
    """Bytes that this process may still take: of the machine, and of every control group around it.

    None where nobody says, as on a Mac.  What files are cached in counts as free, for it is given back.
    """
    free = [*_of_machine(meminfo), *_of_groups(own, cgroups)]
    return min(free) if free else None


def _of_machine(meminfo: Path) -> list[int]:
    for line in _lines(meminfo):
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return [int(rest.split()[0]) << 10]
    return []


def _of_groups(own: Path, cgroups: Path) -> list[int]:
    """What is left in the group of this process, and in those around it, of version 1 or 2."""
    free = []
    for line in _lines(own):
        number, controllers, path = line.strip().split(":", 2)
        if number == "0" and not controllers:
            root, limit, used = cgroups, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root = cgroups / "memory"
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        place = root / path.lstrip("/")
        # Inside a container the path may be the host's: then its own group is mounted at the root.
        for folder in [place, *place.parents]:
            if folder == root or root in folder.parents:
                free += _left(folder, limit, used)
    return free


def _left(folder: Path, limit: str, used: str) -> list[int]:
    most, now = _number(folder / limit), _number(folder / used)
    if most is None or now is None or most >= _UNLIMITED:
        return []
    cached = 0
    for line in _lines(folder / "memory.stat"):
        name, _, value = line.partition(" ")
        if name in {"inactive_file", "total_inactive_file"}:
            cached = max(cached, int(value))
    return [max(0, most - now + cached)]


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # another system, or another version of control groups
        return []
