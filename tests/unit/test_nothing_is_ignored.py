"""Jobs: what is said is done or refused, and a retry is the same only if the same is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import ArgumentError
from table_core.jobs.engine_choice import AutoLimits, Worker
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from table_core.jobs.touched import engine_of
from tests.tables import new_catalog, write_rows

UPSERT = [{"action": "matched-upsert"}, {"action": "not-matched-insert"}]


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    def of(action: str, user: str | None = None, table: str = "a.b", **args: Any) -> JobSpec:
        return JobSpec(
            action=action,
            warehouse=f"file://{tmp_path}/wh",
            table=table,
            args=args,
            commit_user=user,
            commit_identifier=None if user is None else 0,
        )

    catalog = new_catalog(f"file://{tmp_path}/wh")
    catalog.create_database("a")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
    for name in ("a.b", "a.s"):
        table = catalog.create_table(name, schema, primary_key=("id",), options={"bucket": "1"})
        write_rows(table, pa.table({"id": [1], "v": [1]}, schema=schema))
    return of


def test_a_merge_with_other_parameters_is_no_replay_of_one_that_landed(spec: Any) -> None:
    source = {"sql": "SELECT 1::BIGINT AS id, CAST($v AS BIGINT) AS v"}
    merge = {"source": source, "on": ["id"], "when": UPSERT}
    run_embedded(spec("merge-into", "task", **merge, parameters={"v": 5}))
    again = run_embedded(spec("merge-into", "task", **merge, parameters={"v": 5}))
    assert again["details"]["replayed"] is True  # type: ignore[index]
    with pytest.raises(ArgumentError, match="parameters"):
        run_embedded(spec("merge-into", "task", **merge, parameters={"v": 6}))


@pytest.mark.parametrize(
    "member", [{"mode": "changes"}, {"position": "tc.x"}, {"mod": "changes"}, {"where": "v = 1"}]
)
def test_a_merge_whose_source_says_more_than_a_table_is_refused(
    spec: Any, member: dict[str, str]
) -> None:
    source = {"sql": "SELECT * FROM s", "sources": {"s": {"table": "a.s", **member}}}
    with pytest.raises(ArgumentError, match=f"'s'.*{next(iter(member))}"):
        run_embedded(spec("merge-into", source=source, on=["id"], when=UPSERT))


def test_a_merge_takes_the_defaults_of_a_source_when_they_are_spelled_out(spec: Any) -> None:
    views = {"s": {"table": "a.s", "mode": "snapshot", "position": None}}
    source = {"sql": "SELECT * FROM s", "sources": views}
    done = run_embedded(spec("merge-into", source=source, on=["id"], when=UPSERT))
    assert done["snapshot_after"] == 2


@pytest.mark.parametrize("member", [{"mod": "changes"}, {"where": "v = 1"}, {"branch": "b"}])
def test_a_flow_whose_source_has_a_member_that_is_none_is_refused(
    spec: Any, member: dict[str, str]
) -> None:
    sources = {"s": {"table": "a.s", **member}}
    with pytest.raises(ArgumentError, match=f"'s'.*{next(iter(member))}"):
        run_embedded(spec("write", sql="SELECT * FROM s", sources=sources))


@pytest.mark.parametrize(
    "more",
    [
        {"rows_uri": "file:///in/*.csv"},
        {"rows_position": "tc.files"},
        {"rows_format": "csv"},
        {"rows_options": {"delimiter": ";"}},
    ],
)
def test_a_query_with_what_only_files_have_is_refused(spec: Any, more: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(more))):
        run_embedded(spec("write", sql="SELECT 2::BIGINT AS id, 2::BIGINT AS v", **more))


@pytest.mark.parametrize(
    "more",
    [
        {"sources": {"s": {"table": "a.s"}}},
        {"pending": {"table": "a.w", "sql": "SELECT 1"}},
        {"parameters": {"v": 1}},
        {"name": "flow"},
        {"rows_files": ["x.csv"]},
    ],
)
def test_files_with_what_only_a_query_has_are_refused(
    spec: Any, tmp_path: Path, more: dict[str, Any]
) -> None:
    (tmp_path / "1.csv").write_text("id,v\n3,3\n")
    with pytest.raises(ArgumentError, match=next(iter(more))):
        run_embedded(spec("write", rows_uri=f"file://{tmp_path}/*.csv", **more))


def test_named_files_keep_no_position(spec: Any, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,v\n3,3\n")
    files = [f"{tmp_path}/1.csv"]
    with pytest.raises(ArgumentError, match="rows_position"):
        run_embedded(spec("write", rows_files=files, rows_position="tc.files"))


def test_a_merge_of_files_is_judged_without_a_table(spec: Any, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,v\n3,3\n")
    merge = spec("merge-into", source={"files": [f"{tmp_path}/1.csv"]}, on=["id"], when=UPSERT)
    assert engine_of(merge, AutoLimits(), lambda _: Worker()).is_local


@pytest.mark.parametrize(
    "source", [{"table": "a.s", "files": ["x.csv"]}, {"sql": "SELECT 1", "table": "a.s"}, {}]
)
def test_a_merge_has_one_source(spec: Any, source: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="one of"):
        run_embedded(spec("merge-into", source=source, on=["id"], when=UPSERT))
