"""Laws of sections, picks and plans, against slow obvious ones."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from table_core.lsm import universal
from table_core.lsm.levels import Levels
from table_core.lsm.overlap import sections
from table_core.lsm.rewrite import Rewrite, Rules, Upgrade, drops_deletes, plan
from table_core.lsm.triggers import EarlyFull
from table_core.lsm.universal import Settings
from table_core.ondisk.data_file import DataFile
from tests.unit.lsm.keyed import bounds, keyed

SIZES = st.one_of(st.integers(1, 9), st.integers(1, 10**6))


@st.composite
def buckets(draw: st.DrawFn) -> list[DataFile]:
    """Files at any level; those of one level above 0 do not overlap."""
    found: list[DataFile] = []
    for n in range(draw(st.integers(0, 9))):
        low = draw(st.integers(0, 40))
        found.append(
            keyed(f"zero-{n}", low, low + draw(st.integers(0, 20)), size=draw(SIZES), seq=n,
                  deletes=draw(st.sampled_from([0, 1, None])))
        )  # fmt: skip
    for level in draw(st.sets(st.integers(1, 5))):
        edges = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=8)))
        for n, (low, high) in enumerate(pairwise(edges)):
            if n % 2 == 0:
                found.append(keyed(f"{level}-{n}", low, high, level=level, size=draw(SIZES)))
    return found


SETTINGS = st.builds(
    Settings,
    trigger=st.integers(2, 6),
    size_ratio=st.integers(0, 50),
    force_level_zero=st.booleans(),
    early_full=st.builds(EarlyFull, total_size=st.none() | st.integers(0, 10**6)),
)


def keys(file: DataFile) -> set[int]:
    (low,), (high,) = bounds(file)
    return set(range(low, high + 1))


@given(buckets())
def test_sections_never_share_a_key_and_lose_no_file(files: list[DataFile]) -> None:
    found = sections(files, bounds)
    members = [[f for run in section for f in run.files] for section in found]
    assert sorted(f.file_name for m in members for f in m) == sorted(f.file_name for f in files)
    ranges = [set().union(*(keys(f) for f in m)) for m in members]
    assert all(max(a) < min(b) for a, b in pairwise(ranges))


@given(buckets())
def test_a_section_is_connected(files: list[DataFile]) -> None:
    """Oracle: files are in one section exactly if a chain of overlaps joins them."""
    groups: list[list[DataFile]] = []
    for file in files:
        touching = [g for g in groups if any(keys(file) & keys(other) for other in g)]
        groups = [g for g in groups if g not in touching] + [
            [file, *(f for g in touching for f in g)]
        ]
    expected = {frozenset(f.file_name for f in g) for g in groups}
    found = sections(files, bounds)
    assert {frozenset(f.file_name for r in s for f in r.files) for s in found} == expected


@given(buckets())
def test_runs_are_disjoint_and_as_few_as_the_deepest_overlap(files: list[DataFile]) -> None:
    for section in sections(files, bounds):
        for run in section:
            assert all(bounds(a)[1] < bounds(b)[0] for a, b in pairwise(run.files))
        members = [f for run in section for f in run.files]
        depth = max(sum(key in keys(f) for f in members) for key in range(101))
        assert len(section) == depth


@given(buckets(), SETTINGS)
def test_a_pick_is_the_newest_runs_and_never_goes_to_level_0(
    files: list[DataFile], settings: Settings
) -> None:
    levels = Levels.of(files, bounds, 6)
    pick = universal.pick(levels, settings)
    if pick is None:
        assert not (settings.force_level_zero and levels.level_zero)
        return
    assert 0 < pick.output_level <= levels.max_level
    assert pick.files == levels.files[: len(pick.files)]
    rest = levels.files[len(pick.files) :]
    assert all(file.level > pick.output_level for file in rest)
    if not rest:
        assert pick.output_level == levels.max_level


@given(buckets(), SETTINGS, st.integers(1, 1000), st.booleans())
def test_a_plan_moves_every_picked_file_once_and_the_levels_stay_sound(
    files: list[DataFile], settings: Settings, small: int, full: bool
) -> None:
    levels = Levels.of(files, bounds, 6)
    pick = universal.full(levels) if full else universal.pick(levels, settings)
    if pick is None:
        return
    steps = plan(pick, levels, bounds, Rules(small_file_size=small))
    moved = [f for s in steps for f in ([s.file] if isinstance(s, Upgrade) else s.files)]
    stay = [f for f in pick.files if f not in moved]
    assert len(moved) == len({f.file_name for f in moved})
    assert len(moved) + len(stay) == len(pick.files)
    assert all(f.level == pick.output_level for f in stay)
    after = [f for f in files if f not in moved]
    for n, step in enumerate(steps):
        if isinstance(step, Upgrade):
            assert step.level < levels.max_level or step.file.delete_row_count == 0
            after.append(step.file.upgraded(step.level))
        else:
            covered = [k for f in step.files for k in keys(f)]
            after.append(keyed(f"out-{n}", min(covered), max(covered), level=step.level))
    Levels.of(after, bounds, 6)  # refuses overlap inside a level


@given(buckets(), SETTINGS)
def test_dropping_deletes_never_brings_a_row_back(
    files: list[DataFile], settings: Settings
) -> None:
    levels = Levels.of(files, bounds, 6)
    pick = universal.pick(levels, settings)
    if pick is None or not drops_deletes(levels, pick.output_level, deletion_vectors=False):
        return
    assert pick.files == levels.files, "a row outside the pick would show up again"


def test_a_rewrite_lists_its_files() -> None:
    file = keyed("a", 0, 1, deletes=1)
    levels = Levels.of([file], bounds, 6)
    pick = universal.full(levels)
    assert pick is not None
    (step,) = plan(pick, levels, bounds, Rules(small_file_size=0))
    assert isinstance(step, Rewrite)
    assert step.files == (file,)
    assert step.drop_deletes
