"""Files that are written while they are read, moved, renamed, and named anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.source.files.content import ContentSum
from table_core.cdc.source.files.source import FilesConnection
from table_core.errors import (
    ArgumentError,
    EventError,
    SourceDivergedError,
    UnsupportedFeatureError,
)
from tests.unit.cdc.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.source = tc.FilesSource(f"file://{made.events}/**/*.jsonl", format="json")
    made.catalog.create_database("lake")
    return made


def sync(lake: Lake, **more: Any) -> Any:
    return tc.sync_table(lake.catalog, "lake.t", lake.source, **more)


def ids(lake: Lake) -> list[int]:
    return sorted(row["id"] for row in lake.rows("t"))


@pytest.mark.parametrize("dead_letter", [None, "lake.dead"])
@pytest.mark.parametrize("cut", [1, 9, 10, 15, 16, 22, 24, 27, 30, 36, 38, 41])
def test_a_last_line_that_is_not_finished_waits(
    lake: Lake, cut: int, dead_letter: str | None
) -> None:
    whole = '{"id": 2, "a": "b\\u00e9", "b": true, "c": -1.5e+3}\n'
    file = lake.events / "a.jsonl"
    file.write_text('{"id": 1}\n' + whole[:cut])
    done = sync(lake, dead_letter=dead_letter)
    assert (ids(lake), done.details.get("dead_letters", 0)) == ([1], 0)
    file.write_text('{"id": 1}\n' + whole + '{"id": 3}\n')
    done = sync(lake, dead_letter=dead_letter)
    assert (ids(lake), done.details.get("dead_letters", 0)) == ([1, 2, 3], 0)
    assert "unfinished" not in done.details


def test_half_a_letter_waits_too(lake: Lake) -> None:
    body = '{"id": 1}\n{"id": 2, "a": "ü"}\n'.encode()
    file = lake.events / "a.jsonl"
    file.write_bytes(body[: body.index("ü".encode()) + 1])
    sync(lake)
    file.write_bytes(body)
    sync(lake)
    assert lake.rows("t")[1]["a"] == "ü"


def test_a_whole_last_line_needs_no_end(lake: Lake) -> None:
    (lake.events / "a.jsonl").write_text('{"id": 1}\n{"id": 2}')
    sync(lake)
    assert ids(lake) == [1, 2]


@pytest.mark.parametrize("broken", ['{"id": 2,}', "hello", '{"id": 2} x'])
def test_a_last_line_that_no_end_could_mend_is_told(lake: Lake, broken: str) -> None:
    (lake.events / "a.jsonl").write_text('{"id": 1}\n' + broken)
    with pytest.raises(EventError, match=r"a\.jsonl, line 2"):
        sync(lake)


def test_what_waits_is_named_in_the_result(lake: Lake) -> None:
    (lake.events / "a.jsonl").write_text('{"id": 1}\n{"id"')
    assert sync(lake).details["unfinished"] == [f"file://{lake.events}/a.jsonl, line 2"]


def put(lake: Lake, name: str, *lines: str) -> Path:
    file = lake.events / name
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("".join(line + "\n" for line in lines))
    return file


def row(number: int, schema: str = "") -> str:
    return f'{{"s": "{schema}", "id": {number}}}'


@pytest.mark.parametrize("schema", ["", "x" * 5000])
def test_a_new_file_of_an_archived_name_is_read(lake: Lake, schema: str) -> None:
    """Its lines are as long, and it begins as the archived one did."""
    old = put(lake, "dt=1/part-0.jsonl", *(row(n, schema) for n in (10, 11, 12)))
    sync(lake)
    old.unlink()
    put(lake, "dt=2/part-0.jsonl", *(row(n, schema) for n in (10, 21, 22)))
    sync(lake)
    assert ids(lake) == [10, 10, 11, 12, 21, 22]


def test_so_is_one_that_begins_with_all_of_it(lake: Lake) -> None:
    put(lake, "dt=1/part-0.jsonl", row(1))
    sync(lake)
    (lake.events / "dt=1/part-0.jsonl").unlink()
    put(lake, "dt=2/part-0.jsonl", row(1), row(2))
    sync(lake)
    assert ids(lake) == [1, 1, 2]


@pytest.mark.parametrize("name", ["archive/a.jsonl", "b.jsonl"])
def test_a_file_that_was_moved_or_renamed_is_not_read_again(lake: Lake, name: str) -> None:
    file = put(lake, "a.jsonl", row(1), row(2))
    sync(lake)
    with file.open("a") as out:
        out.write(row(3) + "\n")
    sync(lake)
    (lake.events / name).parent.mkdir(exist_ok=True)
    file.rename(lake.events / name)
    sync(lake)
    put(lake, "c.jsonl", row(4))
    sync(lake)
    assert ids(lake) == [1, 2, 3, 4]


def test_a_file_that_was_replaced_by_one_that_begins_so_is_told(lake: Lake) -> None:
    file = put(lake, "a.jsonl", *(row(n, "x" * 5000) for n in (11, 12)))
    sync(lake)
    file.unlink()
    put(lake, "a.jsonl", *(row(n, "x" * 5000) for n in (11, 22, 23)))
    with pytest.raises(SourceDivergedError, match="it was replaced"):
        sync(lake)


def test_a_position_of_an_earlier_release_goes_on(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows how a file begins, and no more."""
    file = put(lake, "a.jsonl", row(1))
    with monkeypatch.context() as before:
        before.setattr(ContentSum, "up_to", lambda *_: "")
        sync(lake)
    with file.open("a") as out:
        out.write(row(2) + "\n")
    sync(lake)
    (lake.events / "old").mkdir()
    file.rename(lake.events / "old/a.jsonl")
    sync(lake)
    assert ids(lake) == [1, 2]


