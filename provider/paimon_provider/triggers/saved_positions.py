"""How far a watcher has come, kept no sooner than the events up to there are Airflow's."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.arguments.table_identity import TableIdentity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from paimon_provider.watching.conditions import Seen

__all__ = ["SavedPositions", "mark_keys", "stored_mark"]

_WATERMARK: Final = "paimon.seen"
"""Never change it: it holds the place of watchers that are running."""

_DEFAULTS: Final = {"on": "changes", "min_rows": 0, "partitions": []}
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


def mark_keys(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Under which key of the asset's state a watcher of these ``arguments`` keeps its place.

    An asset that is named after the table and the filters has one watcher.  Any other may have several, and
    each keeps its own place; where that is not there yet, the place that earlier releases kept is under the
    second key.
    """
    plain, _, query = str(arguments["asset_uri"]).partition("?")
    identity, filters = TableIdentity.of_uri(plain), {n: arguments[n] for n in _DEFAULTS}
    named = identity and f"{identity.database}.{identity.name}" == arguments["table"].lower()
    if named and (query or filters == _DEFAULTS):
        return (_WATERMARK,)
    told = filters | {name: arguments[name] for name in ("table", "paimon_conn_id")}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    own = f"{_WATERMARK}.{digest[:16]}"
    another_may_keep_it = named and arguments["start"] != "latest"  # who has no filters, now
    return (own,) if another_may_keep_it else (own, _WATERMARK)


async def stored_mark(store: Any, keys: Sequence[str]) -> Any:
    """What is kept under the first of ``keys`` that there is; None: under none."""
    for key in keys:
        if (stored := await store.aget(key)) is not None:
            return stored
    return None
