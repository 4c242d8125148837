"""Goal: no docstring shows what the code does not do.  Method: its ``>>>`` examples are run."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted(ROOT.glob("table_core/**/*.py"))
    if re.search(r"^ +>>> ", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_what_it_does(name: str) -> None:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("table_core"):
            raise
        pytest.skip(f"{error.name} is not installed")
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed
