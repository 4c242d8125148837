"""The cases of the specification, 7.1, 7.2 and 7.4, by hand."""

from __future__ import annotations

import pytest

from table_core.errors import CorruptFileError, OptionError
from table_core.lsm import triggers, universal
from table_core.lsm.levels import Levels
from table_core.lsm.triggers import EarlyFull
from table_core.lsm.universal import Settings
from table_core.ondisk.data_file import DataFile
from table_core.options.table import TableOptions
from tests.unit.lsm.keyed import bounds, keyed
from tests.unit.lsm.recorded_picks import RECORDED, Recorded, ours


def levels(*sizes: tuple[int, int], count: int = 6) -> Levels:
    """(level, size) of each run in compaction order."""
    files = [
        keyed(f"f{i}", 0, 9, level=level, size=size, seq=100 - i)
        for i, (level, size) in enumerate(sizes)
    ]
    return Levels.of(files, bounds, count)


def picked(pick: universal.Pick | None) -> tuple[int, list[str]] | None:
    return None if pick is None else (pick.output_level, [f.file_name for f in pick.files])


def test_level_0_goes_newest_first_then_by_smaller_first_sequence_time_and_name() -> None:
    def file(name: str, low: int, high: int, created: int = 0) -> DataFile:
        return DataFile(
            file_name=name, file_size=1, row_count=1, schema_id=0, creation_time_ms=created,
            min_sequence_number=low, max_sequence_number=high,
        )  # fmt: skip

    files = [file("e", 1, 5), file("c", 2, 9, 7), file("d", 2, 9, 8), file("b", 2, 9, 7), file("a", 1, 9, 9)]  # fmt: skip
    found = Levels.of([*files, keyed("z", 0, 1, level=3)], bounds, 6)
    assert [f.file_name for f in found.files] == ["a", "b", "c", "d", "e", "z"]
    assert (found.highest_non_empty, found.max_level) == (3, 5)


def test_files_that_another_writer_put_higher_add_levels() -> None:
    assert levels((9, 1), count=6).max_level == 9


def test_overlap_inside_a_level_is_corrupt_and_names_the_files() -> None:
    files = [keyed("a", 0, 5, level=2), keyed("b", 5, 6, level=2)]
    with pytest.raises(CorruptFileError, match="level 2: a and b"):
        Levels.of(files, bounds, 6)


def test_below_the_trigger_nothing_is_picked() -> None:
    assert universal.pick(levels((0, 9), (0, 9), (0, 9), (5, 1)), Settings()) is None
    assert universal.pick(Levels.of([], bounds, 6), Settings(force_level_zero=True)) is None


def test_size_amplification_compacts_everything_to_the_top() -> None:
    runs = levels((0, 51), (0, 50), (0, 50), (0, 50), (5, 100))
    assert picked(universal.pick(runs, Settings())) == (5, ["f0", "f1", "f2", "f3", "f4"])
    runs = levels((0, 50), (0, 50), (0, 50), (0, 50), (5, 100))  # 200 % is not more than 200 %
    found = universal.pick(runs, Settings())
    assert found is not None
    assert found.reason == "size ratio"


def test_size_ratio_stops_at_a_run_that_is_larger() -> None:
    runs = levels((0, 1), (0, 1), (0, 2), (4, 1000), (5, 100_000))
    assert picked(universal.pick(runs, Settings())) == (3, ["f0", "f1", "f2"])


def test_size_ratio_picks_nothing_if_the_second_run_is_larger_already() -> None:
    runs = levels((0, 1), (0, 2), (0, 2), (4, 1000), (5, 100_000))
    assert universal.pick(runs, Settings()) is None


