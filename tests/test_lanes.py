"""No test is forgotten: every folder has its lane, and what waits for the night has a part by day."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests import lanes, suites
from tests.suites import ROOT, by_lane, files, known_seconds

MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None, target
    return found[1]


def test_every_folder_of_tests_belongs_to_one_lane() -> None:
    there = {p.relative_to(ROOT / "tests").parts[0] for p in ROOT.glob("tests/*/**/test_*.py")}
    by_day = Counter(folder for lane in lanes.DAY for folder in lane.folders)
    assert set(by_day.values()) == {1}
    at_night = {entry for entry in lanes.NIGHT if "/" not in entry}
    assert by_day.keys() | at_night == there
    assert not by_day.keys() & at_night
    assert {*lanes.CORE, *lanes.ON_DISK, *lanes.ELSEWHERE} <= there


def test_what_the_night_alone_runs_is_there_and_comes_back_when_its_paths_change() -> None:
    for entry, patterns in lanes.NIGHT.items():
        assert (ROOT / "tests" / entry).exists(), entry
        tracked = subprocess.run(
            ["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
        )
        assert tracked.stdout, f"{entry}: no file is {' or '.join(patterns)}"
        assert entry in lanes.due([f"tests/{entry}"])
    assert lanes.due(["docs/index.md"]) == []
    assert lanes.due(["table_core/spark/launch/x.py"]) == [
        entry for entry, patterns in lanes.NIGHT.items() if "table_core/spark/*" in patterns
    ]


def test_of_a_sampled_file_each_test_has_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    for file, each in lanes.SAMPLED.items():
        assert (ROOT / "tests" / file).exists(), file
        left = []
        for seed in range(each):
            monkeypatch.setattr(lanes, "SEED", seed)
            left.append(set(range(9)) - set(lanes.left_for_the_night(file, 9)))
        assert set().union(*left) == set(range(9))
        assert all(left)
    assert lanes.left_for_the_night("unit/test_layout.py", 9) == []


def test_each_shard_of_the_night_has_its_files_and_all_shards_have_all() -> None:
    seconds = dict.fromkeys(files(), 1.0)
    shards = [lanes.shard(seconds, number, 5) for number in range(1, 6)]
    assert sorted(file for shard in shards for file in shard) == files()
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert set(known_seconds()) <= set(files())
    assert [r.name for r in by_lane(["live/test_tour_live.py", "unit/test_layout.py"])] == [
        "live",
        "light",
    ]


def test_contributing_shows_the_lanes_as_they_are() -> None:
    assert lanes.table_of_lanes() in (ROOT / "CONTRIBUTING.md").read_text()


def test_every_file_beside_the_folders_is_run_by_make_tidy() -> None:
    there = {f"tests/{path.name}" for path in ROOT.glob("tests/test_*.py")}
    assert set(re.findall(r"tests/test_\w+\.py", recipe("tidy"))) == there


def test_each_lane_has_a_target() -> None:
    assert "suites.py $(LANE)" in recipe("test")
    assert "HYPOTHESIS_PROFILE=nightly" in recipe("test-nightly")
    assert "--shard $(SHARD)" in recipe("test-nightly")
    assert "--changed $(BASE)" in recipe("test-changed")
    for folder, target in lanes.ELSEWHERE.items():
        assert f"suites.py {folder}" in recipe(target)


def test_ci_runs_each_lane_and_the_night_each_shard() -> None:
    workflows = ROOT / ".github/workflows"
    ci = yaml.safe_load((workflows / "ci.yml").read_text())["jobs"]
    assert ci["lane"]["strategy"]["matrix"]["lane"] == [lane.name for lane in lanes.DAY]
    assert any("make test-changed" in step.get("run", "") for step in ci["changed"]["steps"])
    nightly = yaml.safe_load((workflows / "nightly.yml").read_text())
    assert nightly[True]["schedule"], "YAML reads `on` as true"
    shards = nightly["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, len(shards) + 1))
    (step,) = [s["run"] for s in nightly["jobs"]["shard"]["steps"] if "run" in s]
    assert f"make test-nightly SHARD=${{{{ matrix.shard }}}}/{len(shards)}" in step
    targets = nightly["jobs"]["long"]["strategy"]["matrix"]["target"]
    assert set(lanes.ELSEWHERE.values()) <= set(targets)
    assert all(recipe(target) for target in targets)


CASES = """
import pytest

class TestMerge:
    @pytest.mark.parametrize("kind", ["a.b::c"])
    def test_good(self, kind): ...

def test_bad(): assert False

def test_now_and_then(tmp_path_factory, pytestconfig):
    runs = pytestconfig.rootpath / "runs"
    runs.open("a").write("x")
    assert len(runs.read_text()) != 4
"""


def test_what_fails_now_and_then_is_no_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_cases.py").write_text(CASES)
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    good = "tests.unit.test_cases.TestMerge::test_good[a.b::c]"
    bad, at_times = "tests.unit.test_cases::test_bad", "tests.unit.test_cases::test_now_and_then"
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # five times faster
    assert suites.by_chance([good, bad]) == [good]
    assert suites.by_chance([at_times]) == []
    assert suites.by_chance([good] * (suites.CHANCES + 1)) == []
    assert suites.by_chance([good, "light: pytest ended with 3"]) == []


def test_the_mark_of_the_night_is_for_cases() -> None:
    """Whole files stand in ``NIGHT``, where their paths bring them back; a mark would hide them."""
    whole = []
    for path in ROOT.glob("tests/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            marks: list[ast.expr] = []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                marks = node.decorator_list
            elif isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "pytestmark"
                for target in node.targets
            ):
                marks = [node.value]
            whole += [
                f"{path.relative_to(ROOT)}:{node.lineno}"
                for mark in marks
                if "mark.nightly" in ast.unparse(mark) and "pytest.param(" not in ast.unparse(mark)
            ]
    assert whole == []


def test_a_part_is_every_so_many_cases_and_never_none() -> None:
    by_day = [not case.marks for case in lanes.sampled("abcdefg", 3, first=1)]
    assert by_day == [False, True, False, False, True, False, False]
    assert lanes.sampled([("a", 1)], 2)[0].values == ("a", 1)
    with pytest.raises(ValueError, match="none is left"):
        lanes.sampled("a", 2, first=1)


def test_another_seed_takes_other_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = set()
    for seed in range(3):
        monkeypatch.setattr(lanes, "SEED", seed)
        by_day = [case.values[0] for case in lanes.sampled("abcdefg", 3) if not case.marks]
        assert by_day
        taken |= set(by_day)
        assert [case for case in lanes.sampled("ab", 3) if not case.marks]
    assert taken == set("abcdefg")


def test_a_variable_says_more_than_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDS_OF_NOBODY", "7")
    assert lanes.budget("ROUNDS_OF_NOBODY", ci=1, nightly=2) == 7
    monkeypatch.setenv("ROUNDS_OF_NOBODY", "")
    monkeypatch.setattr(lanes, "PROFILE", "nightly")
    assert lanes.budget("ROUNDS_OF_NOBODY", ci=1, nightly=2) == 2
