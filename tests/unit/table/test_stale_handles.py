"""A handle or a writer that outlived its table says so, and leaves no file behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        ("v", pa.int64()),
    ]
)
KINDS: dict[str, dict[str, Any]] = {
    "key": {"primary_key": ("p", "k"), "options": {"bucket": "1"}},
    "dynamic": {"primary_key": ("p", "k"), "options": {"bucket": "-1"}},
    "cross": {"primary_key": ("k",), "partition_by": ("p",), "options": {"bucket": "-1"}},
    "append": {"options": {"bucket": "-1"}},
    "append by partition": {"partition_by": ("p",), "options": {"bucket": "-1"}},
    "append by bucket": {"options": {"bucket": "2", "bucket-key": "k"}},
}


@pytest.fixture
def catalog(tmp_path: Path) -> tc.Catalog:
    return new_catalog(tmp_path.as_uri())


def rows(*keys: int) -> pa.Table:
    data = {"p": ["a"] * len(keys), "k": list(keys), "v": [1] * len(keys)}
    return pa.table(data, schema=SCHEMA)


def put(table: tc.Table, *keys: int, **how: Any) -> tc.Commit:
    return write_rows(table, rows(*keys), **how)


def anew(catalog: tc.Catalog, kind: str) -> tc.Table:
    catalog.drop_table("d.t")
    time.sleep(0.002)  # the clock of files counts milliseconds
    return catalog.create_table("d.t", SCHEMA, **KINDS[kind])


def found(table: tc.Table) -> list[int]:
    return sorted(table.read().to_arrow()["k"].to_pylist())


def data_files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("data-*"))


@pytest.mark.parametrize("there", ["empty", "with rows"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_write_prepared_before_drop_and_create_is_not_committed(
    catalog: tc.Catalog, tmp_path: Path, kind: str, there: str
) -> None:
    old = catalog.create_table("d.t", SCHEMA, **KINDS[kind])
    put(old, 1)
    results = []
    for _ in range(3):
        writer = old.write()
        writer.write(rows(2))
        results.append(writer.prepare())
    new = anew(catalog, kind)
    if there == "with rows":
        put(new, 9)
    for handle, result in zip((old, new, catalog.table("d.t")), results, strict=True):
        with pytest.raises(errors.NotFoundError, match="another one is in its place"):
            handle.commit([result])
    assert found(catalog.table("d.t")) == ([9] if there == "with rows" else [])
    assert len(data_files(tmp_path)) == (1 if there == "with rows" else 0)
    put(catalog.table("d.t"), 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stale_handle_does_not_write_into_the_table_that_was_made_anew(
    catalog: tc.Catalog, tmp_path: Path, kind: str
) -> None:
    old = catalog.create_table("d.t", SCHEMA, **KINDS[kind])
    put(old, 1)
    new = anew(catalog, kind)
    for call in (
        lambda: put(old, 2),
        lambda: put(old, 2, overwrite="table"),
        lambda: put(old, 2, commit=tc.CommitAs(user="u", identifier=0)),
    ):
        with pytest.raises(errors.NotFoundError, match="another one is in its place"):
            call()
    assert found(new) == []
    assert data_files(tmp_path) == []


def test_another_schema_at_the_same_place_is_noticed_too(catalog: tc.Catalog) -> None:
    old = catalog.create_table("d.t", SCHEMA, **KINDS["key"])
    catalog.drop_table("d.t")
    other = pa.schema([pa.field("k", pa.int32(), nullable=False), ("text", pa.string())])
    catalog.create_table("d.t", other, primary_key=("k",), options={"bucket": "1"})
    with pytest.raises(errors.NotFoundError):
        put(old, 1)
    assert catalog.table("d.t").read().to_arrow().num_rows == 0


VERBS: dict[str, Callable[[tc.Table], Any]] = {
    "write": lambda t: put(t, 2),
    "overwrite": lambda t: put(t, 2, overwrite="table"),
    "update": lambda t: t.update({"v": "2"}, "k = 1"),
    "delete": lambda t: t.delete("k = 1"),
    "merge": lambda t: t.merge_into(rows(5), ["p", "k"], [tc.NotMatchedInsert()]),
    "truncate": lambda t: t.truncate(),
    "read": lambda t: t.read().to_arrow(),
    "named": lambda t: put(t, 2, commit=tc.CommitAs(user="u", identifier=0)),
}


@pytest.mark.parametrize("gone", ["dropped", "renamed"])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_handle_of_a_table_that_is_gone_says_so_and_writes_nothing(
    catalog: tc.Catalog, tmp_path: Path, kind: str, verb: str, gone: str
) -> None:
    old = catalog.create_table("d.t", SCHEMA, **KINDS[kind])
    put(old, 1)
    if gone == "dropped":
        catalog.drop_table("d.t")
    else:
        catalog.rename_table("d.t", "d.moved")
    with pytest.raises(errors.NotFoundError, match="dropped or renamed"):
        VERBS[verb](old)
    folder = tmp_path / "d.db" / "t"
    assert not list(folder.rglob("*")), "nothing is in the way"
    if gone == "renamed":
        catalog.rename_table("d.moved", "d.t")
        assert found(catalog.table("d.t")) == [1]
    else:
        catalog.create_table("d.t", SCHEMA, **KINDS[kind])


UPKEEP: dict[str, Callable[[tc.Table], Any]] = {
    "compact": lambda t: t.compact(),
    "branch": lambda t: t.branches.create("b"),
    "tag": lambda t: t.tags.create("x"),
    "rollback": lambda t: t.rollback_to(snapshot=1),
    "expire snapshots": lambda t: t.expire_snapshots(retain_max=1),
    "remove orphans": lambda t: t.remove_orphan_files(),
    "analyze": lambda t: t.analyze(),
    "rewrite manifests": lambda t: t.rewrite_manifests(),
    "health": lambda t: t.health(),
    "changes": lambda t: list(t.changes(after=0)),
    "follow": lambda t: next(iter(t.follow(after=0))),
    "snapshots": lambda t: t.snapshots(),
    "latest snapshot": lambda t: t.latest_snapshot(),
    "files": lambda t: t.system("files").to_arrow(),
}


@pytest.mark.parametrize("verb", UPKEEP)
def test_upkeep_of_a_table_that_is_gone_never_says_that_it_is_done(
    catalog: tc.Catalog, tmp_path: Path, verb: str
) -> None:
    old = catalog.create_table("d.t", SCHEMA, **KINDS["key"])
    put(old, 1)
    catalog.rename_table("d.t", "d.moved")
    with pytest.raises(errors.NotFoundError):
        UPKEEP[verb](old)
    assert not list((tmp_path / "d.db" / "t").rglob("*")), "nothing is in the way"


def test_a_table_that_was_altered_or_renamed_back_takes_what_was_prepared(
    catalog: tc.Catalog,
) -> None:
    old = catalog.create_table("d.t", SCHEMA, **KINDS["key"])
    writer = old.write()
    writer.write(rows(1))
    result = writer.prepare()
    catalog.alter_table("d.t", [tc.AddColumn("x", "INT")])
    catalog.rename_table("d.t", "d.moved")
    catalog.rename_table("d.moved", "d.t")
    old.commit([result])
    put(old, 2)
    assert found(catalog.table("d.t")) == [1, 2]


HISTORY: dict[str, Callable[[tc.Table], Any]] = {
    "expire snapshots": lambda t: t.expire_snapshots(retain_max=1),
    "expire changelogs": lambda t: t.expire_changelogs(retain_max=1),
    "expire tags": lambda t: t.expire_tags(older_than=4_000_000_000_000),
    "remove orphans": lambda t: t.remove_orphan_files(
        older_than=4_000_000_000_000, allow_young=True
    ),
    "rollback": lambda t: t.rollback_to(snapshot=1),
    "delete a tag": lambda t: t.tags.delete("kept"),
    "delete tags": lambda t: t.delete_tags(["kept"]),
    "replace a tag": lambda t: t.tags.replace("kept", snapshot=2),
    "delete a branch": lambda t: t.branches.delete("side"),
    "replace a branch": lambda t: t.branches.create("side", snapshot=1, replace=True),
    "rename a branch": lambda t: t.branches.rename("side", "other"),
    "fast-forward": lambda t: t.branches.fast_forward("side"),
    "rescale": lambda t: t.rescale(3),
}


@pytest.mark.parametrize("verb", HISTORY)
def test_a_stale_handle_takes_nothing_from_the_table_that_has_its_name_now(
    catalog: tc.Catalog, tmp_path: Path, verb: str
) -> None:
    """Two tables were swapped by renaming: the handle was opened on the other one."""
    old = catalog.create_table("d.t", SCHEMA, **KINDS["key"])
    put(old, 1)
    time.sleep(0.002)  # the clock of files counts milliseconds
    other = catalog.create_table("d.u", SCHEMA, **KINDS["key"])
    put(other, 1)
    other.tags.create("kept", snapshot=1, time_retained="1 d")
    put(other, 2)
    other.branches.create("side", tag="kept")
    catalog.rename_table("d.t", "d.away")
    catalog.rename_table("d.u", "d.t")
    (tmp_path / "d.db/t/bucket-0/data-none-0.parquet").write_bytes(b"an orphan")
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(errors.NotFoundError, match="another one is in its place"):
        HISTORY[verb](old)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    HISTORY[verb](catalog.table("d.t"))
