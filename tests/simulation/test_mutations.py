"""The simulation is strong enough: with any one check of the protocol taken out, it fails.

Each of the six mutants is caught twice: by the schedule that is pinned for it in
``test_commit_races.py``, and by random schedules of the same seeds each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from table_core.commit import protocol, recovery
from table_core.commit.attempt import Attempt
from table_core.commit.readback import CreateOutcome
from table_core.expire import plan as ex
from tests.simulation import commit_races as races

SEEDS = range(3_000)
CAUGHT = (AssertionError, KeyError)
"""An invariant that is broken; a file that is missing from what was promised."""
Steps = Iterator[Any]
Mutate = Callable[[pytest.MonkeyPatch], None]


def no_floor(patch: pytest.MonkeyPatch) -> None:
    """Expiry may have passed a snapshot that is believed."""

    def check(run: object, id: int) -> Steps:
        return (yield from recovery.read_floor())

    patch.setattr(recovery, "check_floor", check)
    patch.setattr(protocol, "check_floor", check)


def no_search(patch: pytest.MonkeyPatch) -> None:
    """A retry does not look whether an earlier run has landed."""

    def find(run: object, state: object) -> Steps:
        yield from ()

    patch.setattr(protocol, "find", find)


def no_conflicts(patch: pytest.MonkeyPatch) -> None:
    """What does not fit on the head is committed all the same."""
    patch.setattr(Attempt, "refuse", lambda self, conflicts: None)


def no_expectations(patch: pytest.MonkeyPatch) -> None:
    """A position may have moved on."""
    patch.setattr(Attempt, "check_expectations", Attempt.carried)


def no_reading_back(patch: pytest.MonkeyPatch) -> None:
    """A create that is told to be too late was another's."""
    patch.setattr(protocol, "judge", lambda stored, wanted: CreateOutcome.LOST)


def no_promise(patch: pytest.MonkeyPatch) -> None:
    """Expiry deletes without raising the floor."""
    shipped = races.expire_snapshots

    def expire(retention: ex.Retention) -> Steps:
        steps = shipped(retention)
        try:
            effect = next(steps)
            while True:
                silent = isinstance(effect, ex.Promise)
                effect = steps.send(None if silent else (yield effect))
        except StopIteration as stop:
            return stop.value

    patch.setattr(races, "expire_snapshots", expire)


MUTANTS: dict[str, tuple[Mutate, str]] = {
    "the floor is not checked": (no_floor, "a stalled writer reuses a dead id"),
    "history is not searched": (no_search, "a restart after an unacknowledged success"),
    "conflicts are not raised": (no_conflicts, "two compactions of the same files"),
    "expectations are not checked": (no_expectations, "two flows read the same position"),
    "what is there is not read back": (no_reading_back, "a lost reply is read back"),
    "expiry promises nothing": (no_promise, "a stalled writer meets an expiry half-way"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_pinned_schedule_catches_each_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, schedule = MUTANTS[name]
    races.play(schedule)
    mutate(monkeypatch)
    with pytest.raises(CAUGHT):
        races.play(schedule)


@pytest.mark.parametrize("name", MUTANTS)
def test_random_schedules_catch_each_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, _ = MUTANTS[name]
    mutate(monkeypatch)
    for seed in SEEDS:
        try:
            races.at_random(seed)
        except CAUGHT:
            print(f"{name}: caught by seed {seed}")
            return
    pytest.fail(f"{len(SEEDS)} random schedules let it pass: {name}")
