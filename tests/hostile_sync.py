"""One sync in a process of its own, that says how much memory it took at most.

python -m tests.hostile_sync '{"warehouse": …, "kind": "FilesSource", "source": {…}, "whole": true}'
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import table_core as tc
from tests.hostile_events import MAX_COLUMNS, SCHEMA

__all__ = ["sync_apart"]

ROOT = Path(__file__).resolve().parent.parent


def sync_apart(warehouse: str, source: tc.FilesSource | tc.KafkaSource, *, whole: bool) -> Any:
    """What a sync into ``lake.a`` with dead letters in ``lake.bad`` says, and ``peak_mb``."""
    arguments = {name: getattr(source, name) for name in source.__slots__}
    told = {
        "warehouse": warehouse,
        "kind": type(source).__name__,
        "source": arguments,
        "whole": whole,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile_sync", json.dumps(told)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def main(told: dict[str, Any]) -> None:
    catalog = tc.open_catalog(told["warehouse"])
    catalog.create_database("lake", if_not_exists=True)
    catalog.create_table(
        "lake.a", SCHEMA, primary_key=("id",), options={"bucket": "1"}, if_not_exists=True
    )
    source = getattr(tc, told["kind"])(**told["source"])
    how: dict[str, Any] = {"dead_letter": "lake.bad", "max_columns": MAX_COLUMNS}
    if told["whole"]:
        done = tc.sync_database(catalog, "lake", source, **how)
    else:
        done = tc.sync_table(catalog, "lake.a", source, **how)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak_mb = int(status["VmHWM"].split()[0]) // 1024  # not what the parent had before ``exec``
    print(json.dumps({**done.to_document(), "peak_mb": peak_mb}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
