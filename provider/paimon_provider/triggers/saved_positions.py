"""How far a watcher has come, kept no sooner than the events up to there are Airflow's."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.arguments.table_identity import TableIdentity
from paimon_provider.watching.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Announcement", "SavedPositions", "TakenOverError", "mark_key"]

_WATERMARK: Final = "paimon.seen"
"""Never change it: it holds the place of watchers that are running."""

_TELLING: Final = "telling"
"""Beside the members of a mark: events that may not be Airflow's yet."""
_DEFAULTS: Final = {"on": "changes", "min_rows": 0, "partitions": []}
_SETTLED_SECONDS: Final = 5.0
"""By then an event is stored, or the watcher has been cancelled.

Airflow takes a watcher away in its database first and drops without a word what comes of it from
then on.  The watcher hears of it with the triggerer's next round, up to two seconds after the event.
"""


class TakenOverError(Exception):
    """Another triggerer has gone on with the watcher: what it keeps counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """An event that Airflow may not have stored yet, and how far it goes."""

    payload: dict[str, Any]
    mark: Seen

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {"payload": self.payload, "mark": self.mark.to_json()}

    @classmethod
    def from_json(cls, stored: Any) -> Announcement:
        """Read what ``to_json`` made."""
        return cls(payload=dict(stored["payload"]), mark=Seen.from_json(stored["mark"]))


class SavedPositions:
    """Marks in the order of their events, each kept when its event has settled.

    An event is kept before it is told, until it has settled.  So what a kill repeats is the same event: the same
    range of snapshots, the same rows.  What came meanwhile is an event of its own.  For example, 238 to 272 is
    told, and the triggerer is killed.  It is told again as 238 to 272, and what follows begins at 273.

    :param store: the asset's state: ``aget`` and ``aset``; None where Airflow has none: nothing is kept.
    :param key: what ``mark_key`` names.
    """

    def __init__(self, store: Any, key: str, log: Any) -> None:
        self._store = store
        self._key = key
        self._log = log
        self._settled: Seen | None = None
        self._telling: list[Announcement] = []
        self._kept = ""
        self._waiting: asyncio.Queue[tuple[float, Seen]] = asyncio.Queue()
        self._writing = asyncio.Lock()

    @property
    def telling(self) -> tuple[Announcement, ...]:
        """What was told and has not settled, oldest first."""
        return tuple(self._telling)

    async def load(self) -> Seen | None:
        """What has settled; None: nothing is kept."""
        self._waiting = asyncio.Queue()
        stored = None if self._store is None else await self._store.aget(self._key)
        self._kept = _text(stored)
        self._settled = None if stored is None else Seen.from_json(stored)
        told = () if stored is None else stored.get(_TELLING, ())
        self._telling = [Announcement.from_json(one) for one in told]
        return self._settled

    async def begin(self, mark: Seen) -> None:
        """Keep ``mark`` at once: nothing has been told up to there."""
        self._settled = mark
        await self._keep()

    async def announce(self, payload: dict[str, Any], mark: Seen) -> None:
        """Keep what is told next.

        Raises:
            TakenOverError: another triggerer has gone on meanwhile.
            Exception: Airflow does not keep it: it is not told yet.
        """
        self._telling.append(Announcement(payload=payload, mark=mark))
        try:
            await self._write()
        except BaseException:
            self._telling.pop()
            raise

    def move(self, mark: Seen) -> None:
        """Keep ``mark`` when what has been told by now has settled."""
        now = asyncio.get_running_loop().time()
        self._waiting.put_nowait((now + _SETTLED_SECONDS, mark))

    async def run(self) -> None:
        """Keep them as they settle, until cancelled."""
        while True:
            due, mark = await self._waiting.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            self._settled = mark
            if self._telling and self._telling[0].mark == mark:
                del self._telling[0]
            try:
                await self._keep()
            except TakenOverError:  # who tells next hears of it too, and begins anew
                continue

    async def _keep(self) -> None:
        try:
            await self._write()
        except TakenOverError:
            raise
        except Exception as error:  # noqa: BLE001 - at worst an event comes again after a restart
            self._log.warning("Cannot keep the watermark %s: %s", self._key, error)

    async def _write(self) -> None:
        """Keep the place, unless somebody else has kept another one."""
        if self._store is None:
            return
        async with self._writing:
            if _text(await self._store.aget(self._key)) != self._kept:
                raise TakenOverError
            document = (self._settled or Seen()).to_json()
            if self._telling:
                document[_TELLING] = [one.to_json() for one in self._telling]
            kept = _text(document)
            await self._store.aset(self._key, json.loads(kept))  # it takes no tuples
            self._kept = kept


def _text(stored: Any) -> str:
    return "" if stored is None else json.dumps(stored, sort_keys=True)


def mark_key(arguments: Mapping[str, Any]) -> str:
    """Under which key of the asset's state a watcher of these ``arguments`` keeps its place.

    An asset that is named after the table and the filters has one watcher.  Any other may have several, and
    each keeps its own place.
    """
    plain, _, query = str(arguments["asset_uri"]).partition("?")
    identity, filters = TableIdentity.of_uri(plain), {n: arguments[n] for n in _DEFAULTS}
    named = identity and f"{identity.database}.{identity.name}" == arguments["table"].lower()
    if named and (query or filters == _DEFAULTS):
        return _WATERMARK
    told = filters | {name: arguments[name] for name in ("table", "paimon_conn_id")}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    return f"{_WATERMARK}.{digest[:16]}"
