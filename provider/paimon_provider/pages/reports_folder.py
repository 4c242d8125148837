"""Where change reports are: written by tasks, served by the plugin, cleared when they are old.

A report shows rows.  Its files are for their owner alone, and each says in a file beside it which Dag
made it: who may read that Dag may read the report.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Final

from paimon_provider._compat import conf
from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms

__all__ = [
    "clear_reports",
    "dag_of_report",
    "report_name",
    "report_path",
    "report_text",
    "reports_folder",
    "write_report",
]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.html")
_OURS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.(html|json)|\.[a-z0-9_]+\.tmp")
_SLUG: Final = 120
_PAGE_MAX: Final = 16 << 20
"""Bytes of a page that is served; a report of ours is smaller."""


def reports_folder() -> Path:
    """The folder named by ``[paimon] reports_folder``, else one in the Airflow home."""
    named = str(conf.get("paimon", "reports_folder", fallback="") or "")
    if named:
        return Path(named)
    from airflow.configuration import AIRFLOW_HOME

    return Path(AIRFLOW_HOME) / "paimon-reports"


def report_name(*parts: object) -> str:
    """A file name for ``parts``, another one for all others: readable, and a digest of all of them."""
    texts = [str(part) for part in parts]
    slug = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(texts)).lstrip("._-")[:_SLUG]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    return f"{slug or 'report'}-{digest}.html"


def report_path(name: str) -> Path:
    """The file of the report ``name``.

    Raises:
        ArgumentError: ``name`` is no plain file name, e.g. leads out of the folder.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"{name!r} is no report name", argument="name", value=name)
    return reports_folder() / name


def write_report(name: str, dag_id: str, page: str) -> Path:
    """Write the report ``name`` of ``dag_id``: whole or not at all, and for its owner alone."""
    path = report_path(name)
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    if path.parent.stat().st_uid == os.getuid():
        path.parent.chmod(0o700)
    _write(path.with_suffix(".json"), json.dumps({"version": 1, "dag_id": dag_id}))
    _write(path, page)
    return path


def _write(path: Path, text: str) -> None:
    number, draft = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)  # 0600
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def dag_of_report(name: str) -> str | None:
    """The Dag that made the report ``name``; None if nothing says so.

    Raises:
        ArgumentError: ``name`` is no plain file name.
    """
    try:
        note = json.loads(report_path(name).with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    dag_id = note.get("dag_id") if isinstance(note, dict) else None
    return dag_id if isinstance(dag_id, str) and dag_id else None


def report_text(name: str) -> str:
    """The page of the report ``name``.

    Raises:
        ArgumentError: ``name`` is no plain file name, or names no report.
    """
    path = report_path(name)
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ArgumentError(f"no report {name!r}", argument="name", value=name) from error
    with os.fdopen(number, "rb") as file:
        return file.read(_PAGE_MAX).decode("utf-8", "replace")


def clear_reports(now_ms: int) -> int:
    """Delete reports that are older than ``[paimon] reports_kept``; how many files went.

    Raises:
        ArgumentError: the option is no duration.
    """
    kept = str(conf.get("paimon", "reports_kept", fallback="30 d") or "30 d")
    try:
        oldest_ms = now_ms - duration_ms(kept)
    except ValueError as error:
        raise ArgumentError(f"[paimon] reports_kept: {error}", argument="reports_kept") from error
    gone = 0
    try:
        entries = list(os.scandir(reports_folder()))
    except FileNotFoundError:
        return 0
    for entry in entries:
        if not _OURS.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
            continue
        try:
            if entry.stat(follow_symlinks=False).st_mtime * 1000 < oldest_ms:
                os.unlink(entry.path)
                gone += 1
        except FileNotFoundError:  # another task was at it
            continue
    return gone
