"""A watcher, look by look: what its trigger says of a real table, and what it keeps of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger
from paimon_provider.watching.seen import Seen

__all__ = ["Watcher"]


class _Asking:
    async def ask(self, question: Any) -> Any:
        return question()


class Watcher:
    """Looks when it is told to; what it keeps goes through JSON, as in Airflow's database."""

    def __init__(self, table: str = "shop.t", **arguments: Any) -> None:
        given = {"table": table, "asset_uri": "paimon://paimon_default/shop/t"} | arguments
        self.trigger = PaimonSnapshotTrigger(**given)
        self.hook = PaimonHook()
        self.kept: str | None = None

    def look(self, dies_after: int | None = None) -> list[dict[str, Any]]:
        """The events of one look.

        With ``dies_after`` it is killed behind that many events, the last of which Airflow has not
        settled: its mark is not kept.
        """
        stored = None if self.kept is None else Seen.from_json(json.loads(self.kept))
        unseen = self.hook.unseen_snapshots(self.trigger.table, stored)
        if stored is None:
            stored = Seen() if self.trigger.start == "earliest" else unseen.head
            self._keep(stored)
            if stored.place.id == 0:
                unseen = self.hook.unseen_snapshots(self.trigger.table, stored)
        return asyncio.run(self._told(unseen, stored, dies_after))

    async def _told(self, unseen: Any, seen: Seen, dies_after: int | None) -> list[dict[str, Any]]:
        calls: Any = _Asking()
        found: list[dict[str, Any]] = []
        unseen = await self.trigger._ready(unseen, seen, calls)
        async for payload, mark in self.trigger._payloads(unseen, seen, calls):
            if payload is not None:
                found.append(json.loads(json.dumps(payload)))
                if len(found) == dies_after:
                    return found
            self._keep(mark)
        return found

    def _keep(self, mark: Seen) -> None:
        self.kept = json.dumps(mark.to_json())
