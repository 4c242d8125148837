"""The hops of a pipeline and their order: who is woken by what others write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Hop", "in_order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step of a pipeline: a sync of a source, or what computes a table from others."""

    name: str
    target: str
    """The table that it writes; of a sync of many tables their database."""
    woken_by: frozenset[str] = frozenset()
    """Tables whose commits give it something to do; what it only looks up is not among them."""
    is_source: bool = False
    """Whether it follows what is outside, for as long as the pipeline runs."""

    def writes(self, table: str) -> bool:
        """Whether commits to ``table`` may be its own."""
        return table == self.target or table.rpartition(".")[0] == self.target


def in_order(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    """``hops``, each behind those that wake it; as they were given where that leaves a choice.

    >>> paid = Hop(name="paid", target="shop.paid", woken_by=frozenset({"lake.orders"}))
    >>> lake = Hop(name="lake", target="lake", is_source=True)
    >>> [hop.name for hop in in_order([paid, lake])]
    ['lake', 'paid']

    Raises:
        ArgumentError: two hops have one name, there is none, or hops wait for each other.
    """
    _refuse_one_name(hops)
    left, ordered = list(hops), list[Hop]()
    while left:
        free = [hop for hop in left if not _before(hop, left)]
        if not free:
            names = ", ".join(repr(hop.name) for hop in left)
            raise ArgumentError(
                f"hops: {names} wake each other, in a circle: no batch of it would be the last; take one "
                "of their sources out, or run it by a schedule of its own",
                argument="hops",
                value=[hop.name for hop in left],
            )
        ordered.append(free[0])
        left.remove(free[0])
    return tuple(ordered)


def _before(hop: Hop, others: Iterable[Hop]) -> list[Hop]:
    """Those of ``others`` whose commits wake ``hop``, itself too if its own do."""
    return [one for one in others if any(one.writes(table) for table in hop.woken_by)]


def _refuse_one_name(hops: Sequence[Hop]) -> None:
    names = [hop.name for hop in hops]
    if not names:
        raise ArgumentError("hops: a pipeline has one at least", argument="hops", value=[])
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f"hops: two are called {name!r}: give each a name", argument="hops", value=name
            )
