"""The code's own shape, as tests.  A rule nobody checks is a wish."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from table_core.options.aggregate_functions import AGGREGATE_FUNCTIONS

ROOT = Path(__file__).parent.parent
FILES = sorted([*ROOT.glob("table_core/**/*.py"), *ROOT.glob("provider/paimon_provider/**/*.py")])
OPENERS = {"local.py"}
"""Files that may call ``open``: they are the storage, or the launcher of a process."""
FOUND_BY_FOLDER = {ROOT / "table_core/jobs/actions"}
"""Packages of which every module is taken: ``table_core.jobs.registry``."""
LINES_MAX, FUNCTION_LINES_MAX = 600, 60


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_file(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    problems = []
    if text.count("\n") > LINES_MAX:
        problems.append(f"over {LINES_MAX} lines: split it by concept, not by size")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno >= FUNCTION_LINES_MAX:
                problems.append(f"{node.name}: over {FUNCTION_LINES_MAX} lines")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "open"
        ):
            problems.append(f"{node.lineno}: open() bypasses table_core.storage")
    for n, line in enumerate(text.splitlines(), start=1):
        if re.search(r"# type: ignore(?!\[[\w, -]+\]  # \w)", line):
            problems.append(f"{n}: 'type: ignore' needs a code and a reason")
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            problems.append(f"{n}: open an issue instead of leaving a note")
    assert not problems, "\n".join(problems)


def test_no_dead_modules() -> None:
    """Every module is imported by another one, or is a named entry point."""
    names = {p: ".".join(p.relative_to(ROOT).with_suffix("").parts) for p in FILES}
    imported = {
        target
        for path in [*FILES, *ROOT.glob("tests/**/*.py"), *ROOT.glob("dags/**/*.py")]
        for node in ast.walk(ast.parse(path.read_text()))
        for target in (
            [f"{node.module}", *(f"{node.module}.{a.name}" for a in node.names)]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    entry_points = {
        "paimon_provider.doctor",
        "paimon_provider.get_provider_info",
        "paimon_provider.plugin",
        "table_core.cli.start",
        "table_core.spark.class_archive",
        "table_core.spark.entrypoint",
    }
    by_name = {
        f"table_core.merge.aggregators.{function.aggregator.partition(':')[0]}"
        for function in AGGREGATE_FUNCTIONS.values()
        if function.aggregator
    }
    dead = [
        n
        for p, n in names.items()
        if p.name != "__init__.py"
        and p.parent not in FOUND_BY_FOLDER
        and n.removeprefix("provider.") not in imported | entry_points | by_name
    ]
    assert not dead, dead


def test_tests_take_nothing_from_other_tests() -> None:
    """What two files of tests share is a module without ``test_``.

    Only a test of tests takes another file, whole: it runs that one's tests with a fault in what ships.
    """
    taken = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.module} {alias.name}"
        for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/**/*.py")]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
        if node.module.rpartition(".")[2].startswith("test_")
        or (alias.name.startswith("test_") and not path.stem.endswith("_mutations"))
    ]
    assert not taken, "move it to a module:\n" + "\n".join(taken)
