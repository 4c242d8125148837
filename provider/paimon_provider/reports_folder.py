"""Where change reports are: written by tasks, served by the plugin."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from paimon_provider._compat import conf
from table_core.errors import ArgumentError

__all__ = ["report_name", "report_path", "reports_folder"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.html")


def reports_folder() -> Path:
    """The folder named by ``[paimon] reports_folder``, else one in the Airflow home."""
    named = str(conf.get("paimon", "reports_folder", fallback="") or "")
    if named:
        return Path(named)
    from airflow.configuration import AIRFLOW_HOME

    return Path(AIRFLOW_HOME) / "paimon-reports"


def report_name(*parts: object) -> str:
    """A file name made of ``parts``, with other characters than the safe ones replaced."""
    text = "-".join(str(part) for part in parts)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).lstrip("._-")[:180] + ".html"


def report_path(name: str) -> Path:
    """The file of the report ``name``.

    Raises:
        ArgumentError: ``name`` is no plain file name, e.g. leads out of the folder.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"{name!r} is no report name", argument="name", value=name)
    return reports_folder() / name
