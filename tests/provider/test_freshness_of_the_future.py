"""Rows by a clock that was ahead are not fresh: the alarm goes off, and the log says why."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_provider.waiting.wait_conditions import FreshnessWait


def hook_at(ms: int) -> Any:
    snapshot = SimpleNamespace(id=1, time_millis=ms)
    return SimpleNamespace(
        head=lambda _: snapshot,
        snapshots=lambda _: ([snapshot], "none"),
        table=lambda _: SimpleNamespace(rows_came_ms=lambda: ms),
    )


@pytest.mark.parametrize("hours", [1, 24])
def test_a_negative_age_is_loud(
    hours: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimon_provider.waiting.wait_conditions.counts", lambda *_: True)
    caplog.set_level(logging.WARNING)
    ahead = hook_at(int(time.time() * 1000) + hours * 3_600_000)
    assert FreshnessWait(table="d.t", within="1 h").look(ahead) is None
    assert "ahead of this machine's clock" in caplog.text
