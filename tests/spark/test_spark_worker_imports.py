"""Goal: a Python worker that writes imports what writes, and not the handle with all its verbs.

A worker starts for each core of each executor; what it imports, the first load of a session waits for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest

from table_core.spark.session.python_daemon import installed_path

WRITES = "table_core.spark.writing.in_tasks, table_core.spark.session.tasks"
ROOMS = ("table_core.table.api", "table_core.table.maintenance", "table_core.table.compact")


def test_a_writing_task_imports_no_verbs() -> None:
    told = f"import sys, {WRITES}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "table_core.table.write.writer" in loaded
    assert [name for name in loaded if name.startswith(ROOMS)] == []


def zip_of_spark(folder: Path, version: str) -> str:
    path = folder / "pyspark.zip"
    text = Path(pyspark.__file__).with_name("version.py").read_text()
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("pyspark/version.py", text.replace(pyspark.__version__, version))
    return str(path)


@pytest.mark.parametrize(("version", "stays"), [(pyspark.__version__, False), ("9.9", True)])
def test_a_worker_takes_sparks_package_from_where_it_is_installed_if_it_is_the_same(
    tmp_path: Path, version: str, stays: bool
) -> None:
    sparks, users = zip_of_spark(tmp_path, version), tmp_path / "mine.zip"
    path = [sparks, str(users), *sys.path]
    assert installed_path(path) == (path if stays else [str(users), *sys.path])


def test_no_task_reads_the_directory_of_a_zip_of_spark_again(tmp_path: Path) -> None:
    """Python asks for that each reader that has looked into one, also when it is on the path no more."""
    sparks = zip_of_spark(tmp_path, pyspark.__version__)
    told = f"import sys, {WRITES}; from table_core.spark.session.python_daemon import leave_zips"
    look = "print(*[name for name in sys.path_importer_cache if '.zip' in name])"
    path = os.pathsep.join([sparks, *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", f"{told}\n{look}\nleave_zips()\n{look}"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    before, after = done.stdout.splitlines()
    assert sparks in before.split()
    assert sparks not in after.split()


def test_workers_of_a_local_session_are_born_with_what_writes(spark: Any) -> None:
    if not str(spark.conf.get("spark.master", "")).startswith("local"):
        pytest.skip("only local sessions have it without being asked")

    def tell(batches: Any) -> Any:
        for batch in batches:
            names = [*filter(sys.modules.__contains__, WRITES.split(", ")), *sys.path]
            yield batch.from_pydict({"name": names})

    told = [row[0] for row in spark.range(1).mapInArrow(tell, "name string").collect()]
    assert told[:2] == WRITES.split(", ")
    assert not [path for path in told if path.endswith("pyspark.zip")]
