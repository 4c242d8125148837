"""A stream of a table that merges rows of several commits into one needs a changelog producer.

Without one the commits hold partial rows, rows to add up, or rows that the first one hides.  Apache Paimon
refuses such a stream, whatever it begins with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.jobs.flow import run_flow
from table_core.table.read.commit_stream import CommitStream
from table_core.table.read.stream_plan import StreamPlanner
from tests.sql_here import SqlHere
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
ROWS = pa.table({"k": [1], "v": [2]}, schema=SCHEMA)
ENGINES = ["partial-update", "aggregation", "first-row"]


def source(engine: str, producer: str = "none", uri: str | None = None) -> tc.Table:
    options = {"bucket": "1", "merge-engine": engine, "changelog-producer": producer}
    table = new_catalog(uri).create_table("d.s", SCHEMA, primary_key=["k"], options=options)
    write_rows(table, ROWS)
    return table


def flow_of(table: tc.Table) -> Any:
    catalog = tc.open_catalog(table.uri.rsplit("/", 2)[0])
    target = catalog.create_table("d.t", SCHEMA)
    flow = {
        "sql": "SELECT k, v FROM s",
        "sources": {"s": {"table": "d.s", "mode": "changes"}},
        "name": "f",
    }
    return run_flow(catalog, target, flow, tc.CommitAs(), SqlHere())


STREAMS: dict[str, Callable[[tc.Table], Any]] = {
    "follow": lambda t: t.follow(),
    "from a snapshot": lambda t: t.follow(after=0),
    "of a consumer": lambda t: t.follow(consumer="c"),
    "Spark": lambda t: StreamPlanner.of(t.access),
    "flow": flow_of,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_without_a_producer_is_refused(stream: str, engine: str) -> None:
    with pytest.raises(tc.errors.OptionError, match=f"merge-engine={engine}.*changelog-producer"):
        STREAMS[stream](source(engine))


def test_the_command_line_says_so(tmp_path: Any) -> None:
    source("aggregation", uri=str(tmp_path))
    words = ["follow", "d.s", "--limit", "1", "--warehouse", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, tc.errors.OptionError)


@pytest.mark.parametrize(
    ("engine", "producer"),
    [("deduplicate", "none"), ("partial-update", "input"), ("first-row", "lookup")],
)
def test_what_tells_whole_changes_is_streamed(engine: str, producer: str) -> None:
    table = source(engine, producer)
    table.compact("full")
    assert next(table.follow(after=0))["v"].to_pylist() == [2]


def test_commits_from_before_the_producer_are_no_changes_either() -> None:
    table = source("aggregation")
    table.compact("full")
    catalog = tc.open_catalog(table.uri.rsplit("/", 2)[0])
    table = catalog.alter_table("d.s", [tc.SetOption("changelog-producer", "lookup")])
    with pytest.raises(tc.errors.OptionError, match="snapshot 1"):
        next(table.follow(after=0))
    assert next(table.follow())["v"].to_pylist() == [2]


def test_ranges_and_the_live_view_show_commits_as_they_were_written() -> None:
    table = source("partial-update")
    assert table.changes(after=0).to_arrow().num_rows == 1
    stream = CommitStream(table.access)
    write_rows(table, ROWS)
    commit = stream.next()
    assert commit is not None
    assert [rows.num_rows for rows in commit.batches()] == [1]
