"""The script of the tables page.  The wheel brings it; from a source without it, one that says what to do."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = ["BUNDLE_PATH", "PAGE_NAME", "bundle_text", "etag_of"]

BUNDLE_PATH: Final = "ui/tables.js"
"""Below the plugin's prefix."""
PAGE_NAME: Final = "Paimon tables"
"""The name in Airflow's menu, under which the script leaves its component."""
_BUILT: Final = Path(__file__).with_name("ui") / "dist" / "tables.js"
_MISSING: Final = """
globalThis["Paimon asset"] = () => null;
globalThis["%s"] = () =>
  React.createElement(
    "p",
    { role: "alert" },
    "The page of Paimon tables was not built. It needs Node.js 20 or newer: run make ui in the source folder, " +
      "then load this page again. A wheel from a package index has it built in.",
  );
"""


def bundle_text() -> str:
    """The script, as it is on the disk now: ``make ui`` is seen without a restart.

    An install from source, on a machine without Node.js, has none.  It gets a script that says so on the page.
    """
    try:
        changed_ns = _BUILT.stat().st_mtime_ns
    except FileNotFoundError:
        return _MISSING % PAGE_NAME
    return _read(changed_ns)


def etag_of(script: str) -> str:
    """What tells a browser that the script it keeps is the newest."""
    return f'"{hashlib.sha256(script.encode()).hexdigest()[:32]}"'


@lru_cache(maxsize=1)
def _read(_changed_ns: int) -> str:
    return _BUILT.read_text(encoding="utf-8")
