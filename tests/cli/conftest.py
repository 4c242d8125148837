"""One terminal for all tests here: what it needs most is to load Python's modules, once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shop import make_shop
from tests.cli.terminal import Terminal


@pytest.fixture(scope="session")
def terminal() -> Iterator[Terminal]:
    # as long in every run: columns are as wide; and short: no line of a narrow column breaks it
    folder = Path(tempfile.mkdtemp(prefix="screens-", dir="/tmp"))
    try:
        with Terminal(folder) as opened:
            yield opened
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def shop(terminal: Terminal) -> Path:
    folder = terminal.folder / "shop"
    folder.mkdir()
    make_shop(folder)
    return folder
