"""Records of several partitions come in the order of the source's log, however a broker hands them out."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from table_core.cdc.source.kafka import merged_windows as merged
from table_core.cdc.source.kafka.records import JsonRecords


class Broker:
    """Partitions of records, each handed out as a whole where nobody pauses it."""

    def __init__(self, partitions: dict[int, list[int | None]], chance: random.Random) -> None:
        self.records, self.chance = partitions, chance
        self.ends: dict[tuple[str, int], int] = {}
        self.paused: set[tuple[str, int]] = set()

    def lines(self, begin: Any, last: Any, form: Any) -> Iterator[tuple[str, int, int, bytes]]:
        at = dict.fromkeys(self.records, 0)
        for number, records in self.records.items():
            if not records:
                self.ends["t", number] = 0
        while left := [n for n in at if at[n] < len(self.records[n])]:
            free = [n for n in left if ("t", n) not in self.paused]
            if not free:
                self.paused.clear()
                free = left
            number = free[0] if self.chance.random() < 0.9 else self.chance.choice(free)
            place = self.records[number][at[number]]
            source = (
                {} if place is None else {"source": {"table": "o", "file": "b.1", "pos": place}}
            )
            line = {"topic": "t", "partition": number, "value": source}
            yield "t", number, at[number], json.dumps(line).encode()
            at[number] += 1
            if at[number] == len(self.records[number]):
                self.ends["t", number] = at[number]

    def pause(self, at: tuple[str, int]) -> None:
        self.paused.add(at)

    def resume(self, partitions: Iterable[tuple[str, int]]) -> None:
        self.paused -= set(partitions)


@pytest.mark.parametrize("seed", range(30))
def test_windows_follow_one_another_in_the_order_of_the_log(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(merged, "window_is_full", lambda _, lines, __: lines >= 40)
    chance = random.Random(seed)
    partitions: dict[int, list[int | None]] = {n: [] for n in range(chance.randrange(1, 5))}
    for place in range(chance.randrange(500)):
        number = chance.choice([0, 0, 0, *partitions])
        partitions[number].append(place)
        if chance.random() < 0.2:
            partitions[number].append(None)
    broker: Any = Broker(partitions, chance)
    begin = {("t", n): 0 for n in partitions}
    last = {("t", n): len(records) for n, records in partitions.items()}
    windows = list(merged.merged_windows(broker, begin, last, JsonRecords()))
    highest = -1
    for places, lines in windows:
        assert len(lines) <= 200
        seen = [partitions[n][offset] for _, n, offset in places]
        known = [place for place in seen if place is not None]
        assert not known or min(known) > highest
        highest = max([highest, *known])
    for n, records in partitions.items():
        offsets = [offset for places, _ in windows for _, m, offset in places if m == n]
        assert offsets == list(range(len(records)))


def test_partitions_whose_places_are_of_no_one_log_hold_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merged, "window_is_full", lambda _, lines, __: lines >= 10)
    broker: Any = Broker({0: [9, 1] * 50, 1: [None] * 70, 2: []}, random.Random(1))
    last = {("t", 0): 100, ("t", 1): 70, ("t", 2): 0}
    windows = list(merged.merged_windows(broker, dict.fromkeys(last, 0), last, JsonRecords()))
    assert sum(len(lines) for _, lines in windows) == 170
    assert max(len(lines) for _, lines in windows) < 40
