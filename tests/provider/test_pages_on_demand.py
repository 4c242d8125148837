"""Airflow's other pages do not wait while ours are loaded."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from paimon_provider import plugin


def test_the_event_loop_goes_on_while_the_first_request_loads_the_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others_went_on, asked = threading.Event(), []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        asked.append(scope["path"])

    def load() -> Any:
        assert others_went_on.wait(180), "the loop stood still"
        return app

    async def go() -> None:
        pages = plugin._PagesOnDemand()
        first = asyncio.create_task(pages({"path": "/tables"}, None, None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        others_went_on.set()
        await first
        monkeypatch.setattr(plugin, "_load_pages", lambda: pytest.fail("loaded twice"))
        await pages({"path": "/overview"}, None, None)  # type: ignore[arg-type]

    monkeypatch.setattr(plugin, "_load_pages", load)
    asyncio.run(go())
    assert asked == ["/tables", "/overview"]
