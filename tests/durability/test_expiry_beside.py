"""Expiry beside readers and writers: what a consumer or a tag was promised is read as it was.

Two writers commit and compact, two processes expire everything they may, one reader registers as a
consumer, one tags.  ``EXPIRY_ROUNDS=200`` runs longer than ``make test`` does.

Mutants: consumers or tags not read again after the promise; the floor raised last; a tag written after
the floor was read.
"""

from __future__ import annotations

import time
from pathlib import Path

import table_core as tc
from tests.durability import keepers
from tests.durability.processes import lines, start
from tests.lanes import budget

ROUNDS = budget("EXPIRY_ROUNDS", ci=8, nightly=200)
PATIENCE_S = 60 + 10 * ROUNDS


def test_what_is_promised_is_read_as_it_was(tmp_path: Path) -> None:
    table, stop = keepers.make_table(tmp_path / "wh"), tmp_path / "stop"
    writes = [tmp_path / f"write-{n}" for n in range(2)]
    reads = {name: tmp_path / name for name in ("consumer", "tag")}
    others = [start(keepers.write, table.uri, log.name, stop, log) for log in writes]
    others.append(start(keepers.read_as_consumer, table.uri, "reader", stop, reads["consumer"]))
    others.append(start(keepers.read_by_tag, table.uri, "kept", stop, reads["tag"]))
    others += [start(keepers.keep, table.uri, stop) for _ in range(2)]
    deadline = time.monotonic() + PATIENCE_S
    while (
        min(len(lines(log)) for log in reads.values()) < 4 * ROUNDS
        or sum(len(lines(log)) for log in writes) < 3 * ROUNDS  # enough that most have expired
    ):
        assert time.monotonic() < deadline, {
            log.name: len(lines(log)) for log in (*reads.values(), *writes)
        }
        assert all(process.is_alive() for process in others)
        time.sleep(0.05)
    stop.touch()
    for process in others:
        process.join(60)
        assert process.exitcode == 0
    for name, log in reads.items():
        assert {line[0] for line in lines(log)} == {"right"}, (name, log.read_text()[-2000:])
    done = [int(lines(log)[-1][0]) for log in writes]
    assert keepers.sums_of(tc.open_table(table.uri)) == sorted((n, n + 1) for n in done)
    assert len(tc.open_table(table.uri).snapshots()) < sum(done)
    for name in tc.open_table(table.uri).tags.list():
        tc.open_table(table.uri).tags.delete(name)
    table.consumers.clear()
    table.expire_snapshots(retain_max=1, retain_min=1)
    keepers.later(table).remove_orphan_files()
    assert keepers.sums_of(tc.open_table(table.uri)) == sorted((n, n + 1) for n in done)
