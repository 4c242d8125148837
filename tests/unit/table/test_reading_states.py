"""Goal: a read names one state in any of Paimon's ways, and gives that state, in Paimon's order.

Method: small tables on a memory store through the public names; expected rows are written down.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())])


def keyed(**options: str) -> tc.Table:
    return make({"bucket": "1", "write-only": "true"} | named(options), key=("k",))


def make(options: dict[str, str], key: tuple[str, ...] = (), schema: Any = SCHEMA, **more: Any):
    catalog = new_catalog()
    return catalog.create_table("d.t", schema, primary_key=key, options=options, **more)


def named(options: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}


def write(table: tc.Table, *rows: tuple[str, int, str | None], watermark: int | None = None) -> int:
    kinds, keys, values = zip(*rows, strict=True)
    data = pa.table({"k": pa.array(keys, pa.int32()), "v": values, "_ROW_KIND": kinds})
    with table.write(commit=tc.CommitAs(watermark=watermark)) as writer:
        writer.write(data)
        return writer.commit().snapshot_ids[-1]


def state(scan: Any) -> dict[int, str | None]:
    found = scan.to_arrow().to_pylist()
    assert len({row["k"] for row in found}) == len(found)
    return {row["k"]: row["v"] for row in found}


def again(table: tc.Table, **options: str) -> tc.Table:
    return tc.open_table(table.uri, options=named(options))


@pytest.fixture
def three() -> tc.Table:
    """Three snapshots with watermarks 10, 20, 30."""
    table = keyed()
    write(table, ("+I", 1, "a"), watermark=10)
    write(table, ("+I", 2, "b"), watermark=20)
    write(table, ("-D", 1, None), ("+I", 2, "c"), watermark=30)
    return table


class TestTimeTravel:
    def test_by_id_tag_watermark_and_time(self, three: tc.Table) -> None:
        three.tags.create("early", snapshot=1)
        assert state(three.read()) == {2: "c"}
        assert state(three.read(snapshot=2)) == {1: "a", 2: "b"}
        assert state(three.read(tag="early")) == {1: "a"}
        assert state(three.read(watermark=15)) == {1: "a", 2: "b"}
        at = three.snapshot(2).time_millis
        assert state(three.read(timestamp=at)) in ({1: "a", 2: "b"}, {2: "c"})
        with pytest.raises(tc.errors.NotFoundError):
            three.read(timestamp=1)

    @pytest.mark.parametrize(
        ("options", "rows"),
        [
            ({"scan__snapshot_id": "1"}, {1: "a"}),
            ({"scan__version": "2"}, {1: "a", 2: "b"}),
            ({"scan__watermark": "10"}, {1: "a"}),
            ({"scan__mode": "latest-delta"}, {2: "c"}),
            ({"scan__mode": "latest-full"}, {2: "c"}),
            ({"scan__mode": "compacted-full"}, {2: "c"}),
            ({"scan__file_creation_time_millis": "1"}, {2: "c"}),
            ({"scan__file_creation_time_millis": str(1 << 50)}, {}),
            ({"incremental_between": "1,2"}, {2: "b"}),
            ({"incremental_between": "1,3"}, {2: "c"}),
        ],
    )
    def test_by_options(self, three: tc.Table, options: Any, rows: Any) -> None:
        found = again(three, **options).read().to_arrow().to_pylist()
        assert {row["k"]: row["v"] for row in found} == rows

    def test_two_states_are_refused(self, three: tc.Table) -> None:
        with pytest.raises(tc.errors.ArgumentError):
            three.read(snapshot=1, watermark=10)

    def test_an_absent_state_lists_what_there_is(self, three: tc.Table) -> None:
        with pytest.raises(tc.errors.NotFoundError, match="1 to 3"):
            three.read(snapshot=9)
        with pytest.raises(tc.errors.NotFoundError, match="no tag"):
            three.read(tag="x")

    def test_an_old_state_has_its_old_columns(self, three: tc.Table) -> None:
        catalog = tc.open_catalog(three.uri.rpartition("/d.db/")[0])
        table = catalog.alter_table("d.t", [tc.RenameColumn("v", "w"), tc.AddColumn("x", "INT")])
        assert table.read(snapshot=1).to_arrow().to_pylist() == [{"k": 1, "v": "a"}]
        assert table.read().schema.names == ["k", "w", "x"]
        assert table.read(where="v = 'a'", snapshot=1).to_arrow().num_rows == 1


class TestTags:
    def test_a_tag_outlives_its_snapshot(self, three: tc.Table) -> None:
        three.tags.create("kept", snapshot=1, time_retained="36 h")
        three.expire_snapshots(retain_max=1, retain_min=1)
        assert [s.id for s in three.snapshots()] == [3]
        assert state(three.read(tag="kept")) == {1: "a"}
        (row,) = three.system("tags").to_arrow().to_pylist()
        assert (row["tag_name"], row["snapshot_id"], row["time_retained"]) == ("kept", 1, "PT36H")

    def test_names_are_made_changed_and_forgotten(self, three: tc.Table) -> None:
        tags = three.tags
        assert tags.create("a").snapshot.id == 3
        assert tags.create("a", snapshot=1, if_not_exists=True).snapshot.id == 3
        with pytest.raises(tc.errors.AlreadyExistsError):
            tags.create("a")
        tags.rename("a", "b")
        assert tags.list() == ["b"]
        assert tags.delete("b").details["tags"] == ["b"]
        assert tags.delete("b", if_exists=True).details["tags"] == []
        with pytest.raises(tc.errors.NotFoundError):
            tags.delete("b")
        with pytest.raises(tc.errors.ArgumentError):
            tags.create("x/y")


class TestBranches:
    def test_a_branch_goes_its_own_way_and_main_follows(self, three: tc.Table) -> None:
        three.tags.create("fork", snapshot=2)
        three.branches.create("b", tag="fork")
        catalog = tc.open_catalog(three.uri.rpartition("/d.db/")[0])
        branch = catalog.table("d.t", branch="b")
        assert state(branch.read()) == {1: "a", 2: "b"}
        assert write(branch, ("+I", 5, "e")) == 3
        assert state(three.read()) == {2: "c"}
        assert state(catalog.table("d.t$branch_b").read()) == {1: "a", 2: "b", 5: "e"}
        three.branches.fast_forward("b")
        assert state(catalog.table("d.t").read()) == {1: "a", 2: "b", 5: "e"}
        three.branches.rename("b", "c")
        assert three.branches.list() == ["c"]
        assert three.branches.delete("c").details["deleted"]
        assert three.branches.list() == []

    def test_a_branch_of_a_snapshot_outlives_it(self, three: tc.Table) -> None:
        done = three.branches.create("b", snapshot=2)
        assert (done.details["tag"], done.details["snapshot"]) == ("b-base", 2)
        three.expire_snapshots(retain_max=1, retain_min=1)
        catalog = tc.open_catalog(three.uri.rpartition("/d.db/")[0])
        assert state(catalog.table("d.t", branch="b").read()) == {1: "a", 2: "b"}
        assert three.branches.delete("b").details["tags"] == ["b-base"]
        assert three.tags.list() == []
        with pytest.raises(tc.errors.NotFoundError):
            three.branches.create("b", snapshot=2)
        assert (three.tags.list(), three.branches.list()) == ([], [])

    def test_the_base_of_a_branch_stays_once_it_stands_for_another_state(
        self, three: tc.Table
    ) -> None:
        three.branches.create("b", snapshot=2)
        three.tags.replace("b-base", snapshot=3)
        assert three.branches.delete("b").details["tags"] == []
        assert three.tags.list() == ["b-base"]

    def test_a_tag_that_only_sounds_like_the_base_of_a_branch_stays(self, three: tc.Table) -> None:
        three.tags.create("b-base")
        three.branches.create("b")
        assert three.branches.delete("b").details["tags"] == []
        assert three.tags.list() == ["b-base"]
        with pytest.raises(tc.errors.ArgumentError, match="not both"):
            three.branches.create("b", tag="b-base", snapshot=1)

    @pytest.mark.parametrize("name", ["main", "7", "", "a/b"])
    def test_names_that_no_branch_has(self, three: tc.Table, name: str) -> None:
        with pytest.raises(tc.errors.ArgumentError):
            three.branches.create(name)

    def test_absent_branches_are_named(self, three: tc.Table) -> None:
        with pytest.raises(tc.errors.NotFoundError):
            three.branches.delete("x")


class TestRollback:
    def test_later_snapshots_and_tags_are_gone(self, three: tc.Table) -> None:
        three.tags.create("late")
        done = three.rollback_to(snapshot=2)
        assert (done.snapshot_before, done.snapshot_after) == (3, 2)
        assert (done.details["snapshots_removed"], done.details["tags_removed"]) == ([3], ["late"])
        assert state(three.read()) == {1: "a", 2: "b"}
        assert write(three, ("+I", 7, "g")) == 3
        assert state(three.read()) == {1: "a", 2: "b", 7: "g"}

    def test_to_a_tag_whose_snapshot_has_expired(self, three: tc.Table) -> None:
        three.tags.create("kept", snapshot=1)
        three.expire_snapshots(retain_max=1, retain_min=1)
        three.rollback_to(tag="kept")
        assert state(three.read()) == {1: "a"}
        assert [s.id for s in three.snapshots()] == [1]

    def test_one_state_is_named(self, three: tc.Table) -> None:
        with pytest.raises(tc.errors.ArgumentError):
            three.rollback_to()
        with pytest.raises(tc.errors.ArgumentError):
            three.rollback_to(snapshot=1, tag="x")


class TestDifference:
    def test_kinds_are_those_of_the_newest_version(self) -> None:
        table = keyed()
        write(table, ("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "c"), ("+I", 4, "d"))
        write(table, ("+I", 1, "a"), ("+U", 2, "B"), ("-D", 3, "old"), ("+I", 5, "e"))
        found = table.changes(after=1, to=2, mode="diff").to_arrow().to_pylist()
        assert {(r["_ROW_KIND"], r["k"], r["v"]) for r in found} == {
            ("+I", 1, "a"),  # written again; files of both states are not looked at
            ("+U", 2, "B"),
            ("-D", 3, "old"),
            ("+I", 5, "e"),
        }

    def test_a_vanished_key_comes_with_its_old_row(self) -> None:
        table = keyed()
        write(table, ("+I", 1, "a"), ("+I", 2, "b"))
        write(table, ("-D", 1, None))
        again(table, write_only="false").compact()
        found = table.changes(after=1, to=3, mode="diff").to_arrow().to_pylist()
        assert [(r["_ROW_KIND"], r["k"], r["v"]) for r in found] == [("-D", 1, "a")]

    def test_conditions_see_differences_and_not_old_rows(self) -> None:
        table = keyed()
        write(table, ("+I", 1, "a"), ("+I", 2, "b"))
        write(table, ("+I", 1, "z"))
        scan = table.changes(after=1, to=2, mode="diff", where="v = 'a'", columns=["k"])
        assert scan.to_arrow().num_rows == 0
        scan = table.changes(after=1, to=2, mode="diff", where="v = 'z'", columns=["k"])
        assert scan.to_arrow().to_pylist() == [{"_ROW_KIND": "+I", "k": 1}]

    def test_of_an_append_table_it_is_what_files_were_added(self) -> None:
        table = make({})
        for n in range(3):
            write(table, ("+I", n, "x"))
        found = table.changes(after=1, to=3, mode="diff").to_arrow()
        assert found.to_pydict() == {"_ROW_KIND": ["+I"] * 2, "k": [1, 2], "v": ["x"] * 2}

    def test_from_the_beginning_it_is_the_state(self, three: tc.Table) -> None:
        found = three.changes(after=0, to=2, mode="diff").to_arrow().to_pylist()
        assert [(r["_ROW_KIND"], r["k"], r["v"]) for r in found] == [("+I", 1, "a"), ("+I", 2, "b")]


class TestOrder:
    def test_append_rows_come_oldest_first(self) -> None:
        table = make({})
        for n in (5, 3, 9, 1):
            write(table, ("+I", n, "x"), ("+I", n + 100, "y"))
        expected = [5, 105, 3, 103, 9, 109, 1, 101]
        assert table.read().to_arrow()["k"].to_pylist() == expected
        batches = list(table.read().to_batches())
        assert [k for b in batches for k in b["k"].to_pylist()] == expected
        assert table.read(limit=3).to_arrow()["k"].to_pylist() == expected[:3]
        assert table.changes(after=0, mode="delta").to_arrow()["k"].to_pylist() == expected

    def test_partitions_come_by_creation_or_by_value(self) -> None:
        table = make({}, schema=SCHEMA, partition_by=("v",))
        for n, part in enumerate("cab"):
            write(table, ("+I", n, part))
        assert table.read().to_arrow()["v"].to_pylist() == ["c", "a", "b"]
        by_value = again(table, scan__plan_sort_partition="true")
        assert by_value.read().to_arrow()["v"].to_pylist() == ["a", "b", "c"]

    def test_changes_come_by_snapshot(self) -> None:
        table = keyed(changelog_producer="input")
        write(table, ("+I", 9, "a"))
        write(table, ("-U", 9, "a"), ("+U", 9, "b"), ("+I", 1, "c"))
        rows = table.changes(after=0).to_arrow().to_pylist()
        assert [(r["_ROW_KIND"], r["k"]) for r in rows] == [
            ("+I", 9),
            ("+I", 1),
            ("-U", 9),
            ("+U", 9),
        ]


class TestSystemTables:
    def test_all_of_them_read_or_refuse_by_name(self, three: tc.Table) -> None:
        from table_core.table.system_tables.listing import SYSTEM_TABLES

        for name in SYSTEM_TABLES:
            if name == "row_tracking":
                with pytest.raises(tc.errors.UnsupportedFeatureError):
                    three.system(name)
            else:
                scan = three.system("$" + name)
                assert scan.to_arrow().schema == scan.schema
        with pytest.raises(tc.errors.NotFoundError, match="audit_log"):
            three.system("nothing")

    def test_any_part_of_them_is_what_arrow_makes_of_the_whole(self, three: tc.Table) -> None:
        from table_core.table.system_tables.listing import SYSTEM_TABLES

        catalog = tc.open_catalog(three.uri.removesuffix("/d.db/t"))
        for name in SYSTEM_TABLES:
            if name == "row_tracking":
                continue
            table = catalog.table(f"d.t${name}")
            whole = table.read().to_arrow()
            first, *_, last = whole.column_names
            part = table.read(columns=[last, first], where=f"{first} IS NOT NULL", limit=1)
            assert part.to_arrow().equals(
                whole.filter(whole[first].is_valid()).select([last, first]).slice(0, 1)
            )
            assert part.schema == part.to_arrow().schema
            assert sum(b.num_rows for b in part.to_batches()) == part.to_arrow().num_rows
            assert table.read(where=f"{first} IS NULL AND 1 = 2").to_arrow().num_rows == 0

    def test_conditions_name_what_they_show(self, three: tc.Table) -> None:
        catalog = tc.open_catalog(three.uri.removesuffix("/d.db/t"))
        log = catalog.table("d.t$audit_log")
        assert log.read(where="rowkind = '-D'").to_arrow()["k"].to_pylist() == [1]
        assert log.read(columns=["v"], where=tc.col("k") > 1).to_arrow().to_pydict() == {"v": ["c"]}
        snapshots = catalog.table("d.t$snapshots")
        found = snapshots.read(columns=["snapshot_id"], where="snapshot_id BETWEEN 2 AND 9")
        assert found.to_arrow()["snapshot_id"].to_pylist() == [2, 3]
        with pytest.raises(tc.errors.NotFoundError, match=r"no column 'x'.*snapshot_id"):
            snapshots.read(columns=["x"])
        with pytest.raises(tc.errors.PredicateError, match="'x'"):
            snapshots.read(where="x = 1")
        with pytest.raises(tc.errors.ArgumentError, match="limit=-1"):
            snapshots.read(limit=-1)
        with pytest.raises(tc.errors.UnsupportedFeatureError, match="not one state"):
            snapshots.read(snapshot=1)

    def test_the_audit_log_keeps_what_is_deleted(self, three: tc.Table) -> None:
        rows = three.system("audit_log").to_arrow().to_pylist()
        assert [(r["rowkind"], r["k"]) for r in rows] == [("-D", 1), ("+I", 2)]

    def test_the_binlog_packs_values(self, three: tc.Table) -> None:
        rows = three.system("binlog").to_arrow().to_pylist()
        assert rows[1] == {"rowkind": "+I", "k": [2], "v": ["c"]}

    def test_read_optimized_shows_the_highest_level(self, three: tc.Table) -> None:
        assert three.system("ro").to_arrow().num_rows == 0
        again(three, write_only="false").compact()
        assert state(three.system("ro")) == {2: "c"}

    def test_a_table_without_snapshots_has_them_too(self) -> None:
        for name in ("snapshots", "files", "partitions", "audit_log", "statistics"):
            assert keyed().system(name).to_arrow().num_rows == 0

    def test_global_ones(self, three: tc.Table) -> None:
        catalog = tc.open_catalog(three.uri.rpartition("/d.db/")[0])
        options = catalog.system("all_table_options").to_arrow().to_pylist()
        assert {"database_name": "d", "table_name": "t", "key": "bucket", "value": "1"} in options
        (row,) = catalog.system("sys.tables").to_arrow().to_pylist()
        assert (row["table_name"], row["primary_key"], row["partitioned"]) == ("t", True, False)
        assert catalog.system("partitions").to_arrow().num_rows == 0
        with pytest.raises(tc.errors.NotFoundError):
            catalog.system("x")


class TestFilesThatFail:
    """What a reader may be told to leave out."""

    @pytest.mark.parametrize(("option", "damage"), [("lost", "delete"), ("corrupt", "cut")])
    def test_they_are_errors_unless_they_are_to_be_ignored(self, option: str, damage: str) -> None:
        table = keyed()
        write(table, ("+I", 1, "a"))
        write(table, ("+I", 2, "b"))
        storage = table.access.storage
        (path,) = [p.path for p in storage.walk("bucket-0") if _holds(table, p.path, 2)]
        body = storage.read(path)
        storage.delete([path])
        if damage == "cut":
            storage.write(path, body[: len(body) // 2])
        with pytest.raises((tc.errors.FilesExpiredError, tc.errors.CorruptFileError)):
            table.read().to_arrow()
        other = {"lost": "corrupt", "corrupt": "lost"}[option]
        with pytest.raises((tc.errors.FilesExpiredError, tc.errors.CorruptFileError)):
            again(table, **{f"scan__ignore_{other}_files": "true"}).read().to_arrow()
        rest = again(table, **{f"scan__ignore_{option}_files": "true"})
        assert state(rest.read()) == {1: "a"}
        with pytest.raises((tc.errors.FilesExpiredError, tc.errors.CorruptFileError)):
            again(rest, write_only="false", **{f"scan__ignore_{option}_files": "true"}).compact()


def _holds(table: tc.Table, path: str, key: int) -> bool:
    """Whether the file at ``path`` is the one of snapshot ``key``."""
    entries = table.access.live_entries(table.snapshot(key))
    before = {e.file.file_name for e in table.access.live_entries(table.snapshot(key - 1))}
    return any(path.endswith(e.file.file_name) for e in entries if e.file.file_name not in before)


def test_a_partition_with_hidden_files_alone_is_read_from_the_fallback_branch() -> None:
    """``first-row`` shows nothing of level 0, so such a partition is one that main lacks."""
    schema = SCHEMA.append(pa.field("p", pa.string(), nullable=False))
    catalog = new_catalog()
    options = {"bucket": "1", "write-only": "true", "merge-engine": "first-row"}
    main = catalog.create_table(
        "d.t", schema, primary_key=("k", "p"), partition_by=("p",), options=options
    )
    main.branches.create("b")
    branch = catalog.table("d.t", branch="b")

    def put(table: tc.Table, v: str, parts: str) -> None:
        keys = pa.array([1] * len(parts), pa.int32())
        write_rows(table, pa.table({"k": keys, "v": [v] * len(parts), "p": list(parts)}))

    put(branch, "branch", "xy")
    branch.compact(strategy="full")
    put(main, "main", "x")
    main.compact(strategy="full")
    put(main, "hidden", "xy")
    falling = catalog.table("d.t", options={"scan.fallback-branch": "b"})
    found = {row["p"]: row["v"] for row in falling.read().to_arrow().to_pylist()}
    assert found == {"x": "main", "y": "branch"}


@pytest.mark.parametrize("primary_key", [(), ("k",)], ids=["append", "key"])
def test_a_read_without_columns_counts_the_rows(tmp_path, primary_key) -> None:
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False)])
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table(
        "d.t",
        schema,
        primary_key=primary_key,
        options={"bucket": "1", **({} if primary_key else {"bucket-key": "k"})},
    )
    for keys in ([0, 1], [2, 3, 4]):
        write_rows(table, pa.table({"k": keys}, schema=schema))
    for scan, rows in (
        (table.read(columns=[]), 5),
        (table.read(columns=[], where="k > 2"), 2),
        (table.read(columns=[], limit=4), 4),
        (catalog.table("d.t$snapshots").read(columns=[]), 2),
    ):
        assert scan.to_arrow().num_rows == rows
        assert sum(batch.num_rows for batch in scan.to_batches()) == rows


@pytest.mark.parametrize(
    ("between", "keys"),
    [("1,3", [1, 2]), ("1,4", [1, 2, 3]), ("a,b", [1, 2, 3]), ("a,1", [1, 2]), ("1,b", [3])],
)
def test_two_numbers_are_snapshots_and_else_both_ends_are_tags(tmp_path, between, keys) -> None:
    """Answers of Apache Paimon 2.0.0: a tag may be called ``1``."""
    catalog = _four_snapshots(tmp_path)
    ranged = catalog.table("d.t", options={"incremental-between": between})
    assert sorted(ranged.read().to_arrow()["k"].to_pylist()) == keys


def test_a_name_and_a_number_that_is_no_tag_are_refused(tmp_path) -> None:
    catalog = _four_snapshots(tmp_path)
    for between in ("a,3", "2,b"):
        with pytest.raises(tc.errors.OptionError, match="two snapshot ids or two tags"):
            catalog.table("d.t", options={"incremental-between": between}).read()


def _four_snapshots(tmp_path) -> tc.Catalog:
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table("d.t", pa.schema([("k", pa.int64())]))
    for key in range(4):
        write_rows(table, pa.table({"k": [key]}))
    for name, snapshot in (("1", 3), ("a", 1), ("b", 4)):
        table.tags.create(name, snapshot=snapshot)
    return catalog
