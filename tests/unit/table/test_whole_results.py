"""Goal: every member of a result document is what the metadata before and after say, whichever verb, kind of table
and door; a retry says what the first run said; what nobody can know is absent.

Method: ``tests/whole_results.py`` counts live files by hand.  The verbs on handles are those of
``dry_runs.py``, and statements; the jobs are all that a spec may name.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.jobs.job_spec import ACTIONS, JobSpec
from table_core.jobs.run import run_embedded
from table_core.storage.stores.faults import Faults, FaultyStorage
from tests.every_job import JOBS, KINDS, ONE_ROW, RESCALE, lake_of, put
from tests.tables import new_catalog
from tests.unit.dry_runs import VERBS, Shop, filled_shop
from tests.whole_results import MEMBERS, State, refuted

EVERYTHING = {"remove-orphan-files"}
"""Counts every file in the folder."""
Run = Callable[..., dict[str, Any]]


ROW_JOBS = (
    "write",
    "flow",
    "overwrite",
    "merge-into",
    "delete",
    "update",
    "compact",
    "expire-partitions",
)
ELSEWHERE = {
    "clone": "the copy has no state before",
    "collect-metadata": "of the table that keeps the history: tests of its own",
    "compact-database": "sums",
    "sync-table": "tests of their own below",
    "sync-database": "tests of their own below",
    "remove-orphan-files": "counts every file in the folder",
    "fast-forward": "with the verbs on handles",
    "health": "no result document",
    "recover": "of a broken table: tests of its own",
}


def embedded(catalog: tc.Catalog, inbox: Path) -> Run:
    def run(action: str, args: dict[str, Any], number: int | None = None) -> dict[str, Any]:
        inbox.mkdir(exist_ok=True)
        (inbox / "1.jsonl").write_text('{"p": "a", "k": 8, "v": 1}\n')
        if "rows_uri" in args:
            args = args | {"rows_uri": args["rows_uri"].format(inbox=inbox)}
        spec = JobSpec(
            action=action,
            warehouse=catalog.warehouse,
            table="d.t",
            args=args,
            commit_user=None if number is None else "me",
            commit_identifier=number,
        )
        return dict(run_embedded(JobSpec.from_json(spec.to_json())))

    return run


def cases() -> list[tuple[str, str]]:
    """All jobs on some kinds of tables, those that change rows on every kind."""
    every = [(kind, name) for kind in ("key", "append") for name in JOBS]
    others = set(KINDS) - {"key", "append"}
    rows = [(kind, name) for kind in sorted(others) for name in ROW_JOBS]
    return [*every, *rows, *((kind, "rescale") for kind in ("key", "append in buckets", "lookup"))]


@pytest.mark.parametrize(("kind", "name"), cases())
def test_a_job_says_what_the_metadata_say(kind: str, name: str, tmp_path: Path) -> None:
    catalog = lake_of(kind, f"memory://{uuid.uuid4().hex}")
    run, table = embedded(catalog, tmp_path / "in"), catalog.table("d.t")
    action, args = (JOBS | RESCALE)[name]
    if name == "delete-branch":
        table.branches.create("side", tag="old")
    before = State.of(table)
    said = run(action, args)
    after = State.of(table)
    assert json.loads(json.dumps(said)) == said, "as a job elsewhere returns it"
    assert said.pop("commits") is not None
    wrong = refuted(said, before, after)
    if kind == "lookup" or action == "rollback":
        wrong.pop(
            "rows_written", None
        )  # compacted along, or there before: in no file that was written
    assert wrong == {}


def test_every_job_is_looked_at() -> None:
    assert {action for action, _ in (JOBS | RESCALE).values()} | set(ELSEWHERE) == set(ACTIONS)


@pytest.mark.parametrize(
    "name",
    [
        "write",
        "overwrite",
        "files",
        "merge-into",
        "delete",
        "compact",
        "drop-partitions",
        "expire-partitions",
        "analyze",
    ],
)
@pytest.mark.parametrize("kind", ["key", "append", "postponed"])
def test_a_retry_says_what_the_first_run_said(kind: str, name: str, tmp_path: Path) -> None:
    catalog = lake_of(kind, f"memory://{uuid.uuid4().hex}")
    run = embedded(catalog, tmp_path / "in")
    action, args = JOBS[name]
    if name == "compact":  # it has something to do
        put(catalog.table("d.t"), ("a", 49, 1))
    first = run(action, args, number=1)
    put(catalog.table("d.t"), ("a", 50, 1))
    again = run(action, args, number=1)
    assert again["details"]["replayed"] is True
    numbers = MEMBERS - {"seconds", "details"}
    assert {n: again[n] for n in numbers} == {n: first[n] for n in numbers}


def test_what_a_commit_did_whose_snapshot_is_expired_is_absent_and_not_zero(tmp_path: Path) -> None:
    catalog = lake_of("key", f"memory://{uuid.uuid4().hex}")
    run, table = embedded(catalog, tmp_path / "in"), catalog.table("d.t")
    run("write", {"sql": ONE_ROW}, number=1)
    for n in range(3):
        put(table, ("a", n, n))
    table.expire_snapshots(retain_max=1)
    again = run("write", {"sql": ONE_ROW}, number=1)
    assert again["details"]["replayed"] is True
    absent = {"files_before", "files_after", "bytes_before", "bytes_after"}
    absent |= {"files_deleted", "bytes_deleted", "rows_written"}
    assert absent & set(again) == set()


def test_the_state_before_is_absent_where_it_is_expired(tmp_path: Path) -> None:
    catalog = lake_of("key", f"memory://{uuid.uuid4().hex}")
    table = catalog.table("d.t")
    first = embedded(catalog, tmp_path / "in")("write", {"sql": ONE_ROW}, number=1)
    table.expire_snapshots(retain_max=1)
    again = embedded(catalog, tmp_path / "in")("write", {"sql": ONE_ROW}, number=1)
    assert {"files_before", "bytes_before"} & set(again) == set()
    assert {n: again[n] for n in ("files_after", "rows_written", "files_deleted")} == {
        n: first[n] for n in ("files_after", "rows_written", "files_deleted")
    }


def test_another_writer_in_between_is_not_counted(tmp_path: Path) -> None:
    catalog = lake_of("key", f"memory://{uuid.uuid4().hex}")
    table, races = catalog.table("d.t"), []

    def decide(call: Any) -> None:
        if call.name == "create" and call.path.startswith("snapshot/") and not races:
            races.append(call)
            put(catalog.table("d.t"), ("b", 40, 1), ("c", 41, 1))

    faults = Faults(decide)
    raced = tc.Table(_over(table.access, FaultyStorage(table.access.storage, faults)))
    said = raced.delete("k = 1").to_document()
    assert races
    last = table.latest_snapshot().id
    assert (said["snapshot_before"], said["snapshot_after"]) == (last - 1, last)
    assert (
        said["files_after"] - said["files_before"]
        == said["rows_written"] // said["rows_written"] * 3
    )


def _over(access: Any, storage: Any) -> Any:
    from dataclasses import replace

    return replace(access, storage=storage, metadata=replace(access.metadata, storage=storage))


@pytest.fixture
def shop() -> Shop:
    return filled_shop()


@pytest.mark.parametrize(
    "action", [a for a in VERBS if not a.endswith("-database") and a != "clone"]
)
def test_a_verb_on_a_handle_says_what_the_metadata_say(action: str, shop: Shop) -> None:
    verb, wish = VERBS[action](shop)
    before = State.of(shop.table)
    said = verb(**wish).to_document()
    after = State.of(shop.table)
    wrong = refuted(said, before, after)
    if action in EVERYTHING:
        wrong = {n: w for n, w in wrong.items() if not n.startswith(("files_", "bytes_"))}
        assert said["files_before"] - said["files_after"] == said["files_deleted"] > 0
    if action in {
        "delete-tags",
        "delete-tag",
        "replace-tag",
    }:  # takes from the store what only a tag named
        gone = set(before.stored) - set(after.stored)
        assert said["files_deleted"] == len(gone)
        assert said["bytes_deleted"] == sum(before.stored[path] for path in gone)
        wrong = {n: w for n, w in wrong.items() if not n.endswith("_deleted")}
    if action in {"rollback", "fast-forward"}:  # no row is written: it is there already
        assert said["rows_written"] == 0
        wrong.pop("rows_written", None)
    assert wrong == {}


def test_a_copy_is_counted_in_the_copy(shop: Shop) -> None:
    said = shop.catalog.clone_table("d.t", "d.u").to_document()
    assert refuted(said, State(None, {}, {}), State.of(shop.catalog.table("d.u"))) == {}


def test_many_tables_are_the_sum_of_each(shop: Shop) -> None:
    shop.catalog.clone_table("d.t", "d.u")
    said = shop.catalog.compact_database("d", strategy="full").to_document()
    each = said["details"]["tables"].values()
    assert len(each) == 2
    for name in ("files_before", "files_after", "bytes_before", "files_deleted", "rows_written"):
        assert said[name] == sum(one[name] for one in each) > 0
    assert said["snapshot_after"] is None


def test_captured_changes_are_counted(tmp_path: Path) -> None:
    catalog = new_catalog()
    inbox = tmp_path / "events"
    inbox.mkdir()

    def bring(number: int, *ids: int) -> None:
        lines = (
            json.dumps(
                {
                    "before": None,
                    "after": {"id": id, "v": number},
                    "op": "c",
                    "source": {"table": "t"},
                }
            )
            for id in ids
        )
        (inbox / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))

    source = tc.FilesSource(f"{inbox.as_uri()}/*.jsonl", format="debezium-json")
    before = State(None, {}, {})
    for number, ids in enumerate([(1, 2, 3), (3, 4), ()]):
        bring(number, *ids)
        said = tc.sync_table(catalog, "d.t", source, primary_key=("id",)).to_document()
        after = State.of(catalog.table("d.t"))
        assert refuted(said, before, after) == {}
        before = after
    bring(9, 5)
    said = tc.sync_database(catalog, "d", source).to_document()
    after = State.of(catalog.table("d.t"))
    one = said["details"]["tables"]["t"]
    for name in ("files_before", "files_after", "bytes_after", "rows_written", "files_deleted"):
        assert one[name] == said[name]
    assert (one["files_after"], one["rows_written"]) == (len(after.live), 1)
