"""The order of hops: each behind those that wake it; circles and names that are not told apart are refused."""

from __future__ import annotations

import random

import pytest

from table_core.errors import ArgumentError
from table_core.pipeline.hop import Hop, in_order


def hop(name: str, target: str, *woken_by: str, is_source: bool = False) -> Hop:
    return Hop(name=name, target=target, woken_by=frozenset(woken_by), is_source=is_source)


SHOP = hop("shop", "lake", is_source=True)
PAID = hop("paid", "shop.paid", "lake.orders")
SALES = hop("sales", "shop.sales", "shop.paid")
NEWS = hop("news", "shop.news", "lake.customers", "shop.sales")


@pytest.mark.parametrize("seed", range(20))
def test_each_hop_comes_behind_those_that_wake_it_however_they_are_given(seed: int) -> None:
    given = [SHOP, PAID, SALES, NEWS]
    random.Random(seed).shuffle(given)
    assert in_order(given) == (SHOP, PAID, SALES, NEWS)


def test_hops_that_leave_a_choice_stay_as_they_were_given() -> None:
    other = hop("other", "shop.other", "lake.orders")
    assert in_order([other, PAID]) == (other, PAID)
    assert in_order([PAID, other]) == (PAID, other)


@pytest.mark.parametrize(
    "hops",
    [
        [hop("a", "d.a", "d.b"), hop("b", "d.b", "d.a")],
        [hop("a", "d.a", "d.a")],
        [SHOP, hop("a", "d.a", "d.c"), hop("b", "d.b", "d.a"), hop("c", "d.c", "d.b")],
        [hop("back", "lake.orders", "shop.paid"), PAID],
    ],
)
def test_hops_that_wake_each_other_in_a_circle_are_refused_by_name(hops: list[Hop]) -> None:
    with pytest.raises(ArgumentError, match="in a circle") as refused:
        in_order(hops)
    assert "shop" not in refused.value.facts["value"]  # type: ignore[operator]


def test_two_hops_of_one_name_and_no_hop_at_all_are_refused() -> None:
    with pytest.raises(ArgumentError, match="two are called 'paid'"):
        in_order([PAID, SHOP, hop("paid", "shop.more")])
    with pytest.raises(ArgumentError, match="one at least"):
        in_order([])
