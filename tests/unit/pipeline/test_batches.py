"""What is due: nothing is queued, what fails waits or stops, and nothing else waits for it."""

from __future__ import annotations

import pytest

from table_core.errors import ErrorKind
from table_core.pipeline.batches import Batches
from table_core.pipeline.hop import Hop

SHOP = Hop(name="shop", target="lake", is_source=True)
PAID = Hop(name="paid", target="shop.paid", woken_by=frozenset({"lake.orders"}))
SALES = Hop(name="sales", target="shop.sales", woken_by=frozenset({"shop.paid"}))
NEWS = Hop(name="news", target="shop.news", woken_by=frozenset({"lake.customers"}))
MINUTE = 60_000


def idle() -> Batches:
    """All hops have had the batch that each begins with."""
    batches = Batches((SHOP, PAID, SALES, NEWS), upkeep_ms=MINUTE)
    assert run(batches, 0) == ["paid", "sales", "news"]
    return batches


def run(batches: Batches, now_ms: int) -> list[str]:
    """The hops that take batches now, in which nothing is committed."""
    names = []
    while (hop := batches.next(now_ms)) is not None:
        names.append(hop.name)
        batches.taken(hop)
        batches.done(hop)
    return names


def test_many_commits_make_one_batch_and_wake_nobody_else() -> None:
    batches = idle()
    for _ in range(1000):
        batches.committed("lake.orders", 1)
    assert run(batches, 1) == ["paid"]
    assert run(batches, 1) == []


def test_what_is_committed_while_a_batch_runs_is_of_the_next_one() -> None:
    batches = idle()
    batches.committed("lake.orders", 1)
    hop = batches.next(1)
    assert hop is PAID
    batches.taken(hop)
    batches.committed("lake.orders", 2)  # after the batch was pinned, for all that is known
    batches.done(hop)
    assert run(batches, 3) == ["paid"]


def test_a_hop_that_stopped_keeps_neither_the_others_nor_itself_busy() -> None:
    batches = idle()
    for table in ("lake.orders", "lake.customers"):
        batches.committed(table, 1)
    hop = batches.next(1)
    assert hop is PAID
    batches.taken(hop)
    assert batches.failed(hop, ErrorKind.INVALID, 1)
    assert run(batches, 1) == ["news"]
    batches.committed("lake.orders", 2)
    assert run(batches, MINUTE) == []
    assert not batches.all_stopped
    for one in (SHOP, SALES, NEWS):
        assert batches.failed(one, ErrorKind.CORRUPT, 3)
    assert batches.all_stopped


@pytest.mark.parametrize("kind", [ErrorKind.CONFLICT, ErrorKind.UNAVAILABLE, ErrorKind.NOT_FOUND])
def test_what_may_pass_is_tried_with_longer_pauses_and_at_once_on_news(kind: ErrorKind) -> None:
    batches = idle()
    batches.committed("lake.orders", 0)
    pauses, now_ms = list[int](), 0
    for _ in range(6):
        hop = batches.next(now_ms)
        assert hop is PAID
        batches.taken(hop)
        assert not batches.failed(hop, kind, now_ms)
        assert batches.is_first_failure(hop) == (not pauses)
        wait_ms = batches.wait_ms(now_ms, MINUTE * 60)
        pauses.append(min(wait_ms, 15_000))
        now_ms += pauses[-1]
    assert pauses == [1000, 2000, 4000, 8000, 15_000, 15_000]
    hop = batches.next(now_ms)
    assert hop is PAID
    batches.taken(hop)
    batches.failed(hop, kind, now_ms)
    assert batches.next(now_ms) is None
    batches.committed("lake.orders", now_ms)
    assert run(batches, now_ms) == ["paid"]
    assert batches.is_first_failure(PAID)  # that streak is over


def test_who_fails_for_ten_minutes_stops() -> None:
    batches = idle()
    for now_ms in (0, 10 * MINUTE - 1):
        assert not batches.failed(PAID, ErrorKind.UNAVAILABLE, now_ms)
    assert batches.failed(PAID, ErrorKind.UNAVAILABLE, 10 * MINUTE)


def test_a_table_is_kept_up_a_while_after_it_was_written_to_and_not_again_for_nothing() -> None:
    batches = idle()
    assert batches.upkeep(MINUTE) is None
    batches.committed("shop.paid", 5_000)
    batches.committed("shop.paid", 50_000)
    assert batches.upkeep(5_000 + MINUTE - 1) is None
    assert batches.upkeep(5_000 + MINUTE) == "shop.paid"
    batches.kept_up("shop.paid", 5_000 + MINUTE)
    assert batches.upkeep(10 * MINUTE) is None


def test_it_sleeps_until_something_is_due_and_no_longer() -> None:
    batches = idle()
    assert batches.wait_ms(0, 700) == 700
    batches.committed("lake.more", 0)
    assert batches.wait_ms(MINUTE - 300, 700) == 300
    assert batches.wait_ms(2 * MINUTE, 700) == 0
