"""Which interleavings there are: all of a shard, or some that a seed draws."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from table_core.storage.stores.faults import Call, Fault
from tests.interleave.judge import Case, Finding, Judge, changeable
from tests.interleave.lake import KINDS
from tests.interleave.verbs import VERBS, fit

__all__ = ["SHARDS", "Judges", "drawn", "judged", "of_shard", "pairs", "planned", "triples"]

SHARDS: Final = 30
_PLACES: Final = 4
_CHANGES: Final = frozenset({"create", "write", "delete", "move", "delete_tree"})
_FAULTS: Final = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR_AFTER)


def pairs(kind: str) -> list[tuple[str, str]]:
    """All pairs of verbs that tables of ``kind`` have; those first in which one goes back."""
    names = [name for name, verb in VERBS.items() if fit(verb, KINDS[kind])]
    found = [(one, other) for one in names for other in names]
    return sorted(
        found, key=lambda pair: not (VERBS[pair[0]].goes_back or VERBS[pair[1]].goes_back)
    )


class Judges:
    """One judge of each kind, made when it is needed."""

    def __init__(self) -> None:
        self._made: dict[str, Judge] = {}

    def __getitem__(self, kind: str) -> Judge:
        if kind not in self._made:
            self._made[kind] = Judge(kind)
        return self._made[kind]


def drawn(seed: int, judges: Judges) -> Iterator[Case]:
    """Cases without end: most at calls about names that change, some with three verbs, some cut short."""
    draw = random.Random(seed)
    by_kind = {kind: pairs(kind) for kind in KINDS}
    while True:
        kind = draw.choice(list(KINDS))
        first, second = draw.choice(by_kind[kind])
        if draw.random() < 0.6 and not (VERBS[first].goes_back or VERBS[second].goes_back):
            continue
        calls = judges[kind].calls(first)
        places = [call.index for call in calls if changeable(call)] or [0]
        for _ in range(_PLACES):  # what the orders give is known then
            at = draw.choice(places) if draw.random() < 0.85 else draw.randrange(len(calls))
            yield Case(kind, first, second, at)
        case = Case(kind, first, second, draw.choice(places))
        if draw.random() < 0.5:
            yield replace(case, fault=draw.choice(_FAULTS))
        elif case.at + 1 < len(calls):
            third = draw.choice([other for one, other in by_kind[kind] if one == first])
            yield replace(case, third=third, then_at=draw.randrange(case.at + 1, len(calls)))


def triples(seed: int, judges: Judges) -> Iterator[Case]:
    """Three verbs without end: the second comes at a call of the first about a name that changes, the third later."""
    draw = random.Random(seed)
    by_kind = {
        kind: [verb.name for verb in VERBS.values() if fit(verb, KINDS[kind])] for kind in KINDS
    }
    while True:
        kind = draw.choice(list(KINDS))
        first, second, third = (draw.choice(by_kind[kind]) for _ in range(3))
        calls = judges[kind].calls(first)
        places = [call.index for call in calls if changeable(call) and call.index + 1 < len(calls)]
        if not places or not any(VERBS[verb].goes_back for verb in (first, second, third)):
            continue
        at = draw.choice(places)
        yield Case(kind, first, second, at, third, draw.randrange(at + 1, len(calls)))


def _meet(first: str, second: str) -> bool:
    """Whether the night looks at the pair: one of the two goes back or deletes, or both may want one name."""
    one, other = VERBS[first], VERBS[second]
    return one.goes_back or other.goes_back or (one.names and other.names)


_Pair = tuple[str, str, str, bool]
"""A kind of table, two verbs, and whether the first is cut short."""


def of_shard(number: int, of: int = SHARDS, seed: int = 0) -> Iterator[Case]:
    """Every pair in which a verb goes back, or both want a name, at each call about a name that changes: one shard's part.

    Besides, each verb is killed, or its answer lost, at each call that changes something.  In rounds over all pairs, some
    calls of each at a time, in an order of the ``seed``: who stops early has met many pairs, and other calls the next time.
    """
    judges = Judges()
    met = _pairs_of_shard(number, of)
    random.Random(seed).shuffle(met)
    left = [(one, _places(judges, one, seed)) for one in met]
    while left:
        following = []
        for one, places in left:
            cases = list(islice(places, _PLACES))  # what the orders give is known after the first
            yield from cases
            if cases:
                following.append((one, places))
        left = following


def planned(number: int, of: int = SHARDS) -> int:
    """How many cases ``of_shard`` has."""
    judges = Judges()
    return sum(len(_calls(judges, pair)) for pair in _pairs_of_shard(number, of))


def _pairs_of_shard(number: int, of: int) -> list[_Pair]:
    return [
        (kind, first, second, is_cut_short)
        for kind in KINDS
        for n, (first, second) in enumerate(pairs(kind))
        for is_cut_short in (False, True)
        if n % of == number and (is_cut_short or _meet(first, second))
    ]


def _calls(judges: Judges, pair: _Pair) -> list[Call]:
    """The calls of the first verb of ``pair`` at which the other comes, or at which it is cut short."""
    kind, first, _, is_cut_short = pair
    calls = judges[kind].calls(first)
    return [c for c in calls if (c.name in _CHANGES if is_cut_short else changeable(c))]


def _places(judges: Judges, pair: _Pair, seed: int) -> Iterator[Case]:
    """The cases of ``pair``, in an order of the ``seed``."""
    kind, first, second, is_cut_short = pair
    calls = _calls(judges, pair)
    draw = random.Random(f"{seed} {pair}")
    draw.shuffle(calls)
    for call in calls:
        fault = draw.choice(_FAULTS) if is_cut_short else None
        yield Case(kind, first, second, call.index, fault=fault)


def judged(cases: Iterable[Case], judges: Judges, seconds: float) -> tuple[int, list[Finding]]:
    """How many of ``cases`` were run in so many ``seconds``, and what was found."""
    until, count, findings = time.monotonic() + seconds, 0, []
    for case in cases:
        if time.monotonic() > until:
            break
        count += 1
        found = judges[case.kind].run(case)
        if found is not None:
            findings.append(found)
    return count, findings
