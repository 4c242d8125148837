"""Goal: whatever is wrong with a machine or a warehouse, `doctor` names it and says what to do.

Method: each fault is planted for real: a program on PATH, metadata of a distribution, a limit of the process, a
folder, a store. Only the clock of another machine is an argument.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.doctor.finding import State
from table_core.cli.doctor.store import store_findings
from table_core.cli.main import app
from table_core.storage.stores.memory import MemoryStorage


def doctor(*words: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Exit status, and the findings by what was looked at."""
    done = CliRunner().invoke(app, ["doctor", *words, "--json"], catch_exceptions=False)
    told = json.loads(done.stdout)
    found = {one["check"]: one for one in told["findings"]}
    assert told["faults"] == sum(one["state"] == "fault" for one in told["findings"])
    assert done.exit_code == int(told["faults"] > 0)
    return done.exit_code, found


def distribution(folder: Path, name: str, version: str, *entry_points: str) -> None:
    """What pip leaves of a distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("\n".join(entry_points))


def java(folder: Path, text: str) -> None:
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)


@contextmanager
def limited(kind: int, soft: int) -> Iterator[None]:
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is looked at first, for programs and for distributions."""
    folder = tmp_path / "first"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("TABLE_CORE_WAREHOUSE", raising=False)
    if find_spec("pyspark") is None:  # of it the doctor asks only whether it is there
        (folder / "pyspark").mkdir()
        (folder / "pyspark" / "__init__.py").touch()
    return folder


def test_a_sound_warehouse_has_no_fault_and_nothing_is_left_in_it(
    planted: Path, tmp_path: Path
) -> None:
    java(planted, 'openjdk version "17.0.9" 2023-10-17')
    warehouse = tmp_path / "wh"
    tc.open_catalog(str(warehouse)).create_database("d")
    before = sorted(warehouse.rglob("*"))
    code, found = doctor("-w", str(warehouse))
    assert (code, sorted(warehouse.rglob("*"))) == (0, before)
    for check in (
        "warehouse",
        "create if absent",
        "listing",
        "clock",
        "delete",
        "java",
        "extra cli",
    ):
        assert found[check]["state"] == "ok", found[check]
    assert doctor("-w", str(warehouse), "--read-only")[1]["store"]["state"] == "skipped"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "Java 11 at"),
        ('java version "1.8.0_202"', "Java 8 at"),
        ("Segmentation fault", "does not say its version"),
    ],
)
def test_a_java_that_spark_does_not_run_on(planted: Path, text: str, told: str) -> None:
    java(planted, text)
    code, found = doctor()
    assert (code, found["java"]["state"]) == (1, "fault")
    assert told in found["java"]["found"]
    assert "Install Java 17" in found["java"]["remedy"]


def test_no_java(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(planted))
    assert "no java on PATH" in doctor()[1]["java"]["found"]
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    found = doctor()[1]["java"]
    assert "/nowhere/bin/java does not run" in found["found"]
    assert "JAVA_HOME" in found["remedy"]


def test_versions_that_must_be_equal(planted: Path) -> None:
    distribution(planted, "pyspark", "4.1.3")
    distribution(planted, "pyspark-client", "4.0.0")
    distribution(planted, "airflow-provider-paimon", "0.0.1")
    code, found = doctor()
    assert code == 1
    assert found["spark packages"]["remedy"].endswith("pyspark==4.1.3 pyspark-client==4.1.3")
    assert found["release"]["state"] == "fault"
    assert "airflow-provider-paimon==" in found["release"]["remedy"]


def test_an_extra_that_is_too_old_or_that_the_warehouse_needs(planted: Path) -> None:
    distribution(planted, "s3fs", "2020.1")
    found = doctor()[1]["extra s3"]
    assert (found["state"], found["found"]) == ("fault", "s3fs 2020.1 is not >= 2026")
    assert found["remedy"] == 'pip install "paimon-table-core[s3]" --upgrade'
    gcs = doctor("-w", "gs://bucket/wh", "--read-only")[1]["extra gcs"]
    if "not installed" in doctor()[1]["extra gcs"]["found"]:
        assert (gcs["state"], gcs["remedy"]) == ("fault", 'pip install "paimon-table-core[gcs]"')


