"""Processes that work on one bucket until they are killed: writers, compactors and expirers.

What a writer commits follows from its name and the number of the commit, so whoever meets a snapshot
knows its rows.  A line of its log is written after each commit: it is what was acknowledged.  They end when
who started them has.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path

import pyarrow as pa

import table_core as tc
from tests.simulation.one_bucket import Kind, Row, arrow
from tests.tables import write_rows

KEYS = 6
"""So few that the writers meet at each of them."""
RETAINED = 12
"""Snapshots that expiry leaves, where no reader holds more."""


def opened(uri: str) -> tc.Table:
    """The table, for a process that is one of many."""
    pa.set_cpu_count(1)
    return tc.open_table(uri)


def rows_of(kind: Kind, user: str, number: int) -> list[Row]:
    """What ``user`` commits under ``number``."""
    draw = random.Random(f"{user} {number}")
    found: list[Row] = []
    for _ in range(draw.randrange(1, 5)):
        a, b = draw.choice([None, draw.randrange(1000)]), draw.choice([None, draw.randrange(1000)])
        sign = draw.choice(["+I", "+I", "-D"]) if kind.deletes else "+I"
        found.append((draw.randrange(KEYS), a, b, draw.choice([None, *range(5)]), sign))
    return found


def write(uri: str, kind: Kind, user: str, log: Path) -> None:
    """Commit after commit, from the one after the last that was acknowledged."""
    table = opened(uri)
    told = log.read_text().split() if log.exists() else []
    parent = os.getppid()
    with log.open("a", buffering=1) as out:
        for number in itertools.count(len(told)):
            if os.getppid() != parent:
                return
            while not landed(table, kind, user, number):
                table = tc.open_table(uri)
            print(number, file=out)


def landed(table: tc.Table, kind: Kind, user: str, number: int) -> bool:
    """Commit; False where expiry was faster than the look at what became of it: ask again."""
    try:
        write_rows(
            table,
            arrow(rows_of(kind, user, number), kind),
            commit=tc.CommitAs(user=user, identifier=number),
        )
    except tc.errors.OutcomeUnknownError:
        return False
    return True


def compact(uri: str, seed: str, rest_s: float) -> None:
    """Compactions of both kinds; a lost race is no failure."""
    table, draw, parent = opened(uri), random.Random(seed), os.getppid()
    while os.getppid() == parent:
        try:
            table.compact(strategy=draw.choice(["full", "minor"]))
        except tc.errors.CommitConflictError:
            continue
        time.sleep(draw.random() * rest_s)


def expire(uri: str, rest_s: float) -> None:
    """Expire all that nobody holds but a few snapshots."""
    table, parent = opened(uri), os.getppid()
    while os.getppid() == parent:
        table.expire_snapshots(retain_max=RETAINED, retain_min=1)
        time.sleep(rest_s)
