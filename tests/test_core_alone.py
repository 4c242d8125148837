"""The core's tests need the core: no Airflow, no PySpark, no server, nothing of the other suites."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.lanes import CORE
from tests.suites import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = {"yaml": "pyyaml"}


def installed() -> set[str]:
    """What ``make venv-core`` installs by name."""
    project = tomllib.loads((ROOT / "table_core" / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = list(project["dependencies"])
    for extra in ("test", "testing", "cli", "duckdb"):
        lines += extras[extra]
    return {re.split(r"[\[<>=]", line)[0] for line in lines}


def imports(path: Path) -> Iterator[str]:
    """The modules that a file names in an import, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_tests_of_the_core_import_what_its_environment_has() -> None:
    allowed = installed()
    left = [path for folder in CORE for path in (ROOT / "tests" / folder).rglob("*.py")]
    left.append(ROOT / "tests" / "conftest.py")
    seen, wrong = set(left), []
    while left:
        path = left.pop()
        for module in imports(path):
            package, *rest = module.split(".")
            if package == "tests":
                file = ROOT.joinpath(package, *rest).with_suffix(".py")
                if file.exists() and file not in seen:
                    seen.add(file)
                    left.append(file)
            elif package not in {*sys.stdlib_module_names, "table_core", "corpus"}:
                found = MODULES.get(package, package.replace("_", "-"))
                if found not in allowed:
                    wrong.append(f"{path.relative_to(ROOT)}: {module}")
    assert not wrong, "\n".join(sorted(set(wrong)))
