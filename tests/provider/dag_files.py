"""Where the Dags of the demo lie."""

from __future__ import annotations

from pathlib import Path

DAGS = Path(__file__).parents[2] / "dags"
DECLARED = DAGS.parent / "declarations"
