"""What is due in a pipeline: which hop takes its next batch, which waits, and which has stopped.

Nothing is queued.  A hop that is due takes all that came since its last batch, so a slow hop has larger batches and
not a longer queue: that is the back pressure, and it needs no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.errors import ErrorKind

if TYPE_CHECKING:
    from table_core.pipeline.hop import Hop

__all__ = ["Batches"]

_PASSES: Final = (ErrorKind.CONFLICT, ErrorKind.UNAVAILABLE, ErrorKind.NOT_FOUND)
"""What another attempt may mend; a table is not there before the first commit of the source that makes it."""
_FIRST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 15_000
_LONGEST_MS: Final = 600_000
"""A hop that fails for so long has stopped, whatever it fails of."""


@dataclass(slots=True)
class _Failing:
    """A hop whose last batches failed, of what may pass."""

    since_ms: int
    again_ms: int
    pause_ms: int = _FIRST_PAUSE_MS


@dataclass(slots=True)
class Batches:
    """How far the hops of a pipeline are; ``hops`` are in their order, and sources look after themselves."""

    hops: tuple[Hop, ...]
    upkeep_ms: int
    """Between two looks at the files of a table that was written to."""
    _due: dict[str, None] = field(default_factory=dict)
    _failing: dict[str, _Failing] = field(default_factory=dict)
    _stopped: set[str] = field(default_factory=set)
    _written: dict[str, int] = field(default_factory=dict)
    """Tables that were written to since the last upkeep, and when that was, or since when there was none."""
    _kept_up: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """At first each hop may have something to do: commits that came while nobody ran it."""
        self._due = {hop.name: None for hop in self.hops if not hop.is_source}

    def committed(self, table: str, now_ms: int) -> None:
        """A commit to ``table`` is visible."""
        for hop in self.hops:
            if not hop.is_source and table in hop.woken_by:
                self._due[hop.name] = None
                if (failing := self._failing.get(hop.name)) is not None:
                    failing.again_ms = now_ms
        self._written.setdefault(table, self._kept_up.get(table, now_ms))

    def next(self, now_ms: int) -> Hop | None:
        """The hop that takes a batch now, the first one of the order; None: none has something to do."""
        for hop in self.hops:
            if hop.name in self._due and hop.name not in self._stopped:
                failing = self._failing.get(hop.name)
                if failing is None or now_ms >= failing.again_ms:
                    return hop
        return None

    def taken(self, hop: Hop) -> None:
        """``hop`` begins a batch: what is committed from now on makes it due again."""
        self._due.pop(hop.name, None)

    def done(self, hop: Hop) -> None:
        """The batch of ``hop`` is committed, or there was nothing in it."""
        self._failing.pop(hop.name, None)

    def failed(self, hop: Hop, kind: ErrorKind, now_ms: int) -> bool:
        """The batch of ``hop`` failed; whether it has stopped, and with it what only it feeds.

        What may pass is tried again with pauses, and at once when there is something new for it.
        """
        failing = self._failing.get(hop.name)
        lasts = failing is not None and now_ms - failing.since_ms >= _LONGEST_MS
        if kind not in _PASSES or lasts or hop.is_source:
            self._stopped.add(hop.name)
            return True
        if failing is None:
            failing = self._failing[hop.name] = _Failing(now_ms, now_ms)
        failing.again_ms = now_ms + failing.pause_ms
        failing.pause_ms = min(2 * failing.pause_ms, _LONGEST_PAUSE_MS)
        self._due[hop.name] = None
        return False

    def is_first_failure(self, hop: Hop) -> bool:
        """Whether the batch of ``hop`` that failed last is the first that did so."""
        failing = self._failing.get(hop.name)
        return failing is None or failing.pause_ms == 2 * _FIRST_PAUSE_MS

    def is_fed(self, table: str) -> bool:
        """Whether a hop that has not stopped may write ``table``, and tells of it."""
        return any(hop.writes(table) and hop.name not in self._stopped for hop in self.hops)

    @property
    def all_stopped(self) -> bool:
        """Whether nothing is left that could do something."""
        return all(hop.name in self._stopped for hop in self.hops)

    def upkeep(self, now_ms: int) -> str | None:
        """A table whose files are due for a look; None: none.  It comes after the batches that are due."""
        for table, since_ms in self._written.items():
            if now_ms - since_ms >= self.upkeep_ms:
                return table
        return None

    def kept_up(self, table: str, now_ms: int) -> None:
        """The files of ``table`` were looked at."""
        self._written.pop(table, None)
        self._kept_up[table] = now_ms

    def wait_ms(self, now_ms: int, longest_ms: int) -> int:
        """How long nothing is due if nobody commits meanwhile; ``longest_ms`` at most."""
        times = [one.again_ms for name, one in self._failing.items() if name not in self._stopped]
        times += [since_ms + self.upkeep_ms for since_ms in self._written.values()]
        return max(0, min([longest_ms, *(time - now_ms for time in times)]))
