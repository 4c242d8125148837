"""URIs to stores, and stores that are refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.locate import open_storage


@pytest.mark.parametrize(
    "uri", ["/data/wh", "file:///data/wh", "file:/data/wh", "file:///data/wh/"]
)
def test_local_paths_in_every_spelling_are_one_store(uri):
    assert open_storage(uri, warehouse=True) == LocalStorage(Path("/data/wh"))
    assert open_storage(uri).uri == "file:///data/wh"


def test_memory_stores_of_one_name_are_one_store():
    open_storage("memory://locate/a").write("x", b"1")
    assert open_storage("memory://locate").read("a/x") == b"1"
    assert not open_storage("memory://other").exists("a/x")


def test_a_memory_store_does_not_travel():
    with pytest.raises(UnsupportedFeatureError):
        pickle.dumps(open_storage("memory://locate"))


@pytest.mark.parametrize("uri", ["sftp://host/x", "http://host/x", "ftp://h/x", "hdfs://n/x"])
def test_stores_without_atomic_create_are_refused_with_a_remedy(uri):
    with pytest.raises(UnsupportedFeatureError) as caught:
        open_storage(uri)
    assert "two writers" in str(caught.value)
    assert "Use file://" in str(caught.value)


def test_secrets_in_a_uri_are_refused_and_not_repeated():
    with pytest.raises(ArgumentError) as caught:
        open_storage("s3://key:hunter2@bucket/x")
    assert "hunter2" not in str(caught.value) + str(caught.value.facts)
