"""What was promised stays readable, whatever upkeep runs in which order.

Goal: snapshots above the floor, tags, branches and their tags read as they did when they were made;
kept changelogs deliver as before; orphan removal takes every rest, and nothing else.

Method: a Hypothesis state machine over the public names, on a memory store.  The model is a dict from
each promised name to the rows that it had.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import table_core as tc
from table_core.ondisk import layout
from table_core.table.maintenance.branches import Branches
from table_core.table.maintenance.tags import Tags
from tests.clocks import Later
from tests.tables import new_catalog, write_rows

pytestmark = pytest.mark.usefixtures("forgetful")

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string()),
        pa.field("k", pa.int64(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)
Rows = list[tuple[Any, ...]]
NAMES = st.sampled_from(["a", "b", "c"])
WRITE = {
    "where": st.sampled_from(["main", "main", "b1"]),
    "key": st.integers(0, 5),
    "part": st.sampled_from(["x", "y"]),
    "overwrite": st.sampled_from(["table", "partitions", None]),
    "tag": st.one_of(st.none(), NAMES),
    "compacted": st.sampled_from([None, None, "full", "minor"]),
}


def rows(table: Any, **which: Any) -> Rows:
    found = table.read(**which).to_arrow().select(["p", "k", "v"]).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def needed(table: Any, snapshot: Any) -> set[str]:
    """Every file that a reader of ``snapshot`` opens.  What is remembered hides none that is lost."""
    access = table.access
    lists = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    metas = access.metadata.data_manifests(snapshot)
    names = [*lists, *(meta.file_name for meta in metas)]
    return {layout.manifest_path(name) for name in names} | {
        layout.data_file_path(access.schema, entry.partition, entry.bucket, entry.file)
        for entry in access.live_entries(snapshot)
    }


def changes(table: Any, id: int) -> Rows:
    found = table.changes(after=id - 1, to=id).to_arrow().to_pylist()
    return sorted((row["_ROW_KIND"], row["p"], row["k"], row["v"]) for row in found)


class UpkeepStates(RuleBasedStateMachine):
    """One table with its branches, and what was promised of it."""

    @initialize(
        partitioned=st.booleans(),
        producer=st.sampled_from(["none", "input"]),
        kept=st.booleans(),
        auto=st.booleans(),
        history=st.lists(st.fixed_dictionaries(WRITE), min_size=3, max_size=7),
    )
    def create(
        self,
        partitioned: bool,
        producer: str,
        kept: bool,
        auto: bool,
        history: list[dict[str, Any]],
    ) -> None:
        options = {
            "bucket": "1",
            "changelog-producer": producer,
            "num-sorted-run.compaction-trigger": "3",
            "snapshot.time-retained": "1 ms",
            "snapshot.num-retained.min": "2" if auto else "100",
            "manifest.full-compaction-threshold-size": "1 b",  # names leave the head at once
            "manifest.merge-min-count": "1",
        }
        if auto:
            options["snapshot.num-retained.max"] = "3"
        if kept:
            options |= {"changelog.num-retained.max": "1000", "changelog.num-retained.min": "1000"}
        catalog = new_catalog()
        self.catalog = catalog
        catalog.create_table(
            "d.t",
            SCHEMA,
            primary_key=("p", "k") if partitioned else ("k",),
            partition_by=("p",) if partitioned else (),
            options=options,
        )
        self.kept, self.auto = kept, auto
        self.snapshots: dict[str, dict[int, Rows]] = {"main": {}}
        self.tags: dict[str, dict[str, Rows]] = {"main": {}}
        self.changes: dict[int, Rows] = {}
        self.value = 0
        for write in history:  # sequences of rules are often short
            self.write(**write)

    def table(self, branch: str = "main") -> Any:
        return self.catalog.table("d.t", branch=None if branch == "main" else branch)

    def note(self, branch: str) -> None:
        """Promise what is there now; with automatic expiry at least two are left of what was."""
        table = self.table(branch)
        head = table.latest_snapshot()
        if self.auto:
            left = {snapshot.id for snapshot in table.snapshots()}
            assert len(left) <= 3
            assert left >= {id for id in self.snapshots[branch] if id > head.id - 2}
            self.forget(branch, left)
        for id in range(max(self.snapshots[branch], default=0) + 1, (head.id if head else 0) + 1):
            if id not in self.snapshots[branch] and table.access.metadata.floor() <= id:
                self.snapshots[branch][id] = rows(table, snapshot=id)
                if branch == "main":
                    self.changes[id] = changes(table, id)

    def forget(self, branch: str, left: set[int]) -> None:
        """No more is promised of ``branch`` than the snapshots ``left``."""
        for id in [id for id in self.snapshots[branch] if id not in left]:
            del self.snapshots[branch][id]
            if branch == "main" and not self.kept:
                self.changes.pop(id, None)

    @rule(**WRITE)
    def write(
        self,
        where: str,
        key: int,
        part: str,
        overwrite: str | None,
        tag: str | None,
        compacted: str | None,
    ) -> None:
        if where not in self.snapshots:
            return
        self.value += 1
        write_rows(
            self.table(where),
            pa.table({"p": [part], "k": [key], "v": [self.value]}, schema=SCHEMA),
            overwrite=overwrite,
        )
        self.note(where)
        if tag and where == "main":
            self.tag(tag)
        if compacted and where == "main":
            self.compact(compacted)

    @rule(strategy=st.sampled_from(["full", "minor"]))
    def compact(self, strategy: str) -> None:
        self.table().compact(strategy)
        self.note("main")

    def tag(self, name: str) -> None:
        head = self.table().latest_snapshot()
        if head is not None and name not in self.tags["main"]:
            Tags(self.table().access).create(name)
            self.tags["main"][name] = self.snapshots["main"][head.id]

    @rule(name=NAMES)
    def untag(self, name: str) -> None:
        if self.tags["main"].pop(name, None) is not None:
            Tags(self.table().access).delete(name)

    @rule(name=NAMES, alone=st.booleans())
    def branch(self, name: str, alone: bool) -> None:
        if "b1" in self.snapshots or name not in self.tags["main"]:
            return
        Branches(self.table().access).create("b1", tag=name)
        branch = self.table("b1")
        self.tags["b1"] = {name: self.tags["main"][name]}
        self.snapshots["b1"] = {branch.latest_snapshot().id: self.tags["main"][name]}
        if alone:  # nothing but the branch itself holds its files
            for where in ("main", "b1"):
                Tags(self.table(where).access).delete(name)
                del self.tags[where][name]

    @precondition(lambda self: "b1" in getattr(self, "snapshots", {}))
    @rule()
    def unbranch(self) -> None:
        Branches(self.table().access).delete("b1")
        del self.snapshots["b1"], self.tags["b1"]

    @rule(where=st.sampled_from(["main", "main", "b1"]), retain=st.integers(1, 3))
    def expire(self, where: str, retain: int) -> None:
        if where not in self.snapshots:
            return
        table = self.table(where)
        table.expire_snapshots(retain_max=retain, retain_min=1)
        left = {snapshot.id for snapshot in table.snapshots()}
        assert len(left) <= retain
        assert left <= self.snapshots[where].keys()
        self.forget(where, left)

    @rule(pick=st.integers(0, 20), by_tag=st.booleans())
    def rollback(self, pick: int, by_tag: bool) -> None:
        states, tags = self.snapshots["main"], self.tags["main"]
        there = sorted(tags if by_tag else states)
        if not there:
            return
        chosen, table = there[pick % len(there)], self.table()
        if by_tag:
            want = tags[chosen]
            table.rollback_to(tag=chosen)
        else:
            want = states[chosen]
            table.rollback_to(snapshot=chosen)
        target = table.latest_snapshot().id
        assert by_tag or target == chosen
        self.snapshots["main"] = {id: r for id, r in states.items() if id < target}
        self.snapshots["main"][target] = want
        self.changes = {id: c for id, c in self.changes.items() if id <= target}
        left = Tags(table.access).list()
        assert set(left) <= tags.keys()
        self.tags["main"] = {name: tags[name] for name in left}

    @precondition(lambda self: "b1" in getattr(self, "snapshots", {}))
    @rule()
    def fast_forward(self) -> None:
        main, branch, table = self.snapshots["main"], self.snapshots["b1"], self.table()
        try:
            Branches(table.access).fast_forward("b1")
        except tc.errors.ArgumentError:  # nothing tells where the branch began
            assert not main.keys() & branch.keys() or self.tags["main"]
            return
        left = {snapshot.id for snapshot in table.snapshots()}
        assert left >= branch.keys()
        self.snapshots["main"] = {i: r for i, r in (main | branch).items() if i in left}
        self.changes = {i: c for i, c in self.changes.items() if i in left and i < min(branch)}
        names = Tags(table.access).list()
        assert set(names) >= self.tags["b1"].keys()
        held = self.tags["main"] | self.tags["b1"]
        self.tags["main"] = {name: held[name] for name in names}

    @rule()
    def leave_a_rest(self) -> None:
        storage = self.table().access.storage
        storage.write(f"bucket-0/data-{uuid.uuid4()}-0.parquet", b"rest")
        storage.write(f"manifest/manifest-{uuid.uuid4()}-0", b"rest")
        storage.write("export/mine.csv", b"1")

    @rule()
    def remove_orphans(self) -> None:
        table = tc.Table(replace(self.table().access, clock=Later()))
        said = table.remove_orphan_files(dry_run=True)
        done = table.remove_orphan_files()
        same = ("files_deleted", "bytes_deleted", "files_before", "files_after")
        assert [getattr(said, n) for n in same] == [getattr(done, n) for n in same]
        assert table.remove_orphan_files().files_deleted == 0
        partitioned = bool(table.partition_by)
        left = [i for i in table.access.storage.walk("") if i.size == 4 and "bucket" in i.path]
        assert partitioned or not left

    @invariant()
    def what_was_promised_reads_as_it_did(self) -> None:
        if not hasattr(self, "snapshots"):
            return
        there = {info.path for info in self.table().access.storage.walk("")}
        for branch, states in self.snapshots.items():
            table = self.table(branch)
            for id, want in states.items():
                assert needed(table, table.snapshot(id)) <= there, (branch, id)
                assert rows(table, snapshot=id) == want, (branch, id)
            for name, want in self.tags[branch].items():
                assert needed(table, Tags(table.access).get(name).snapshot) <= there, (branch, name)
                assert rows(table, tag=name) == want, (branch, name)
        for id, want in self.changes.items():
            assert changes(self.table(), id) == want, id

    def teardown(self) -> None:
        """Whatever the sequence was, it ends with everything gone that may go."""
        if hasattr(self, "snapshots"):
            for branch in list(self.snapshots):
                self.expire(branch, 1)
            self.remove_orphans()
            self.what_was_promised_reads_as_it_did()


TestUpkeepStates = UpkeepStates.TestCase
TestUpkeepStates.settings = settings(
    settings.default,
    max_examples=max(20, settings.default.max_examples // 5),
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
