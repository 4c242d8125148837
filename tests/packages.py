"""The two packages of this project, as folders."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (ROOT / "table_core", ROOT / "provider" / "paimon_provider")
