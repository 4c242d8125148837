"""The suite against Google's and Azure's stores, as their emulators answer.

Needs ``fake-gcs-server`` and gcsfs, or ``azurite-blob`` and adlfs; without them it is skipped.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CorruptFileError
from table_core.options.budgets import DOCUMENT_BYTES, take_budgets
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


def documents_are_bounded(storage: Storage) -> None:
    storage.write("empty", b"")
    storage.write("small", b"x" * 1000)
    storage.write("large", b"x" * 1001)
    try:
        take_budgets({DOCUMENT_BYTES.variable: "1000 b"})
        assert storage.read("empty") == b""
        assert storage.read("small") == b"x" * 1000
        with pytest.raises(CorruptFileError, match=DOCUMENT_BYTES.variable):
            storage.read("large")
    finally:
        take_budgets(os.environ)


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

    def test_no_more_comes_of_a_document_than_it_may_have(self, storage: Storage) -> None:
        documents_are_bounded(storage)


class TestAzure(StorageContract):
    @pytest.fixture
    def storage(self, azure_options: Options) -> Storage:
        container = f"contract-{uuid.uuid4().hex[:12]}"
        found = open_storage(f"abfs://{container}/wh", azure_options)
        found.fs.mkdir(container)
        return found

    def test_a_table_lives_there(self, storage: Storage, azure_options: Options) -> None:
        commits(storage.uri, azure_options)

    def test_no_more_comes_of_a_document_than_it_may_have(self, storage: Storage) -> None:
        documents_are_bounded(storage)
