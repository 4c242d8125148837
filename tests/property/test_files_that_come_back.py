"""Files that Apache Paimon's ``rollback_to_as_latest`` brings back, by their names, outlive our expiry and our deletion of tags.

Method: random histories of commits, compactions, tags, branches, expiries, rollbacks and Paimon's rollback that makes a
new snapshot.  Oracle, the slow obvious one: all that a snapshot, a tag or a branch names is there after each
step.  At the end all tags go and all snapshots but one: what is left is what that one names.

With branches, fast-forwards and our rollback, which leave files for orphan removal, only what is needed is looked at.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import table_core as tc
from table_core.expire import protocol, snapshots, tags
from table_core.ondisk import layout
from table_core.ondisk.data_file import ManifestEntry
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.manifest import encode_manifest, fold_entries
from table_core.ondisk.manifest_list import encode_manifest_list, summarize
from table_core.ondisk.properties import newest_return
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.table.maintenance.file_deletion import paths_of
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_access, branch_names
from table_core.table.metadata.refs.needed_files import NeededFiles, index_place
from table_core.table.metadata.refs.other_branches import tag_documents
from tests.lanes import budget
from tests.tables import foreign_commit, new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
KINDS = {
    "one bucket": {"bucket": "1"},
    "an index of keys": {"bucket": "-1"},
    "deletion vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "no keys": {"bucket": "-1", "deletion-vectors.enabled": "true"},
}
ALWAYS = {
    "write-only": "true",
    "snapshot.time-retained": "1 ms",
    "snapshot.num-retained.min": "1",
    "manifest.merge-min-count": "2",
}
BESIDE = (
    *("branch", "unbranch", "put there", "compact there"),
    *("expire there", "forward", "take back"),
)
STEPS = (
    *("put", "put", "compact", "overwrite", "delete", "analyze"),
    *("tag", "untag", "back", "expire", "foreign"),
)
Step = tuple[str, int]
A: list[Step] = [
    *[("put", 1), ("put", 2), ("tag", 0), ("compact", 0), ("put", 3)],
    *[("back", 0), ("put", 4), ("untag", 0), ("expire", 1)],
]
"""The tag goes while its snapshot is there; then what was compacted expires."""
D: list[Step] = [
    *[("put", 1), ("put", 2), ("tag", 0), ("compact", 0), ("tag", 0), ("put", 3)],
    *[("back", 0), ("compact", 0), ("put", 4), ("expire", 1)],
]
"""Another tag is nearer to what takes the files out for the second time."""
E: list[Step] = [*D[:6], ("back", 0), ("tag", 0), ("compact", 0), ("expire", 1), ("untag", 0)]
"""The tag that goes has a neighbour without its files; a tag behind that one has them."""


F: list[Step] = [*A[:6], ("untag", 0), ("expire", 2)]
"""What stays begins before the snapshot that brought the files back."""


def rollback_as_latest(table: Any, target: Snapshot) -> None:
    """As ``org.apache.paimon.operation.FileStoreCommitImpl.rollbackToAsLatest`` does it."""
    access = table.access
    storage, metadata = access.storage, Metadata(access.storage)
    head = metadata.head()
    now, then = live(metadata, head), live(metadata, target)
    delta = [entry.deleted() for key, entry in now.items() if key not in then]
    delta += [entry for key, entry in then.items() if key not in now]

    def written(entries: list[ManifestEntry]) -> tuple[str, int]:
        metas = []
        if entries:
            name, body = f"manifest-{uuid.uuid4()}-0", encode_manifest(entries)
            storage.write(layout.manifest_path(name), body)
            kinds = [f.type for f in access.schema.partition_fields]
            metas = [summarize(entries, name, len(body), kinds)]
        name, body = f"manifest-list-{uuid.uuid4()}-0", encode_manifest_list(metas)
        storage.write(layout.manifest_path(name), body)
        return name, len(body)

    base, base_size = written(list(now.values()))
    brought, brought_size = written(delta)
    new = replace(
        target,
        id=head.id + 1,
        base_manifest_list=base,
        base_manifest_list_size=base_size,
        delta_manifest_list=brought,
        delta_manifest_list_size=brought_size,
        changelog_manifest_list=None,
        commit_user="judge",
        commit_identifier=2**63 - 1,
        commit_kind=CommitKind.OVERWRITE,
        time_millis=head.time_millis,
        delta_record_count=target.total_record_count - head.total_record_count,
        writer_version="2.0.0",
        extra={},
    )
    assert storage.create(layout.snapshot_path(new.id), new.to_json())


def live(metadata: Metadata, snapshot: Snapshot) -> dict[Any, ManifestEntry]:
    metas = metadata.data_manifests(snapshot)
    return dict(fold_entries(e for m in metas for e in metadata.read_manifest(m)).live)


def names(access: Any, snapshot: Snapshot) -> Iterator[str]:
    """All that ``snapshot`` needs."""
    metadata = Metadata(access.storage)
    for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
        yield layout.manifest_path(name)
        yield from (layout.manifest_path(m.file_name) for m in metadata.manifest_list(name))
    files = live(metadata, snapshot).values()
    yield from paths_of(access, [(e.partition, e.bucket, e.file) for e in files])
    if snapshot.statistics is not None:
        yield layout.statistics_path(snapshot.statistics)
    if snapshot.index_manifest is not None:
        path = layout.manifest_path(snapshot.index_manifest)
        yield path
        entries = decode_index_manifest(access.storage.read(path), path=path)
        yield from (index_place(access, entry) for entry in entries)


def row(key: int, value: int) -> pa.Table:
    return pa.table({"k": [key], "v": [value]}, schema=SCHEMA)


class World:
    """A table, and what its documents need."""

    def __init__(self, kind: str) -> None:
        self.catalog = new_catalog()
        options = ALWAYS | KINDS[kind]
        keys = () if kind == "no keys" else ("k",)
        self.table = self.catalog.create_table("d.t", SCHEMA, primary_key=keys, options=options)
        self.number = 0

    def do(self, verb: str, choice: int) -> None:
        table = self.table = self.catalog.table("d.t")
        self.number += 1
        there = sorted(table.tags)
        if verb in {"put", "overwrite"}:
            write_rows(
                table,
                row(choice, self.number),
                **({"overwrite": "table"} if verb == "overwrite" else {}),
            )
        elif table.latest_snapshot() is None:
            return
        elif verb == "compact":
            table.compact("minor" if choice % 2 else "full")
        elif verb == "delete":
            table.delete(tc.col("k") == choice)
        elif verb == "analyze":
            table.analyze()
        elif verb == "tag":
            table.tags.create(f"t{self.number:02}")
        elif verb == "expire":
            number = choice % 3 or 1
            table.expire_snapshots(retain_max=number, retain_min=number)
        elif verb == "foreign":
            foreign_commit(table)
        elif verb in BESIDE:
            self._beside(verb, choice, there)
        elif there and verb == "untag":
            table.delete_tags([there[choice % len(there)]])
        elif there and verb == "back":
            rollback_as_latest(table, table.tags.get(there[choice % len(there)]).snapshot)

    def _beside(self, verb: str, choice: int, tags: list[str]) -> None:
        table = self.table
        if verb == "branch" and tags:
            table.branches.create(f"b{self.number}", tag=tags[choice % len(tags)])
        elif verb == "take back" and tags:
            table.rollback_to(tag=tags[choice % len(tags)])
        for branch in branch_names(table.access)[:1]:
            on = tc.Table(branch_access(table.access, branch))
            if verb == "put there":
                write_rows(on, row(choice, self.number))
            elif verb == "compact there":
                on.compact()
            elif verb == "expire there":
                on.expire_snapshots(retain_max=1, retain_min=1)
            elif verb == "forward":
                table.branches.fast_forward(branch)
            elif verb == "unbranch":
                table.branches.delete(branch)

    def needed(self) -> set[str]:
        access = self.table.access
        documents = []
        for branch in ("main", *branch_names(access)):
            metadata = Metadata(access.storage, branch)
            documents += [metadata.snapshot(id) for id in metadata.snapshot_ids()]
            documents += tag_documents(access, branch)
        return {path for document in documents for path in names(access, document)}

    def files(self) -> set[str]:
        """What is neither a document nor a hint."""
        folders = ("snapshot/", "tag/", "schema/", "branch/", "line/", "consumer/", "changelog/")
        paths = {info.path for info in self.table.access.storage.walk("")}
        return {path for path in paths if not path.startswith(folders)}

    def check(self, done: list[Step]) -> None:
        assert not self.needed() - self.files(), done


def lived(kind: str, steps: list[Step]) -> World:
    world = World(kind)
    for number, (verb, choice) in enumerate(steps):
        world.do(verb, choice)
        world.check(steps[: number + 1])
    return world


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=budget("RETURNS", ci=5, nightly=300))
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=16))
@example(steps=A)
@example(steps=D)
@example(steps=E)
@example(steps=F)
def test_what_comes_back_stays_and_nothing_is_left(kind: str, steps: list[Step]) -> None:
    world = lived(kind, steps)
    for _ in list(world.table.tags):
        world.do("untag", 0)
    world.do("put", 9)
    world.do("expire", 1)
    world.check(steps)
    assert world.files() == world.needed()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=budget("RETURNS", ci=5, nightly=300))
@given(
    steps=st.lists(st.tuples(st.sampled_from((*STEPS, *BESIDE)), st.integers(0, 3)), max_size=16)
)
def test_what_comes_back_stays_beside_branches_and_rollbacks(kind: str, steps: list[Step]) -> None:
    lived(kind, steps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [A, D, E, F])
def test_recover_finds_nothing_wrong_with_what_came_back(kind: str, steps: list[Step]) -> None:
    world = lived(kind, steps)
    before = world.files()
    for dry_run in (True, False):
        assert world.catalog.recover_table("d.t", dry_run=dry_run).details["damage"] == []
    assert world.files() == before


@pytest.mark.parametrize("kind", KINDS)
def test_recover_goes_back_to_what_came_back_and_upkeep_leaves_it(kind: str) -> None:
    """The snapshot that was built on it is cut short."""
    world = lived(kind, A[:7])
    head = world.table.latest_snapshot()
    assert head.commit_kind is CommitKind.APPEND
    storage, path = world.table.access.storage, layout.snapshot_path(head.id)
    storage.write(path, storage.read(path)[:40])
    found = world.catalog.recover_table("d.t", dry_run=False).details
    assert [one["path"] for one in found["damage"]] == [path]
    assert found["left"] == []
    brought = world.catalog.table("d.t").latest_snapshot()
    assert (brought.id, brought.commit_kind) == (head.id - 1, CommitKind.OVERWRITE)
    for step in [("put", 4), ("untag", 0), ("expire", 1)]:
        world.do(*step)
        world.check([step])


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_came_back_and_is_lost_is_named_once(kind: str) -> None:
    """By the snapshot that brought it back, and by those behind it: what is left of them is read."""
    world = lived(kind, A[:6])
    access = world.table.access
    entry = next(iter(live(Metadata(access.storage), world.table.latest_snapshot()).values()))
    [path] = paths_of(access, [(entry.partition, entry.bucket, entry.file)])
    access.storage.delete([path])
    found = world.catalog.recover_table("d.t", dry_run=False).details
    named = [one["path"] for one in found["damage"] if one["path"].endswith(entry.file.file_name)]
    assert len(named) == 1, found["damage"]
    now = live(Metadata(access.storage), world.catalog.table("d.t").latest_snapshot())
    assert entry.file.file_name not in {one.file.file_name for one in now.values()}
    world.catalog.table("d.t").read().to_arrow()


def no(*_: object) -> bool:
    return False


def no_paths(_: object) -> Iterator[object]:
    yield from ()
    return frozenset()


def forgotten(walked: Sequence[Snapshot]) -> int:
    return newest_return([replace(snapshot, properties=None) for snapshot in walked])


def without_tags(self: Any, metadata: Any, tags: Any, ids: Any, changelogs: Any) -> None:
    TAKE(self, metadata, (), ids, changelogs)


def first_alone(self: Any, metadata: Any, tags: Any, ids: Any, changelogs: Any) -> None:
    TAKE(self, metadata, tags, ids[:1], changelogs)


TAKE = NeededFiles.take
MUTANTS: dict[str, tuple[Any, str, Any, list[Step]]] = {
    "an expiry asks neighbours alone": (protocol, "may_have_come_back", no, A),
    "an expiry asks the nearest tag alone": (protocol, "may_have_come_back", no, D),
    "a deletion of tags asks neighbours alone": (tags, "may_have_come_back", no, E),
    "our commits do not carry it on": (snapshots, "newest_return", forgotten, A),
    "the tags are not asked": (NeededFiles, "take", without_tags, D),
    "later snapshots are not asked": (NeededFiles, "take", first_alone, F),
    "metadata is not asked for": (protocol, "read_staying_paths", no_paths, F),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_histories_find_each_mutant(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, what, history = MUTANTS[mutant]
    lived("an index of keys", history)
    monkeypatch.setattr(where, name, what)
    with pytest.raises((AssertionError, tc.errors.TableError)):
        lived("an index of keys", history)
