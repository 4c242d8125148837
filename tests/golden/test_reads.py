"""Goal: we read every table that Apache Paimon wrote as Apache Paimon reads it, or refuse by name.

Method: tables written by Paimon 2.0.0 with the rows it reads (PROVENANCE.md), compared as multisets.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import corpus
from corpus import Case


def params() -> list[Any]:
    return [pytest.param(case, read, id=f"{case}/{read['name']}") for case, read in corpus.reads()]


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    names = {name for name, _ in corpus.reads()}
    folder = tmp_path_factory.mktemp("golden")
    return _Unpacked(folder, names)


class _Unpacked(dict[str, Case]):
    """Cases, unpacked when first asked for."""

    def __init__(self, folder: Path, names: set[str]) -> None:
        super().__init__()
        self.folder, self.names = folder, names

    def __missing__(self, name: str) -> Case:
        assert name in self.names
        self[name] = corpus.unpack(name, self.folder)
        return self[name]


@pytest.mark.parametrize(("case", "read"), params())
def test_it_reads_as_paimon_reads(cases: dict[str, Case], case: str, read: dict[str, Any]) -> None:
    cases[case].check(read)
