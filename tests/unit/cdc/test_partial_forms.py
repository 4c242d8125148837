"""Forms of events that say less, or say it otherwise: what is meant is what is stored."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.model.date_format import date_format
from table_core.cdc.model.typed_values import to_type
from table_core.datatypes.text import parse_type
from tests.unit.cdc.lake import Lake


def golden_gate(op: str, **rows: Any) -> dict[str, Any]:
    return {"table": "S.T", "op_type": op, "op_ts": "2024-01-01 00:00:00", **rows}


@pytest.mark.parametrize("apart", [False, True])
def test_an_update_of_some_columns_leaves_the_others(tmp_path: Path, apart: bool) -> None:
    lake = Lake(tmp_path)
    lake.source = tc.FilesSource(f"file://{lake.events}/*.jsonl", format="ogg-json")
    insert = golden_gate("I", after={"ID": 1, "A": 2, "B": "x", "C": 1.5})
    update = golden_gate("U", before={"ID": 1}, after={"ID": 1, "B": "y"})
    for n, events in enumerate(([insert], [update]) if apart else ([insert, update],)):
        lake.put(f"{n}.jsonl", *events)
        lake.sync(primary_key=["ID"], metadata_columns=("table_name", "op_ts"))
    (row,) = lake.rows("T")
    assert (row["ID"], row["A"], row["B"], row["C"]) == (1, 2, "y", 1.5)
    assert (row["table_name"], row["op_ts"].year) == ("T", 2024)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.source = tc.FilesSource(f"file://{lake.events}/*.jsonl", format="json")
    lake.catalog.create_database("lake")
    file = lake.events / "a.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"id": 1}\n')
    tc.sync_table(lake.catalog, "lake.t", lake.source)
    file.write_bytes(file.read_bytes() + b'{"id": 2}\n')
    tc.sync_table(lake.catalog, "lake.t", lake.source)
    assert sorted(row["id"] for row in lake.rows("t")) == [1, 2]


def test_a_broken_file_does_not_hold_back_the_others(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.source = tc.FilesSource(f"file://{lake.events}/*.gz", format="json")
    lake.catalog.create_database("lake")
    whole = gzip.compress(b'{"id": 1}\n{"id": 2}\n' * 1)
    (lake.events / "a.jsonl.gz").write_bytes(whole[:-9])
    (lake.events / "b.jsonl.gz").write_bytes(gzip.compress(b'{"id": 3}\n'))
    for _ in range(2):
        tc.sync_table(lake.catalog, "lake.t", lake.source, dead_letter="lake.dead")
    (letter,) = lake.rows("dead")
    assert "no whole gzip file" in letter["reason"]
    assert sorted(row["id"] for row in lake.rows("t")) == [3]
    (lake.events / "a.jsonl.gz").write_bytes(whole)
    tc.sync_table(lake.catalog, "lake.t", lake.source, dead_letter="lake.dead")
    assert sorted(row["id"] for row in lake.rows("t")) == [1, 2, 3]


def test_decimals_may_travel_as_numbers_though_their_schema_is_of_bytes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    decimal = {
        "field": "d", "type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    }  # fmt: skip
    fields = [{"field": "id", "type": "int32"}, decimal]
    parts = [
        {"type": "struct", "fields": fields, "field": name, "optional": True}
        for name in ("before", "after")
    ]
    schema = {"type": "struct", "name": "s.t.Envelope", "fields": parts}

    def event(n: int, number: Any) -> dict[str, Any]:
        source = {"db": "s", "table": "t", "ts_ms": 1}
        payload = {"before": None, "after": {"id": n, "d": number}, "source": source, "op": "c"}
        return {"schema": schema, "payload": payload}

    numbers = [12.5, -0.01, 7, None, 99999999.99]
    lake.put("a.jsonl", *(event(n, number) for n, number in enumerate(numbers)))
    lake.sync(primary_key=["id"])
    shown = [None if row["d"] is None else str(row["d"]) for row in lake.rows("t")]
    assert shown == ["12.50", "-0.01", "7.00", None, "99999999.99"]


def test_a_computed_column_may_work_on_another(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    source = {"db": "s", "table": "t", "ts_ms": 1}
    lake.put("a.jsonl", {"op": "c", "before": None, "after": {"id": 1}, "source": source})
    lake.sync(
        primary_key=["id", "pt"],
        partition_by=["pt"],
        computed_columns=["at=now()", "pt=date_format(at, yyyy)"],
    )
    (row,) = lake.rows("t")
    assert row["pt"] == str(row["at"].year)


def test_moments_before_1970_are_formatted_by_their_own_second() -> None:
    moments = pa.array([-1, None], pa.timestamp("ms"))
    assert date_format(moments, "MMM a").to_pylist() == ["Dec PM", None]
    assert date_format(moments, "'x'").to_pylist() == ["x", None]


def test_a_zoned_moment_may_have_nine_digits() -> None:
    texts = pa.array(["2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00Z", None])
    stored = to_type(texts, parse_type("TIMESTAMP_LTZ(6)"), pa.timestamp("us", "UTC"))
    assert [m and m.microsecond for m in stored.to_pylist()] == [123456, 0, None]
