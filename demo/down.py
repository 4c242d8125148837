"""Stop what ``make demo`` started, and nothing else: ``python -m demo.down [HOME]``."""

from __future__ import annotations

import sys
from pathlib import Path

from demo.components import Components

if __name__ == "__main__":
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / ".demo"
    stopped = Components(home.resolve() / "airflow").stop()
    print(f"stopped: {', '.join(stopped)}" if stopped else "nothing of the demo was running")
