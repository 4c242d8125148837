"""Every store passes one suite; this file runs it for those that need no server."""

from __future__ import annotations

import pytest

from table_core.ports import Storage
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.memory import MemoryStorage
from table_core.testing.storage_contract import StorageContract


class TestLocal(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path) -> Storage:
        return LocalStorage(tmp_path)


class TestMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return MemoryStorage("wh")


class TestWithin(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return MemoryStorage("wh").within("a/b")
