"""The process of a query waits for the next one of its engine, and for nobody else's."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from table_core.errors import ArgumentError
from table_core.jobs.embedded import EmbeddedEngine, SqlLimits

ORDERS = pa.table({"id": pa.array(range(1000), pa.int64())})
COUNT = "SELECT count(*) AS n FROM orders"


def processes() -> list[int]:
    """Those that run SQL for this one."""
    mine = psutil.Process().children()
    return [one.pid for one in mine if any("sql_child" in text for text in one.cmdline())]


def home(pid: int) -> Path:
    return Path(psutil.Process(pid).cwd())


def count(engine: EmbeddedEngine) -> int:
    (row,) = engine.query_tables(COUNT, {"orders": ORDERS}).to_pylist()
    return int(row["n"])


def test_queries_of_one_engine_share_a_process_and_leave_nothing_to_each_other() -> None:
    engine = EmbeddedEngine()
    assert count(engine) == 1000
    (pid,) = processes()
    assert [one.name for one in home(pid).iterdir()] == ["log"]
    with pytest.raises(ArgumentError, match="orders"):  # a table of the query before
        engine.query_tables(COUNT, {})
    assert processes() == []  # a query that fails ends its process
    assert count(engine) == count(engine) == 1000
    (after,) = processes()
    assert after != pid
    engine.close()
    assert processes() == []


def test_another_engine_has_another_process_and_each_ends_with_its_engine() -> None:
    one, other = EmbeddedEngine(), EmbeddedEngine()
    assert count(one) == count(other) == 1000
    pids = processes()
    homes = [home(pid) for pid in pids]
    assert len(set(pids)) == 2
    del one, other
    assert processes() == []
    assert not [folder for folder in homes if folder.exists()]


def test_memory_is_as_bounded_for_the_second_query_as_for_the_first() -> None:
    engine = EmbeddedEngine(limits=SqlLimits(memory="64 mb", disk="16 mb", threads=1))
    assert count(engine) == 1000
    huge = "SELECT length(repeat('x', 900000000)) AS n FROM orders LIMIT 1"
    with pytest.raises(ArgumentError, match="SQL failed"):
        engine.query_tables(huge, {"orders": ORDERS})
    assert count(engine) == 1000
    engine.close()


def test_a_process_that_was_begun_early_runs_the_first_query() -> None:
    engine = EmbeddedEngine()
    engine.expect_sql()
    begun = processes()
    assert count(engine) == 1000
    assert processes() == begun
    engine.close()


def test_one_that_was_killed_while_it_waited_is_replaced() -> None:
    engine = EmbeddedEngine()
    assert count(engine) == 1000
    (pid,) = processes()
    waiting = psutil.Process(pid)
    waiting.kill()
    psutil.wait_procs([waiting], 10)
    assert count(engine) == 1000
    engine.close()


def test_what_is_forked_leaves_the_process_alone() -> None:
    engine = EmbeddedEngine()
    assert count(engine) == 1000
    (pid,) = processes()
    if (forked := os.fork()) == 0:
        engine.close()  # of the fork's own: none
        os._exit(0)
    assert os.waitpid(forked, 0)[1] == 0
    assert processes() == [pid]
    assert count(engine) == 1000
    assert processes() == [pid]
    engine.close()
