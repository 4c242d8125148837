"""A source that is away while a run without an end reads it: it is asked again, with pauses, up to a limit."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.errors import StorageUnavailableError
    from table_core.ports import Clock

__all__ = ["Outage"]

_log = logging.getLogger(__name__)
_FIRST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 15_000
_LONGEST_MS: Final = 600_000
"""A server that is started anew, or another one that takes its place, is back before that."""


@dataclass(slots=True, kw_only=True)
class Outage:
    """Since when a source does not answer."""

    clock: Clock
    stop_at_ms: int | None = None
    """When the run ends whatever its source does."""
    stops: Callable[[], bool] | None = None
    """Whether it is to end now."""
    _since_ms: int | None = None
    _pause_ms: int = _FIRST_PAUSE_MS

    def wait(self, error: StorageUnavailableError) -> None:
        """Wait before the source is asked again.

        Raises:
            StorageUnavailableError: ``error``: it was away for long enough, or the run is at its end.
        """
        now = self.clock.now_ms()
        if self._since_ms is None:
            self._since_ms = now
            minutes = _LONGEST_MS // 60_000
            _log.warning("%s. It is asked again for up to %d minutes", error, minutes)
        is_end = self.stop_at_ms is not None and now >= self.stop_at_ms
        is_end = is_end or (self.stops is not None and self.stops())
        if is_end or now - self._since_ms >= _LONGEST_MS:
            raise error
        self.clock.sleep_ms(self._pause_ms)
        self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)

    def over(self) -> None:
        """The source answers."""
        if self._since_ms is not None:
            seconds = (self.clock.now_ms() - self._since_ms) / 1000
            _log.warning("The source answers again, after %.0f s", seconds)
        self._since_ms, self._pause_ms = None, _FIRST_PAUSE_MS
