"""What a MariaDB does that a table here cannot follow, or hardly: an error names the way out, and that works."""

from __future__ import annotations

from pathlib import Path

import pytest

import table_core as tc
from table_core.errors import EventError, SourceDivergedError
from tests.cdc.both_sides import same
from tests.cdc.conftest import need
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb

KEYS = {
    "a key of another column": (
        "ALTER TABLE {0}.t ADD b INT NOT NULL AUTO_INCREMENT UNIQUE, DROP PRIMARY KEY, ADD PRIMARY KEY (b)",
        "INSERT INTO {0}.t VALUES (2, 'b', 7)",
    ),
    "a key that gets one more column": (
        "ALTER TABLE {0}.t DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
        "INSERT INTO {0}.t VALUES (1, 'b')",
    ),
    "a column of the key that is renamed": (
        "ALTER TABLE {0}.t CHANGE id k INT",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "a key that is gone": (
        "ALTER TABLE {0}.t DROP PRIMARY KEY",
        "INSERT INTO {0}.t VALUES (1, 'b')",
    ),
}
"""Refused: the table here has to be dropped, and is read anew."""


@pytest.mark.parametrize("case", KEYS)
def test_a_key_that_changes_is_refused_and_the_way_out_works(
    mariadb: MariaDb, tmp_path: Path, case: str
) -> None:
    log = Log(mariadb, tmp_path, f"key_{list(KEYS).index(case)}")
    mariadb.sql(*(statement.format(log.name) for statement in KEYS[case]))
    for _ in range(2):
        with pytest.raises(EventError, match="drop the table here"):
            log.sync()
    log.catalog.drop_table("lake.t")
    log.sync()
    same(log, "t")


def test_a_column_that_came_and_was_narrowed_between_two_runs(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    log = Log(mariadb, tmp_path, "narrow")
    mariadb.sql(
        "ALTER TABLE narrow.t ADD n VARCHAR(40), ADD d DECIMAL(12,4)",
        "INSERT INTO narrow.t VALUES (2, 'b', REPEAT('n', 30), 1.2345)",
        "UPDATE narrow.t SET n = 'short', d = 1 WHERE id = 2",
        "ALTER TABLE narrow.t MODIFY n VARCHAR(5), MODIFY d DECIMAL(3,1)",
        "INSERT INTO narrow.t VALUES (3, 'c', 'five!', 9.5)",
    )
    log.sync()
    same(log, "t")


def test_a_log_that_lost_its_end_in_a_crash_is_told_as_such(tmp_path: Path) -> None:
    """What was read is not there any more: with sync_binlog=0 a machine that fails loses it."""
    need(MariaDb)
    with MariaDb() as server:
        log = Log(server, tmp_path, "cut")
        server.sql("INSERT INTO cut.t VALUES (2, 'lost')")
        log.sync()
        file = str(server.sql("SHOW MASTER STATUS")[0][0])
        server.crash()
        written = server.folder / "data" / file
        with written.open("r+b") as binlog:
            binlog.truncate(written.stat().st_size - 60)
        server.start()
        server.sql("INSERT INTO cut.t VALUES (3, 'after')")
        for _ in range(2):
            with pytest.raises(SourceDivergedError) as told:
                log.sync()
        assert "keep logs longer" not in str(told.value)
        assert "crash" in str(told.value)
        log.catalog.table("lake.t").positions.reset("tc.source.positions")
        log.sync()
        same(log, "t")


@pytest.mark.parametrize("rows", [pytest.param(1_100_000, marks=pytest.mark.nightly)])
def test_an_event_of_more_than_a_million_rows_is_read(rows: int, tmp_path: Path) -> None:
    need(MariaDb)
    with MariaDb("--binlog-row-event-max-size=16777216") as server:
        log = Log(server, tmp_path, "large")
        server.sql("CREATE TABLE large.n (id INT PRIMARY KEY)")
        log.sync()
        server.sql(f"INSERT INTO large.n SELECT seq FROM large.seq_1_to_{rows}")
        log.sync()
        assert log.catalog.table("lake.n").read().to_arrow().num_rows == rows
    assert tc.open_catalog(f"file://{tmp_path}/wh").tables("lake") == ["n", "t"]
