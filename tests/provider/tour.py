"""The tour, and the operators that it shows."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from paimon_provider import get_provider_info as info

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "dags" / "tour.py"
BASES = {"PaimonTableOperator", "PaimonDatabaseOperator"}
DECLARED = {"PaimonApplyOperator", "PaimonDueTablesOperator", "PaimonUpkeepOperator"}
"""A declaration makes these: ``declarations/streamhouse.yaml``, which ``test_streamhouse_declared`` runs."""


def offered() -> Iterator[str]:
    for kind, names in (("operators", info.OPERATORS), ("sensors", info.SENSORS)):
        for name in names:
            module = importlib.import_module(f"paimon_provider.{kind}.{name}")
            yield from (n for n in module.__all__ if inspect.isclass(getattr(module, n)))
