"""Goal: we read every table that Apache Paimon wrote as Apache Paimon reads it, or refuse by name.

Method: tables written by Paimon 2.0.0 with the rows it reads (PROVENANCE.md), compared as multisets.
Reads in ``pending.txt`` must still fail: the list cannot outlive its reasons.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import corpus
from corpus import Case

PENDING = corpus.pending()


def params() -> list[Any]:
    late = [pytest.mark.xfail(strict=True, reason="listed in pending.txt")]
    return [
        pytest.param(case, read, id=name, marks=late if name in PENDING else [])
        for case, read in corpus.reads()
        for name in [f"{case}/{read['name']}"]
    ]


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


def test_the_pending_list_names_reads_that_exist() -> None:
    known = {f"{case}/{read['name']}" for case, read in corpus.reads()}
    assert known >= PENDING
