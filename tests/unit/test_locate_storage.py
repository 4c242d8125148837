"""URIs to stores, and stores that are refused."""

from __future__ import annotations

import pickle
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.source.files.source import FilesSource
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.locate import open_storage
from table_core.table.api.file_rows import append_files


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


NAMES = ["My Projects", "Büro", "100%", "a#b", "c+d;e[f]", "x%20y"]


@pytest.mark.parametrize("name", NAMES)
def test_a_path_and_its_uri_are_one_warehouse(name, tmp_path):
    """Before the folder is there, and afterwards."""
    folder = tmp_path / name
    by_uri = tc.open_catalog(folder.as_uri())
    by_uri.create_database("d")
    assert [child.name for child in tmp_path.iterdir()] == [name]
    made = by_uri.create_table("d.t", pa.schema([("v", pa.int64())]))
    for place in (folder, str(folder), folder.as_uri(), by_uri.warehouse):
        assert tc.open_catalog(place).tables("d") == ["t"]
    for place in (folder / "d.db" / "t", (folder / "d.db" / "t").as_uri(), made.uri):
        assert tc.open_table(place).count() == 0
    assert [child.name for child in tmp_path.iterdir()] == [name]


def test_a_folder_that_is_named_as_the_uri_is_taken_literally(tmp_path):
    (tmp_path / "My%20Projects").mkdir()
    assert open_storage(f"file://{tmp_path}/My%20Projects/lake").uri.endswith("/My%20Projects/lake")


def test_of_two_spellings_that_are_there_none_is_guessed(tmp_path):
    for name in ("My%20Projects", "My Projects"):
        (tmp_path / name).mkdir()
    for place in ("My%20Projects", "My%20Projects/new"):
        with pytest.raises(ArgumentError, match="both are there"):
            open_storage(f"file://{tmp_path}/{place}")
    plain = f"{tmp_path}/My%20Projects"
    assert (
        open_storage(plain) == open_storage(Path(plain)) != open_storage(f"{tmp_path}/My Projects")
    )
    (tmp_path / "My Projects" / "lake").mkdir()
    assert open_storage(f"file://{tmp_path}/My%20Projects/lake").uri.endswith("/My Projects/lake")


@pytest.mark.parametrize("part", ["%2e%2e", "a%2Fb", "a%00b", "%ff", "50%"])
def test_escapes_that_name_no_file_stay_as_they_are(part, tmp_path):
    assert open_storage(f"file://{tmp_path}/{part}/x").uri == f"file://{tmp_path}/{part}/x"


@pytest.mark.parametrize("place", [5, None, b"/data", ["/data"]])
def test_what_is_no_place_is_refused(place):
    for open_ in (tc.open_catalog, tc.open_table, open_storage):
        with pytest.raises(ArgumentError, match=r"pathlib\.Path"):
            open_(place)


def test_a_file_is_no_warehouse_and_no_table(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("v\n1\n")
    for open_ in (tc.open_catalog, tc.open_table):
        for place in (file, str(file), file.as_uri()):
            with pytest.raises(ArgumentError, match="is a file"):
                open_(place)


@pytest.mark.parametrize("pattern", ["in 1.jsonl", "in *.jsonl"])
def test_files_are_found_by_their_uri(pattern, tmp_path):
    folder = tmp_path / "My Files"
    folder.mkdir()
    (folder / "in 1.jsonl").write_text('{"v": 1}\n')
    table = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    table.create_database("d")
    table = table.create_table("d.t", pa.schema([("v", pa.int64())]))
    uri = (folder / pattern).as_uri().replace("%2A", "*")
    assert append_files(table, {"rows_uri": uri}, tc.CommitAs(), {}).details["files"] == 1
    source = FilesSource(uri, format="json")
    assert len(source.listing(open_storage(source.folder))) == 1
    (folder / "in%201.jsonl").write_text('{"v": 2}\n')
    with pytest.raises(ArgumentError, match="two spellings"):
        append_files(table, {"rows_uri": uri}, tc.CommitAs(), {})
