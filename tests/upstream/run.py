"""Play every case and write down what holds: ``python -m tests.upstream.run``.

What it counts goes into ``docs/upstream-cases.json``; ``docs/compatibility_page.py`` makes the table of it.  Cases
that are wrong are printed, and make the run fail.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from table_core.errors import TableError
from tests.upstream.every import CASES, counts
from tests.upstream.play import holds

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "upstream-cases.json"


def main() -> int:
    """Play, print what is wrong, write the counts."""
    wrong = []
    for one in CASES:
        try:
            holds(one)
        except (AssertionError, TableError) as error:
            wrong.append(one)
            sys.stdout.write(f"{one.area}: {one.promise}: {type(error).__name__}: {error}\n")
    RESULTS.write_text(json.dumps(counts(CASES, wrong), indent=2) + "\n")
    sys.stdout.write(f"{len(CASES)} cases, {len(wrong)} wrong\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
