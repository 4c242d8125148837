"""Upgrade or rewrite: format 7.3, T46."""

from __future__ import annotations

from dataclasses import replace

from table_core.lsm.levels import Levels
from table_core.lsm.rewrite import Rewrite, Rules, Step, Upgrade, lookup_must_rewrite, plan
from table_core.lsm.universal import Pick
from table_core.ondisk.data_file import DataFile
from tests.unit.lsm.keyed import bounds, keyed

RULES = Rules(small_file_size=100)


def steps(level: int, files: list[DataFile], rules: Rules = RULES, rest: tuple[DataFile, ...] = ()) -> list[Step]:  # fmt: skip
    levels = Levels.of([*files, *rest], bounds, 6)
    return plan(Pick(level, tuple(files), "test"), levels, bounds, rules)


def shape(found: list[Step]) -> list[object]:
    return [
        (step.file.file_name, step.level)
        if isinstance(step, Upgrade)
        else [[[f.file_name for f in run.files] for run in runs] for runs in step.sections]
        for step in found
    ]


def test_a_large_file_alone_is_upgraded() -> None:
    assert shape(steps(5, [keyed("a", 0, 9, size=100)])) == [("a", 5)]


def test_a_single_small_file_alone_is_upgraded_too() -> None:
    assert shape(steps(5, [keyed("a", 0, 9, size=1)])) == [("a", 5)]


def test_overlapping_files_are_merged() -> None:
    found = steps(5, [keyed("a", 0, 9, size=500), keyed("b", 9, 20, size=500)])
    assert shape(found) == [[[["a"], ["b"]]]]


def test_small_neighbours_are_joined_up_to_the_next_large_file() -> None:
    files = [
        keyed("a", 0, 1), keyed("b", 2, 3), keyed("BIG", 4, 5, size=100), keyed("c", 6, 7),
        keyed("d", 8, 9, size=100), keyed("e", 10, 11), keyed("f", 11, 12), keyed("g", 13, 14),
    ]  # fmt: skip
    assert shape(steps(4, files, rest=(keyed("top", 0, 99, level=5),))) == [
        [[["a"]], [["b"]]],
        ("BIG", 4),
        ("c", 4),
        ("d", 4),
        [[["e"], ["f"]], [["g"]]],
    ]


def test_deletes_do_not_reach_the_top_by_an_upgrade() -> None:
    for deletes in (1, None):
        file = keyed("a", 0, 9, size=100, deletes=deletes)
        assert shape(steps(5, [file])) == [[[["a"]]]]
        assert shape(steps(4, [file], rest=(keyed("top", 0, 9, level=5),))) == [("a", 4)]


def test_a_file_at_the_output_level_stays() -> None:
    files = [keyed("top", 0, 9, level=5, size=100), keyed("new", 10, 20, size=100)]
    assert shape(steps(5, files)) == [("new", 5)]


def test_a_file_at_the_output_level_is_rewritten_for_its_deletion_vector_or_by_force() -> None:
    top = keyed("top", 0, 9, level=5, size=100)
    assert shape(steps(5, [top])) == []
    assert shape(steps(5, [top], replace(RULES, has_deletion_vector=lambda _: True))) == [
        [[["top"]]]
    ]
    assert shape(steps(5, [top], replace(RULES, must_rewrite=lambda _: True))) == [[[["top"]]]]


def test_forced_files_are_rewritten_instead_of_upgraded() -> None:
    rules = replace(RULES, must_rewrite=lambda f: f.file_name == "a")
    files = [keyed("a", 0, 9, size=100), keyed("b", 10, 20, size=100)]
    assert shape(steps(5, files, rules)) == [[[["a"]]], ("b", 5)]


def test_files_that_cannot_move_as_they_are_are_rewritten() -> None:
    rules = replace(RULES, must_rewrite_to=lambda _, level: level == 4)
    top = keyed("top", 0, 9, level=5)
    assert shape(steps(4, [keyed("a", 0, 9)], rules, rest=(top,))) == [[[["a"]]]]


def drops(level: int, rest: tuple[DataFile, ...], *, vectors: bool = False) -> bool:
    rules = replace(RULES, deletion_vectors=vectors)
    (step,) = steps(level, [keyed("a", 0, 9), keyed("b", 0, 9)], rules, rest)
    assert isinstance(step, Rewrite)
    return step.drop_deletes


def test_deletes_are_dropped_only_where_nothing_older_lies_above() -> None:
    assert drops(5, ())
    assert drops(5, (keyed("top", 0, 9, level=5),))
    assert not drops(4, (keyed("top", 0, 9, level=5),))
    assert drops(4, (keyed("mid", 0, 9, level=4),))
    assert drops(4, (keyed("top", 0, 9, level=5),), vectors=True)


def test_lookup_tables_rewrite_what_the_engine_would_change() -> None:
    fresh, deletes = keyed("a", 0, 1), keyed("a", 0, 1, deletes=1)

    def asked(file: DataFile, level: int, *, vectors: bool = False, newest: bool = False) -> bool:
        return lookup_must_rewrite(file, level, 5, deletion_vectors=vectors, newest_row_wins=newest)

    assert asked(fresh, 4)
    assert not asked(fresh, 5)
    assert not asked(fresh, 4, newest=True)
    assert not asked(keyed("a", 0, 1, level=3), 4)
    assert asked(deletes, 5, vectors=True)
    assert not asked(fresh, 5, vectors=True)
