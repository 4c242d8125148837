"""The write job: a query without sources, and files that are taken once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import ArgumentError, DataError, NotFoundError, PositionDivergedError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.position.document import Position
from table_core.position.lines import FilesRead
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind
from table_core.position.source import TableId


@pytest.fixture
def job(tmp_path: Path) -> Any:
    def run(action: str, user: str | None = None, **args: Any) -> dict[str, Any]:
        spec = JobSpec(
            action=action,
            warehouse=f"file://{tmp_path}/wh",
            table="a.b",
            args=args,
            commit_user=user,
            commit_identifier=None if user is None else 0,
        )
        return dict(run_embedded(spec))

    run("create-table", columns={"id": "BIGINT"}, options={"bucket": "-1"})
    return run


def lines(path: Path, *ids: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f'{{"id": {id}}}\n' for id in ids))


def test_a_query_needs_no_sources(job: Any) -> None:
    assert job("write", sql="SELECT CAST(1 AS BIGINT) AS id")["rows_written"] == 1


def test_a_query_of_no_rows_commits_nothing_by_accident(job: Any) -> None:
    result = job("write", sql="SELECT CAST(1 AS BIGINT) AS id LIMIT 0")
    assert result["rows_written"] == 0


def test_a_retry_takes_nothing_again_and_a_new_run_only_what_is_new(
    job: Any, tmp_path: Path
) -> None:
    take = {"rows_uri": f"file://{tmp_path}/in/*.jsonl", "rows_position": "tc.files.in"}
    assert job("write", "first", **take)["details"]["files"] == 0
    lines(tmp_path / "in" / "1.jsonl", 1, 2)
    first = job("write", "first", **take)
    assert (first["rows_written"], first["details"]["position"]) == (2, "1.jsonl")
    lines(tmp_path / "in" / "2.jsonl", 3)
    retry = job("write", "first", **take)
    assert (retry["details"]["replayed"], retry["snapshot_after"]) == (
        True,
        first["snapshot_after"],
    )
    assert job("write", "second", **take)["rows_written"] == 1
    assert job("write", "third", **take)["rows_written"] == 0


def test_a_file_that_does_not_fit_is_named_and_nothing_is_committed(
    job: Any, tmp_path: Path
) -> None:
    lines(tmp_path / "in" / "1.jsonl", 1)
    (tmp_path / "in" / "2.jsonl").write_text('{"id": "one"}\n')
    with pytest.raises(DataError, match=r"2\.jsonl"):
        job("write", rows_uri=f"file://{tmp_path}/in/*.jsonl")
    assert job("compact")["snapshot_before"] is None


def test_without_a_position_no_file_is_a_mistake(job: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(NotFoundError, match=r"no file matches .*/in/\*\.jsonl"):
        job("write", rows_uri=f"file://{tmp_path}/in/*.jsonl")


# ---------------------------------------------------------------------------- files taken once
def ids_of(tmp_path: Path) -> list[int]:
    table = tc.open_catalog(f"file://{tmp_path}/wh").table("a.b")
    return sorted(table.read().to_arrow()["id"].to_pylist())


def test_three_days_of_files_with_equal_names_are_all_taken(job: Any, tmp_path: Path) -> None:
    for day in ("1", "2", "3"):
        folder = tmp_path / day
        lines(folder / "part-0.jsonl", int(day))
        lines(folder / "part-1.jsonl", int(day) * 10)
        take = {"rows_uri": f"file://{folder}/*.jsonl", "rows_position": "tc.files.in"}
        assert job("write", f"day-{day}", **take)["rows_written"] == 2
        assert job("write", f"again-{day}", **take)["rows_written"] == 0
    assert ids_of(tmp_path) == [1, 2, 3, 10, 20, 30]


@pytest.mark.parametrize("wider", ["in/*.jsonl", "*/*.jsonl"])
def test_files_that_come_late_or_sort_lower_are_taken_and_none_twice(
    job: Any, tmp_path: Path, wider: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "other").mkdir()
    names = ["in/part-8", "in/part-9", "in/part-10", "in/a", "other/part-8"]
    for n, name in enumerate(names):
        lines(tmp_path / f"{name}.jsonl", n)
        pattern = wider if name.startswith("other") else "in/*.jsonl"
        take = {"rows_uri": f"file://{tmp_path}/{pattern}", "rows_position": "tc.files.in"}
        job("write", f"run-{n}", **take)
    there = len(names) if wider.startswith("*") else len(names) - 1
    assert ids_of(tmp_path) == list(range(there))


def test_a_file_that_changed_after_it_was_taken_is_said(job: Any, tmp_path: Path) -> None:
    take = {"rows_uri": f"file://{tmp_path}/in/*.jsonl", "rows_position": "tc.files.in"}
    lines(tmp_path / "in" / "1.jsonl", 1)
    job("write", "one", **take)
    lines(tmp_path / "in" / "1.jsonl", 1, 2)
    lines(tmp_path / "in" / "2.jsonl", 3)
    with pytest.raises(PositionDivergedError, match=r"1\.jsonl"):
        job("write", "two", **take)
    assert ids_of(tmp_path) == [1]


def test_a_file_of_the_same_size_and_millisecond_is_another_by_its_finer_time(
    job: Any, tmp_path: Path
) -> None:
    path = tmp_path / "in" / "1.jsonl"
    take = {"rows_uri": f"file://{tmp_path}/in/*.jsonl", "rows_position": "tc.files.in"}
    lines(path, 1)
    os.utime(path, ns=(10**18, 10**18))
    job("write", "one", **take)
    lines(path, 2)
    os.utime(path, ns=(10**18 + 1000, 10**18 + 1000))
    with pytest.raises(PositionDivergedError, match=r"1\.jsonl"):
        job("write", "two", **take)


def test_a_position_that_is_not_carried_on_is_refused(job: Any, tmp_path: Path) -> None:
    lines(tmp_path / "in" / "1.jsonl", 1)
    take = {"rows_uri": f"file://{tmp_path}/in/*.jsonl", "rows_position": "files.orders"}
    with pytest.raises(ArgumentError, match=r"tc\.files\.orders"):
        job("write", "one", **take)
    assert ids_of(tmp_path) == []


@pytest.mark.parametrize("text", ["3.jsonl", '{"v":1,"files":{}}'])
def test_a_property_that_holds_no_document_of_positions_is_refused(
    job: Any, tmp_path: Path, text: str
) -> None:
    lines(tmp_path / "in" / "1.jsonl", 1)
    job("write", "f", sql="SELECT CAST(0 AS BIGINT) AS id", properties={"tc.files.in": text})
    take = {"rows_uri": f"file://{tmp_path}/in/*.jsonl", "rows_position": "tc.files.in"}
    with pytest.raises(PositionDivergedError, match="no document of positions"):
        job("write", "one", **take)
    assert ids_of(tmp_path) == [0]


@pytest.mark.parametrize("place", [SnapshotPlace(id=3), FilesRead()])
def test_a_position_of_something_else_is_no_position_of_files(
    job: Any, tmp_path: Path, place: Any
) -> None:
    lines(tmp_path / "in" / "1.jsonl", 1)
    table = TableId(location="x", birth="y")
    other = Position(Reader(ReaderKind.FLOW, "f"), table, place)
    job("write", "f", sql="SELECT CAST(0 AS BIGINT) AS id", properties={"tc.p": other.text})
    take = {"rows_uri": f"file://{tmp_path}/in/*.jsonl", "rows_position": "tc.p"}
    with pytest.raises(PositionDivergedError):
        job("write", "one", **take)
