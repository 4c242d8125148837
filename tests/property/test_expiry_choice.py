"""Which snapshots and changelogs may go: the choice of the specification, at every boundary.

Oracle: the loop of format 11.1, and ``ExpireChangelogImpl`` of Apache Paimon, word by word.
Mutants, each caught here: one more or one less of minimum, maximum or limit; an age of exactly the
limit; the consumer's own snapshot; consumers or positions ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from table_core.commit.protocol import drive
from table_core.expire import changelogs, snapshots
from table_core.expire import plan as fx
from table_core.ondisk.snapshot import Snapshot

NOW_MS = 1_000
BASE = Snapshot.from_json(
    b'{"version":3,"id":1,"schemaId":0,"baseManifestList":"a","deltaManifestList":"b",'
    b'"commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":0,'
    b'"totalRecordCount":0,"deltaRecordCount":0}',
    path="s",
)
RETENTIONS = st.builds(
    fx.Retention,
    retained_min=st.integers(1, 3),
    retained_max=st.integers(3, 6),
    time_retained_ms=st.integers(0, 12),
    deletes_max=st.integers(1, 6),
)
AGES = st.lists(st.integers(0, 12), min_size=1, max_size=12)
CONSUMERS = st.one_of(st.none(), st.integers(1, 14))


def documents(first: int, ages: list[int]) -> dict[int, Snapshot]:
    """Numbered from ``first``, oldest first."""
    times = [NOW_MS - age for age in sorted(ages, reverse=True)]
    return {id: replace(BASE, id=id, time_millis=at) for id, at in enumerate(times, first)}


def ends(bounds: fx.Bounds, retention: fx.Retention, consumer: int | None) -> Any:
    walked = yield from snapshots.newest_snapshots(bounds)
    return (yield from snapshots.choose_end(bounds, retention, consumer, walked))


def chosen(steps: Any, there: dict[int, Snapshot]) -> int:
    end, _ = drive(steps, lambda effect: there.get(effect.id))
    return int(end)


@given(st.integers(1, 3), AGES, RETENTIONS, CONSUMERS, st.one_of(st.none(), st.integers(1, 14)))
def test_snapshots_go_as_the_specification_says(
    first: int,
    ages: list[int],
    retention: fx.Retention,
    consumer: int | None,
    position: int | None,
) -> None:
    there = documents(first, ages)
    latest = max(there)
    if position in there:
        there[position] = replace(there[position], properties={"tc.flow": "7"})
    bounds = fx.Bounds(earliest=first, latest=latest, leftovers=(), now_ms=NOW_MS)

    end = latest - retention.retained_min + 1
    end = min(end, first + retention.deletes_max)
    end = min(end, end if consumer is None else consumer)
    end = min(end, position if position in there else end)
    for id in range(max(latest - retention.retained_max + 1, first), end):
        if there[id + 1].time_millis >= NOW_MS - retention.time_retained_ms:
            end = id
            break
    assert chosen(ends(bounds, retention, consumer), there) == max(end, first)


@given(st.integers(1, 3), AGES, RETENTIONS, CONSUMERS, st.integers(0, 8))
def test_changelogs_go_as_paimon_lets_them_go(
    first: int, ages: list[int], retention: fx.Retention, consumer: int | None, newer: int
) -> None:
    there = documents(first, ages)
    latest = max(there) + newer
    found = fx.Changelogs(ids=tuple(there), earliest=first, latest_snapshot=latest, now_ms=NOW_MS)

    end = min(latest - retention.retained_min + 1, max(there))
    end = min(end, end if consumer is None else consumer)
    end = min(end, first + retention.deletes_max)
    for id in range(max(latest - retention.retained_max + 1, first), end):
        if there[id].time_millis >= NOW_MS - retention.time_retained_ms:
            end = id
            break
    assert chosen(changelogs.choose_end(found, retention, consumer), there) == max(end, first)


@given(st.integers(0, 12), st.integers(1, 3), st.integers(3, 5), AGES)
def test_a_commit_looks_for_what_may_go_exactly_where_something_may(
    age_ms: int, least: int, most: int, ages: list[int]
) -> None:
    there = documents(1, ages)
    bounds = fx.Bounds(earliest=1, latest=max(there), leftovers=(), now_ms=NOW_MS)
    retention = fx.Retention(retained_min=least, retained_max=most, time_retained_ms=age_ms)
    goes = chosen(ends(bounds, retention, None), there) > 1
    assert snapshots.may_expire(bounds, retention, there[min(2, max(there))]) == goes
