"""A relay announces each partition once, whatever happens to the runs."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from airflow.sdk.exceptions import AirflowFailException
from hypothesis import given
from hypothesis import strategies as st

from paimon_provider.operators.relay import PaimonRelayPartitionsOperator
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from table_core.table.api.table import Table
from tests.tables import write_rows

SCHEMA = pa.schema([("dt", pa.string()), ("n", pa.int64())])


class State(dict[str, Any]):
    """An asset's state, as far as it is used."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


class Events:
    def __init__(self) -> None:
        self.keys: list[str] = []
        self.extra: Any = None

    def add_partitions(self, keys: list[str]) -> None:
        self.keys += keys


class Airflow:
    """What a run of the task finds around it."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.state: defaultdict[Any, State] = defaultdict(State)

    def run(self, run_id: str, told: list[dict[str, Any]] | None = None) -> list[str]:
        task = PaimonRelayPartitionsOperator(task_id="relay", table="shop.t", **self.arguments)
        events: defaultdict[Any, Events] = defaultdict(Events)
        context: Any = {
            "ti": SimpleNamespace(dag_id="d", task_id="relay", run_id=run_id),
            "asset_state_store": self.state,
            "outlet_events": events,
            "triggering_asset_events": {
                "asset": [SimpleNamespace(extra={"payload": one}) for one in told or []]
            },
        }
        returned = task.execute(context)
        assert events[task.asset].keys == returned
        assert bool(task.outlets) == bool(returned), "nothing ready is no event"
        return returned


@pytest.fixture
def table(warehouse: Catalog) -> Table:
    warehouse.create_database("shop")
    return warehouse.create_table(
        "shop.t", SCHEMA, partition_by=("dt",), options={"bucket": "-1", "write-only": "true"}
    )


def write(table: Table, *days: str | None) -> None:
    write_rows(table, pa.table({"dt": pa.array(days, pa.string()), "n": [1] * len(days)}))


def test_the_first_run_begins_where_its_events_do(table: Table) -> None:
    write(table, "a")
    write(table, "b", "c")
    airflow = Airflow()
    assert airflow.run("1", [{"snapshots": {"first": 2, "last": 2}}]) == ["dt=b", "dt=c"]
    assert airflow.run("2") == []
    assert Airflow().run("1") == [], "nobody told it of anything"


def test_a_repeated_attempt_announces_the_same_and_the_next_run_goes_on(table: Table) -> None:
    airflow = Airflow()
    assert airflow.run("1") == []
    write(table, "a", None)
    assert airflow.run("2") == airflow.run("2") == ["dt=a", "dt=__DEFAULT_PARTITION__"]
    write(table, "a")
    table.compact()
    assert airflow.run("3") == ["dt=a"]
    table.compact()
    assert airflow.run("4") == []


def test_what_expired_unread_counts_as_every_partition(table: Table) -> None:
    airflow = Airflow()
    write(table, "a")
    assert airflow.run("1") == []
    write(table, "b")
    write(table, "c")
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert airflow.run("2") == ["dt=a", "dt=b", "dt=c"]
    table.rollback_to(snapshot=3)
    assert airflow.run("3") == []


def test_marks_are_announced_when_they_are_new(table: Table) -> None:
    airflow = Airflow(ready="done")
    write(table, "a", "b", "c")
    assert airflow.run("1") == []
    table.mark_done([{"dt": "b"}])
    assert airflow.run("2") == ["dt=b"]
    assert airflow.run("3") == []
    table.mark_done([{"dt": "c"}])
    assert airflow.run("4") == ["dt=c"]
    assert airflow.run("4") == ["dt=c"]


def test_a_wrong_choice_is_an_error_in_the_dag() -> None:
    with pytest.raises(ArgumentError, match="expected one of changed, done, found 'soon'"):
        PaimonRelayPartitionsOperator(task_id="r", table="a.b", ready="soon")


class Run(SimpleNamespace):
    """A task instance that knows how the runs before it ended, as Airflow does."""

    ended: dict[str, str]

    def get_task_states(
        self, dag_id: str, map_index: int | None, task_ids: list[str], run_ids: list[str]
    ) -> Any:
        return {id: dict.fromkeys(task_ids, self.ended[id]) for id in run_ids if id in self.ended}


class KnowingAirflow(Airflow):
    """Runs may fail after they have done their work: then nobody hears of their events."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.ended: dict[str, str] = {}

    def attempt(self, run_id: str, told: Any = None, *, fails: bool = False) -> list[str]:
        self.ended[run_id] = "failed" if fails else "success"
        run = Run(dag_id="d", task_id="relay", run_id=run_id, ended=self.ended)
        task = PaimonRelayPartitionsOperator(task_id="relay", table="shop.t", **self.arguments)
        events: defaultdict[Any, Events] = defaultdict(Events)
        context: Any = {
            "ti": run,
            "asset_state_store": self.state,
            "outlet_events": events,
            "triggering_asset_events": {"a": [SimpleNamespace(extra=one) for one in told or []]},
        }
        returned = task.execute(context)
        self.extra = events[task.asset].extra
        return [] if fails else returned


