"""Who commits: a user is a name, a user with an identifier is one call, and stands for one question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.commit.asked import ASKED_PROPERTY, asked, differences
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        ("v", pa.int64()),
    ]
)
NAME = tc.CommitAs(user="task", identifier=7)
BATCH = 2**63 - 1


@pytest.fixture
def catalog() -> tc.Catalog:
    return new_catalog()


@pytest.fixture
def table(catalog: tc.Catalog) -> tc.Table:
    made = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("p", "k"),
        partition_by=("p",),
        options={"bucket": "1", "partition.timestamp-formatter": "yyyy-MM-dd"},
    )
    put(made, ("a", 1), ("b", 2), ("c", 3))
    return made


def rows(*keys: tuple[str, int], v: int = 1) -> pa.Table:
    return pa.table(
        {"p": [p for p, _ in keys], "k": [k for _, k in keys], "v": [v] * len(keys)}, schema=SCHEMA
    )


def put(table: tc.Table, *keys: tuple[str, int], v: int = 1, **how: Any) -> tc.Commit:
    return write_rows(table, rows(*keys, v=v), **how)


def keys(table: tc.Table) -> list[int]:
    return sorted(table.read().to_arrow()["k"].to_pylist())


# ------------------------------------------------------------------------------------- a user alone
def test_a_user_alone_is_a_name_in_the_history_and_nothing_is_taken_for_a_replay(
    catalog: tc.Catalog, table: tc.Table
) -> None:
    for day in (4, 5, 6):
        done = put(catalog.table("d.t"), ("a", day), commit_user="nightly")
        assert not done.replayed
    assert keys(table) == [1, 2, 3, 4, 5, 6]
    newest = table.snapshots()[-1]
    assert (newest.commit_user, newest.commit_identifier) == ("nightly", BATCH)


def test_every_verb_of_a_user_alone_is_done_as_often_as_it_is_asked_for(
    catalog: tc.Catalog, table: tc.Table
) -> None:
    me = tc.CommitAs(user="me")
    catalog.alter_table("d.t", [tc.AddColumn("x", "INT")], commit=me)
    catalog.alter_table("d.t", [tc.AddColumn("y", "INT")], commit=me)
    table = catalog.table("d.t")
    assert table.arrow_schema.names == ["p", "k", "v", "x", "y"]
    table.delete("k = 1", commit=me)
    table.delete("k = 2", commit=me)
    table.update({"v": "9"}, "k = 3", commit=me)
    assert table.read(columns=["k", "v"]).to_arrow().to_pylist() == [{"k": 3, "v": 9}]
    table.truncate(commit=me)
    write_rows(table, rows(("a", 8)), commit=me)
    table.truncate(commit=me)
    assert keys(table) == []


@pytest.mark.parametrize(
    "refused",
    [
        lambda t: tc.CommitAs(identifier=7),
        lambda t: tc.CommitAs(user="", identifier=7),
        lambda t: t.write(commit_identifier=7),
        lambda t: tc.CommitAs(user="me", identifier=BATCH),
        lambda t: tc.CommitAs(user="me", identifier=-(2**63) - 1),
    ],
)
def test_an_identifier_that_names_no_call_is_refused(
    table: tc.Table, refused: Callable[[tc.Table], object]
) -> None:
    with pytest.raises(errors.ArgumentError, match="identifier") as caught:
        refused(table)
    assert caught.value.facts["argument"] == "identifier"


# ------------------------------------------------------------------------------- the same was asked
VERBS: dict[str, Callable[[tc.Catalog, tc.CommitAs], object]] = {
    "write": lambda c, how: put(c.table("d.t"), ("a", 9), commit=how),
    "overwrite": lambda c, how: put(c.table("d.t"), ("a", 9), commit=how, overwrite={"p": "a"}),
    "delete": lambda c, how: c.table("d.t").delete("k = 1", commit=how),
    "delete another": lambda c, how: c.table("d.t").delete("k = 2", commit=how),
    "update": lambda c, how: c.table("d.t").update({"v": "v + 1"}, "k = 1", commit=how),
    "update otherwise": lambda c, how: c.table("d.t").update({"v": "v + 2"}, "k = 1", commit=how),
    "truncate": lambda c, how: c.table("d.t").truncate(commit=how),
    "drop": lambda c, how: c.table("d.t").drop_partitions([{"p": "a"}], commit=how),
    "drop another": lambda c, how: c.table("d.t").drop_partitions([{"p": "b"}], commit=how),
    "merge": lambda c, how: c.table("d.t").merge_into(
        rows(("a", 1), v=5), ["p", "k"], [tc.MatchedUpsert()], commit=how
    ),
    "merge otherwise": lambda c, how: c.table("d.t").merge_into(
        rows(("a", 1), v=5), ["p", "k"], [tc.MatchedDelete()], commit=how
    ),
    "compact": lambda c, how: c.table("d.t").compact(strategy="full", commit=how),
    "analyze": lambda c, how: c.table("d.t").analyze(commit=how),
    "analyze a column": lambda c, how: c.table("d.t").analyze(columns=["v"], commit=how),
    "rescale": lambda c, how: c.table("d.t").rescale(2, commit=how),
    "expire": lambda c, how: c.table("d.t").expire_partitions("1 d", commit=how),
    "alter": lambda c, how: c.alter_table("d.t", [tc.AddColumn("x", "INT")], commit=how),
    "alter otherwise": lambda c, how: c.alter_table("d.t", [tc.AddColumn("y", "INT")], commit=how),
}
LANDS = sorted(set(VERBS) - {"expire"})
"""Those that make a snapshot or a schema here."""


@pytest.mark.parametrize("verb", LANDS)
def test_the_same_call_again_changes_nothing(
    catalog: tc.Catalog, table: tc.Table, verb: str
) -> None:
    if verb == "compact":
        catalog.alter_table("d.t", [tc.SetOption("num-sorted-run.compaction-trigger", "9")])
        put(catalog.table("d.t"), ("a", 1), v=3)
    VERBS[verb](catalog, NAME)
    put(catalog.table("d.t"), ("a", 1), ("b", 2), v=100)
    before = catalog.table("d.t")
    VERBS[verb](catalog, NAME)
    after = catalog.table("d.t")
    assert after.latest_snapshot() == before.latest_snapshot()
    assert after.definition == before.definition


@pytest.mark.parametrize("first", LANDS)
def test_another_call_under_a_name_that_is_taken_is_an_error_that_says_what_differs(
    catalog: tc.Catalog, table: tc.Table, first: str
) -> None:
    if first == "compact":
        catalog.alter_table("d.t", [tc.SetOption("num-sorted-run.compaction-trigger", "9")])
        put(catalog.table("d.t"), ("a", 1), v=3)
    VERBS[first](catalog, NAME)
    of_schema = first.startswith("alter")
    before = catalog.table("d.t")
    for second, call in VERBS.items():
        if second == first or second.startswith("alter") != of_schema:
            continue  # schemas and snapshots are looked up apart
        with pytest.raises(errors.ArgumentError, match="differs in") as caught:
            call(catalog, NAME)
        facts = caught.value.facts
        assert (facts["user"], facts["value"]) == ("task", 7)
        assert facts["differs"]
    after = catalog.table("d.t")
    assert (after.latest_snapshot(), after.definition) == (
        before.latest_snapshot(),
        before.definition,
    )


def test_a_refused_call_leaves_no_file(catalog: tc.Catalog, table: tc.Table) -> None:
    put(table, ("a", 4), commit=NAME)
    files = {info.path for info in table.access.storage.walk("")}
    with pytest.raises(errors.ArgumentError, match="overwrite"):
        put(table, ("a", 5), commit=NAME, overwrite="table")
    assert {info.path for info in table.access.storage.walk("")} == files


def test_a_branch_is_part_of_what_was_asked(catalog: tc.Catalog, table: tc.Table) -> None:
    table.branches.create("b", snapshot=1)
    put(catalog.table("d.t", branch="b"), ("a", 9), commit=NAME)
    table.branches.fast_forward("b")
    with pytest.raises(errors.ArgumentError, match="branch"):
        put(catalog.table("d.t"), ("a", 9), commit=NAME)


def test_a_snapshot_that_does_not_say_what_was_asked_is_taken_as_before(
    catalog: tc.Catalog, table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(tc.CommitAs, "with_request", lambda self, *_, **__: self)
        put(table, ("a", 4), commit=NAME)
    assert ASKED_PROPERTY not in (table.snapshots()[-1].properties or {})
    assert table.delete("k = 1", commit=NAME).details["replayed"]


def test_what_was_asked_is_short_and_stays_with_its_snapshot(table: tc.Table) -> None:
    table.delete(" or ".join(f"k = {n}" for n in range(50, 90)) + " or k = 1", commit=NAME)
    stored = (table.snapshots()[-1].properties or {})[ASKED_PROPERTY]
    assert len(stored) < 100
    put(table, ("a", 5))
    assert ASKED_PROPERTY not in (table.snapshots()[-1].properties or {})


def test_what_was_asked_is_alike_in_every_process_and_with_new_arguments() -> None:
    stored = "merge-into on=a5ddf14f4ba3 source=9a2cf7c6a3ea"
    again = asked("merge-into", {"on": {"k": "k"}, "source": "d.s", "new": None})
    assert [part.split("=")[0] for part in again.split()] == ["merge-into", "on", "source"]
    assert again == asked("merge-into", {"source": "d.s", "on": {"k": "k"}})
    assert differences(again, again) == ()
    assert differences(stored, again) == ("argument 'on'", "argument 'source'")
    assert differences("delete where=1", "truncate")
    assert asked("w", {"rows": pa.table({"a": [1]})}) == asked("w", {"rows": pa.table({"a": [2]})})


# -------------------------------------------------------------------- verbs that make several commits
def test_nothing_is_committed_under_a_number_that_the_caller_did_not_give(
    catalog: tc.Catalog,
) -> None:
    table = catalog.create_table(
        "d.days",
        SCHEMA,
        primary_key=("p", "k"),
        partition_by=("p",),
        options={
            "bucket": "1",
            "partition.expiration-time": "1 d",
            "partition.expiration-batch-size": "1",
            "partition.timestamp-formatter": "yyyy-MM-dd",
        },
    )
    put(table, ("2020-01-01", 1), ("2020-01-02", 2), ("2020-01-03", 3), ("2999-01-01", 4))
    first = table.expire_partitions(commit=tc.CommitAs(user="u", identifier=0))
    assert len(first.details["partitions"]) == 3  # type: ignore[arg-type]
    taken = [s.commit_identifier for s in table.snapshots() if s.commit_user == "u"]
    assert taken == [0]
    assert not put(table, ("2999-01-01", 5), commit=tc.CommitAs(user="u", identifier=1)).replayed
    put(table, ("2020-01-01", 6))
    again = table.expire_partitions(commit=tc.CommitAs(user="u", identifier=0))
    assert again.details["replayed"]
    assert 5 in keys(table)


@pytest.mark.parametrize("how", ["in data", "in an empty table"])
def test_a_replayed_rescale_does_not_undo_a_later_one(catalog: tc.Catalog, how: str) -> None:
    catalog.create_table("d.r", SCHEMA, primary_key=("p", "k"), options={"bucket": "1"})
    if how == "in data":
        put(catalog.table("d.r"), ("a", 1), ("a", 2))
    catalog.table("d.r").rescale(4, commit=NAME)
    catalog.table("d.r").rescale(8)
    done = catalog.table("d.r").rescale(4, commit=NAME)
    table = catalog.table("d.r")
    assert table.options["bucket"] == "8"
    put(table, ("a", 3))
    assert done.rows_written == (2 if how == "in data" else 0)


def test_a_replayed_alter_job_does_not_undo_a_later_one(catalog: tc.Catalog) -> None:
    catalog.create_table("d.r", SCHEMA, options={"bucket": "-1"})
    spec = JobSpec(
        action="alter-table",
        warehouse=catalog.storage.uri,
        table="d.r",
        args={"changes": [{"change": "SetOption", "key": "read.batch-size", "value": "5"}]},
        commit_user="task",
        commit_identifier=0,
    )
    run_embedded(spec)
    catalog.alter_table("d.r", [tc.SetOption("read.batch-size", "6")])
    run_embedded(spec)
    assert catalog.table("d.r").options["read.batch-size"] == "6"


# ------------------------------------------------------------------------------------------- rollbacks
def roll_back(catalog: tc.Catalog, snapshot: int, user: str = "task") -> dict[str, object]:
    spec = JobSpec(
        action="rollback",
        warehouse=catalog.storage.uri,
        table="d.t",
        args={"snapshot": snapshot},
        commit_user=user,
        commit_identifier=0,
    )
    return run_embedded(spec)


def test_a_replayed_rollback_takes_back_nothing_that_came_since(
    catalog: tc.Catalog, table: tc.Table
) -> None:
    put(table, ("a", 4))
    assert roll_back(catalog, 1)["snapshot_after"] == 1
    put(catalog.table("d.t"), ("a", 5))
    again = roll_back(catalog, 1)
    assert again["details"]["replayed"]  # type: ignore[index]  # a JSON document
    assert keys(catalog.table("d.t")) == [1, 2, 3, 5]
    with pytest.raises(errors.ArgumentError, match="snapshot"):
        roll_back(catalog, 2)
    assert roll_back(catalog, 1, "another")["snapshot_after"] == 1
    assert keys(catalog.table("d.t")) == [1, 2, 3]


def test_a_rollback_that_was_cut_short_is_finished_or_said_to_be_unclear(
    catalog: tc.Catalog, table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (4, 5, 6):
        put(table, ("a", n))
    from table_core.table.maintenance import rollback as module

    plain = module._remove

    def cut_short(turn: Any, *_: Any) -> None:
        storage = turn.access.storage
        storage.delete(["snapshot/LATEST", "snapshot/snapshot-4"])
        raise errors.StorageUnavailableError("gone", path="", reason="")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_remove", cut_short)
        with pytest.raises(errors.StorageUnavailableError):
            roll_back(catalog, 1)
    assert plain is module._remove
    if catalog.table("d.t").latest_snapshot() is not None:
        put(catalog.table("d.t"), ("a", 7))
    with pytest.raises(errors.OutcomeUnknownError, match="cut short"):
        roll_back(catalog, 1)
    catalog.table("d.t").rollback_to(snapshot=3)
    assert roll_back(catalog, 1)["snapshot_after"] == 1
    assert keys(catalog.table("d.t")) == [1, 2, 3]
