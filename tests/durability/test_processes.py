"""Several processes on one local table, some of them killed: no commit is lost, none counts twice."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

import table_core as tc
from tests.durability import processes
from tests.durability.processes import lines, start

SEED = 20_260
KILLS = 20


def refuse_gaps(table: tc.Table) -> None:
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert ids == list(range(1, len(ids) + 1))


def test_a_writer_killed_at_random_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """Each restart goes on from the last commit it heard of, so the one at the kill may be asked twice."""
    table, log, draw = processes.make_table(tmp_path / "wh"), tmp_path / "log", random.Random(SEED)
    for _ in range(KILLS):
        told = lines(log)
        first = int(told[-1][0]) + 1 if told else 0
        writer = start(processes.write, table.uri, "w", first, 1_000, log)
        until = len(told) + draw.randint(1, 4)
        while len(lines(log)) < until:
            assert writer.is_alive()
            time.sleep(0.001)
        time.sleep(draw.random() * 0.05)
        writer.kill()
        writer.join()
        reached = processes.sums(table).get("w", (-1, 0))
        assert reached[1] == reached[0] + 1, "half a commit is visible"
        assert reached[0] - int(lines(log)[-1][0]) in (0, 1)
    told = lines(log)
    assert [int(line[0]) for line in told] == list(range(len(told))), "each is told once"
    last = int(told[-1][0])
    processes.write(table.uri, "w", last, 2, log)
    assert lines(log)[-2][1] == "found"
    assert processes.sums(table) == {"w": (last + 1, last + 2)}
    refuse_gaps(table)


@pytest.mark.parametrize("count", [2, 4])
def test_writers_at_the_same_time_lose_no_row(tmp_path: Path, count: int) -> None:
    table, stop = processes.make_table(tmp_path / "wh"), tmp_path / "stop"
    commits = 60 // count
    logs = {f"w{n}": tmp_path / f"log-{n}" for n in range(count)}
    reader = start(processes.read, table.uri, stop, tmp_path / "reads")
    writers = [start(processes.write, table.uri, u, 0, commits, log) for u, log in logs.items()]
    for writer in writers:
        writer.join()
    stop.touch()
    reader.join()
    assert processes.sums(table) == dict.fromkeys(logs, (commits - 1, commits))
    refuse_gaps(table)
    told = [pair.split(":") for log in logs.values() for line in lines(log) for pair in line[2:]]
    assert len(told) == len({id for id, _ in told}) == len(table.snapshots())
    for id, hashed in told:
        assert processes.snapshot_hash(table, int(id)) == hashed, f"snapshot {id} was replaced"
    reads = lines(tmp_path / "reads")
    assert reads
    assert {line[0] for line in reads} == {"right"}, reads


def test_compactions_at_the_same_time_leave_the_rows_alone(tmp_path: Path) -> None:
    table, stop = processes.make_table(tmp_path / "wh", **{"write-only": "true"}), tmp_path / "stop"
    reader = start(processes.read, table.uri, stop, tmp_path / "reads")
    others = [start(processes.compact, table.uri, 8, tmp_path / f"compact-{n}") for n in range(2)]
    others.append(start(processes.write, table.uri, "w", 0, 25, tmp_path / "log"))
    for process in others:
        process.join()
        assert process.exitcode == 0
    stop.touch()
    reader.join()
    table.compact()
    assert processes.sums(table) == {"w": (24, 25)}
    refuse_gaps(table)
    assert {line[0] for line in lines(tmp_path / "reads")} == {"right"}
