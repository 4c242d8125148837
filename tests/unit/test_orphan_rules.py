"""What a file is, by its place and its name; and the set that knows names by their hashes."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.expire.orphans import FLOOR_MS, FileRole, NameSet, OrphanRules, cutoff_ms
from table_core.ondisk import layout
from table_core.schema.evolve import create

U = "0a1b2c3d-0123-4567-89ab-0123456789ab"
NAMED, DRAFT, DOCUMENT, FOREIGN = FileRole


def rules(*partition_by: str, **options: str) -> OrphanRules:
    fields = [
        Field(0, "k", parse_type("INT")),
        *(Field(i + 1, name, parse_type("STRING")) for i, name in enumerate(partition_by)),
    ]
    given = {"bucket": "1", "bucket-key": "k"}
    given |= {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return OrphanRules.of([create(fields, partition_by=partition_by, options=given, now_ms=0)])


@pytest.mark.parametrize(
    ("path", "role"),
    [
        (f"bucket-0/data-{U}-0.parquet", NAMED),
        (f"bucket-0/changelog-{U}-12.zstd.orc", NAMED),
        (f"bucket-0/data-{U}-0.parquet.index", NAMED),
        (f"bucket-0/data-{U}-0.parquet-2.index", NAMED),
        (f"bucket-postpone/data--u-job-1-s-3-w-{U}-0.avro", NAMED),
        (f"bucket-0/index-{U}-0", NAMED),
        (f"manifest/manifest-{U}-0", NAMED),
        (f"manifest/manifest-list-{U}-0", NAMED),
        (f"manifest/index-manifest-{U}-0", NAMED),
        (f"index/index-{U}-0", NAMED),
        (f"statistics/stat-{U}-0", NAMED),
        (f"snapshot/.snapshot-7.{U}.tmp", DRAFT),
        (f"branch/branch-b/changelog/.LATEST.{U}.tmp", DRAFT),
        (f"manifest/.manifest-{U}-0.{U}.tmp", DRAFT),
        (f".spark.{U}.tmp/part-00000-{U}-c000.zstd.parquet", DRAFT),
        (f".spark.{U}.tmp/_temporary/0/_temporary/attempt_1/.part-0.parquet.crc", DRAFT),
        (f".spark.{U}.tmp", FOREIGN),
        (f"bucket-0/.spark.{U}.tmp/part-0.parquet", FOREIGN),
        ("snapshot/snapshot-7", DOCUMENT),
        ("snapshot/EARLIEST", DOCUMENT),
        ("branch/branch-b/schema/schema-0", DOCUMENT),
        ("branch/branch-b/tag/tag-x y", DOCUMENT),
        ("consumer/consumer-c", DOCUMENT),
        (layout.note_path("rollback", "user:7"), DOCUMENT),
        (layout.note_path("stream", "s", "b"), DOCUMENT),
        ("stream/notes.txt", FOREIGN),
        ("tag/tag-success-file/t_SUCCESS", DOCUMENT),
        (f"bucket-0/DATA-{U}-0.parquet", FOREIGN),
        ("bucket-0/part-00000.parquet", FOREIGN),
        (f"bucket-0/data-{U}-0.parquet.bak2/x", FOREIGN),
        (f"bucket-x/data-{U}-0.parquet", FOREIGN),
        (f"dt=1/bucket-0/data-{U}-0.parquet", FOREIGN),
        (f"old/bucket-0/data-{U}-0.parquet", FOREIGN),
        (f"bucket-0/sub/data-{U}-0.parquet", FOREIGN),
        (f"data-{U}-0.parquet", FOREIGN),
        (f"branch/branch-b/manifest/manifest-{U}-0", FOREIGN),
        ("manifest/README", FOREIGN),
        ("snapshot/snapshot-7.backup", FOREIGN),
        ("_SUCCESS", FOREIGN),
        (".gitignore", FOREIGN),
    ],
)
def test_a_file_is_what_its_place_and_name_say(path: str, role: FileRole) -> None:
    assert rules().role(path) is role


@pytest.mark.parametrize(
    ("path", "role"),
    [
        (f"dt=1/h=%2F/bucket-0/data-{U}-0.parquet", NAMED),
        ("dt=1/_SUCCESS", DOCUMENT),
        ("dt=1/h=2/_SUCCESS", DOCUMENT),
        (f"dt=1/h=2/._SUCCESS.{U}.tmp", DRAFT),
        (f"dt=1/bucket-0/data-{U}-0.parquet", FOREIGN),
        (f"h=1/dt=2/bucket-0/data-{U}-0.parquet", FOREIGN),
        (f"dt=1/h=2/i=3/bucket-0/data-{U}-0.parquet", FOREIGN),
        (f"bucket-0/data-{U}-0.parquet", FOREIGN),
    ],
)
def test_partition_folders_are_those_of_the_table(path: str, role: FileRole) -> None:
    assert rules("dt", "h").role(path) is role


def test_options_name_prefixes_and_the_folder_above() -> None:
    given = rules("dt", data_file__prefix="rows_", data_file__path_directory="deep/data")
    assert given.role(f"deep/data/dt=1/bucket-0/rows_{U}-0.parquet") is NAMED
    assert given.role(f"dt=1/bucket-0/data-{U}-0.parquet") is NAMED  # from before the option
    assert given.role(f"deep/dt=1/bucket-0/rows_{U}-0.parquet") is FOREIGN


def test_the_floor_is_a_day_and_needs_a_flag_to_be_less() -> None:
    now = 10 * FLOOR_MS
    assert cutoff_ms(None, now_ms=now, allow_young=False) == 9 * FLOOR_MS
    assert cutoff_ms(9 * FLOOR_MS, now_ms=now, allow_young=False) == 9 * FLOOR_MS
    with pytest.raises(tc.errors.ArgumentError, match="allow_young") as caught:
        cutoff_ms(9 * FLOOR_MS + 1, now_ms=now, allow_young=False)
    assert caught.value.facts["newest_allowed"] == 9 * FLOOR_MS
    assert cutoff_ms(now, now_ms=now, allow_young=True) == now


@given(st.lists(st.lists(st.text(max_size=4), max_size=30), max_size=6), st.lists(st.text()))
def test_a_name_set_answers_as_a_set(batches: list[list[str]], asked: list[str]) -> None:
    names, model = NameSet(), set()
    for batch in batches:
        names.add(batch)
        model |= set(batch)
        assert names.absent(asked) == [name not in model for name in asked]
        assert not any(names.absent(sorted(model)))
    assert len(names) == len(model)


def test_a_name_set_holds_eight_bytes_a_name() -> None:
    names = NameSet()
    names.add(f"data-{uuid.UUID(int=i)}-0.parquet" for i in range(100_000))
    assert len(names) == 100_000
    assert names._sorted.nbytes == 800_000
