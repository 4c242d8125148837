"""The suite against a real S3 server, and what a table makes of one that has a bad day.

The server is MinIO where it is built (``make minio``), else moto, which checks and writes without
a lock and so is no judge of races.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import AccessDeniedError, OutcomeUnknownError, StorageUnavailableError
from table_core.ports import Storage
from table_core.storage.stores.locate import open_storage
from table_core.testing.storage_contract import StorageContract
from tests.lanes import sampled
from tests.servers import S3
from tests.storage_contract.proxy import Plan, Proxy
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])


@pytest.fixture
def bucket(s3_server: S3) -> str:
    name = f"contract-{uuid.uuid4().hex[:12]}"
    s3_server.make_bucket(name)
    return name


class TestS3(StorageContract):
    tells_what_was_there = False

    @pytest.fixture
    def storage(self, s3_server: S3, bucket: str) -> Storage:
        return open_storage(f"s3://{bucket}/wh", s3_server.options())

    def test_a_listing_tells_two_bodies_of_one_size_and_second(self, storage: Storage) -> None:
        tags = set()
        for body in (b"one", b"two"):
            storage.write("in/a.csv", body)
            tags |= {info.tag for info in storage.list("in")}
        assert len(tags) == 2
        assert "" not in tags

    def test_one_of_many_threads_creates(self, s3_server: S3, storage: Storage) -> None:
        if not s3_server.judges_races:
            pytest.skip("only MinIO judges races: make minio")
        super().test_one_of_many_threads_creates(storage)

    def test_an_answer_that_was_lost_is_read_back(self, storage: Storage) -> None:
        """The client repeats a put whose answer was lost, and is told that something is there."""
        storage.fs.pipe_file(f"{storage.prefix}/s/snapshot-1", b"ours")
        assert storage.create("s/snapshot-1", b"ours")
        assert not storage.create("s/snapshot-1", b"theirs")


@pytest.fixture
def proxy(s3_server: S3) -> Iterator[Proxy]:
    with Proxy(s3_server.endpoint) as found:
        yield found


@pytest.fixture
def table(s3_server: S3, bucket: str, proxy: Proxy) -> tc.Table:
    """Its handle goes through the proxy; two commits are in."""
    options = s3_server.options(proxy.endpoint) | {
        "config_kwargs": {"read_timeout": 2, "connect_timeout": 2, "retries": {"max_attempts": 2}}
    }
    catalog = tc.open_catalog(f"s3://{bucket}/wh", options)
    catalog.create_database("d")
    settings = {"bucket": "1", "write-only": "true", "commit.max-retries": "1"}
    made = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=settings)
    for n in (1, 2):
        add(made, n)
    return made


def add(table: tc.Table, n: int, **how: object) -> tc.Commit:
    return write_rows(table, pa.table({"k": [n], "v": [n]}, schema=table.arrow_schema), **how)


def keys(table: tc.Table) -> list[int]:
    return sorted(table.read().to_arrow()["k"].to_pylist())


def creates_snapshot(method: str, path: str) -> bool:
    return method == "PUT" and "/snapshot/snapshot-" in path


def anything(method: str, path: str) -> bool:
    return True


SURVIVED = {
    "503 to a few requests": Plan(anything, status=503, code="SlowDown", times=2),
    "500 to a put": Plan(lambda m, p: m == "PUT", status=500, code="InternalError"),
    "503 to the snapshot": Plan(creates_snapshot, status=503, code="SlowDown"),
    "409 to the snapshot": Plan(creates_snapshot, status=409, code="ConditionalRequestConflict"),
    "a lost answer to a read": Plan(lambda m, p: m == "GET", lose_answer=True),
    "a lost answer to the snapshot": Plan(creates_snapshot, lose_answer=True),
    "a request that hangs": Plan(lambda m, p: m == "PUT", hang=True),
}


@pytest.mark.parametrize("name", sampled(SURVIVED, 2))
def test_a_fault_that_passes_is_survived(name: str, table: tc.Table, proxy: Proxy) -> None:
    plan = SURVIVED[name]
    proxy.plan = Plan(plan.matches, plan.status, plan.code, plan.lose_answer, plan.hang, plan.times)
    done = add(table, 3, commit=tc.CommitAs(user="w", identifier=1))
    assert proxy.plan.seen, "nothing went wrong"
    proxy.plan = None
    assert done.snapshot_ids == (3,)
    assert keys(table) == [1, 2, 3]
    again = add(table, 3, commit=tc.CommitAs(user="w", identifier=1))
    assert again.replayed
    assert [s.id for s in table.snapshots()] == [1, 2, 3]


LASTING = {
    "503 to everything": (Plan(anything, status=503, code="SlowDown", times=10**9), "unavailable"),
    "503 to the snapshot": (
        Plan(creates_snapshot, status=503, code="SlowDown", times=10**9),
        "unknown-outcome",
    ),
    "no right to write": (
        Plan(lambda m, p: m in {"PUT", "POST"}, status=403, code="AccessDenied", times=10**9),
        "invalid",
    ),
    "no right to make the snapshot": (
        Plan(creates_snapshot, status=403, code="AccessDenied", times=10**9),
        "invalid",
    ),
}


@pytest.mark.parametrize("name", sampled(LASTING, 2, first=1))
def test_a_fault_that_stays_has_its_kind_and_the_table_is_intact(
    name: str, table: tc.Table, proxy: Proxy
) -> None:
    proxy.plan, kind = LASTING[name]
    table.access.storage.fs.retries = 1
    with pytest.raises(tc.errors.TableError) as caught:
        add(table, 3, commit=tc.CommitAs(user="w", identifier=1))
    assert caught.value.kind == kind, caught.value
    proxy.plan = None
    assert keys(table) == [1, 2]
    assert not add(table, 3, commit=tc.CommitAs(user="w", identifier=1)).replayed
    assert keys(table) == [1, 2, 3]


def test_a_store_that_does_not_answer_is_unavailable(s3_server: S3) -> None:
    given = s3_server.options("http://127.0.0.1:9") | {
        "config_kwargs": {"retries": {"max_attempts": 0}}
    }
    storage = open_storage("s3://bucket/wh", given)
    storage.fs.retries = 1
    with pytest.raises(StorageUnavailableError):
        storage.read("x")
    with pytest.raises(OutcomeUnknownError):
        storage.create("x", b"body")
    with pytest.raises((StorageUnavailableError, AccessDeniedError)):
        list(storage.list(""))


def test_a_small_data_file_is_fetched_by_one_request(table: tc.Table, proxy: Proxy) -> None:
    proxy.plan = Plan(lambda m, p: m == "HEAD" and "/data-" in p, status=403, times=10**9)
    assert keys(table) == [1, 2]
    assert not proxy.plan.seen


def test_a_data_file_that_is_gone_is_named(table: tc.Table) -> None:
    (split,) = table.read().splits()
    name = split.files[0].file_name
    table.access.storage.delete([f"bucket-0/{name}"])
    with pytest.raises(tc.errors.FilesExpiredError, match=name):
        keys(table)
