"""Which snapshots wake somebody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_provider.watching.conditions import (
    ON,
    NewSnapshots,
    Seen,
    SnapshotFacts,
    counts,
    delivers_changes,
    event_document,
    unseen,
)
from table_core.errors import ArgumentError
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.position.place import SnapshotPlace


def facts(id: int = 1, kind: str = "APPEND", **more: Any) -> SnapshotFacts:
    defaults: dict[str, Any] = {
        "operation": None,
        "user": "u",
        "time_millis": id * 1000,
        "total_rows": 10,
        "delta_rows": 1,
        "changelog_rows": 0,
    }
    return SnapshotFacts(id=id, kind=kind, **defaults | more)


@pytest.mark.parametrize(
    ("producer", "snapshot", "delivers"),
    [
        pytest.param("none", facts(), True, id="rows appended"),
        pytest.param("none", facts(delta_rows=0), False, id="an empty append"),
        pytest.param("none", facts(kind="COMPACT", delta_rows=-5), False, id="compaction"),
        pytest.param("none", facts(kind="ANALYZE", delta_rows=0), False, id="statistics"),
        pytest.param("none", facts(kind="OVERWRITE", delta_rows=0), True, id="as many replaced"),
        pytest.param(
            "none",
            facts(kind="OVERWRITE", delta_rows=-5, operation="TRUNCATE"),
            False,
            id="partitions dropped",
        ),
        pytest.param(
            "none", facts(kind="OVERWRITE", delta_rows=-5, total_rows=0), False, id="emptied"
        ),
        pytest.param("input", facts(changelog_rows=3), True, id="input: with the rows"),
        pytest.param("full-compaction", facts(), False, id="full-compaction: rows wait"),
        pytest.param(
            "full-compaction",
            facts(kind="COMPACT", changelog_rows=2),
            True,
            id="full-compaction: with the compaction",
        ),
        pytest.param(
            "lookup", facts(kind="COMPACT", delta_rows=-9), False, id="lookup: nothing new"
        ),
    ],
)
def test_which_snapshots_deliver_changes(
    producer: str, snapshot: SnapshotFacts, delivers: bool
) -> None:
    assert delivers_changes(snapshot, producer) is delivers


def test_filters_by_kind() -> None:
    snapshots = [
        facts(1),
        facts(2, "COMPACT"),
        facts(3, "OVERWRITE", delta_rows=4),
        facts(4, "OVERWRITE", delta_rows=-4),
        facts(5, "OVERWRITE", operation="DELETE"),
    ]
    found = {on: [s.id for s in snapshots if counts(s, "none", on)] for on in ON}
    assert found == {
        "changes": [1, 3, 4, 5],
        "append": [1],
        "overwrite": [3, 4, 5],
        "delete": [4, 5],
        "compact": [2],
        "any": [1, 2, 3, 4, 5],
    }


def test_an_unknown_filter_is_refused() -> None:
    with pytest.raises(ArgumentError, match="on='chnages' is none of changes, append"):
        NewSnapshots(on="chnages")


def test_rows_are_summed_over_the_new_snapshots() -> None:
    snapshots = [facts(n, delta_rows=40) for n in (1, 2, 3)]
    assert NewSnapshots(after=1, min_rows=81).matching(snapshots, "none") == []
    assert NewSnapshots(after=1, min_rows=80).matching(snapshots, "none") == snapshots[1:]


def test_facts_are_read_off_a_snapshot_document() -> None:
    snapshot = Snapshot(
        id=7,
        schema_id=0,
        base_manifest_list="b",
        delta_manifest_list="d",
        commit_user="me",
        commit_identifier=1,
        commit_kind=CommitKind.COMPACT,
        time_millis=5,
        total_record_count=9,
        delta_record_count=-2,
    )
    read = SnapshotFacts.of(snapshot)
    assert read == facts(7, "COMPACT", user="me", time_millis=5, total_rows=9, delta_rows=-2)
    assert counts(read, "none", "compact")


def test_the_event_says_what_is_in_the_range() -> None:
    snapshots = [facts(3, changelog_rows=2), facts(4, "COMPACT", delta_rows=-7)]
    assert event_document("a.b", snapshots, "input") == {
        "version": 1,
        "table": "a.b",
        "snapshot_id": 4,
        "snapshots": {"first": 3, "last": 4, "count": 2},
        "committed_at_ms": 4000,
        "kinds": {"APPEND": 1, "COMPACT": 1},
        "delivers_changes": True,
        "rows": {
            "append": 1,
            "changelog": 2,
            "compact": -7,
            **dict.fromkeys(("added", "updated", "deleted")),
        },
        "partitions": None,
    }


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 10))
def test_numbers_that_go_on_are_compared(count: int, mark: int, expired: int) -> None:
    """As long as a table is only appended to, new is what has a larger number."""
    alive = [facts(n) for n in range(1 + expired, 1 + expired + count)]
    at = min(mark, alive[-1].id)
    seen = Seen(place=SnapshotPlace(id=at, time_ms=at * 1000))
    assert unseen(alive, seen) == [s for s in alive if s.id > seen.place.id]


def test_after_a_rollback_nothing_is_new() -> None:
    assert (
        unseen([facts(n) for n in (1, 2, 3)], Seen(place=SnapshotPlace(id=9, time_ms=9000))) == []
    )


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_table_made_anew_is_all_new(count: int) -> None:
    made_anew = [facts(n, time_millis=50_000 + n) for n in range(1, 1 + count)]
    assert unseen(made_anew, Seen(place=SnapshotPlace(id=3, time_ms=3000))) == made_anew
