"""Entries that are left out unseen: the others are those that decoding all of them gives."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.text import parse_type
from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.ondisk.avro import open_container
from table_core.ondisk.binary_row import encode_row
from table_core.ondisk.data_file import DataFile, EntryKind, FileSource, ManifestEntry, SimpleStats
from table_core.ondisk.manifest import decode_manifest, encode_manifest
from table_core.ondisk.manifest_heads import find_heads

TYPES = [parse_type("STRING"), parse_type("INT")]


def entry(chance: random.Random, prefix: str) -> ManifestEntry:
    row = encode_row(
        TYPES, [chance.choice(["", "d01", "a long name, data-1"]), chance.randrange(9)]
    )
    name = f"{prefix}{chance.getrandbits(64)}-{chance.randrange(300)}.orc"
    counts = tuple(chance.choice([None, 0, 70, 10**9]) for _ in range(chance.randrange(4)))
    return ManifestEntry(
        chance.choice(list(EntryKind)),
        row,
        chance.choice([-2, 0, 63, 64, 9000]),
        chance.choice([-1, 1, 10**6]),
        DataFile(
            file_name=name + "x" * chance.choice([0, 0, 80]),
            file_size=chance.getrandbits(40),
            row_count=chance.getrandbits(20),
            min_key=row,
            value_stats=SimpleStats(row, row, counts),
            min_sequence_number=-(2**63),
            max_sequence_number=2**63 - 1,
            schema_id=0,
            level=chance.randrange(6),
            extra_files=chance.choice([(), (), (f"{name}.index",)]),
            delete_row_count=chance.choice([None, 3]),
            embedded_index=chance.choice([None, name.encode()]),
            file_source=chance.choice([None, FileSource.APPEND]),
            value_stats_cols=chance.choice([None, (), ("a", "data-b")]),
            extra=chance.choice([{}, {}, {"_NEW": {"_A": 1, "_B": ["x", None]}}]),
        ),
    )


def manifest(seed: int, count: int = 80, prefix: str | None = None) -> list[ManifestEntry]:
    chance = random.Random(seed)
    prefix = prefix or chance.choice(["data-", "data-", "d", "changelog-9-", "\u00e4-"])
    return [entry(chance, prefix) for _ in range(count)]


def picks(seed: int):
    chance = random.Random(seed)
    return lambda heads: [chance.random() < 0.2 for _ in heads]


@given(st.integers(0, 2**32))
def test_those_that_are_wanted_are_those_of_a_whole_decoding(seed: int) -> None:
    entries = manifest(seed)
    body = encode_manifest(entries)
    asked = []

    def keep(heads):
        asked.extend(heads)
        return picks(seed)(heads)

    found = decode_manifest(body, path="m", keep=keep)
    wanted = picks(seed)(entries)
    assert found == [e for e, kept in zip(entries, wanted, strict=True) if kept]
    assert asked == [(e.partition, e.bucket, e.total_buckets) for e in entries]
    assert [e.file.extra for e in found] == [
        e.file.extra for e, kept in zip(entries, wanted, strict=True) if kept
    ]


@pytest.mark.parametrize("seed", range(20))
def test_usual_manifests_are_walked_over(seed: int) -> None:
    entries = manifest(seed, 200, prefix="data-")
    entries = [replace(e, file=replace(e.file, extra_files=())) for e in entries]
    entries = [replace(e, file=replace(e.file, embedded_index=None)) for e in entries]
    container = open_container(encode_manifest(entries), path="m")
    heads = find_heads(container)
    assert heads is not None
    assert list(heads) == [(e.partition, e.bucket, e.total_buckets) for e in entries]
    assert heads.kind.tolist() == [int(e.kind) for e in entries]
    assert heads.starts[-1] == len(container.payload)


@given(st.data())
def test_damage_gives_an_error_or_the_entries_of_a_whole_decoding(data: st.DataObject) -> None:
    body = bytearray(encode_manifest(manifest(data.draw(st.integers(0, 9))), compression="none"))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(len(body) // 4, len(body) - 1) | st.just(len(body) - 40))
        body[at] = data.draw(st.integers(0, 255))
    try:
        whole = decode_manifest(bytes(body), path="m")
    except (CorruptFileError, UnsupportedFeatureError):
        whole = None
    try:
        some = decode_manifest(bytes(body), path="m", keep=picks(1))
    except (CorruptFileError, UnsupportedFeatureError):
        return
    if whole is not None:
        wanted = picks(1)(whole)
        assert some == [e for e, kept in zip(whole, wanted, strict=True) if kept]