def test_what_a_failed_run_has_read_is_announced_by_the_next(table: Table) -> None:
    airflow = KnowingAirflow()
    airflow.attempt("1")
    write(table, "a")
    airflow.attempt("A", fails=True)
    write(table, "b")
    assert airflow.attempt("B") == ["dt=a", "dt=b"], "A's too"
    assert airflow.attempt("A") == [], "B has told them"
    assert airflow.attempt("C") == []


def test_the_very_first_run_may_fail_and_loses_nothing(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(table, "old")
    write(table, "a")
    airflow = KnowingAirflow()
    event = {"table": "shop.t", "snapshots": {"first": 2, "last": 2}}
    other = {"table": "shop.other", "snapshots": {"first": 1, "last": 1}}
    with monkeypatch.context() as broken:
        broken.setattr(PaimonRelayPartitionsOperator, "_changed", _break)
        with pytest.raises(RuntimeError):
            airflow.attempt("1", [event, other], fails=True)
    write(table, "b")
    assert airflow.attempt("2", [{"table": "shop.t", "snapshots": {"first": 3}}]) == [
        "dt=a",
        "dt=b",
    ]


def _break(*_: Any) -> Any:
    raise RuntimeError("no store")


@pytest.mark.parametrize("commits", [1, 3, 5])
def test_a_table_made_anew_is_relayed_whole(table: Table, warehouse: Catalog, commits: int) -> None:
    airflow = Airflow()
    for day in "xyz":
        write(table, day)
    assert airflow.run("1") == []
    warehouse.drop_table("shop.t")
    anew = warehouse.create_table(
        "shop.t", SCHEMA, partition_by=("dt",), options={"bucket": "-1", "write-only": "true"}
    )
    for day in range(commits):
        write(anew, str(day))
    assert airflow.run("2") == [f"dt={day}" for day in range(commits)]
    assert airflow.run("3") == []


def test_a_mark_that_is_written_while_others_are_read_is_told_next(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(table, "a", "b")
    airflow, read = Airflow(ready="done"), Table.done_partitions

    def slow(self: Table, after_ms: int = 0) -> Any:
        """``b`` is marked after ``a``, and read; ``a`` was read before it was marked."""
        table.mark_done([{"dt": "a"}])
        table.mark_done([{"dt": "b"}])
        return [one for one in read(self, after_ms) if one[0]["dt"] == "b"]

    with monkeypatch.context() as slowly:
        slowly.setattr(Table, "done_partitions", slow)
        assert airflow.run("1") == ["dt=b"]
    assert airflow.run("2") == ["dt=a"]
    assert airflow.run("3") == []


@pytest.mark.parametrize("after", [(), ("c",), ("c", "d", "e", "e")])
@pytest.mark.parametrize("how", ["rollback", "fast-forward"])
def test_what_was_taken_back_changes_every_partition_that_is_there(
    table: Table, warehouse: Catalog, how: str, after: tuple[str, ...]
) -> None:
    airflow = Airflow()
    airflow.run("1")
    write(table, "a", "b")
    write(table, "b")
    write(table, "a")
    write(table, "b")
    assert airflow.run("2") == ["dt=a", "dt=b"]
    target = table
    if how == "rollback":
        table.rollback_to(snapshot=2)
    else:
        table.branches.create("other", snapshot=1)
        target = warehouse.table("shop.t$branch_other")
        write(target, "b")
    for day in after:
        write(target, day)
    if how == "fast-forward":
        table.branches.fast_forward("other")
    assert set(airflow.run("3")) == {"dt=a", "dt=b", *(f"dt={day}" for day in after)}
    assert airflow.run("4") == []


def test_odd_values_have_keys_of_their_own_also_where_snapshots_expired(table: Table) -> None:
    airflow = Airflow()
    write(table, "z")
    airflow.run("1")
    values: list[str | None] = ["a/b", None, "", "__DEFAULT_PARTITION__", "x=y", "v" * 248]
    write(table, *values)
    keys = airflow.run("2")
    assert keys[:5] == [
        "dt=a%2Fb",
        "dt=__DEFAULT_PARTITION__",
        "dt=",
        "dt=%5F_DEFAULT_PARTITION__",
        "dt=x%3Dy",
    ]
    assert max(map(len, keys)) == 250
    write(table, "z")
    write(table, "z")
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert sorted(airflow.run("3")) == sorted([*keys, "dt=z"])


def test_events_do_not_grow_with_the_partitions_that_are_told(table: Table) -> None:
    airflow = KnowingAirflow()
    airflow.attempt("1")
    write(table, *(str(n) for n in range(400)))
    assert len(airflow.attempt("2")) == 400
    assert airflow.extra["partitions_total"] == 400
    assert len(str(airflow.extra)) < 200


def test_a_relay_that_is_named_keeps_its_place_when_the_dag_is_renamed(table: Table) -> None:
    write(table, "a")
    airflow = Airflow(reader="orders")
    airflow.run("1")
    write(table, "b")
    task = PaimonRelayPartitionsOperator(task_id="other", table="shop.t", reader="orders")
    events: defaultdict[Any, Events] = defaultdict(Events)
    context: Any = {
        "ti": SimpleNamespace(dag_id="renamed", task_id="other", run_id="2"),
        "asset_state_store": airflow.state,
        "outlet_events": events,
    }
    assert task.execute(context) == ["dt=b"]


@pytest.mark.parametrize(
    "kept",
    [2, "x", {"to": 2}, {"from": 1, "to": 2, "run": "old"}, {"snapshot_id": 2, "time_millis": 0}],
)
def test_a_state_that_holds_no_position_is_refused_and_stays(table: Table, kept: Any) -> None:
    write(table, "a")
    airflow = Airflow()
    task = PaimonRelayPartitionsOperator(task_id="relay", table="shop.t")
    airflow.state[task.asset]["partitions.d.relay"] = kept
    with pytest.raises(AirflowFailException, match=r"no position of a reader|place of a snapshot"):
        airflow.run("new")
    assert airflow.state[task.asset]["partitions.d.relay"] == kept


STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from("abcd")),
    st.tuples(st.just("expire"), st.integers(1, 3)),
    st.tuples(st.just("run"), st.booleans()),
    st.sampled_from([("anew",), ("compact",), ("retry",), ("rollback",)]),
)


