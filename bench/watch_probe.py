"""The trigger of ``bench.watch``: the provider's own, which also tells how the triggerer is doing.

Runs in the triggerer.  Every second a line goes into the file that ``WATCH_PROBE`` names: how late the
event loop woke up at worst, and how often the warehouse has been looked at.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TICK_S = 0.02


class ProbedTrigger(PaimonSnapshotTrigger):
    """Watches as its base does."""

    @classmethod
    async def open_shared_stream(cls, kwargs: dict[str, Any]) -> AsyncIterator[None]:
        probe = asyncio.create_task(_probe(Path(os.environ["WATCH_PROBE"]), _counted()))
        try:
            async for nothing in super().open_shared_stream(kwargs):
                yield nothing
        finally:
            probe.cancel()


def _counted() -> list[int]:
    """The number of looks so far, in a list of one."""
    looks, look = [0], PaimonHook.news

    def counted(self: PaimonHook, *given: Any) -> Any:
        looks[0] += 1
        return look(self, *given)

    PaimonHook.news = counted  # type: ignore[method-assign]
    return looks


async def _probe(file: Path, looks: list[int]) -> None:
    while True:
        worst, until = 0.0, time.monotonic() + 1
        while (begun := time.monotonic()) < until:
            await asyncio.sleep(TICK_S)
            worst = max(worst, time.monotonic() - begun - TICK_S)
        line = {"at": time.time(), "lag_ms": worst * 1000, "looks": looks[0]}
        with file.open("a") as out:
            out.write(json.dumps(line) + "\n")
