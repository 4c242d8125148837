"""How many requests a verb makes of S3: the table of ``docs/stores.md``, line by line."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from fsspec.asyn import sync_wrapper

import table_core as tc
from table_core.storage.stores.s3_client import BoundedS3
from table_core.table.metadata import documents
from table_core.table.metadata.remembered import Remembered
from tests.lanes import sampled
from tests.servers import S3
from tests.tables import write_rows

PAGE = Path(__file__).parents[2] / "docs" / "stores.md"
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
FEW, MORE = 5, 10
PUTS = {"put_object", "delete_objects", "create_multipart_upload", "copy_object"}
VERBS: dict[str, Callable[[tc.Table], object]] = {
    "read": lambda t: t.read().to_arrow(),
    "write": lambda t: put(t, 99),
    "tag": lambda t: t.tags.create("x"),
    "truncate": lambda t: t.truncate(),
    "delete": lambda t: t.delete("k = 1"),
    "compact": lambda t: t.compact(),
    "rollback": lambda t: t.rollback_to(snapshot=4),
    "branch": lambda t: t.branches.create("b"),
    "remove orphans": lambda t: t.remove_orphan_files(
        older_than=datetime.now(UTC), allow_young=True
    ),
    "expire to one": lambda t: t.expire_snapshots(retain_max=1, retain_min=1),
}


def put(table: tc.Table, n: int) -> None:
    write_rows(table, pa.table([[n], [n]], schema=SCHEMA))


@pytest.fixture
def made(
    s3_server: S3, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int, bool], tuple[tc.Table, list[str]]]:
    """A table of so many commits, by a handle that made them or by a new one, and its requests."""
    requests: list[str] = []
    real = BoundedS3._call_s3

    async def counted(self: BoundedS3, method: str, *args: object, **kwargs: object) -> object:
        requests.append(method)
        return await real(self, method, *args, **kwargs)

    monkeypatch.setattr(BoundedS3, "_call_s3", counted)
    monkeypatch.setattr(BoundedS3, "call_s3", sync_wrapper(counted))

    def make(commits: int, warm: bool) -> tuple[tc.Table, list[str]]:
        name = f"counts-{uuid.uuid4().hex[:12]}"
        s3_server.make_bucket(name)
        catalog = tc.open_catalog(f"s3://{name}/wh", s3_server.options())
        catalog.create_database("d")
        options = {"bucket": "1", "write-only": "true"}
        table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
        for n in range(commits):
            put(table, n)
        if not warm:
            for which in ("_MANIFESTS", "_COLUMNS"):
                monkeypatch.setattr(documents, which, Remembered(weight_max=400_000))
            table = catalog.table("d.t")
        requests.clear()
        return table, requests

    return make


@pytest.mark.parametrize("verb", sampled(VERBS, len(VERBS)))
def test_the_page_says_how_many_requests_each_verb_makes(
    made: Callable[[int, bool], tuple[tc.Table, list[str]]], verb: str
) -> None:
    counts = []
    for commits, warm in ((FEW, False), (FEW, True), (MORE, True)):
        table, requests = made(commits, warm)
        VERBS[verb](table)
        puts = sum(request in PUTS for request in requests)
        counts.append((len(requests) - puts, puts))
    cold, few, many = counts
    more = (sum(many) - sum(few)) / (MORE - FEW)
    grows = "no" if more <= 0 else f"{more:.1f} a commit"
    line = f"| {verb} | {cold[0]} + {cold[1]} | {few[0]} + {few[1]} | {grows} |"
    assert line in PAGE.read_text().splitlines(), line


def test_a_warm_write_asks_for_little(
    made: Callable[[int, bool], tuple[tc.Table, list[str]]],
) -> None:
    table, requests = made(FEW, True)
    put(table, 99)
    puts = [request for request in requests if request in PUTS]
    assert len(puts) <= 6
    assert len(requests) - len(puts) <= 9