def test_one_percent_is_tolerated() -> None:
    tail = ((0, 5000), (4, 1_000_000), (5, 100_000_000))
    assert picked(universal.pick(levels((0, 100), (0, 101), *tail), Settings())) == (
        4,
        ["f0", "f1", "f2", "f3"],
    )
    assert universal.pick(levels((0, 100), (0, 102), *tail), Settings()) is None
    off_peak = Settings(size_ratio=11)
    assert universal.pick(levels((0, 100), (0, 110), *tail), off_peak) is not None


def test_number_of_runs_takes_the_surplus_and_never_writes_level_0() -> None:
    runs = levels((0, 1), (0, 9), (0, 99), (0, 999), (3, 9999), (5, 10**6))
    assert picked(universal.pick(runs, Settings())) == (3, ["f0", "f1", "f2", "f3", "f4"])
    runs = levels((0, 1), (0, 1), (0, 9), (1, 99), (4, 9999), (5, 10**6))
    assert picked(universal.pick(runs, Settings())) == (1, ["f0", "f1", "f2", "f3"])


def test_the_surplus_is_taken_whatever_its_size() -> None:
    runs = levels((0, 1), (2, 50), (3, 10**4), (4, 10**6))
    assert picked(universal.pick(runs, Settings(trigger=3))) == (2, ["f0", "f1"])


def test_a_pick_takes_level_1_along_whatever_its_size() -> None:
    settings = Settings(trigger=4)
    runs = levels((0, 1), (0, 1), (2, 10**4), (3, 10**5), (5, 10**9))
    assert picked(universal.pick(runs, settings)) == (1, ["f0", "f1"])
    runs = levels((0, 1), (0, 1), (1, 10**4), (3, 10**5), (5, 10**9))
    assert picked(universal.pick(runs, settings)) == (1, ["f0", "f1", "f2"])


def test_level_0_is_emptied_together_with_level_1_and_what_is_no_larger_than_both() -> None:
    settings = Settings(force_level_zero=True)
    runs = levels((0, 1), (1, 10**4), (2, 10**4), (5, 10**9))
    assert picked(universal.pick(runs, settings)) == (4, ["f0", "f1", "f2"])


@pytest.mark.parametrize("case", RECORDED, ids=map(str, range(len(RECORDED))))
def test_recorded_picks_of_apache_paimon_are_ours(case: Recorded) -> None:
    shape, theirs = case
    assert ours(shape) == theirs


def test_all_level_0_runs_end_at_the_top() -> None:
    runs = levels((0, 1), (0, 1), (0, 1), (0, 1), (0, 1))
    assert picked(universal.pick(runs, Settings())) == (5, ["f0", "f1", "f2", "f3", "f4"])


def test_the_trace_of_a_lookup_writer() -> None:
    """The trace of format 7.4: level 5, then 4, then 3, one upgraded file each."""
    settings = Settings(force_level_zero=True)
    assert picked(universal.pick(levels((0, 900)), settings)) == (5, ["f0"])
    assert picked(universal.pick(levels((0, 800), (5, 900)), settings)) == (4, ["f0"])
    assert picked(universal.pick(levels((0, 700), (4, 800), (5, 900)), settings)) == (3, ["f0"])
    assert universal.pick(levels((4, 800), (5, 900)), settings) is None


def test_forced_level_0_takes_higher_runs_of_its_size_along() -> None:
    runs = levels((0, 900), (5, 900))
    assert picked(universal.pick(runs, Settings(force_level_zero=True))) == (5, ["f0", "f1"])


def test_early_full_compaction() -> None:
    runs = levels((0, 5), (4, 10), (5, 100))

    def by(early: EarlyFull, since: int | None = 0) -> str | None:
        found = universal.pick(runs, Settings(early_full=early), since_full_ms=since)
        return None if found is None else found.reason

    assert by(EarlyFull()) is None
    assert by(EarlyFull(interval_ms=10), 10) is None
    assert by(EarlyFull(interval_ms=10), 11) == "compaction.optimization-interval"
    assert by(EarlyFull(interval_ms=10), None) == "compaction.optimization-interval"
    assert by(EarlyFull(total_size=115)) is None
    assert by(EarlyFull(total_size=116)) == "compaction.total-size-threshold"
    assert by(EarlyFull(incremental_size=15)) is None
    assert by(EarlyFull(incremental_size=14)) == "compaction.incremental-size-threshold"
    single = levels((0, 5))
    early = EarlyFull(total_size=10**9, interval_ms=0)
    assert universal.pick(single, Settings(early_full=early)) is None


