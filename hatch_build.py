"""Builds the script of the tables page into the provider's wheel, when Node.js is there to do it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["UiBuildHook"]

UI = Path("provider/ui")
BUILT = Path("provider/paimon_provider/pages/ui/dist/tables.js")


class UiBuildHook(BuildHookInterface[Any]):
    """A wheel built where Node.js is missing works, and its page says what is missing."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the script, unless one newer than its sources is there; ``version`` is hatch's word for the kind."""
        root = Path(self.root)
        build_data["artifacts"].append(BUILT.as_posix())
        if version == "editable" or _is_fresh(root):
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning(
                "The page of Paimon tables is not built: it needs Node.js 20.19 or newer. "
                "The rest of the provider works without it."
            )
            return
        installed = _newer(
            root / UI / "node_modules/.package-lock.json", root / UI / "package-lock.json"
        )
        for words in ([] if installed else [["ci"]]) + [["run", "build"]]:
            subprocess.run([npm, *words], cwd=root / UI, check=True)


def _is_fresh(root: Path) -> bool:
    built = root / BUILT
    sources = [
        *(root / UI / "src").rglob("*"),
        *(root / UI).glob("*.json"),
        root / UI / "vite.config.ts",
    ]
    return all(_newer(built, source) for source in sources)


def _newer(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime >= source.stat().st_mtime
