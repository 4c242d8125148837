"""The shared poll looks at real tables: what it finds out by looking again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.triggers import poll
from paimon_provider.triggers import snapshot as module
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from tests.tables import write_rows

SCHEMA = pa.schema([("p", pa.string()), ("n", pa.int64())])


def append(catalog: Catalog, *values: str) -> None:
    write_rows(
        catalog.table("shop.t"),
        pa.table({"p": list(values), "n": [1] * len(values)}, schema=SCHEMA),
    )


def warehouse_at(folder: Path) -> Catalog:
    catalog = open_catalog(folder.as_uri())
    catalog.create_database("shop")
    catalog.create_table("shop.t", SCHEMA, partition_by=("p",), options={"bucket": "-1"})
    return catalog


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(module, "_FLUSH_SECONDS", 0)
    monkeypatch.setattr(poll, "_CONNECTION_SECONDS", 0.1)

    def to(folder: Path, **extra: str) -> None:
        document = {"conn_type": "paimon", "host": folder.as_uri(), "extra": json.dumps(extra)}
        monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))

    return to


async def until(what: Callable[[], Any], seconds: float = 180) -> None:
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.05)


def knows_head(id: int) -> bool:
    """Whether the watcher has looked, and begins after that snapshot."""
    watches = poll.watches_of("paimon_default").of("shop.t")
    return any(watch.seen and watch.seen.place.id == id for watch in watches)


def watched(steps: Callable[[list[Any]], Any], **arguments: Any) -> list[dict[str, Any]]:
    """The events of a watcher while ``steps`` go on."""

    async def go() -> list[dict[str, Any]]:
        trigger = PaimonSnapshotTrigger(
            **{"table": "shop.t", "asset_uri": "x", "poll_seconds": 0.1} | arguments
        )
        found: list[dict[str, Any]] = []

        async def listen() -> None:
            async for event in trigger.run():
                found.append(event.payload)

        listening = asyncio.ensure_future(listen())
        try:
            await steps(found)
        finally:
            listening.cancel()
        return found

    return asyncio.run(go())


def test_a_watcher_follows_an_edited_connection(
    tmp_path: Path, connect: Callable[[Path], None]
) -> None:
    old = warehouse_at(tmp_path / "old")
    append(old, "a")
    new = warehouse_at(tmp_path / "new")  # tables of one millisecond look like one table
    connect(tmp_path / "old")

    async def steps(found: list[Any]) -> None:
        await until(lambda: knows_head(1))
        append(old, "b")
        await until(lambda: len(found) == 1)
        connect(tmp_path / "new")
        append(new, "c")
        await until(lambda: len(found) == 2)

    found = watched(steps)
    assert found[0]["partitions"] == [{"p": "b"}]
    assert (found[1]["snapshot_id"], found[1]["reset"]) == (1, "made-anew")


def test_a_connection_that_leads_to_another_catalog_by_now_is_not_told_as_the_old_one(
    tmp_path: Path, connect: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = warehouse_at(tmp_path / "old"), warehouse_at(tmp_path / "new")
    append(old, "a")
    connect(tmp_path / "old", catalog_name="lake")
    said: list[str] = []

    def told(text: str) -> bool:
        said.append("".join(capfd.readouterr()))
        return text in "".join(said)

    async def steps(found: list[Any]) -> None:
        await until(lambda: knows_head(1))
        append(old, "b")
        await until(lambda: len(found) == 1)
        connect(tmp_path / "new", catalog_name="pond")
        append(new, "c")
        await until(lambda: told("would touch paimon://pond/shop/t"))
        assert len(found) == 1
        append(old, "d")
        connect(tmp_path / "old", catalog_name="lake")
        await until(lambda: len(found) == 2)

    found = watched(steps, asset_uri="paimon://lake/shop/t?on=changes")
    assert [event["partitions"] for event in found] == [[{"p": "b"}], [{"p": "d"}]]
    assert "reset" not in found[1] or found[1]["reset"] is None


def test_a_filter_that_can_never_match_is_said_loudly(
    tmp_path: Path, connect: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    catalog = warehouse_at(tmp_path / "wh")
    append(catalog, "a")
    connect(tmp_path / "wh")
    said: list[str] = []

    def error() -> bool:
        said.append("".join(capfd.readouterr()))
        return any("'day' is no partition column of shop.t" in text for text in said)

    async def steps(found: list[Any]) -> None:
        await until(error)
        assert not found

    assert watched(steps, partitions=[{"day": "a"}]) == []
    assert any("error" in text for text in said)
