"""Commit and expiry under every interleaving and fault that the budget allows.

Method: the shipped generators (``commit``, ``expire_snapshots``) of several writers, a compactor, flows
that hand a position on, a foreign writer, a reader and an aggressive expirer run against a table in
dictionaries.  A schedule chooses who moves, what fails, who crashes and restarts, who is taken for dead
while it lives (``twin``), and when a write lands whose writer heard nothing (``late``).

Invariants: an acknowledged commit is in the head, once.  One that conflicted or gave up is not.  One
of unknown outcome is there at most once.  A position is passed on once.  Every promised
snapshot is whole, ids go up without a gap, times and totals agree.

Each check of the protocol has its schedule.  Mutants that were tried by hand, and what caught them
among the named schedules alone:

    protocol
        a floor that never refuses                        a stalled writer reuses a dead id, + 3
        created: floor not read                           a stalled writer reuses a dead id, + 2
        found: floor not read                             a restart finds its own resurrected snapshot
        not found: floor not read                         a dead id hides the proof
        not found: missing ids not noticed                a restart while Java expires its proof
        read back: floor not read                         ... after the id died and was used again
        unknown counts as lost                            a lost reply is read back, + 3
        exists counts as lost, unread                     the store's client repeats a create, + 1
        absent counts as lost                             a reply is lost and the write lands late
        a fault after the create is "unavailable"         a reply is lost and then the store is gone
        no search                                         a restart after an unacknowledged success, + 5
        search at the first attempt only                  a process taken for dead comes second, + 1
        later absence not proved                          ... wakes after its twin's proof expired
        (caller) a first run passes no ``resume_from``    ... before it began wakes last
        commits not listed in the snapshot                a restart after its proof expired, which ..., + 2
        expectations not checked                          two flows read the same position
        a replaced snapshot below the floor raised        what a writer saw expired ...
        files deleted although the outcome is unknown     a reply is lost and then the store is gone, + 1
        a lost compact half is raised                     a compact half loses and the rows are in, + 1
    attempt
        conflicts not raised                              two compactions of the same files, + 2
        properties not looked up                          a foreign commit drops the position
    expire (see also test_expiry_crashes.py)
        deletes before the promise, or no promise         a stalled writer meets an expiry half-way, + 5
        an upgrade counts as a deletion                   an upgraded file survives expiry, + 1
        metadata that stays is not spared                 a stalled writer reuses a dead id, + 5
"""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.commit_races import SCHEDULES, Model, at_random, everyone, play, run


@given(st.data())
def test_any_schedule(data: st.DataObject) -> None:
    model = Model()
    run(
        model,
        everyone(model),
        lambda options, asked: data.draw(st.sampled_from(list(options)), label="step"),
    )


def test_random_schedules() -> None:
    """A few hundred, or as many as ``BUDGET_S`` allows.  A failure names its seed."""
    budget_s = float(os.environ.get("BUDGET_S", "0"))
    first = random.randrange(2**32) if budget_s else 0
    until = time.monotonic() + (budget_s or 3)
    runs = steps = 0
    while time.monotonic() < until:
        steps += at_random(first + runs)
        runs += 1
    print(f"{runs} runs, {steps} steps")
    assert runs


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_by_name(name: str) -> None:
    play(name)
