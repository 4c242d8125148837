"""Damaged metadata ends as CorruptFileError (or as a refusal by name), soon, whatever the damage."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.ondisk.avro import _header, _long, open_container, read_records
from table_core.ondisk.avro_codecs import pack
from table_core.ondisk.deletion_vector import (
    DeletionRange,
    decode_deletion_vector,
    decode_index_file,
    encode_index_file,
)
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.manifest import decode_manifest, encode_manifest
from table_core.ondisk.manifest_list import decode_manifest_list, encode_manifest_list
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.tag import Tag
from table_core.schema.document import schema_from_json

GOLDEN = Path(__file__).parent.parent / "golden" / "documents"


def bodies(pattern: str):
    return [path.read_bytes() for path in sorted(GOLDEN.glob(pattern))]


LISTS = bodies("*/manifest/manifest-list-*")
MANIFESTS = bodies("dv-pk/manifest/manifest-[0-9a-f]*") + bodies("pyp*/manifest/manifest-[0-9a-f]*")
INDEXES = bodies("*/manifest/index-manifest-*")
LOOSE = [encode_manifest(decode_manifest(b, path="m"), compression="none") for b in MANIFESTS]
LOOSE_LISTS = [
    encode_manifest_list(decode_manifest_list(b, path="l"), compression="none") for b in LISTS
]


@st.composite
def damaged(draw, whole):
    body = bytearray(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body) - 1))
        match draw(st.sampled_from(["flip", "cut", "insert", "drop"])):
            case "flip":
                body[at] = draw(st.integers(0, 255))
            case "cut":
                del body[max(at, 1) :]
            case "insert":
                body[at:at] = draw(st.binary(min_size=1, max_size=8))
            case "drop":
                del body[at : at + draw(st.integers(1, 8))]
        if not body:
            break
    return bytes(body)


def read_or_blame(decode, body: bytes) -> None:
    blamed = "there"
    try:
        decode(body, path="there")
    except CorruptFileError as error:
        blamed = error.facts["path"]
        assert error.facts["problems"], "says what is wrong"
    except UnsupportedFeatureError:
        pass
    assert blamed == "there"


@given(damaged(MANIFESTS + LOOSE))
def test_damaged_manifests(body: bytes) -> None:
    read_or_blame(decode_manifest, body)


@given(damaged(LISTS + LOOSE_LISTS))
def test_damaged_manifest_lists(body: bytes) -> None:
    read_or_blame(decode_manifest_list, body)


@given(damaged(INDEXES))
def test_damaged_index_manifests(body: bytes) -> None:
    read_or_blame(decode_index_manifest, body)


ODD = (None, -1, 1 << 70, "x", [], {}, [None], {"x": None}, 1.5, True)
JSON_DOCUMENTS = [
    *((Snapshot.from_json, body) for body in bodies("*/snapshot/snapshot-*")),
    *((Tag.from_json, body) for body in bodies("*/snapshot/snapshot-*")),
    *((schema_from_json, body) for body in bodies("*/schema/schema-*")),
]


def test_members_of_json_documents_of_any_kind() -> None:
    """Found by trying: a list for the kind of a commit."""
    assert JSON_DOCUMENTS
    for decode, body in JSON_DOCUMENTS:
        document = json.loads(body)
        times = {"tagCreateTime": None, "tagTimeRetained": None}
        for member in {**document, **times}:
            for value in ODD:
                read_or_blame(decode, json.dumps({**document, member: value}).encode())
        for field in document.get("fields", []):
            for member in field:
                for value in ODD:
                    changed = [
                        {**f, member: value} if f is field else f for f in document["fields"]
                    ]
                    read_or_blame(decode, json.dumps({**document, "fields": changed}).encode())


@given(st.binary(max_size=64))
def test_noise(body: bytes) -> None:
    for decode in (decode_manifest, decode_manifest_list, decode_index_manifest):
        read_or_blame(decode, body)


def container(
    schema, payload: bytes, count: int, codec: str = "null", packed: bytes | None = None
) -> bytes:
    header = _header({"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()})
    packed = packed or pack(payload, codec)
    block = _long(count) + _long(len(packed)) + packed
    return b"Obj\x01" + header + bytes(16) + block + bytes(16)


def record(*types, name: str = "r"):
    fields = [{"name": f"f{at}", "type": type_} for at, type_ in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


HUGE = 1 << 60
BOMBS = {
    "records of no bytes": container(record("null"), b"", HUGE),
    "more records than bytes": container(record("int"), b"\0\0", HUGE),
    "a list of nothing": container(record({"type": "array", "items": "null"}), _long(HUGE), 1),
    "a long list": container(record({"type": "array", "items": "int"}), _long(HUGE), 1),
    "a long string": container(record("string"), _long(HUGE), 1),
    "a negative string": container(record("string"), b"\x09abc", 1),
    "a record in itself": container(record(["null", "r"]), b"\x02" * 100_000, 1),
    "a deep schema": container(record(*[json.loads("[" * 50 + '"int"' + "]" * 50)]), b"\0", 1),
    "a zip bomb": container(record("bytes"), bytes((1 << 28) + 100), 1, "zstandard"),
    "a snappy bomb": container(
        record("bytes"), b"", 1, "snappy", packed=b"\xff\xff\xff\xff\x0f" + bytes(8)
    ),
    "a block beyond the end": b"Obj\x01"
    + _header({"avro.schema": json.dumps(record("int")).encode()})
    + bytes(16)
    + _long(1)
    + _long(HUGE),
    "no schema": b"Obj\x01" + _header({}) + bytes(16),
    "a schema that is no record": container("int", b"\0", 1),
    "bytes behind the records": container(record("int"), b"\0\0", 1),
}


@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS)
def test_files_that_would_cost_everything_cost_nothing(body: bytes) -> None:
    with pytest.raises(CorruptFileError):
        list(read_records(open_container(body, path="bomb"), path="bomb"))


@pytest.mark.parametrize("codec", ["null", "zstandard", "deflate", "snappy", "bzip2"])
@pytest.mark.parametrize("size", [0, 1, 1 << 18, (1 << 18) + 1, 1 << 22])
def test_a_block_may_be_larger_than_most(codec: str, size: int) -> None:
    text = bytes(size)
    body = container(record("bytes"), _long(size) + text, 1, codec)
    assert list(read_records(open_container(body, path="b"), path="b")) == [{"f0": text}]


def test_a_codec_that_nobody_knows_is_refused_by_name() -> None:
    body = container(record("int"), b"\0", 1).replace(b"\x08null", b"\x08lz99")
    with pytest.raises(UnsupportedFeatureError, match="lz99"):
        open_container(body, path="m")


VECTORS = [
    np.array([1, 3]),
    np.arange(0, 200_000, 3),
    np.arange(1000),
    np.array([5, 1 << 20, (1 << 33) + 1]),
]


@st.composite
def damaged_vectors(draw):
    wide = draw(st.booleans())
    rows = draw(st.sampled_from(VECTORS if wide else VECTORS[:3]))
    body, ranges = encode_index_file({"f": rows}, bitmap64=wide)
    changed = bytearray(body)
    for _ in range(draw(st.integers(1, 4))):
        changed[draw(st.integers(1, min(len(changed) - 1, 60)))] = draw(st.integers(0, 255))
    return bytes(changed[: draw(st.integers(2, len(changed)))]), ranges, rows, wide


@given(damaged_vectors())
def test_damaged_deletion_vectors(damage) -> None:
    body, ranges, rows, _ = damage
    try:
        found = decode_index_file(body, ranges, path="there")
    except CorruptFileError:
        return
    assert np.array_equal(found["f"], rows)  # only damage that changed nothing gets here


@given(damaged_vectors())
def test_damaged_bitmaps_with_a_right_checksum(damage) -> None:
    body, _, _, wide = damage
    inner = bytes(body[9:])
    magic = bytes.fromhex("d1d33964" if wide else "5e43f2d0")
    block = struct.pack(">i", 4 + len(inner)) + magic + inner
    block += struct.pack(">I", zlib.crc32(magic + inner))
    try:
        positions = decode_deletion_vector(block, path="there")
    except CorruptFileError:
        return
    assert bool(np.all(np.diff(positions) > 0))


def test_a_changed_position_and_bytes_behind_a_bitmap_are_noticed() -> None:
    body, (range_,) = encode_index_file({"f": VECTORS[0]})
    changed = bytearray(body)
    changed[-6] ^= 4  # position 3 becomes 7
    with pytest.raises(CorruptFileError, match="checksum"):
        decode_index_file(bytes(changed), [range_], path="there")
    inner = body[5:-4] + b"\0\0"
    block = struct.pack(">i", len(inner)) + inner + struct.pack(">I", zlib.crc32(inner))
    with pytest.raises(CorruptFileError, match="2 bytes behind"):
        decode_deletion_vector(block, path="there")


def test_a_whole_bitmap_of_another_kind_is_refused_by_name() -> None:
    body, (range_,) = encode_index_file({"f": VECTORS[0]})
    inner = bytes.fromhex("0badf00d") + body[9:-4]
    later = body[:5] + inner + struct.pack(">I", zlib.crc32(inner))
    with pytest.raises(UnsupportedFeatureError, match=r"^there: .*0badf00d"):
        decode_index_file(later, [range_], path="there")


def test_ranges_that_do_not_fit_are_blamed() -> None:
    body, (range_,) = encode_index_file({"f": VECTORS[0]})
    bad = [DeletionRange("f", 0, 24), DeletionRange("f", -5, 24), DeletionRange("f", 1, -9)]
    bad += [DeletionRange("f", 1, 23), DeletionRange("f", 1, 24, cardinality=3)]
    for wrong in bad:
        with pytest.raises(CorruptFileError):
            decode_index_file(body, [wrong], path="there")
    assert decode_index_file(body, [range_], path="there")["f"].tolist() == [1, 3]
    with pytest.raises(UnsupportedFeatureError):
        decode_index_file(b"\x02", [], path="there")
    with pytest.raises(CorruptFileError):
        decode_index_file(b"", [], path="there")
