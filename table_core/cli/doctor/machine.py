"""The machine: Java, memory, temporary space, open files."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.filesize import decimal

from table_core.cli.doctor.finding import Finding, State

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["machine_findings"]

_JAVA: Final = (17, 21)
"""What Spark 4 runs on."""
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_MEMORY_MIN: Final = 1 << 30
_SPACE_MIN: Final = 1 << 30
_FILES_MIN: Final = 1024
_SECONDS: Final = 30


def machine_findings() -> Iterator[Finding]:
    """Everything about this machine that tables need."""
    yield _java()
    yield _memory()
    yield _space()
    yield _open_files()


def _java() -> Finding:
    if find_spec("pyspark") is None:
        return Finding(
            "java", State.SKIPPED, "PySpark is not installed, and nothing else needs Java"
        )
    need = f"Spark needs Java {' or '.join(map(str, _JAVA))}"
    remedy = f"Install Java {_JAVA[0]} and set JAVA_HOME to its folder; or use engine='local'."
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        return Finding("java", State.FAULT, f"there is no java on PATH; {need}", remedy)
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("java", State.FAULT, f"{program} does not run: {error}", remedy)
    told = _VERSION.search(done.stderr + done.stdout)
    if told is None:
        return Finding("java", State.FAULT, f"{program} does not say its version", remedy)
    java = f"Java {told[1]} at {program}"
    if int(told[1]) not in _JAVA:
        return Finding("java", State.FAULT, f"{java}; {need}", remedy)
    return Finding("java", State.OK, java)


def _memory() -> Finding:
    limit = min(_memory_limits())
    text = f"{decimal(limit)} of memory can be used"
    if limit >= _MEMORY_MIN:
        return Finding("memory", State.OK, text)
    return Finding(
        "memory",
        State.WARNING,
        f"{text}; less than {decimal(_MEMORY_MIN)} is little for a large write or read",
        "Give this process more, or set 'write-buffer-size' and 'read.memory-limit' of the tables "
        "lower.",
    )


def _memory_limits() -> Iterator[int]:
    """What is free, and what limits of the container and of the process leave."""
    yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        free = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE)
        if free is not None:
            yield int(free[1]) << 10
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        limit = Path("/sys/fs/cgroup", name)
        if limit.exists() and (text := limit.read_text().strip()).isdigit():
            yield int(text)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        yield soft


def _space() -> Finding:
    wanted = os.environ.get("TMPDIR")
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as error:
        return Finding(
            "temporary space",
            State.FAULT,
            f"no folder for temporary files can be written: {error}",
            "Set TMPDIR to a folder that can.",
        )
    if wanted is not None and Path(wanted).resolve() != Path(folder).resolve():
        return Finding(
            "temporary space",
            State.FAULT,
            f"TMPDIR is {wanted}, which cannot be written; {folder} is used instead",
            f"Make the folder {wanted} writable, or set TMPDIR to another one.",
        )
    free = shutil.disk_usage(folder).free
    text = f"{decimal(free)} free in {folder}"
    if free >= _SPACE_MIN:
        return Finding("temporary space", State.OK, text)
    return Finding(
        "temporary space",
        State.WARNING,
        f"{text}; sorted runs of a large write go there",
        "Free space, or set TMPDIR to a larger disk.",
    )


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "no limit of open files" if soft < 0 else f"{soft} files may be open"
    if soft < 0 or soft >= _FILES_MIN:
        return Finding("open files", State.OK, text)
    return Finding(
        "open files",
        State.WARNING,
        f"{text}; a merge of many runs opens each of them",
        f"Raise the limit: ulimit -n {max(_FILES_MIN, hard)}",
    )
