"""How long a table waits for its next look: short behind a commit, longer and longer when it is quiet."""

from __future__ import annotations

import pytest

from paimon_provider.triggers.blocking_calls import Pause


def pauses(pause: Pause, looks: int) -> list[float]:
    """Those between looks that find nothing."""
    found = []
    for _ in range(looks):
        found.append(pause.seconds())
        pause.relax()
    return found


def test_behind_a_commit_the_next_looks_come_within_a_second_and_then_it_is_quiet_again() -> None:
    pause = Pause(3.0)
    assert pauses(pause, 2) == pytest.approx([3.0, 3.0], rel=0.11)
    pause.hurry()
    found = pauses(pause, 14)
    assert found[0] == pytest.approx(0.25, rel=0.11)
    assert found[-1] == pytest.approx(3.0, rel=0.11)
    waited = 0.0
    for seconds in found:  # a commit that comes within two seconds is seen within one
        waited += seconds
        if waited > 2:
            break
        assert seconds < 1


def test_who_asks_for_shorter_pauses_gets_them() -> None:
    pause = Pause(0.1)
    pause.hurry()
    assert pauses(pause, 3) == pytest.approx([0.1] * 3, rel=0.11)


def test_after_failures_a_look_that_succeeds_brings_the_interval_back() -> None:
    pause = Pause(3.0)
    for _ in range(5):
        pause.grow()
    assert pause.seconds() > 60
    pause.relax()
    assert pause.seconds() == pytest.approx(3.0, rel=0.11)