def test_user_full_compaction() -> None:
    assert universal.full(Levels.of([], bounds, 6)) is None
    assert picked(universal.full(levels((0, 1)))) == (5, ["f0"])
    assert picked(universal.full(levels((0, 1), (5, 1)))) == (5, ["f0", "f1"])
    top = Levels.of([keyed("a", 0, 1, level=5), keyed("b", 2, 3, level=5)], bounds, 6)
    assert universal.full(top) is None
    assert picked(universal.full(top, lambda f: f.file_name == "b")) == (5, ["b"])


def test_settings_come_from_the_options() -> None:
    options = TableOptions.parse(
        {
            "num-sorted-run.compaction-trigger": "3",
            "compaction.size-ratio": "2",
            "compaction.offpeak.start.hour": "22",
            "compaction.offpeak.end.hour": "6",
            "compaction.offpeak-ratio": "10",
            "compaction.total-size-threshold": "1 kb",
        }
    )
    night, day = Settings.of(options, hour=23), Settings.of(options, hour=6)
    assert (night.size_ratio, day.size_ratio, day.trigger) == (12, 2, 3)
    assert Settings.of(options, hour=5).size_ratio == 12
    assert day.early_full == EarlyFull(total_size=1024)
    assert not day.force_level_zero
    assert triggers.number_of_levels(options) == 4
    assert triggers.stop_trigger(options) == 6


@pytest.mark.parametrize(
    "given",
    [
        {"changelog-producer": "lookup"},
        {"merge-engine": "first-row"},
        {"deletion-vectors.enabled": "true"},
        {"force-lookup": "true"},
    ],
)
def test_lookup_tables_empty_level_0(given: dict[str, str]) -> None:
    options = TableOptions.parse(given)
    assert triggers.forces_level_zero(options)
    gentle = TableOptions.parse({**given, "lookup-compact": "gentle"})
    assert [triggers.forces_level_zero(gentle, n) for n in (0, 8, 9)] == [False, False, True]


def test_force_up_level_0_of_ordinary_tables() -> None:
    options = TableOptions.parse({"compaction.force-up-level-0": "true"})
    assert triggers.forces_level_zero(options)
    assert not triggers.forces_level_zero(TableOptions.parse({}))


def test_full_compaction_by_commits() -> None:
    every_third = TableOptions.parse({"full-compaction.delta-commits": "3"})
    assert [triggers.full_by_commits(every_third, n) for n in (1, 2, 3, 4)] == [
        False,
        False,
        True,
        True,
    ]
    assert triggers.full_by_commits(
        TableOptions.parse({"changelog-producer": "full-compaction"}), 1
    )
    assert not triggers.full_by_commits(TableOptions.parse({}), 99)


def test_full_compaction_by_time_where_no_number_of_commits_is_given() -> None:
    hourly = {
        "changelog-producer": "full-compaction",
        "changelog-producer.compaction-interval": "1 h",
    }
    options = TableOptions.parse(hourly)
    assert [triggers.full_by_commits(options, 1, ms) for ms in (None, 3_599_999, 3_600_000)] == [
        True,
        False,
        True,
    ]
    both = TableOptions.parse({**hourly, "full-compaction.delta-commits": "2"})
    assert [triggers.full_by_commits(both, n, None) for n in (1, 2)] == [False, True]


def test_one_level_is_refused() -> None:
    with pytest.raises(OptionError, match="num-levels"):
        triggers.number_of_levels(TableOptions.parse({"num-levels": "1"}))
