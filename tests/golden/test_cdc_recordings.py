"""Recorded Debezium streams give the rows that the database had."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from table_core.cdc.source.files import reader
from tests.unit.cdc.feed import Feed, columns

FOLDER = Path(__file__).parent / "cdc"
MARIADB = columns(
    id="BIGINT NOT NULL", email="STRING", full_name="STRING", tier="STRING", interests="STRING",
    balance="DECIMAL(12, 2)", credit_limit="DECIMAL(38, 10)", profile="STRING", avatar="BYTES",
    is_active="SMALLINT", born="DATE", created_at="TIMESTAMP(6) WITH LOCAL TIME ZONE",
    updated_at="TIMESTAMP(3)",
)  # fmt: skip
"""What the database declares; events without schema do not say it."""


def records(name: str) -> list[bytes]:
    return gzip.decompress((FOLDER / name).read_bytes()).splitlines(keepends=True)


def state(name: str, table: str) -> dict[int, dict[str, Any]]:
    rows = (json.loads(line) for line in records(name))
    return {row["row"]["id"]: row["row"] for row in rows if row["table"] == table}


def printed(value: Any) -> Any:
    """A value as the database server prints it."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return format(value, "f")
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(" ").rstrip("0").rstrip(".")
        case dt.date():
            return value.isoformat()
        case _:
            return value


def alike(value: Any) -> Any:
    """Forms that mean the same: digits behind the point, zones, spelling of JSON."""
    if isinstance(value, list):
        return json.dumps(value)
    if isinstance(value, str):
        text = value.removesuffix("+00")
        if text.startswith(("[", "{")) and text.endswith(("]", "}")):
            return json.dumps(json.loads(text))
        return text.rstrip("0").rstrip(".") if "." in text else text
    return value


def in_windows_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a run take so many lines at once."""
    monkeypatch.setattr(reader, "window_is_full", lambda _, lines, __: lines >= size)


def assert_same(feed: Feed, expected: dict[int, dict[str, Any]]) -> None:
    found = {row["id"]: row for row in feed.state.values()}
    assert found.keys() == expected.keys()
    for id, row in expected.items():
        for name, value in row.items():
            if value is None and name not in found[id]:
                continue  # never had a value, so nobody knows its type
            assert alike(printed(found[id][name])) == alike(value), (id, name)


@pytest.mark.parametrize("size", [1, 10, 1000])
@pytest.mark.parametrize("form", ["plain", "schema"])
@pytest.mark.parametrize("shard", ["shop_1", "shop_2"])
def test_mariadb(shard: str, form: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_windows_of(size, monkeypatch)
    fields = MARIADB if form == "plain" else ()
    feed = Feed(fields, tables=rf"{shard}\.customers", decimals="base64")
    feed.give(b"".join(records(f"mariadb.{form}.jsonl.gz")))
    expected = state("mariadb.state.jsonl.gz", f"{shard}.customers")
    never_sent = {
        "loyalty_points"
    }  # added with a default: untouched rows have it, no event says so
    for id, row in expected.items():
        for name in never_sent & row.keys():
            if feed.state[id,].get(name) is None:
                del row[name]
    assert_same(feed, expected)
    assert "loyalty_points" in {name for name, _ in feed.added}


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("form", ["plain", "schema"])
def test_postgres(form: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_windows_of(size, monkeypatch)
    feed = Feed(
        columns(
            balance="DECIMAL(12, 2)", born="DATE", created_at="TIMESTAMP(6) WITH LOCAL TIME ZONE",
            updated_at="TIMESTAMP(3)", avatar="BYTES", id="INT NOT NULL",
        ) if form == "plain" else (),
        tables=r"sales\.customers", decimals="base64",
    )  # fmt: skip
    feed.give(b"".join(records(f"postgres.{form}.jsonl.gz")))
    assert_same(feed, state("postgres.state.jsonl.gz", "sales.customers"))
