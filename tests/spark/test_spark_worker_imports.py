"""Goal: a Python worker that writes imports what writes, and not the handle with all its verbs.

A worker starts for each core of each executor; what it imports, the first load of a session waits for.
"""

from __future__ import annotations

import subprocess
import sys

WRITES = "table_core.spark.writing.in_tasks, table_core.spark.session.tasks"
ROOMS = ("table_core.table.api", "table_core.table.maintenance", "table_core.table.compact")


def test_a_writing_task_imports_no_verbs() -> None:
    told = f"import sys, {WRITES}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "table_core.table.write.writer" in loaded
    assert [name for name in loaded if name.startswith(ROOMS)] == []
