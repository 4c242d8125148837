"""What a long sync tells while it runs: rows of first snapshots, events, commits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.cdc.model.record import SourceTable
    from table_core.ports import Clock

__all__ = ["SyncProgress", "quiet"]

_EVERY_MS: Final = 2000


@dataclass(slots=True)
class SyncProgress:
    """Tells ``tell(stage, **facts)``, not more often than people can read."""

    tell: Callable[..., None]
    clock: Clock
    _told_ms: dict[str, int] = field(default_factory=dict)
    _rows: Counter[SourceTable] = field(default_factory=Counter)

    def snapshot(self, table: SourceTable, rows: int, about: int | None, *, done: bool) -> None:
        """``rows`` more of a table were read; the server thinks that there are ``about`` in all."""
        self._rows[table] += rows
        if self._due("snapshot") or done:
            read = self._rows[table]
            self.tell("snapshot", table=str(table), rows=read, of=read if done else about)

    def left_out(self, table: SourceTable, why: str) -> None:
        """A source table cannot be followed, and the others are."""
        self.tell("left out", table=str(table), why=why)

    def events(self, events: int) -> None:
        """So many events were read by now."""
        if self._due("events"):
            self.tell("events", events=events)

    def committed(self, table: str, snapshot: int | None) -> None:
        """What was read of a table is visible."""
        self.tell("committed", table=table, snapshot=snapshot)

    def _due(self, stage: str) -> bool:
        now = self.clock.now_ms()
        if now - self._told_ms.get(stage, 0) < _EVERY_MS:
            return False
        self._told_ms[stage] = now
        return True


def quiet(_: str, **__: object) -> None:
    """Tell nobody."""
