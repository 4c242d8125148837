"""No test is forgotten: every folder has its lane, and what waits for the night has a part by day."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest
import yaml

from tests import lanes
from tests.suites import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None, target
    return found[1]


def test_every_folder_of_tests_belongs_to_one_lane() -> None:
    there = {p.relative_to(ROOT / "tests").parts[0] for p in ROOT.glob("tests/*/**/test_*.py")}
    named = Counter(
        (
            *lanes.LIGHT_FOLDERS,
            *lanes.SHARED_FOLDERS,
            *lanes.HEAVY_FOLDERS,
            *lanes.ELSEWHERE,
        )
    )
    assert set(named) == there
    assert set(named.values()) == {1}
    assert {*lanes.CORE, *lanes.ON_DISK} <= there


def test_every_file_beside_the_folders_is_run_by_make_tidy() -> None:
    there = {f"tests/{path.name}" for path in ROOT.glob("tests/test_*.py")}
    assert set(re.findall(r"tests/test_\w+\.py", recipe("tidy"))) == there


def test_each_lane_has_a_target() -> None:
    assert re.search(r"suites\.py$", recipe("test"), re.MULTILINE)
    assert re.search(
        r"HYPOTHESIS_PROFILE=nightly .*suites\.py$", recipe("test-nightly"), re.MULTILINE
    )
    for folder, target in lanes.ELSEWHERE.items():
        assert f"suites.py {folder}" in recipe(target)


def test_the_night_has_its_hour_in_ci() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    assert workflow[True]["schedule"], "YAML reads `on` as true"
    job = workflow["jobs"]["long"]
    assert "make ${{ matrix.target }}" in [step.get("run") for step in job["steps"]]
    targets = job["strategy"]["matrix"]["target"]
    assert {"test-nightly", *lanes.ELSEWHERE.values()} <= set(targets)
    assert all(recipe(target) for target in targets)


def test_no_test_waits_for_the_night_as_a_whole() -> None:
    """Only cases do: the mark of a function, a class or a file would take all of it out of ``make test``."""
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


def test_a_variable_says_more_than_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDS_OF_NOBODY", "7")
    assert lanes.budget("ROUNDS_OF_NOBODY", ci=1, nightly=2) == 7
    monkeypatch.setenv("ROUNDS_OF_NOBODY", "")
    monkeypatch.setattr(lanes, "PROFILE", "nightly")
    assert lanes.budget("ROUNDS_OF_NOBODY", ci=1, nightly=2) == 2
