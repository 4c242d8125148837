"""Hash indexes of dynamic buckets."""

from __future__ import annotations

import numpy as np

from table_core.bucketing.dynamic import HashIndex, decode_hashes, encode_hashes


def hashes(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def test_a_bucket_is_filled_before_the_next_begins() -> None:
    index = HashIndex.of({}, 2, -1)
    assert index.assign(hashes(9, 8, 7, 6, 5)).tolist() == [0, 0, 1, 1, 2]
    assert index.touched == {0, 1, 2}


def test_a_known_hash_stays_where_it_is() -> None:
    index = HashIndex.of({0: hashes(1, 2), 1: hashes(3)}, 2, -1)
    assert index.assign(hashes(3, 1, 4, 4, 2, 5)).tolist() == [1, 0, 1, 1, 0, 2]
    assert index.touched == {1, 2}
    assert sorted(index.hashes_of(1).tolist()) == [3, 4]


def test_at_the_cap_keys_are_spread_over_what_there_is() -> None:
    index = HashIndex.of({}, 1, 2)
    found = index.assign(hashes(*range(-50, 50)))
    assert set(found.tolist()) == {0, 1}
    assert (index.assign(hashes(*range(-50, 50))) == found).all()


def test_bytes_are_big_endian() -> None:
    body = bytes.fromhex("5759f99eee18d2a54fe4bbf0")
    assert encode_hashes(decode_hashes(body)) == body
    assert decode_hashes(body)[1] == np.int32(-0x11E72D5B)


def test_any_order_of_batches_gives_each_key_one_bucket() -> None:
    chance = np.random.default_rng(3)
    index, seen = HashIndex.of({}, 7, -1), {}
    for _ in range(50):
        batch = chance.integers(-100, 100, 20).astype(np.int32)
        for key, bucket in zip(batch.tolist(), index.assign(batch).tolist(), strict=True):
            assert seen.setdefault(key, bucket) == bucket
    counts = np.bincount(list(seen.values()))
    assert (counts[:-1] == 7).all()


def test_several_assigners_fill_buckets_of_their_own() -> None:
    index = HashIndex.of({}, 3, -1, 2)
    hashes = np.arange(-8, 8, dtype=np.int32)
    buckets = index.assign(hashes)
    assert set((np.abs(hashes) % 2 - buckets % 2).tolist()) == {0}
    assert np.bincount(buckets).max() == 3
    again = HashIndex.of({b: index.hashes_of(b) for b in set(buckets.tolist())}, 3, -1, 2)
    assert again.assign(hashes).tolist() == buckets.tolist()
    assert not again.touched
