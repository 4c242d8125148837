"""The suite against Google's and Azure's stores, as their emulators answer.

Needs ``fake-gcs-server`` and gcsfs, or ``azurite-blob`` and adlfs; without them it is skipped.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ports import Storage
from table_core.storage.stores.locate import open_storage
from table_core.testing.storage_contract import StorageContract
from tests.servers import azure, gcs
from tests.tables import write_rows

Options = dict[str, object]


def commits(uri: str, options: Options) -> None:
    catalog = tc.open_catalog(uri, options)
    catalog.create_database("d")
    table = catalog.create_table("d.t", pa.schema([("k", pa.int32())]))
    for n in range(3):
        write_rows(table, pa.table({"k": [n]}, schema=table.arrow_schema))
    table.compact()
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == [0, 1, 2]


@pytest.fixture(scope="module")
def gcs_options() -> Iterator[Options]:
    with gcs() as options:
        yield options


@pytest.fixture(scope="module")
def azure_options() -> Iterator[Options]:
    with azure() as options:
        yield options


class TestGcs(StorageContract):
    @pytest.fixture
    def storage(self, gcs_options: Options) -> Storage:
        bucket = f"contract-{uuid.uuid4().hex[:12]}"
        found = open_storage(f"gs://{bucket}/wh", gcs_options)
        found.fs.mkdir(bucket)
        return found

    def test_a_table_lives_there(self, storage: Storage, gcs_options: Options) -> None:
        commits(storage.uri, gcs_options)


class TestAzure(StorageContract):
    @pytest.fixture
    def storage(self, azure_options: Options) -> Storage:
        container = f"contract-{uuid.uuid4().hex[:12]}"
        found = open_storage(f"abfs://{container}/wh", azure_options)
        found.fs.mkdir(container)
        return found

    def test_a_table_lives_there(self, storage: Storage, azure_options: Options) -> None:
        commits(storage.uri, azure_options)
