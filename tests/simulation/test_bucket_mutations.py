"""The tests of one bucket are strong enough: with any one check of what was read taken out, one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from table_core.commit import attempt, numbering, stale
from table_core.commit.attempt import Attempt
from tests.simulation import test_two_writers as two
from tests.simulation.bucket_races import race_of
from tests.simulation.one_bucket import Kind
from tests.unit.table import test_keys_that_moved as keys

Mutate = Callable[[pytest.MonkeyPatch], None]
PLAIN = Kind("deduplicate", "none", vectors=False, write_only=False)
SUMS = Kind("aggregation", "lookup", vectors=False, write_only=False)
CAUGHT = (AssertionError, pytest.fail.Exception)


def no_numbers(patch: pytest.MonkeyPatch) -> None:
    """Numbers stay as the writer gave them out."""
    patch.setattr(numbering, "stale", lambda part, head: ())


def tied_numbers(patch: pytest.MonkeyPatch) -> None:
    """Rows are numbered anew, from the newest number on and not after it."""
    shipped = numbering.shifts

    def shifts(*args: Any, times: int) -> dict[Any, int]:
        gap = numbering.GAP << times
        return {b: by - gap for b, by in shipped(*args, times=times).items()}

    patch.setattr(numbering, "shifts", shifts)


def numbers_once(patch: pytest.MonkeyPatch) -> None:
    """Numbers are looked at before the first attempt only."""
    shipped = Attempt.numbered

    def numbered(*args: Any) -> Iterator[Any]:
        part = yield from shipped(*args)
        return replace(part, basis=replace(part.basis, numbered=()))

    patch.setattr(Attempt, "numbered", numbered)


def nothing_above(patch: pytest.MonkeyPatch) -> None:
    """A compaction does not ask what became of the files that it looked into."""
    patch.setattr(stale, "_above", lambda *_: iter(()))


def nothing_left_behind(patch: pytest.MonkeyPatch) -> None:
    """A compaction does not ask for rows as old as its own."""
    patch.setattr(stale, "_left_behind", lambda *_: iter(()))


def no_homes(patch: pytest.MonkeyPatch) -> None:
    """Keys are taken to be where they were."""
    patch.setattr(attempt, "stale_homes", lambda since: iter(()))


def no_index(patch: pytest.MonkeyPatch) -> None:
    """The index of other buckets is taken to be as it was."""
    patch.setattr(attempt, "stale_index", lambda *_: iter(()))


MUTANTS: dict[str, tuple[Mutate, Callable[[], None]]] = {
    "numbers are not looked at": (
        no_numbers,
        lambda: two.test_rows_of_the_later_commit_win_although_they_were_written_first(PLAIN),
    ),
    "new numbers tie": (tied_numbers, lambda: race_of(PLAIN, range(60))),
    "numbers are looked at once": (numbers_once, lambda: race_of(PLAIN, range(60))),
    "files that were looked into are not looked at again": (
        nothing_above,
        lambda: two.test_an_overwrite_beside_a_write_leaves_the_rows_of_the_write(SUMS),
    ),
    "older rows are left behind": (
        nothing_left_behind,
        two.test_rows_of_a_writer_that_does_not_look_again_are_not_passed_over_by_a_compaction,
    ),
    "keys may have moved": (
        no_homes,
        lambda: keys.test_the_second_of_two_writers_of_a_key_looks_again("deduplicate", (1, 3, 3)),
    ),
    "keys may have got other buckets": (
        no_index,
        keys.test_two_writers_of_two_buckets_may_not_both_know_a_key_as_new,
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_check_that_is_taken_out_is_missed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, test = MUTANTS[name]
    mutate(monkeypatch)
    with pytest.raises(CAUGHT):
        test()
