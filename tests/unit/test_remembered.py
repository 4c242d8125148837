"""What a process has decoded is kept up to a bound that its environment says."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from table_core.options.budgets import CACHED_ENTRIES, take_budgets
from table_core.table.metadata.remembered import Remembered


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(CACHED_ENTRIES.variable, "10")
    take_budgets(os.environ)
    yield
    monkeypatch.undo()
    take_budgets(os.environ)


@pytest.mark.usefixtures("few")
def test_the_least_recently_used_goes_when_there_are_more_entries_than_the_environment_says() -> (
    None
):
    cache = Remembered(weight_max=lambda: CACHED_ENTRIES.most)
    for name in "abcd":
        cache.get(("store", name), lambda: [0] * 4)
    kept = [name for name in "abcd" if cache.peek(("store", name)) is not None]
    assert kept == ["c", "d"]
