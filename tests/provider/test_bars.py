"""Bars are kept from changes: what comes is added, what goes is taken off."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_provider.pages import bars
from paimon_provider.pages.bars import Bars, BarsOf
from table_core.errors import ArgumentError


def changes(*rows: tuple[str, str | None, int | None]) -> list[pa.RecordBatch]:
    kinds, keys, values = zip(*rows, strict=True)
    columns = {"_ROW_KIND": pa.array(kinds), "k": pa.array(keys), "v": pa.array(values, pa.int64())}
    return pa.table(columns).to_batches(max_chunksize=2)


def test_sums_follow_inserts_updates_and_deletes() -> None:
    found = Bars(BarsOf("k", "v"))
    found.add(changes(("+I", "a", 5), ("+I", "b", 7), ("+I", None, 1)))
    found.add(changes(("-U", "a", 5), ("+U", "a", 9), ("-D", "b", 7), ("+I", "c", None)))
    assert found.shown() == [["a", 9], ["", 1], ["c", 0]]


def test_counts_and_decimals() -> None:
    counted = Bars(BarsOf("k", None))
    counted.add(changes(("+I", "a", 5), ("+I", "a", 7), ("-D", "a", 5)))
    assert counted.shown() == [["a", 1]]
    table = pa.table(
        {"_ROW_KIND": ["+I"], "k": ["a"], "v": pa.array([Decimal("1.50")], pa.decimal128(9, 2))}
    )
    summed = Bars(BarsOf("k", "v"))
    summed.add(table.to_batches())
    assert summed.shown() == [["a", 1.5]]


def test_differences_stay_when_rows_come_and_go() -> None:
    found = Bars(BarsOf("k", "v"), keeps_empty=True)
    found.add(
        changes(("-U", "a", 5), ("+U", "a", 9), ("-U", "b", 9), ("+U", "b", 1), ("+I", "c", 0))
    )
    assert found.largest(10) == [("b", -8.0), ("a", 4.0)]


def test_too_many_keys_and_columns_that_do_not_fit_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bars, "KEYS_MAX", 2)
    with pytest.raises(ArgumentError, match="more than 2 values"):
        Bars(BarsOf("k", "v")).add(changes(("+I", "a", 1), ("+I", "b", 1), ("+I", "c", 1)))
    schema = pa.schema([("k", pa.string()), ("t", pa.string()), ("l", pa.list_(pa.int64()))])
    for of in (BarsOf("x", None), BarsOf("k", "t"), BarsOf("l", None)):
        with pytest.raises(ArgumentError):
            of.require(schema)
