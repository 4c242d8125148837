"""A terminal that commands run in, and what a person sees on it."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pexpect
import pyte

__all__ = ["Shown", "Terminal"]

ROOT = Path(__file__).parents[2]
LINES = 600
SECONDS = 300


@dataclass(frozen=True)
class Shown:
    """What a command left: the screen, or what it wrote without a terminal, and its exit status."""

    status: int
    screen: str
    """Nothing if nothing went to the terminal."""
    stdout: str = ""
    stderr: str = ""


class Terminal:
    """Runs commands on a terminal of its own; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0

    def __enter__(self) -> Self:
        pipe = self.folder / "requests"
        os.mkfifo(pipe)
        path = os.pathsep.join([str(ROOT), str(ROOT / "provider")])
        environment = {
            k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES", "NO_COLOR"}
        }
        environment |= {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
        self.process = pexpect.spawn(
            sys.executable,
            ["-m", "tests.cli.zygote", str(pipe)],
            cwd=ROOT,
            env=environment,
            echo=False,
            timeout=SECONDS,
            encoding="utf-8",
        )
        self.requests = pipe.open("w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self.requests.close()
        self.process.close(force=True)

    def run(
        self,
        *words: str,
        folder: Path,
        columns: int = 80,
        terminal: bool = True,
        stdout: str | None = None,
        **environment: str,
    ) -> Shown:
        """Run ``table-core words`` in ``folder``, on the terminal or with both streams in files.

        ``stdout`` names the file that a run without a terminal writes to.
        """
        self.process.setwinsize(LINES, columns)
        out, err = (self.folder / name for name in ("stdout", "stderr"))
        asked: dict[str, Any] = {
            "words": words,
            "folder": str(folder),
            "environment": environment,
            "stdin": None if terminal else os.devnull,
            "stdout": None if terminal else stdout or str(out),
            "stderr": None if terminal else str(err),
        }
        self.requests.write(json.dumps(asked) + "\n")
        self.requests.flush()
        self.process.expect(re.compile(rf"\x1e{self.number} (-?\d+)\x1e"))
        self.number += 1
        status = int(self.process.match[1])
        screen = seen(self.process.before, columns)
        if terminal:
            return Shown(status, screen)
        told = out.read_text() if stdout is None else ""
        return Shown(status, screen, told, err.read_text())


def seen(told: str, columns: int) -> str:
    """What stays on a screen when ``told`` was written to it; lines without blanks at their ends."""
    screen = pyte.Screen(columns, LINES)
    pyte.Stream(screen).feed(told)
    lines = []
    for y in range(screen.cursor.y + 1):
        row = screen.buffer[y]
        last = max(row, default=-1)
        lines.append("".join(row[x].data for x in range(last + 1)).rstrip())
    return "\n".join(lines).rstrip("\n") + "\n" if any(lines) else ""
