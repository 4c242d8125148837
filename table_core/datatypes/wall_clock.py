"""Wall clocks and moments, one to the other, also around an hour that changes.

Paimon stamps files and tags with the wall clock of the machine, as if it were UTC.  Where clocks go back an
hour is there twice, and where they go forward one is missing.  Europe/Berlin, 25 October 2026::

    moment  23:30Z  00:30Z  01:30Z  02:30Z
    clock    01:30   02:30   02:30   03:30

``moment`` takes the first of two, as Java does; ``moments`` gives both.

Source: ``java.time.LocalDateTime#atZone``; format T12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WallClock"]

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class WallClock:
    """The clock on the wall in one zone.  All numbers are milliseconds."""

    offset_ms: Callable[[int], int]
    """How far the zone is ahead of UTC at a moment."""

    def shown(self, moment_ms: int) -> int:
        """What the clock shows at ``moment_ms``, encoded as if it were UTC."""
        return moment_ms + self.offset_ms(moment_ms)

    def moments(self, clock_ms: int) -> tuple[int, ...]:
        """When the clock shows ``clock_ms``, oldest first: once, twice, or never."""
        around = {self.offset_ms(clock_ms + days * _DAY_MS) for days in (-1, 0, 1)}
        times = (clock_ms - offset for offset in sorted(around, reverse=True))
        return tuple(ms for ms in times if self.shown(ms) == clock_ms)

    def moment(self, clock_ms: int) -> int:
        """When the clock first shows ``clock_ms``; of an hour that is missing, as if it had not changed yet."""
        moments = self.moments(clock_ms)
        return moments[0] if moments else clock_ms - self.offset_ms(clock_ms - _DAY_MS)

    def last_moment(self, clock_ms: int, by_ms: int) -> int:
        """When the clock last shows ``clock_ms`` until ``by_ms``, at which what it stamped was there.

        25 October 2026, 02:30 in Berlin: 01:30Z, or 00:30Z if it was there at 00:40Z.
        """
        before = [ms for ms in self.moments(clock_ms) if ms <= by_ms]
        return before[-1] if before else self.moment(clock_ms)
