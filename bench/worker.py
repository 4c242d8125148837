"""One workload on one engine in a process of its own; prints what it measured as JSON."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute

from bench.engines import CannotError, engine
from bench.rows import Rows
from bench.stopwatch import Stopwatch
from bench.workloads import WORKLOADS


def main(name: str, workload: str, warehouse: str, rows: str, scale: str) -> None:
    run = next(w.run for w in WORKLOADS if w.name == workload)
    warehouse_folder = Path(warehouse)
    warehouse_folder.mkdir(parents=True, exist_ok=True)
    pa.array([0])  # loads pandas where it is installed: pyarrow's doing, and pypaimon has it anyway
    try:
        contender = engine(name, warehouse_folder)
        watch = Stopwatch(contender)
        checksum = run(contender, Rows(Path(rows), float(scale)), watch)
    except CannotError as reason:
        print(json.dumps({"missing": str(reason)}))
        return
    finally:
        if "contender" in locals() and hasattr(contender, "close"):
            contender.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        json.dumps(
            {
                "seconds": watch.seconds,
                "checksum": checksum,
                "peak_mb": peak,
                "above_mb": watch.above_mb,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