def test_a_warehouse_that_is_not_there(planted: Path, tmp_path: Path) -> None:
    found = doctor("-w", str(tmp_path / "typo"), "--read-only")[1]["warehouse"]
    assert found["state"] == "fault"
    assert "there is nothing at" in found["found"]
    assert "table-core create" in found["remedy"]


def test_a_warehouse_that_cannot_be_written(planted: Path) -> None:
    found = doctor("-w", "/proc/sys")[1]
    assert found["create if absent"]["state"] == "fault"
    assert (
        "right" in found["create if absent"]["remedy"]
        or "Check" in found["create if absent"]["remedy"]
    )


def test_a_store_where_two_writers_could_win(planted: Path) -> None:
    found = doctor("-w", "sftp://files.example/wh")[1]["warehouse"]
    assert found["found"].startswith("unsupported: sftp:// has no atomic create-if-absent")
    assert "one lock" in found["remedy"]


def test_an_address_that_is_none(planted: Path) -> None:
    found = doctor("-w", "s4://bucket/wh")[1]["warehouse"]
    assert "s4:// is no kind of store" in found["found"]
    assert found["remedy"]


def test_limits_of_the_process(planted: Path) -> None:
    with limited(resource.RLIMIT_NOFILE, 256):
        files = doctor()[1]["open files"]
    assert (files["state"], files["found"].split()[0]) == ("warning", "256")
    assert "ulimit -n" in files["remedy"]
    with limited(resource.RLIMIT_AS, 1 << 29):
        from table_core.cli.doctor.machine import _memory

        memory = _memory()
    assert (memory.state, memory.observed[:8]) == (State.WARNING, "536.9 MB")
    assert "write-buffer-size" in memory.remedy


def test_a_temporary_folder_that_cannot_be_written(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    monkeypatch.setenv("TMPDIR", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "tempdir", None)  # what it found before
    found = doctor()[1]["temporary space"]
    assert (found["state"], "/proc/nowhere" in found["remedy"]) == ("fault", True)


class Odd(MemoryStorage):
    """A store with a habit."""

    habit = ""

    def create(self, path: str, body: bytes) -> bool:
        won = super().create(path, body)
        return won or self.habit == "replaces"

    def list(self, folder: str) -> Any:
        return () if self.habit == "lists late" else super().list(folder)


@pytest.mark.parametrize(
    ("habit", "check", "told"),
    [
        ("replaces", "create if absent", "9 of 9 writers were told"),
        ("lists late", "listing", "a new file late"),
    ],
)
def test_a_store_that_breaks_what_commits_rely_on(habit: str, check: str, told: str) -> None:
    storage = Odd("odd")
    storage.habit = habit
    catalog = tc.open_catalog("memory://odd")
    catalog = type(catalog)(storage=storage, clock=catalog.clock, ids=catalog.ids)
    found = {one.check: one for one in store_findings(catalog, catalog.clock, write=True)}
    assert (found[check].state, told in found[check].observed) == (State.FAULT, True)
    assert found[check].remedy


@pytest.mark.parametrize(("minutes", "side"), [(61, "ahead of"), (-61, "behind")])
def test_a_clock_that_is_wrong(minutes: int, side: str, tmp_path: Path) -> None:
    catalog = tc.open_catalog(str(tmp_path))
    catalog.create_database("d")

    class Clock:
        def now_ms(self) -> int:
            return catalog.clock.now_ms() + minutes * 60_000

    (found,) = (one for one in store_findings(catalog, Clock(), write=True) if one.check == "clock")
    assert (found.state, side in found.observed, "NTP" in found.remedy) == (State.FAULT, True, True)


def test_other_distributions_are_asked(planted: Path) -> None:
    (planted / "asked.py").write_text(
        "def look(connection):\n"
        "    yield {'check': 'bees', 'state': 'warning', 'found': f'{connection}', 'remedy': 'honey'}\n"
    )
    distribution(planted, "asked", "1", "[table_core.doctor]", "a = asked:look", "b = nowhere:look")
    code, found = doctor("--connection", "c")
    assert (code, found["bees"]["found"], found["bees"]["remedy"]) == (1, "c", "honey")
    assert "cannot be asked" in found["b"]["found"]
    assert found["b"]["remedy"] == "Reinstall asked."


def test_people_read_it_at_80_columns(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(planted, 'openjdk version "11"')
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "→ Install Java 17" in done.stdout
    assert done.stdout.endswith("1 fault\n") or "faults\n" in done.stdout
