"""How far a watcher has come, kept no sooner than the events up to there are Airflow's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from paimon_provider.watching.conditions import Seen

__all__ = ["SavedPositions"]

_SETTLED_SECONDS: Final = 5.0
"""By then an event is stored, or the watcher has been cancelled.

Airflow takes a watcher away in its database first and drops without a word what comes of it from
then on.  The watcher hears of it with the triggerer's next round, up to two seconds after the event.
"""


class SavedPositions:
    """Marks in the order of their events, each kept when its event has settled.

    Those that have not been kept when the watcher is cancelled are never: what they are about is told
    again, for nobody can know whether Airflow has heard it.
    """

    def __init__(self, keep: Callable[[Seen], Awaitable[None]]) -> None:
        self._keep = keep
        self._waiting: asyncio.Queue[tuple[float, Seen]] = asyncio.Queue()

    def move(self, mark: Seen) -> None:
        """Keep ``mark`` when what has been told by now has settled."""
        now = asyncio.get_running_loop().time()
        self._waiting.put_nowait((now + _SETTLED_SECONDS, mark))

    async def run(self) -> None:
        """Keep them as they settle, until cancelled."""
        while True:
            due, mark = await self._waiting.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            await self._keep(mark)
