"""Manifests and lists: Java can read what we write, and nothing stored makes us crash."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest

from table_core.datatypes.text import parse_type
from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.ondisk.avro import open_container, write_container
from table_core.ondisk.avro_schemas import INDEX_MANIFEST, MANIFEST, MANIFEST_LIST
from table_core.ondisk.binary_row import decode_row, encode_row
from table_core.ondisk.data_file import (
    DataFile,
    EntryKind,
    FileSource,
    ManifestEntry,
    SimpleStats,
)
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.manifest import decode_manifest, encode_manifest, fold_entries
from table_core.ondisk.manifest_list import (
    decode_manifest_list,
    encode_manifest_list,
    summarize,
)

INT, STRING = parse_type("INT"), parse_type("STRING")
GOLDEN = Path(__file__).parent.parent / "golden" / "documents"


def file_of(name: str = "data-1.parquet", **members: object) -> DataFile:
    needed = {"file_size": 10, "row_count": 5, "min_sequence_number": 0}
    needed |= {"max_sequence_number": 4, "schema_id": 0}
    return DataFile(file_name=name, **(needed | members))


def entry_of(name: str = "data-1.parquet", kind=EntryKind.ADD, **members) -> ManifestEntry:
    return ManifestEntry(kind, encode_row([], []), 0, 1, file_of(name, **members))


FULL = entry_of(
    key_stats=SimpleStats(encode_row([INT], [1]), encode_row([INT], [9]), (0,)),
    value_stats=SimpleStats(encode_row([INT], [None]), encode_row([INT], [None]), (None,)),
    level=5,
    extra_files=("data-1.parquet.index",),
    creation_time_ms=1_700_000_000_000,
    delete_row_count=2,
    embedded_index=b"\0\1",
    file_source=FileSource.COMPACT,
    value_stats_cols=("a",),
    external_path="s3://other/data-1.parquet",
    first_row_id=100,
    write_cols=("a", "b"),
    write_cols_sequences=(1, 2),
)


@pytest.mark.parametrize("compression", ["zstd", "none", "snappy", "deflate", "bzip2"])
def test_every_member_comes_back(compression: str) -> None:
    entries = [FULL, entry_of("data-2.orc"), FULL.deleted()]
    body = encode_manifest(entries, compression=compression)
    assert decode_manifest(body, path="m") == entries
    assert encode_manifest(entries, compression=compression) == body


def test_other_avro_readers_read_our_files() -> None:
    body = encode_manifest([entry_of(), entry_of("data-2.orc")], compression="snappy")
    records = list(fastavro.reader(io.BytesIO(body)))
    assert [record["_FILE"]["_FILE_NAME"] for record in records] == ["data-1.parquet", "data-2.orc"]


def test_unknown_compression_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="lz77"):
        encode_manifest([], compression="lz77")


def nullables(schema):
    if isinstance(schema, list):
        yield schema
    for part in schema if isinstance(schema, list) else [schema]:
        if isinstance(part, dict):
            for child in [*part.get("fields", ()), part.get("items"), part.get("type")]:
                if isinstance(child, dict | list):
                    yield from nullables(child)


@pytest.mark.parametrize("schema", [MANIFEST, MANIFEST_LIST, INDEX_MANIFEST])
def test_java_wants_null_first_in_every_union(schema) -> None:
    unions = list(nullables(schema))
    assert len(unions) > 5
    assert all(union[0] == "null" and len(union) == 2 for union in unions)


def test_java_wants_exactly_six_members_even_with_unknown_ones_kept() -> None:
    file = replace(FULL.file, extra={"_NEW": {"_A": 1, "_B": ["x", None]}, "_OLD": None, "_N": []})
    body = encode_manifest([entry_of(), replace(FULL, file=file)])
    schema = open_container(body, path="m").schema
    names = ["_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"]
    assert [f["name"] for f in schema["fields"]] == names
    plain, kept = (entry.file.extra for entry in decode_manifest(body, path="m"))
    assert plain == {}
    assert kept == {"_NEW": {"_A": 1, "_B": ["x", None]}, "_N": []}


def test_unknown_members_of_lists_are_kept() -> None:
    meta = replace(summarize([FULL], "m-1", 7, []), extra={"_TOTAL_BUCKETS": 4})
    (again,) = decode_manifest_list(encode_manifest_list([meta]), path="l")
    assert again == meta
    assert again.extra == {"_TOTAL_BUCKETS": 4}


def with_file_members(change) -> dict:
    file = MANIFEST["fields"][-1]["type"]
    fields = [f for f in (change(f) for f in file["fields"]) if f is not None]
    return MANIFEST | {
        "fields": [*MANIFEST["fields"][:-1], {"name": "_FILE", "type": file | {"fields": fields}}]
    }


def encode_with(schema, entry: ManifestEntry) -> bytes:
    record = next(fastavro.reader(io.BytesIO(encode_manifest([entry], compression="none"))))
    record["_FILE"]["_CREATION_TIME"] = None
    return write_container(schema, [record])


def test_members_that_old_manifests_lack_are_none() -> None:
    schema = with_file_members(lambda f: None if isinstance(f["type"], list) else f)
    (entry,) = decode_manifest(encode_with(schema, FULL), path="m")
    assert entry.file.delete_row_count is None
    assert entry.file.file_source is None
    assert entry.file.level == 5


def test_unions_the_other_way_round_are_still_read() -> None:
    schema = with_file_members(
        lambda f: {"name": f["name"], "type": f["type"][::-1]} if isinstance(f["type"], list) else f
    )
    (entry,) = decode_manifest(encode_with(schema, FULL), path="m")
    assert entry == replace(
        FULL, file=replace(FULL.file, creation_time_ms=None, write_cols_sequences=None)
    )


def test_members_that_are_missing_or_of_another_type_are_all_named() -> None:
    def change(field):
        if field["name"] == "_FILE_SIZE":
            return None
        return {"name": "_LEVEL", "type": "string"} if field["name"] == "_LEVEL" else field

    entry = entry_of()
    record = next(fastavro.reader(io.BytesIO(encode_manifest([entry], compression="none"))))
    record["_FILE"]["_LEVEL"] = "five"
    body = write_container(with_file_members(change), [record])
    with pytest.raises(CorruptFileError) as caught:
        decode_manifest(body, path="manifest/m-1")
    assert caught.value.facts["path"] == "manifest/m-1"
    assert caught.value.facts["problems"] == [
        "_FILE._FILE_SIZE: missing",
        "_FILE._LEVEL: expected int, got string",
    ]


@pytest.mark.parametrize(
    ("member", "value", "error"),
    [
        ("_VERSION", 1, UnsupportedFeatureError),
        ("_VERSION", 3, UnsupportedFeatureError),
        ("_KIND", 2, CorruptFileError),
    ],
)
def test_versions_and_kinds_that_nobody_knows_are_refused(member, value, error) -> None:
    record = next(fastavro.reader(io.BytesIO(encode_manifest([FULL], compression="none"))))
    body = write_container(MANIFEST, [record | {member: value}])
    with pytest.raises(error, match="m-1"):
        decode_manifest(body, path="m-1")


def test_entries_can_be_left_out_before_they_are_made() -> None:
    entries = [entry_of(), replace(entry_of("data-2.orc"), bucket=3)]
    body = encode_manifest(entries)
    kept = decode_manifest(
        body, path="m", keep=lambda heads: [bucket == 3 for _, bucket, _ in heads]
    )
    assert kept == entries[1:]


def test_an_empty_list_is_a_valid_file() -> None:
    assert decode_manifest_list(encode_manifest_list([]), path="l") == []


def test_entries_fold_to_what_is_there() -> None:
    one, two, upgraded = entry_of("1"), entry_of("2"), entry_of("1", level=5)
    folded = fold_entries([one, two, one.deleted(), upgraded, entry_of("3").deleted()])
    assert list(folded.live.values()) == [two, upgraded]
    assert list(folded.deletes.values()) == [entry_of("3").deleted()]
    with pytest.raises(CorruptFileError, match="twice"):
        fold_entries([one, two, one])


def test_a_summary_covers_deletions_and_knows_what_it_does_not_know() -> None:
    types = [STRING, INT]

    def at(text, number, bucket, kind=EntryKind.ADD, **members):
        return ManifestEntry(
            kind, encode_row(types, [text, number]), bucket, 4, file_of(f"{bucket}", **members)
        )

    entries = [
        at("b", None, 3, first_row_id=10),
        at("b", None, 1, EntryKind.DELETE, level=2, schema_id=7),
        at("a", 4, 2, first_row_id=0),
    ]
    meta = summarize(entries, "manifest-1", 99, types)
    assert (meta.num_added_files, meta.num_deleted_files, meta.schema_id) == (2, 1, 7)
    assert (meta.min_bucket, meta.max_bucket, meta.min_level, meta.max_level) == (1, 3, 0, 2)
    assert (meta.min_row_id, meta.max_row_id) == (None, None)
    assert decode_row(types, meta.partition_stats.min_values) == ("a", 4)
    assert decode_row(types, meta.partition_stats.max_values) == ("b", 4)
    assert meta.partition_stats.null_counts == (0, 2)
    rows = summarize([entries[0], entries[2]], "m", 1, types)
    assert (rows.min_row_id, rows.max_row_id) == (0, 14)
    assert summarize([], "m", 1, [], schema_id=3).schema_id == 3


@pytest.mark.parametrize(
    ("decode", "known", "member"),
    [
        (decode_manifest, MANIFEST, "_BUCKET"),
        (decode_manifest_list, MANIFEST_LIST, "_FILE_SIZE"),
        (decode_index_manifest, INDEX_MANIFEST, "_FILE_SIZE"),
    ],
)
def test_each_document_of_a_schema_that_lacks_a_member_is_refused_by_its_own_name(
    decode, known, member
) -> None:
    """What is wrong with a schema is found once for all files that have it."""
    fields = [f for f in known["fields"] if f["name"] != member]
    cut, whole = write_container({**known, "fields": fields}, []), write_container(known, [])
    for path in ("a", "b"):
        assert list(decode(whole, path=path)) == []
        with pytest.raises(CorruptFileError) as caught:
            decode(cut, path=path)
        assert str(caught.value) == f"{path}: {member}: missing"
        assert caught.value.facts["problems"] == [f"{member}: missing"]


@pytest.mark.parametrize("decode", [decode_manifest, decode_manifest_list, decode_index_manifest])
def test_a_document_of_one_kind_is_refused_in_the_place_of_another(decode) -> None:
    kinds = {
        decode_manifest: MANIFEST,
        decode_manifest_list: MANIFEST_LIST,
        decode_index_manifest: INDEX_MANIFEST,
    }
    bodies = {of: write_container(schema, []) for of, schema in kinds.items()}
    for other in bodies.keys() - {decode}:
        other(bodies[other], path="its own")
        with pytest.raises(CorruptFileError, match=r"^m: .*missing"):
            decode(bodies[other], path="m")
    assert list(decode(bodies[decode], path="m")) == []