@given(steps=st.lists(STEPS, min_size=4, max_size=25))
def test_every_partition_is_announced_whatever_happens_to_runs_and_table(
    steps: list[tuple[Any, ...]],
) -> None:
    """Beside an oracle that remembers which partitions changed since somebody was told of them."""
    name = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        document = {"conn_type": "paimon", "host": f"memory://{name}"}
        patch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
        catalog = open_catalog(f"memory://{name}")
        catalog.create_database("shop")
        _Relayed(catalog).play(steps)


class _Relayed:
    """What has happened, and which partitions the relay owes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.airflow = KnowingAirflow()
        self.runs = 0
        self.failed: str | None = None
        self.owed: dict[str, int] = {}
        """By partition the first snapshot that wrote to it since somebody was told."""
        self.expired = False
        self.create()
        self.run(fails=False)

    def play(self, steps: list[tuple[Any, ...]]) -> None:
        for step, *arguments in [*steps, ("run", False)]:
            getattr(self, step)(*arguments)

    def create(self) -> None:
        options = {"bucket": "-1", "write-only": "true"}
        self.table = self.catalog.create_table(
            "shop.t", SCHEMA, partition_by=("dt",), options=options
        )

    def write(self, day: str) -> None:
        write(self.table, day)
        self.owed.setdefault(f"dt={day}", self.table.snapshots()[-1].id)

    def compact(self) -> None:
        self.table.compact()

    def expire(self, left: int) -> None:
        before = len(self.table.snapshots())
        self.table.expire_snapshots(retain_max=left, retain_min=1)
        self.expired |= len(self.table.snapshots()) < before

    def anew(self) -> None:
        self.catalog.drop_table("shop.t")
        self.create()
        self.owed, self.expired = {}, False

    def rollback(self) -> None:
        """Rows of some partitions are taken back; whose, nobody can tell afterwards."""
        there = self.table.snapshots()
        if len(there) > 1:
            head = there[len(there) // 2 - 1].id
            self.table.rollback_to(snapshot=head)
            live = {f"dt={one['dt']}" for one in self.table.live_partitions()}
            self.owed = {day: id for day, id in self.owed.items() if day in live and id <= head}
            self.expired = True

    def run(self, fails: bool) -> None:
        self.runs += 1
        self.attempt(f"run {self.runs}", fails=fails)

    def retry(self) -> None:
        if self.failed is not None:
            self.attempt(self.failed, fails=False)

    def attempt(self, run_id: str, *, fails: bool) -> None:
        told = self.airflow.attempt(run_id, fails=fails)
        if fails:
            self.failed = run_id
            return
        assert self.owed.keys() <= set(told)
        assert len(told) == len(set(told)), "each once in a run"
        if not self.expired:
            assert set(told) == self.owed.keys()
        self.owed, self.failed, self.expired = {}, None, False