@pytest.mark.parametrize("name", ["a.ndjson", "a.log", "a.JSONL", "a.jsonl.zst", "a.jsonl.bz2"])
def test_a_folder_with_files_of_other_endings_is_told(lake: Lake, name: str) -> None:
    put(lake, name, row(1))
    lake.source = tc.FilesSource(f"file://{lake.events}", format="json")
    with pytest.raises(ArgumentError, match=rf"has no file that ends in .*, but {name}: .*/\*"):
        sync(lake)
    put(lake, "b.jsonl", row(2))
    assert sync(lake).details["ignored_files"] == [name]
    assert ids(lake) == [2]


@pytest.mark.parametrize("ending", ["zst", "bz2", "XZ"])
def test_other_compressions_are_refused_by_name(lake: Lake, ending: str) -> None:
    put(lake, f"a.jsonl.{ending}", row(1))
    lake.source = tc.FilesSource(f"file://{lake.events}/*", format="json")
    with pytest.raises(UnsupportedFeatureError, match=r"only those that end in \.gz"):
        sync(lake)


def test_marks_of_a_writer_are_no_events(lake: Lake) -> None:
    put(lake, "_SUCCESS")
    put(lake, "a.jsonl", row(1))
    lake.source = tc.FilesSource(f"file://{lake.events}", format="json")
    assert "ignored_files" not in sync(lake).details


def test_many_files_are_packed_and_known_one_by_one(lake: Lake) -> None:
    for n in range(250):
        (lake.events / f"part-{n}.jsonl").write_text(f'{{"id": {n}}}\n')
    assert sync(lake).rows_written == 250
    kept = lake.catalog.table("lake.t").latest_snapshot().properties
    assert sum(map(len, kept.values())) < 250 * 35
    with (lake.events / "part-7.jsonl").open("a") as file:
        file.write('{"id": 250}\n')
    (lake.events / "old").mkdir()
    (lake.events / "part-8.jsonl").rename(lake.events / "old" / "part-8.jsonl")
    assert sync(lake).rows_written == 1
    assert ids(lake) == list(range(251))
    (shown,) = lake.catalog.table("lake.t").positions.show("tc.source.positions")
    lake.catalog.table("lake.t").positions.set("tc.source.position", text=shown["text"])
    assert sync(lake).rows_written == 0
    (lake.events / "part-9.jsonl").write_text('{"id": 9.5}\n')
    with pytest.raises(SourceDivergedError, match="part-9"):
        sync(lake)


def test_a_new_file_is_read_once_however_many_of_its_name_and_size_are_gone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(6):
        (lake.events / f"{n}").mkdir()
        (lake.events / f"{n}/part.jsonl").write_text(f'{{"id": {n}}}\n')
    lake.source = tc.FilesSource(f"file://{lake.events}/*/part.jsonl", format="json")
    sync(lake)
    for n in range(5):
        (lake.events / f"{n}/part.jsonl").unlink()
    (lake.events / "new").mkdir()
    (lake.events / "new/part.jsonl").write_text('{"id": 9}\n')
    content, read = FilesConnection.content, list[str]()

    def counted(connection: FilesConnection, path: str, length: int) -> str:
        read.append(path)
        return content(connection, path, length)

    monkeypatch.setattr(FilesConnection, "content", counted)
    sync(lake)
    assert [path.rpartition("/events/")[2] for path in read] == ["new/part.jsonl"]
    assert ids(lake) == [*range(6), 9]
