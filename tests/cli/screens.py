"""The golden screens: what each example shows, on which terminal, with what differs from run to run made equal."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from table_core.cli.commands import Entry
from tests.cli.terminal import Shown, Terminal

__all__ = ["FAULTS", "MACHINE", "Golden", "examples", "same_every_time", "screens_of"]

FOLDER = Path(__file__).with_name("screens")
MACHINE = frozenset(
    {
        ("doctor",),
        ("source", "doctor"),
        ("source", "resync"),
        ("source", "audit"),
        ("source", "replay"),
        ("pipeline",),
    }
)
"""What they show is of the machine or of a server, and of no golden file; a pipeline has no end either."""
FAULTS = {
    "a wrong value": "write shop.orders bad.csv",
    "a table that is not there": "read shop.order",
    "an option that nobody knows": "create d.t --column 'id INT' -O buckt=1",
    "an argument that is missing": "write",
    "no warehouse": "tables --warehouse nowhere",
    "nothing piped in": "write shop.orders --format csv",
}
"""Errors as people read them."""


def _as_long(match: re.Match[str]) -> str:
    """An age of nothing, in as many characters."""
    return f"{match[1]}0 s".ljust(len(match[0]))


_SAME: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "00000000-0000-0000-0000-000000000000"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-01 00:00:00"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}", "2026-01-01T00:00:00.000"),
    (r"/tmp/screens-[a-z0-9_]{8}", "/tmp/screens-00000000"),
    (
        r"(data|changelog)-0{8}-0{4}-0{4}-0{4}-0{12}-\d+",
        r"\1-00000000-0000-0000-0000-000000000000-0",
    ),
    (r"\b1[789]\d{11}-[0-9a-f]{16}", "1700000000000-0000000000000000"),
    (r"\b1[789]\d{11}\b", "1700000000000"),
    (r'("seconds": )[\d.e-]+', r"\g<1>0.0"),
    (r"(│ seconds +│ +)\d+\.\d+( *│)", r"\g<1>0.00\2"),
    (r"\b\d\d\.\d kB", "00.0 kB"),
    (r"(│ (?:oldest|newest) snapshot age +│ )\d+ s *", _as_long),
    (r'("(oldest|newest)_snapshot_age_ms": )\d+', r"\g<1>0"),
    (r'("(manifest_bytes|bytes\w*|size)": )\d+', r"\g<1>0"),
)


@dataclass(frozen=True)
class Golden:
    """One golden file."""

    name: str
    text: str

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.txt"

    def stored(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    def store(self) -> None:
        FOLDER.mkdir(exist_ok=True)
        self.path.write_text(self.text)


def same_every_time(text: str) -> str:
    """``text`` without times, ids, folders and sizes of one run; columns stay as wide as they are."""
    for pattern, same in _SAME:
        text = re.sub(pattern, same, text)
    return text


def examples(on: Terminal, shop: Path, words: list[str], **how: object) -> Shown:
    """``words`` in a copy of the shop."""
    copy = shop.with_name("here")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(shop, copy)
    return on.run(*words, folder=copy, TABLE_CORE_WAREHOUSE="warehouse", **how)  # type: ignore[arg-type]


def screens_of(
    terminal: Terminal, shop: Path, entry: Entry, *, as_json: bool
) -> Iterator[tuple[str, Shown]]:
    """How an example looks on two terminals, in a pipe, and to a program."""
    words = [*entry.path, *shlex.split(entry.example)]
    yield "terminal of 80 columns", examples(terminal, shop, words, columns=80)
    yield "terminal of 160 columns", examples(terminal, shop, words, columns=160)
    yield "no terminal", examples(terminal, shop, words, terminal=False)
    if as_json:
        yield "no terminal, --json", examples(terminal, shop, [*words, "--json"], terminal=False)
