"""Each target knows of each source and each choice of tables how far it is."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import CorruptFileError, ErrorKind, TableError
from tests.both_positions import write_both_properties
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import record


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def put(folder: Path, name: str, *events: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(e) + "\n" for e in events))
    return path


def created(table: str, id: int) -> dict[str, Any]:
    return record(table, "c", {"id": id})


def logged(table: str, id: int) -> dict[str, Any]:
    """Of a table without key, where a row that is taken twice is there twice."""
    return record(table, "c", {"id": id}, key=None)


def ids(lake: Lake, table: str, database: str = "lake") -> list[int]:
    rows = lake.catalog.table(f"{database}.{table}").read().to_arrow()
    return sorted(rows["id"].to_pylist())


def sync(lake: Lake, pattern: str, **more: Any) -> Any:
    return tc.sync_database(lake.catalog, "lake", tc.FilesSource(pattern), **more)


def test_files_of_equal_names_in_two_folders_are_two_files(lake: Lake) -> None:
    root = lake.events
    put(root / "d1", "1.jsonl", logged("s.a", 1))
    put(root / "d2", "1.jsonl", logged("s.a", 2))
    sync(lake, f"{root}/d1/*.jsonl")
    sync(lake, f"file://{root}/d2/*.jsonl")
    assert ids(lake, "a") == [1, 2]
    assert sync(lake, f"{root}/*/*.jsonl").rows_written == 0, "a wider pattern takes none twice"
    put(root / "d1", "0.jsonl", logged("s.a", 0))
    assert sync(lake, f"{root}/*/*.jsonl").rows_written == 1, "one that sorts lower comes too"


def test_a_larger_file_of_a_known_name_elsewhere_is_read_from_its_start(lake: Lake) -> None:
    root = lake.events
    put(root / "d1", "1.jsonl", logged("s.a", 1))
    put(root / "d2", "1.jsonl", *(logged("s.a", n) for n in (2, 3, 4)))
    sync(lake, f"{root}/d1/*.jsonl")
    sync(lake, f"{root}/d2/*.jsonl")
    assert ids(lake, "a") == [1, 2, 3, 4]


def test_a_folder_that_was_moved_is_not_read_again(lake: Lake) -> None:
    root = lake.events
    put(root / "d1", "1.jsonl", logged("s.a", 1))
    sync(lake, f"{root}/d1/*.jsonl")
    (root / "d1").rename(root / "d2")
    put(root / "d2", "2.jsonl", logged("s.a", 2))
    sync(lake, f"{root}/d2/*.jsonl")
    assert ids(lake, "a") == [1, 2]


def test_a_file_that_grew_goes_on_and_one_that_is_another_is_refused(lake: Lake) -> None:
    path = put(lake.events, "1.jsonl", logged("s.a", 1))
    lake.sync()
    with path.open("a") as file:
        file.write(json.dumps(logged("s.a", 2)) + "\n")
    lake.sync()
    assert ids(lake, "a") == [1, 2]
    put(lake.events, "1.jsonl", *(logged("s.a", n) for n in (5, 6, 7)))
    with pytest.raises(TableError, match="it was replaced") as told:
        lake.sync()
    assert told.value.kind is ErrorKind.UNKNOWN_OUTCOME
    put(lake.events, "1.jsonl", logged("s.a", 1))
    with pytest.raises(TableError, match="it was replaced"):
        lake.sync()
    assert ids(lake, "a") == [1, 2]


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_was_replaced_by_one_of_its_size_is_refused(lake: Lake, packed: bool) -> None:
    def line(id: int) -> bytes:
        body = json.dumps(logged("s.a", id)).encode() + b"\n"
        return gzip.compress(body, compresslevel=0, mtime=0) if packed else body

    name = "1.jsonl.gz" if packed else "1.jsonl"
    path = lake.events / name
    path.write_bytes(line(1))
    sync(lake, f"{lake.events}/*")
    os.utime(path)
    assert sync(lake, f"{lake.events}/*").rows_written == 0, (
        "a file that was only touched is the same"
    )
    assert len(line(2)) == len(line(1))
    path.write_bytes(line(2))
    with pytest.raises(TableError, match="it was replaced") as told:
        sync(lake, f"{lake.events}/*")
    assert told.value.kind is ErrorKind.UNKNOWN_OUTCOME
    assert ids(lake, "a") == [1]


def test_a_compressed_file_that_was_moved_is_not_read_again(lake: Lake) -> None:
    (lake.events / "d1").mkdir(parents=True)
    body = gzip.compress(json.dumps(logged("s.a", 1)).encode() + b"\n")
    (lake.events / "d1" / "1.jsonl.gz").write_bytes(body)
    sync(lake, f"{lake.events}/d1/*.gz")
    (lake.events / "d1").rename(lake.events / "d2")
    put(lake.events / "d2", "2.jsonl", logged("s.a", 2))
    sync(lake, f"{lake.events}/d2/*")
    assert ids(lake, "a") == [1, 2]


def test_a_file_under_a_hidden_name_is_read_when_it_has_its_own(lake: Lake) -> None:
    hidden = put(lake.events, ".1.jsonl", logged("s.a", 1))
    assert sync(lake, f"{lake.events}/*.jsonl").rows_written == 0
    hidden.rename(lake.events / "1.jsonl")
    sync(lake, f"{lake.events}/*.jsonl")
    assert sync(lake, f"{lake.events}/**/*.jsonl").rows_written == 0
    assert ids(lake, "a") == [1]


@pytest.mark.parametrize("key", ["id", None])
def test_one_table_that_was_rolled_back_gets_its_rows_again(lake: Lake, key: str | None) -> None:
    lake.put("1.jsonl", *(record(f"s.{t}", "c", {"id": 1}, key=key) for t in "ab"))
    lake.sync()
    lake.put("2.jsonl", *(record(f"s.{t}", "c", {"id": 2}, key=key) for t in "ab"))
    lake.sync()
    lake.catalog.table("lake.a").rollback_to(snapshot=1)
    assert lake.sync().rows_written == 1
    lake.put("3.jsonl", *(record(f"s.{t}", "c", {"id": 3}, key=key) for t in "ab"))
    lake.sync()
    assert ids(lake, "a") == ids(lake, "b") == [1, 2, 3]


def test_a_source_table_that_is_added_to_a_merged_table_brings_its_earlier_events(
    lake: Lake,
) -> None:
    lake.put("1.jsonl", logged("s1.p", 1), logged("s2.p", 2))
    lake.sync(including=r"s1\.p")
    assert ids(lake, "p") == [1]
    lake.put("2.jsonl", logged("s1.p", 3))
    lake.sync(including=r"s[12]\.p")
    assert ids(lake, "p") == [1, 2, 3]
    lake.put("3.jsonl", logged("s1.p", 4), logged("s2.p", 5))
    lake.sync(including=r"s1\.p")
    lake.sync(including=r"s[12]\.p")
    lake.sync(including=r"s2\.p")
    assert ids(lake, "p") == [1, 2, 3, 4, 5]


def test_the_same_for_the_tables_of_a_sync_of_one(lake: Lake) -> None:
    lake.put("1.jsonl", logged("s.p1", 1), logged("s.p2", 2))
    lake.catalog.create_database("lake")
    for tables in ("p1", "p1|p2", "p2", "p1"):
        tc.sync_table(lake.catalog, "lake.p", tc.FilesSource(lake.source.uri, tables=tables))
    assert ids(lake, "p") == [1, 2]


def test_two_sources_may_feed_one_database_under_one_filter(lake: Lake) -> None:
    for n in (1, 2):
        put(lake.events / "A", f"{n}.jsonl", logged("s.a", n))
        put(lake.events / "B", f"{n}.jsonl", logged("s.b", n))
        sync(lake, f"{lake.events}/A/*.jsonl")
        sync(lake, f"{lake.events}/B/*.jsonl")
        assert (ids(lake, "a"), ids(lake, "b")) == (list(range(1, n + 1)),) * 2


def position(line: int, size: int) -> str:
    return json.dumps({"v": 1, "files": {"1.jsonl": [line, size]}}, separators=(",", ":"))


def test_a_table_whose_snapshots_hold_both_properties_is_gone_on_from(lake: Lake) -> None:
    path = put(lake.events, "1.jsonl", logged("s.a", 1), logged("s.b", 1))
    lake.sync()
    for table in "ab":
        write_both_properties(lake.catalog.table(f"lake.{table}"))
    lake.put("2.jsonl", logged("s.a", 2), logged("s.c", 1))
    lake.sync()
    assert (ids(lake, "a"), ids(lake, "b"), ids(lake, "c")) == ([1, 2], [1], [1])
    assert lake.catalog.table("lake.a").position("tc.source.position") == "", (
        "it is not true any more"
    )
    assert lake.catalog.table("lake.c").position("tc.source.position") is None
    shown = [r["position"] for r in lake.catalog.table("lake.a").positions.list()]
    assert "tc.source.positions" in shown
    assert "tc.source.position" not in shown
    path.write_text(path.read_text().replace('"id": 1', '"id": 7'))
    with pytest.raises(TableError, match="it was replaced"):  # what tells the files is known still
        lake.sync()


def test_a_position_that_somebody_sets_goes_before_what_the_table_says_each_time(
    lake: Lake,
) -> None:
    path = put(lake.events, "1.jsonl", logged("s.a", 1), logged("s.a", 2))
    lake.sync()
    begin = position(1, len(path.read_bytes().splitlines(keepends=True)[0]))
    for n in (1, 2, 3):
        lake.catalog.table("lake.a").positions.set("tc.source.position", text=begin)
        assert lake.sync().rows_written == 1
        assert ids(lake, "a") == [1, 2, *[2] * n]
        assert lake.sync().rows_written == 0


def test_a_text_that_is_no_document_of_positions_is_refused(lake: Lake) -> None:
    lake.put("1.jsonl", logged("s.a", 1))
    lake.sync()
    positions = lake.catalog.table("lake.a").positions
    for wrong in (
        position(0, 0),
        '{"v":2,"positions":[{"reader":{"kind":"sync"},"source":{"kind":"files","folder":"x"},'
        '"place":{"kind":"snapshot","id":1}}]}',
    ):
        positions.set("tc.source.positions", text=wrong)
        with pytest.raises(CorruptFileError, match="the table stores no positions"):
            lake.sync()
    positions.reset("tc.source.positions")
    lake.sync()
    assert ids(lake, "a") == [1, 1]
