"""Packing of append tables."""

from __future__ import annotations

from table_core.lsm.append import PackingRules, pick_bucket, pick_unaware
from table_core.ondisk.data_file import DataFile
from table_core.options.table import TableOptions

RULES = PackingRules(target_file_size=100, open_file_cost=0, min_files=3)


def file(name: str, size: int, seq: int = 0, rows: int = 10) -> DataFile:
    return DataFile(
        file_name=name, file_size=size, row_count=rows, schema_id=0,
        min_sequence_number=seq, max_sequence_number=seq,
    )  # fmt: skip


def names(packs: list[tuple[DataFile, ...]]) -> list[str]:
    return ["".join(f.file_name for f in pack) for pack in packs]


def test_large_files_and_too_few_small_ones_are_left_alone() -> None:
    files = [file("a", 70), file("b", 71), file("c", 1), file("d", 2)]
    assert pick_unaware(files, RULES) == []


def test_enough_small_files_are_packed_smallest_first() -> None:
    assert names(pick_unaware([file("a", 3), file("b", 1), file("c", 2)], RULES)) == ["bca"]


def test_a_pack_closes_at_twice_the_target() -> None:
    files = [file(name, 60) for name in "abcdefg"]
    assert names(pick_unaware(files, RULES)) == ["abcd", "efg"]


def test_opening_a_file_counts() -> None:
    for cost in (99, 999):
        rules = PackingRules(target_file_size=100, open_file_cost=cost, min_files=3)
        assert names(pick_unaware([file(n, 1) for n in "abcd"], rules)) == ["ab", "cd"]


def test_files_with_many_deleted_rows_are_packed_with_those_that_share_their_index_file() -> None:
    files = [file("a", 500), file("b", 600), file("c", 1), file("d", 700)]
    index = {"a": "i1", "b": "i1"}
    deleted = {"a": 3, "b": 3, "d": 2}
    found = pick_unaware(
        files,
        RULES,
        deleted_rows=lambda f: deleted.get(f.file_name, 0),
        index_file_of=lambda f: index.get(f.file_name),
    )
    assert names(found) == ["ab"]


def test_a_bucket_is_packed_from_its_oldest_files() -> None:
    files = [file(str(n), 10, seq=n) for n in (4, 2, 3, 1)]
    assert names([pick_bucket(files, RULES)]) == ["123"]


def test_a_bucket_window_moves_past_large_files() -> None:
    files = [file("1", 95, 1), file("2", 5, 2), file("3", 1, 3), file("4", 1, 4)]
    assert names([pick_bucket(files, RULES)]) == ["234"]
    assert pick_bucket(files[:3], RULES) == ()


def test_a_full_compaction_of_a_bucket_keeps_the_large_head() -> None:
    files = [file("1", 100, 1), file("2", 5, 2), file("3", 100, 3), file("4", 5, 4)]
    assert names([pick_bucket(files, RULES, everything=True)]) == ["234"]
    assert pick_bucket(files[:3], RULES, everything=True) == ()
    marked = pick_bucket(files[:1], RULES, everything=True, has_deletion_vector=lambda _: True)
    assert names([marked]) == ["1"]


def test_rules_come_from_the_options() -> None:
    options = TableOptions.parse({"target-file-size": "1 mb", "compaction.min.file-num": "9"})
    rules = PackingRules.of(options)
    assert (rules.target_file_size, rules.min_files, rules.small_file_size) == (1 << 20, 9, 734003)
    assert PackingRules.of(TableOptions.parse({})).target_file_size == 256 << 20
