"""Files of a binary log that must not be read as if all were well."""

from __future__ import annotations

import struct
from decimal import Decimal
from pathlib import Path

import pytest

import table_core as tc
from table_core.errors import EventError
from tests.unit.cdc.binlog import LOG, event, sync


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (26, "the server lost changes here"),
        (39, "binlog_row_value_options = ''"),
        (40, "binlog_transaction_compression = OFF"),
        (164, "is encrypted"),
    ],
)
def test_events_that_hide_changes_are_refused(tmp_path: Path, kind: int, told: str) -> None:
    log = LOG()
    with pytest.raises(EventError, match=rf"binlog.000001, position {len(log)}: .*{told}"):
        sync(tmp_path, n1=log + event(kind, b"\0" * 9, len(log)))


def test_rows_that_a_statement_wrote_are_refused_if_they_are_wanted(tmp_path: Path) -> None:
    def query(text: bytes) -> bytes:
        return struct.pack("<IIBHH", 1, 0, 6, 0, 0) + b"shop_1\0" + text

    log = LOG()
    elsewhere = event(2, query(b"INSERT INTO other.t VALUES (1)"), len(log))
    assert sync(tmp_path, n1=log + elsewhere).rows_written > 0
    at = len(log) + len(elsewhere)
    for text in (
        b"insert ignore into customers (id) values (1)",
        b"UPDATE `shop_1`.`customers` SET id = 2",
        b"DELETE QUICK FROM shop_1.customers",
        b"REPLACE customers VALUES (1)",
        b"LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE `customers`",
    ):
        with pytest.raises(
            EventError, match=r"shop_1\.customers: its rows were written by a statement"
        ):
            sync(tmp_path, n1=log + elsewhere + event(2, query(text), at))


def test_a_damaged_event_is_told(tmp_path: Path) -> None:
    log = bytearray(LOG())
    log[-30] ^= 1
    with pytest.raises(EventError, match=r"binlog\.000001, position \d+: the event is damaged"):
        sync(tmp_path, n1=bytes(log))


def test_files_follow_each_other(tmp_path: Path) -> None:
    head = LOG()[: 4 + struct.unpack_from("<I", LOG(), 13)[0]]
    with pytest.raises(EventError, match=r"binlog\.000001 and binlog\.000003 do not follow"):
        sync(tmp_path, n1=LOG(), n3=head)
    sync(tmp_path, n2=head)
    assert sync(tmp_path, n4=head).rows_written == 0
    (tmp_path / "binlog.000005.gz").write_bytes(b"")
    (tmp_path / "binlog.000005").write_bytes(head)
    with pytest.raises(EventError, match=r"binlog\.000005 and binlog\.000005\.gz have one number"):
        sync(tmp_path)
    for name in ("binlog.000005", "binlog.000005.gz", "binlog.000004", "binlog.000003"):
        (tmp_path / name).unlink()
    (tmp_path / "binlog.000006").write_bytes(head)
    with pytest.raises(EventError, match="do not follow each other"):
        sync(tmp_path)


def test_a_default_is_remembered_until_a_row_has_the_column(tmp_path: Path) -> None:
    log, at = LOG(), 4
    where = log.index(b"ALTER TABLE shop_1.orders ADD COLUMN shipped_at")
    while at <= where:
        at += struct.unpack_from("<I", log, at + 9)[0]
    sync(tmp_path, n1=log[:at])
    sync(tmp_path, n1=log)
    table = tc.open_catalog(f"file://{tmp_path}/wh").table("lake.orders")
    fees = table.read().to_arrow()["fee"].to_pylist()
    assert None not in fees
    assert Decimal("1.500") in fees
