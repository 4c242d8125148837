"""Goal: sessions use the archive of Spark's classes once it is made, and start without one that does not fit.

Method: a prefix of the test's own; whether a JVM uses the archive is read off its memory maps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from table_core.spark.session import class_archive

OPTIONS = class_archive.SUBMIT_OPTIONS
SESSION = """
import json, sys
from pathlib import Path
sys.prefix = {prefix!r}
from pyspark import SparkContext
from table_core.spark.session.create import open_session
session = open_session({{"spark.master": "local[1]", "spark.sql.shuffle.partitions": "1"}})
rows = session.sql("SELECT sum(id) FROM range(10)").collect()[0][0]
maps = Path(f"/proc/{{SparkContext._gateway.proc.pid}}/maps").read_text()
print(json.dumps([rows, {archive!r} in maps]))
session.stop()
"""
MAKE = """
import sys
sys.prefix = {prefix!r}
from table_core.spark.class_archive import main
sys.exit(main())
"""


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def java(folder: Path) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    return program


def test_each_java_has_its_own_and_without_java_there_is_none(prefix: Path) -> None:
    one, other = prefix / "one", prefix / "other"
    java(one), java(other)
    found = class_archive.archive_of({"JAVA_HOME": str(one)})
    assert found is not None
    assert found.parent == prefix / "share" / "paimon-table-core"
    assert class_archive.archive_of({"PATH": f"/nowhere:{one}/bin"}) == found
    assert class_archive.archive_of({"JAVA_HOME": str(other)}) != found
    assert class_archive.archive_of({"PATH": "/nowhere"}) is None


def test_it_is_used_only_where_it_was_made_and_what_the_user_sets_comes_last(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java(prefix / "jdk")
    monkeypatch.setenv("JAVA_HOME", str(prefix / "jdk"))
    monkeypatch.delenv(OPTIONS, raising=False)
    with class_archive.used():
        assert OPTIONS not in os.environ
    archive = class_archive.archive_of(os.environ)
    assert archive is not None
    archive.parent.mkdir(parents=True)
    archive.touch()
    with class_archive.used():
        assert f'-XX:SharedArchiveFile="{archive}"' in os.environ[OPTIONS]
    assert OPTIONS not in os.environ
    monkeypatch.setenv(OPTIONS, "-Xshare:off")
    with class_archive.used():
        assert os.environ[OPTIONS].endswith(" -Xshare:off")
    assert os.environ[OPTIONS] == "-Xshare:off"


def run(code: str, **values: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != OPTIONS}
    command = [sys.executable, "-c", code.format(**values)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")
@pytest.mark.timeout(1800)
def test_a_session_maps_the_archive_that_was_made_and_starts_with_a_broken_one(
    prefix: Path,
) -> None:
    archive = class_archive.archive_of(os.environ)
    assert archive is not None
    made = run(MAKE, prefix=str(prefix))
    assert str(archive) in made.stdout
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]

    done = run(SESSION, prefix=str(prefix), archive=str(archive))
    assert json.loads(done.stdout.splitlines()[-1]) == [45, True]

    archive.write_bytes(b"no archive")
    done = run(SESSION, prefix=str(prefix), archive=str(archive))
    assert json.loads(done.stdout.splitlines()[-1]) == [45, False]
    assert "cds" not in done.stderr
