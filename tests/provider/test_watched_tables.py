"""A watcher tells what happens to a real table: all of it, and no more often than it says."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.waiting.wait_conditions import FreshnessWait, SnapshotWait
from table_core.commit.delivery import DELIVERY_PROPERTY
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from table_core.table.api.table import Table
from tests.provider.watching import Watcher
from tests.tables import write_rows

ROWS = pa.schema([("dt", pa.date32()), ("hh", pa.int32()), ("n", pa.int64())])
DAY = dt.date(2026, 1, 1)


@pytest.fixture
def catalog(warehouse: Catalog) -> Catalog:
    warehouse.create_database("shop")
    return warehouse


def create(catalog: Catalog, name: str = "shop.t", **options: str) -> Table:
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    given = {"bucket": "-1", "write-only": "true"} | named
    return catalog.create_table(name, ROWS, partition_by=("dt", "hh"), options=given)


def append(table: Table, *hours: int | None, day: dt.date = DAY) -> None:
    rows = {"dt": [day] * len(hours), "hh": list(hours), "n": [1] * len(hours)}
    write_rows(table, pa.table(rows, schema=ROWS))


def test_snapshots_that_expired_while_it_was_away_are_an_event_that_says_so(
    catalog: Catalog,
) -> None:
    table, watcher = create(catalog), Watcher()
    append(table, 1)
    assert watcher.look() == []
    append(table, 1)
    append(table, 1)
    table.compact()
    table.expire_snapshots(retain_max=1, retain_min=1)
    (event,) = watcher.look()
    assert event["gap"] == {"first": 2, "last": 3}
    assert (event["snapshot_id"], event["delivers_changes"]) == (4, True)
    assert event["partitions"] is None, "nobody can tell"
    assert watcher.look() == []


@pytest.mark.parametrize("events", ["poll", "snapshot"])
def test_rows_are_counted_though_their_snapshots_expire(catalog: Catalog, events: str) -> None:
    table, watcher = create(catalog), Watcher(min_rows=4, events=events)
    append(table, 0)
    watcher.look()
    told = []
    for hour in range(8):
        append(table, hour)
        table.expire_snapshots(retain_max=2, retain_min=1)
        told.append(watcher.look())
    fired = [n for n, found in enumerate(told) if found]
    assert fired == [3, 7]
    for found in (told[3], told[7]):
        assert sum(e["rows"]["added"] for e in found) == 4
        assert sum(e["snapshots"]["count"] for e in found) == 4
        assert not any("gap" in e for e in found)
        assert len(found) == (1 if events == "poll" else 4)


def test_a_kill_between_two_events_of_waited_rows_repeats_one_at_most(catalog: Catalog) -> None:
    table, watcher = create(catalog), Watcher(min_rows=3, events="snapshot")
    watcher.look()
    append(table, 1)
    watcher.look()
    append(table, 2)
    watcher.look()
    append(table, 3)
    assert [e["snapshot_id"] for e in watcher.look(dies_after=2)] == [1, 2]
    assert [e["snapshot_id"] for e in watcher.look()] == [2, 3]
    assert watcher.look() == []


@pytest.mark.parametrize(
    "wanted",
    [{"dt": "2026-01-01"}, {"dt": 20454}, {"dt": "20454"}, {"hh": 5}, {"hh": "5"}, {"hh": "05"},
     {"dt": DAY, "hh": 5}],
)  # fmt: skip
@pytest.mark.parametrize("foreign", [False, True])
def test_partitions_are_compared_by_type(
    catalog: Catalog, wanted: dict[str, Any], foreign: bool
) -> None:
    table, watcher = create(catalog), Watcher(partitions=[wanted])
    watcher.look()
    append(table, 6, day=dt.date(2026, 1, 2))
    append(table, 5)
    if foreign:
        forget(table)
    (event,) = watcher.look()
    assert event["partitions"] == [{"dt": "2026-01-01", "hh": "5"}]
    assert event["snapshots"] == {"first": 2, "last": 2, "count": 1}


def forget(table: Table) -> None:
    """As if other writers had made the snapshots: they do not say what they deliver."""
    storage = table.access.storage
    for snapshot in table.snapshots():
        path = f"snapshot/snapshot-{snapshot.id}"
        body = storage.read(path).replace(DELIVERY_PROPERTY.encode(), b"other.property")
        storage.delete([path])
        storage.write(path, body)


def test_null_blank_and_the_default_name_are_three_partitions(catalog: Catalog) -> None:
    schema = pa.schema([("p", pa.string()), ("n", pa.int64())])
    table = catalog.create_table("shop.t", schema, partition_by=("p",), options={"bucket": "-1"})
    names = [None, "", "__DEFAULT_PARTITION__", "a/b"]
    watchers = {name: Watcher(partitions=[{"p": name}]) for name in names}
    for watcher in watchers.values():
        watcher.look()
    for n, name in enumerate(names, 1):
        write_rows(table, pa.table({"p": pa.array([name], pa.string()), "n": [1]}))
        found = {key: watcher.look() for key, watcher in watchers.items()}
        assert [key for key, events in found.items() if events] == [name]
        assert found[name][0]["partitions"] == [{"p": name}]
        assert found[name][0]["snapshot_id"] == n


@pytest.mark.parametrize("wanted", [{"day": "2026-01-01"}, {"hh": "noon"}, {"hh": True}, {"n": 1}])
def test_a_filter_that_can_never_match_is_an_error_at_the_first_look(
    catalog: Catalog, wanted: dict[str, Any]
) -> None:
    table, watcher = create(catalog), Watcher(partitions=[wanted])
    append(table, 1)
    with pytest.raises(ArgumentError):
        watcher.look()


def test_a_table_that_was_away_is_not_told_again(catalog: Catalog) -> None:
    table = create(catalog)
    for hour in range(5):
        append(table, hour)
    each, poll = Watcher(events="snapshot"), Watcher()
    for watcher in (each, poll):
        assert watcher.look() == []
    catalog.rename_table("shop.t", "shop.away")
    assert each.look() == poll.look() == []
    catalog.rename_table("shop.away", "shop.t")
    assert each.look() == poll.look() == []
    append(catalog.table("shop.t"), 7)
    assert [e["snapshots"]["first"] for e in (*each.look(), *poll.look())] == [6, 6]


def test_a_table_made_anew_says_so_and_is_told_whole(catalog: Catalog) -> None:
    for commits in (1, 3, 6):
        catalog.drop_table("shop.t", if_exists=True)
        table, watcher = create(catalog), Watcher(events="snapshot")
        for hour in range(3):
            append(table, hour)
        watcher.look()
        catalog.drop_table("shop.t")
        table = create(catalog)
        for hour in range(commits):
            append(table, hour)
        told = watcher.look()
        assert [e["snapshot_id"] for e in told] == list(range(1, commits + 1))
        assert [e.get("reset") for e in told] == ["made-anew", *[None] * (commits - 1)]
        assert watcher.look() == []


def test_a_rollback_is_told_and_what_stays_is_not_told_again(catalog: Catalog) -> None:
    table, watcher = create(catalog), Watcher()
    on_append = Watcher(on="append")
    for hour in range(5):
        append(table, hour)
    watcher.look()
    on_append.look()
    append(table, 9)
    table.rollback_to(snapshot=2)
    (event,) = watcher.look()
    assert (event["reset"], event["snapshot_id"], event["snapshots"]["count"]) == (
        "rolled-back",
        2,
        0,
    )
    assert on_append.look() == [], "nothing was appended"
    for hour in (6, 7, 8, 9):
        append(table, hour)
    (event,) = watcher.look()
    assert ("reset" in event, event["snapshots"]) == (False, {"first": 3, "last": 6, "count": 4})


@pytest.mark.parametrize("tag", [None, "first"])
def test_a_forced_fast_forward_tells_commits_that_are_older_than_the_mark(
    catalog: Catalog, tag: str | None
) -> None:
    table, watcher = create(catalog), Watcher(events="snapshot")
    append(table, 1)
    table.tags.create("first")
    table.branches.create("b", tag=tag)
    branch = catalog.table("shop.t", branch="b")
    watcher.look()
    append(branch, 2)
    append(branch, 3)
    for hour in (4, 5, 6):
        append(table, hour)
    assert len(watcher.look()) == 3
    table.branches.fast_forward("b")
    told, ids = watcher.look(), [1, 2] if tag is None else [2, 3]
    assert told[0]["reset"] == "rolled-back"
    assert [(e["snapshot_id"], e["snapshots"]["count"]) for e in told] == [(n, 1) for n in ids]
    assert watcher.look() == []


@pytest.mark.parametrize("foreign", [False, True])
def test_deletes_are_told_by_whatever_means_and_updates_are_none(
    catalog: Catalog, foreign: bool
) -> None:
    keyed = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
    tables = [
        catalog.create_table("shop.k", keyed, primary_key=("k",), options={"bucket": "1"}),
        catalog.create_table("shop.v", keyed, options={"deletion-vectors.enabled": "true"}),
        catalog.create_table("shop.c", keyed, options={}),
    ]
    for table, name in zip(tables, ("shop.k", "shop.v", "shop.c"), strict=True):
        watcher = Watcher(name, on="delete")
        watcher.look()
        write_rows(table, pa.table({"k": [1, 2, 3], "v": [1, 2, 3]}, schema=keyed))

        def told(table: Table = table, watcher: Watcher = watcher) -> list[int]:
            if foreign:
                forget(table)
            return [e["rows"]["deleted"] for e in watcher.look()]

        assert told() == []
        catalog.table(name).update({"v": "9"}, where="k = 1")
        assert told() == [], name
        catalog.table(name).delete(where="k = 2")
        assert told() == [1], name
        catalog.table(name).compact()
        assert told() == [], name
        with catalog.table(name).write(overwrite="table") as writer:
            writer.commit()
        assert told() == [2], f"{name}: nothing came in the place of what was there"


def test_a_sensor_says_of_snapshots_that_expired_and_counts_the_rows_it_can(
    catalog: Catalog,
) -> None:
    table = create(catalog)
    for hour in range(4):
        append(table, hour)
    table.expire_snapshots(retain_max=1, retain_min=1)
    hook = PaimonHook()
    found = SnapshotWait(table="shop.t", after=1, min_rows=99).look(hook)
    assert found is not None
    assert (found["gap"], found["snapshot_id"]) == ({"first": 2, "last": 3}, 4)
    assert SnapshotWait(table="shop.t", min_rows=4).look(hook) is not None
    assert SnapshotWait(table="shop.t", min_rows=5).look(hook) is None
    assert SnapshotWait(table="shop.t", after=3, min_rows=2).look(hook) is None
    assert SnapshotWait(table="shop.t", after=3).look(hook) is not None


def test_a_sensor_sees_rows_though_nothing_but_a_compaction_is_left(catalog: Catalog) -> None:
    table = create(catalog)
    for hour in (1, 1):
        append(table, hour)
    table.compact()
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert [s.commit_kind for s in table.snapshots()] == ["COMPACT"]
    hook = PaimonHook()
    for on in ("changes", "append"):
        found = SnapshotWait(table="shop.t", on=on, min_rows=2).look(hook)
        assert found is not None
        assert (found["gap"], found["snapshot_id"]) == ({"first": 1, "last": 2}, 2)
        assert SnapshotWait(table="shop.t", on=on, min_rows=3).look(hook) is None
    assert SnapshotWait(table="shop.t", on="overwrite").look(hook) is None


@pytest.mark.parametrize("keyed", [False, True])
def test_a_table_is_fresh_though_nothing_but_a_compaction_is_left(
    catalog: Catalog, keyed: bool
) -> None:
    options = {"bucket": "1" if keyed else "-1", "write-only": "true"}
    options["compaction.min.file-num"] = "2"
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False)])
    table = catalog.create_table(
        "shop.t", schema, primary_key=("k",) if keyed else (), options=options
    )
    hook = PaimonHook()

    def age(on: str = "changes", within: str = "1 h") -> float | None:
        found = FreshnessWait(table="shop.t", within=within, on=on).look(hook)
        return None if found is None else float(found["age_seconds"])

    for k in (1, 1):
        write_rows(table, pa.table({"k": [k]}, schema=schema))
    table.compact()
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert [s.commit_kind for s in table.snapshots()] == ["COMPACT"]
    came = table.rows_came_ms()
    assert came is not None
    for on in ("changes", "append"):
        assert age(on) is not None
        assert 0 <= age(on) < 3600  # type: ignore[operator]  # looked at just now
        assert age(on, "0.000001 s") is None, "rows are as old as they are"
    assert age("overwrite") is None
    table.analyze()
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert age() is None, "nothing tells of the rows any more"


OPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.sampled_from([("compact",), ("away",), ("anew",), ("look",), ("look",), ("restart",)]),
    st.tuples(st.just("expire"), st.integers(1, 3)),
    st.tuples(st.just("rollback"), st.integers(1, 4)),
    st.tuples(st.just("killed"), st.integers(1, 2)),
)


@pytest.mark.parametrize("events", ["poll", "snapshot"])
@given(ops=st.lists(OPS, min_size=4, max_size=22))
def test_every_commit_is_told_once_or_its_loss_is(events: str, ops: list[tuple[Any, ...]]) -> None:
    """Under everything that can happen to a table, beside an oracle that remembers all of it."""
    name = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        document = {"conn_type": "paimon", "host": f"memory://{name}"}
        patch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
        catalog = tc.open_catalog(f"memory://{name}")
        catalog.create_database("shop")
        _Model(catalog, events).play(ops)


class _Model:
    """What has happened to the table, and what the watcher owes."""

    def __init__(self, catalog: Catalog, events: str) -> None:
        self.catalog = catalog
        self.watcher = Watcher(events=events)
        self.table: Table = create(catalog)
        self.is_away = False
        self.known: set[str] = set()
        """Snapshots that were there at some look, by a name that only one has."""
        self.lost = False
        """Whether one went by expiry that no look has seen."""
        self.head: str | None = None
        self.watcher.look()

    def play(self, ops: list[tuple[Any, ...]]) -> None:
        for op, *arguments in [*ops, ("back",), ("look",)]:
            if self.is_away and op in {"append", "compact", "expire", "rollback", "anew"}:
                continue
            getattr(self, op)(*arguments)

    def append(self, times: int) -> None:
        for hour in range(times):
            append(self.table, hour)

    def compact(self) -> None:
        self.table.compact()

    def expire(self, left: int) -> None:
        before = self.there()
        self.table.expire_snapshots(retain_max=left, retain_min=1)
        gone = before.keys() - self.there().keys()
        self.lost |= bool(gone - self.known)

    def rollback(self, back: int) -> None:
        ids = [s.id for s in self.table.snapshots()]
        if len(ids) > back:
            self.table.rollback_to(snapshot=ids[-1 - back])

    def anew(self) -> None:
        self.catalog.drop_table("shop.t")
        self.table = create(self.catalog)
        self.lost = False

    def away(self) -> None:
        if not self.is_away:
            self.rename("shop.t", "shop.away")

    def rename(self, name: str, to: str) -> None:
        self.catalog.rename_table(name, to)
        self.table = self.catalog.table(to)
        self.is_away = to == "shop.away"

    def restart(self) -> None:
        self.watcher.hook = type(self.watcher.hook)()

    def there(self) -> dict[str, Any]:
        return {s.delta_manifest_list: s for s in self.table.snapshots()}

    def back(self) -> None:
        if self.is_away:
            self.rename("shop.away", "shop.t")

    def killed(self, events: int) -> None:
        """Airflow has these events, the watcher does not know: it says the last of them again."""
        kept = self.watcher.kept
        told = self.watcher.look(dies_after=events)
        if told and len(told) < events:
            self.watcher.kept = kept  # killed before the last mark settled
        self.look(told_already=told)

    def look(self, told_already: list[dict[str, Any]] | None = None) -> None:
        told = self.watcher.look()
        there = {} if self.is_away else self.there()
        owed = {n: s for n, s in there.items() if n not in self.known and s.commit_kind == "APPEND"}
        ids = sorted(s.id for s in owed.values())
        every = [*(told_already or []), *told]
        if told_already is None:
            assert sum(e["snapshots"]["count"] for e in told) == len(owed)
            if self.watcher.trigger.events == "snapshot":
                assert [e["snapshot_id"] for e in told if e["snapshots"]["count"]] == ids
        for id in ids:
            covered = [e for e in every if e["snapshots"]["first"] <= id <= e["snapshots"]["last"]]
            assert covered
            assert len(covered) <= (1 if told_already is None else 2)
        if not self.is_away:
            if self.lost and self.head in there:
                assert any("gap" in e for e in every)
            self.lost = False
            self.known |= there.keys()
            self.head = max(there, key=lambda n: there[n].id, default=self.head)
