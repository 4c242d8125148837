"""The write job: a query without sources, and files that are taken once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_core.errors import DataError, NotFoundError
from table_core.table.jobs.job_spec import JobSpec
from table_core.table.jobs.run import run_embedded


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
