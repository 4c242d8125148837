"""Hints, consumers, tags and the combination of index manifests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from table_core.errors import CommitConflictError, CorruptFileError
from table_core.ondisk.consumer import Consumer
from table_core.ondisk.data_file import EMPTY_ROW, EntryKind
from table_core.ondisk.deletion_vector import DeletionRange
from table_core.ondisk.hints import decode_hint, encode_hint
from table_core.ondisk.index_manifest import (
    DELETION_VECTORS,
    HASH,
    GlobalIndex,
    IndexEntry,
    combine,
    decode_index_manifest,
    encode_index_manifest,
)
from table_core.ondisk.tag import Tag
from tests.unit.snapshot_documents import JAVA

CREATED = [2026, 11, 21, 6, 13, 12, 247023578]


@pytest.mark.parametrize(
    ("body", "id_"),
    [
        (b"7", 7),
        (b"7\n", None),
        (b"", None),
        (b"0", None),
        (b"-3", None),
        (b"x", None),
        (b"9" * 9999, None),
        (b"\xb2", None),
    ],
)
def test_a_hint_is_digits_or_nothing(body: bytes, id_: int | None) -> None:
    assert decode_hint(body) == id_


def test_a_hint_has_no_newline() -> None:
    assert encode_hint(12) == b"12"


def test_consumers_come_back_with_what_we_do_not_know() -> None:
    consumer = Consumer.from_json(b'{"nextSnapshot": 5, "more": true}', path="consumer-c")
    assert consumer == Consumer(5, {"more": True})
    assert json.loads(consumer.to_json()) == {"nextSnapshot": 5, "more": True}


@pytest.mark.parametrize("body", [b"", b"{}", b'{"nextSnapshot": "5"}', b'{"nextSnapshot": true}'])
def test_damaged_consumers_are_blamed(body: bytes) -> None:
    with pytest.raises(CorruptFileError, match="consumer-c"):
        Consumer.from_json(body, path="consumer-c")


def tag_body(**members: object) -> bytes:
    return json.dumps(JAVA | members).encode()


def test_a_tag_without_retention_is_exactly_its_snapshot() -> None:
    tag = Tag.from_json(tag_body(), path="tag-x")
    assert (tag.created_ns, tag.retained_ns) == (None, None)
    assert json.loads(tag.to_json()) == JAVA


def test_times_of_a_tag_are_javas() -> None:
    body = tag_body(tagCreateTime=CREATED, tagTimeRetained=129600.0, other=1)
    tag = Tag.from_json(body, path="tag-x")
    assert tag.retained_ns == 36 * 3600 * 10**9
    assert tag.created_ns == 1_795_241_592_247_023_578
    assert tag.snapshot.extra == {"other": 1}
    assert json.loads(tag.to_json()) == json.loads(body)


@pytest.mark.parametrize("parts", [3, 5, 6])
def test_zeros_at_the_end_of_a_time_may_be_missing(parts: int) -> None:
    tag = Tag.from_json(tag_body(tagCreateTime=CREATED[:parts]), path="tag-x")
    assert json.loads(tag.to_json())["tagCreateTime"] == [
        *CREATED[:parts],
        *[0] * (7 - parts),
    ]


@pytest.mark.parametrize("created", [5, [2026], [2026, 13, 1], [*CREATED[:6], -1], ["a", 1, 1]])
def test_damaged_times_of_tags_are_all_blamed(created: object) -> None:
    body = tag_body(tagCreateTime=created, tagTimeRetained="36 h")
    with pytest.raises(CorruptFileError) as caught:
        Tag.from_json(body, path="tag-x")
    assert len(caught.value.facts["problems"]) == 2


def index_of(name: str, type_: str = DELETION_VECTORS, bucket: int = 0, files=()) -> IndexEntry:
    ranges = tuple(DeletionRange(f, 1, 24, 2) for f in files)
    return IndexEntry(
        partition=EMPTY_ROW,
        bucket=bucket,
        index_type=type_,
        file_name=name,
        file_size=33,
        row_count=len(ranges),
        ranges=ranges,
    )


def test_index_manifests_come_back_whole() -> None:
    entries = [
        replace(index_of("a", files=["f1", "f2"]), external_path="s3://x/a"),
        replace(index_of("b", HASH), ranges=None),
        replace(index_of("c", "btree"), global_index=GlobalIndex(0, 9, 3, (1, 2), b"m", None)),
        replace(index_of("d"), ranges=(DeletionRange("f", 1, 24, None),), extra={"_NEW": 3}),
    ]
    again = decode_index_manifest(encode_index_manifest(entries), path="i")
    assert again == entries
    assert again[3].extra == {"_NEW": 3}


def deleted(entry: IndexEntry) -> IndexEntry:
    return replace(entry, kind=EntryKind.DELETE)


@pytest.mark.parametrize("type_", [HASH, DELETION_VECTORS])
def test_a_bucket_has_one_file_and_a_new_one_replaces_it(type_: str) -> None:
    old, new, other = index_of("a", type_), index_of("b", type_), index_of("c", type_, bucket=1)
    assert combine([old, other], [new], bucketed=True) == [new, other]
    assert combine([old, other], [new, deleted(old)], bucketed=True) == [other, new]
    assert combine([old], [deleted(old)], bucketed=True) == []


def test_without_buckets_files_go_by_their_names() -> None:
    one, two, three = (index_of(n, files=[f"f-{n}"]) for n in "abc")
    assert combine([one, two], [deleted(one), three], bucketed=False) == [two, three]


def test_changes_that_do_not_fit_any_more_are_conflicts() -> None:
    one, again = index_of("a", files=["f"]), index_of("b", files=["f"])
    with pytest.raises(CommitConflictError, match="two deletion vectors"):
        combine([one], [again], bucketed=False)
    with pytest.raises(CommitConflictError, match="not there"):
        combine([one], [deleted(again)], bucketed=False)
    with pytest.raises(CommitConflictError, match="not there"):
        combine([one], [deleted(again)], bucketed=True)
