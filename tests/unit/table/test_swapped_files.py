"""A file in the place of another is an error that names it, wherever a number or a count can tell.

Method: a table whose commits differ in rows and files, with the bytes of one file under the name of
another; every read gives what it gave before, or blames that file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk.deletion_vector import decode_index_file, encode_index_file
from table_core.ondisk.index_manifest import decode_index_manifest, encode_index_manifest
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("n", pa.int64()), ("p", pa.string())])


def rows(count: int, parts: int = 1) -> pa.Table:
    parted = [f"p{n % parts}" for n in range(count)]
    return pa.table({"n": pa.array(range(count), pa.int64()), "p": parted}, schema=SCHEMA)


def make(*commits: pa.Table, **options: str) -> tc.Table:
    """An append table, one commit each of ``commits``."""
    catalog = new_catalog()
    table = catalog.create_table("d.t", SCHEMA, partition_by=("p",), options=options)
    for commit in commits:
        write_rows(table, commit)
    return table


def paths(table: tc.Table, part: str) -> list[str]:
    return sorted(info.path for info in table.access.storage.walk("") if part in info.path)


def swapped(table: tc.Table, one: str, other: bytes) -> tc.Table:
    """The same table elsewhere, with the bytes ``other`` under the name ``one``."""
    copy = new_catalog()
    storage = copy.create_table("d.t", SCHEMA).access.storage
    for info in table.access.storage.walk(""):
        storage.write(info.path, table.access.storage.read(info.path))
    storage.write(one, other)
    return copy.table("d.t")


def blamed(read: Any, path: str) -> str:
    with pytest.raises(tc.errors.CorruptFileError) as caught:
        read()
    assert path in str(caught.value)
    assert str(caught.value.facts["path"]) in path
    return str(caught.value).removesuffix("; 'table-core recover' says what can be saved")


def test_a_snapshot_in_the_place_of_another() -> None:
    table = make(rows(10), rows(20))
    storage = table.access.storage
    older = swapped(table, "snapshot/snapshot-1", storage.read("snapshot/snapshot-2"))
    said = blamed(lambda: older.read(snapshot=1), "snapshot/snapshot-1")
    assert said == "snapshot/snapshot-1: id: 2 in the file of 1"
    assert older.read().to_arrow().num_rows == 30
    newest = swapped(table, "snapshot/snapshot-2", storage.read("snapshot/snapshot-1"))
    blamed(newest.read, "snapshot/snapshot-2")
    blamed(newest.latest_snapshot, "snapshot/snapshot-2")


def test_a_schema_in_the_place_of_another() -> None:
    table = make(rows(10))
    body = table.access.storage.read("schema/schema-0")
    with pytest.raises(tc.errors.CorruptFileError, match="schema-0: id: 7 in the file of 0"):
        swapped(
            table, "schema/schema-0", body.replace(b'"id": 0,\n  "fields"', b'"id": 7,\n  "fields"')
        )


@pytest.mark.parametrize("name", ["options", "primaryKeys", "partitionKeys"])
def test_a_schema_that_lost_a_member(name: str) -> None:
    """Without its options a table would be read by another merge engine."""
    table = make(rows(10))
    body = table.access.storage.read("schema/schema-0").replace(name.encode(), b"lost")
    with pytest.raises(tc.errors.CorruptFileError, match=f"schema-0: {name}: missing"):
        swapped(table, "schema/schema-0", body)


def test_a_type_of_a_later_release_is_refused_with_its_place() -> None:
    table = make(rows(10))
    body = table.access.storage.read("schema/schema-0").replace(b'"BIGINT"', b'"GEOMETRY"')
    with pytest.raises(
        tc.errors.UnsupportedFeatureError, match=r"schema-0: fields\[0\]: .*GEOMETRY"
    ):
        swapped(table, "schema/schema-0", body)


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("where", [None, "n = 5", "n IN (3, 7)"])
def test_a_data_file_in_the_place_of_another(name: str, where: str | None) -> None:
    table = make(rows(10), rows(9000), **{"file.format": name})
    few, many = sorted(
        paths(table, "/data-"), key=lambda path: len(table.access.storage.read(path))
    )
    for one, other, counts in ((few, many, (9000, 10)), (many, few, (10, 9000))):
        damaged = swapped(table, one, table.access.storage.read(other))
        said = blamed(lambda t=damaged: t.read(where=where).to_arrow(), one)
        assert said.endswith("{} rows instead of {}".format(*counts))


def test_a_manifest_in_the_place_of_another() -> None:
    table = make(rows(10), rows(10, parts=3))
    storage = table.access.storage
    one, three = sorted(
        (path for path in paths(table, "manifest/manifest-") if "list" not in path),
        key=lambda path: len(storage.read(path)),
    )
    sizes = [str(len(storage.read(path))) for path in (three, one)]
    damaged = swapped(table, one, storage.read(three))
    reads = [
        lambda: damaged.read().to_arrow(),
        lambda: damaged.read(where="p = 'p0'").to_arrow(),
        lambda: damaged.changes(after=0).to_arrow(),
        damaged.health,
    ]
    for read in reads:
        assert blamed(read, one) == f"{one}: {' bytes instead of '.join(sizes)}"


def deleting() -> tc.Table:
    table = make(rows(10), **{"deletion-vectors.enabled": "true"})
    table.delete(where="n < 4")
    return table


def test_a_deletion_vector_in_the_place_of_another() -> None:
    table = deleting()
    storage, snapshot = table.access.storage, table.latest_snapshot()
    assert snapshot is not None
    manifest = f"manifest/{snapshot.index_manifest}"
    (entry,) = decode_index_manifest(storage.read(manifest), path=manifest)
    (path,) = paths(table, entry.file_name)
    (range_,) = entry.ranges or ()

    def told(**of_vector: Any) -> tc.Table:
        line = replace(entry, ranges=(replace(range_, **of_vector),))
        return swapped(table, manifest, encode_index_manifest([line]))

    said = blamed(lambda: told(cardinality=3).read().to_arrow(), path)
    assert "4 positions of data-" in said
    assert told(cardinality=None).read().to_arrow().num_rows == 6, "as old writers leave it"

    (found,) = decode_index_file(storage.read(path), [range_], path=path).values()
    beyond, (there,) = encode_index_file({range_.file_name: found + 100})
    damaged = told(offset=there.offset, length=there.length, cardinality=None)
    damaged.access.storage.write(path, beyond)
    with pytest.raises(tc.errors.CorruptFileError, match="vector marks row 103 of 10"):
        damaged.read().to_arrow()


@pytest.mark.parametrize("kind", ["index/", "manifest/index-manifest", "statistics/"])
def test_what_expired_under_the_reader_says_what_to_set(kind: str) -> None:
    table = deleting()
    table.analyze()
    for path in paths(table, kind):
        table.access.storage.delete([path])
    with pytest.raises(tc.errors.FilesExpiredError, match=r"is gone.*snapshot\.time-retained"):
        table.system("statistics") if kind == "statistics/" else table.read().to_arrow()
