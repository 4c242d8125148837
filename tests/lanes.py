"""What runs when: ``make test`` takes a part of each long series, ``make test-nightly`` all of it.

One variable decides, and it is Hypothesis' own: ``HYPOTHESIS_PROFILE``, ``ci`` or ``nightly``.  A test
that is longer than its part of ``make test`` says so in one of two ways:

    @pytest.mark.parametrize("kind", sampled(kinds(), 3))       each third kind, at night each
    ROUNDS = budget("ROUNDS", ci=8, nightly=100)                or what the variable ROUNDS says

A file that is run alone (``pytest tests/unit/test_layout.py``) runs all of its cases.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

PROFILES = {"ci": 30, "nightly": 1_000}
"""How many examples Hypothesis draws of each property, where the test does not count for itself."""
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "ci"
DAY = "not nightly"
"""What ``make test`` selects of the cases; at night all are."""

LIGHT_FOLDERS = (
    "airflows",
    "catalogs",
    "cli",
    "docs",
    "durability",
    "fuzz",
    "golden",
    "property",
    "security",
    "simulation",
    "storage_contract",
    "unit",
)
"""On two processes, test by test."""
SHARED_FOLDERS = ("provider",)
"""On two processes, file by file: the tests of a file share an Airflow."""
HEAVY_FOLDERS = ("spark", "interop", "wheel", "browser", "cdc", "demo")
"""A process each, which starts JVMs, servers, a browser or a build: two at a time, the longest first."""
ON_DISK = ("wheel",)
"""Makes environments: files that an installer links on the disk of its cache, and would copy into memory."""
ELSEWHERE = {"live": "test-live", "cluster": "test-spark-cluster"}
"""Folders with a target of their own, which ``make test`` leaves out."""
CORE = ("unit", "property", "golden", "simulation")
"""What needs the core and nothing else: ``make test-core`` runs these without Airflow, Spark and Java."""


def sampled(cases: Iterable[Any], each: int, *, first: int = 0) -> list[Any]:
    """Parameters of a test: of ``cases``, ``make test`` takes each ``each``-th, from number ``first`` on.

    A case that is a tuple gives several parameters.  None by day is an error: each test keeps a part in ``make test``.
    """
    found: list[Any] = []
    for number, case in enumerate(cases):
        marks = () if number % each == first else (pytest.mark.nightly,)
        values = case if type(case) is tuple else (case,)
        found.append(pytest.param(*values, marks=marks))
    if len(found) <= first:
        raise ValueError(f"{len(found)} cases: none is left for make test")
    return found


def budget(variable: str, *, ci: int, nightly: int) -> int:
    """How many rounds, seeds or tables: what ``variable`` says, else what the profile allows."""
    return int(os.environ.get(variable) or {"ci": ci, "nightly": nightly}[PROFILE])
