"""No file imports itself by a detour, not even for types."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            parts = path.relative_to(package.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: Mapping[str, object]) -> Iterator[str]:
    """The modules that a file imports, wherever in it, for types too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in names)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach one another: what is left when leaves are taken off again and again."""
    left = {name: set(targets) for name, targets in graph.items()}
    while True:
        ends = {name for name, targets in left.items() if not targets}
        targets_of_others = set().union(*left.values()) if left else set()
        ends |= {name for name in left if name not in targets_of_others}
        if not ends:
            return [sorted(left)] if left else []
        left = {name: targets - ends for name, targets in left.items() if name not in ends}


def test_no_circle_of_files() -> None:
    known = modules()
    graph = {name: set(imported(path, known)) - {name} for name, path in known.items()}
    assert len(graph) > 600, "the packages were found"
    assert circles(graph) == []


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}, [["b", "c"]]),
    ],
)
def test_a_circle_is_found(graph: dict[str, set[str]], found: list[list[str]]) -> None:
    assert circles(graph) == found
