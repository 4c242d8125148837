"""The suite against an S3 server.

Set ``S3_ENDPOINT`` to one that is running (MinIO judges races rightly; moto does not, it checks
and writes without a lock), with the keys in ``S3_KEY`` and ``S3_SECRET``; without it these are
skipped.
"""

from __future__ import annotations

import os
import uuid

import pytest

from table_core.errors import AccessDeniedError, OutcomeUnknownError, StorageUnavailableError
from table_core.ports import Storage
from table_core.storage.locate import open_storage
from table_core.testing.storage_contract import StorageContract

ENDPOINT = os.environ.get("S3_ENDPOINT")


def options(endpoint: str | None = ENDPOINT) -> dict[str, object]:
    return {
        "key": os.environ.get("S3_KEY", "test"),
        "secret": os.environ.get("S3_SECRET", "testtest"),
        "client_kwargs": {"endpoint_url": endpoint, "region_name": "us-east-1"},
        "skip_instance_cache": True,
    }


@pytest.mark.skipif(ENDPOINT is None, reason="S3_ENDPOINT names no S3 server")
class TestS3(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        bucket = f"contract-{uuid.uuid4().hex[:12]}"
        found = open_storage(f"s3://{bucket}/wh", options())
        found.fs.call_s3("create_bucket", Bucket=bucket)
        return found

    def test_an_answer_that_was_lost_is_read_back(self, storage: Storage) -> None:
        """The client repeats a put whose answer was lost, and is told that something is there."""
        storage.fs.pipe_file(f"{storage.prefix}/s/snapshot-1", b"ours")
        assert storage.create("s/snapshot-1", b"ours")
        assert not storage.create("s/snapshot-1", b"theirs")


def test_a_store_that_does_not_answer_is_unavailable() -> None:
    given = options("http://127.0.0.1:9") | {"config_kwargs": {"retries": {"max_attempts": 0}}}
    storage = open_storage("s3://bucket/wh", given)
    storage.fs.retries = 1
    with pytest.raises(StorageUnavailableError):
        storage.read("x")
    with pytest.raises(OutcomeUnknownError):
        storage.create("x", b"body")
    with pytest.raises((StorageUnavailableError, AccessDeniedError)):
        list(storage.list(""))
