"""Our engine beside pypaimon 2.1.0, with and without Rust, and Java Paimon: what ``make bench`` prints.

    python -m bench.run [--only W1,W2,W3,W4] [--rounds 3] [--scale 1] [--engines ours,pypaimon+rust]
                        [--huge-pages]

Every workload runs in a fresh process on the same rows; engines take turns within a round, so what
else the machine does hits all alike.  A workload and the one it is held against, where that follows
it, take turns too, several times and alone: whoever reads what was just written, or follows an engine
that took long, has the worse place.  Shown is the fastest run, ours as a multiple of the others', and
what it is to reach.  No process gets huge pages, unless ``--huge-pages`` says so: a virtual machine
whose host takes free ones back may pay milliseconds for the first touch of each, which is more than
the differences that are to be seen.
Checksums must agree, else the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.engines import ENGINES
from bench.memory import without_huge_pages
from bench.targets import TARGETS, shown
from bench.workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROJECT = Path(__file__).resolve().parent.parent
CACHE = PROJECT / ".cache"
PINS = ("pypaimon==2.1.0", "pypaimon-rust==0.4.0")
DEFAULT = "W1,W2,W3,W3k,W4a,W4,W4r,W4f,W4s,W4g,W4k,W5,W5x,W6,W6r,W7,W7r,S3,C3,L3,L3k,L6,W8,W8r,W8f,W9,W9r,W9u,W9v,W10r,W10p,W10l"

TURNS = 4
"""How often a workload and its measure take turns in a round."""

Measured = dict[str, Any]


def pypaimon_python() -> Path:
    """The interpreter of pypaimon's own environment, which is made on first use."""
    home = CACHE / "pypaimon"
    python = home / "bin" / "python"
    stamp = home / "pins.txt"
    if not (stamp.exists() and stamp.read_text() == " ".join(PINS)):
        uv = shutil.which("uv")
        venv.create(home, with_pip=uv is None, clear=True)
        installer = [uv, "pip", "install", "-q", "--python", str(python)]
        if uv is None:
            installer = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*installer, *PINS], check=True)
        stamp.write_text(" ".join(PINS))
    return python


def measure(engine: str, workload: Workload, home: Path, scale: float) -> Measured:
    """Run once; what the worker printed, or why it failed."""
    python = str(pypaimon_python()) if engine.startswith("pypaimon") else sys.executable
    words = [engine, workload.name, str(home / engine), str(CACHE / "bench" / "rows"), str(scale)]
    environment = {  # both sides may keep their compiled modules, as installed packages do
        **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": str(PROJECT),
        "PYTHONWARNINGS": "ignore",
        "PYTHONHASHSEED": "0",
    }
    done = subprocess.run(
        [python, "-m", "bench.worker", *words],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        env=environment,
        check=False,
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return dict(json.loads(lines[-1]))


def wanted(names: str) -> list[Workload]:
    """The named workloads and what must run before them, in order."""
    known = {w.name: w for w in WORKLOADS}
    chosen = set(names.split(","))
    for name in names.split(","):
        chosen.update(known[name].after)
    return [w for w in WORKLOADS if w.name in chosen]


def in_turns(workloads: Sequence[Workload]) -> Iterator[tuple[Workload, bool]]:
    """``workloads`` in order; one that is held against the next of ours takes turns with it.

    With each: whether it is another turn, which our engine takes alone.
    """
    left = list(workloads)
    while left:
        one = left.pop(0)
        target = TARGETS.get(one.name)
        if target and target.engine == "ours" and left and target.workload == left[0].name:
            pair = (one, left.pop(0))
            for number in range(TURNS):
                for each in pair if number % 2 == 0 else reversed(pair):
                    yield each, number > 0
        else:
            yield one, False


def run(
    workloads: Sequence[Workload], engines: Sequence[str], rounds: int, scale: float, out: Console
) -> dict[tuple[str, str], list[Measured]]:
    """All measurements by (workload, engine)."""
    found: dict[tuple[str, str], list[Measured]] = {}
    home = CACHE / "bench" / "warehouse"
    for number in range(rounds):
        shutil.rmtree(home, ignore_errors=True)
        for workload, again in in_turns(workloads):
            turn = number % len(engines)
            for engine in (*engines[turn:], *engines[:turn]):
                if again and engine != "ours":
                    continue
                if workload.only and engine not in workload.only:
                    found.setdefault((workload.name, engine), [])
                    continue
                one = measure(engine, workload, home, scale)
                found.setdefault((workload.name, engine), []).append(one)
                shown = f"{one['seconds']:8.3f} s" if "seconds" in one else str(one)[:120]
                out.print(
                    f"round {number + 1}  {workload.name:5} {engine:14} {shown}", soft_wrap=True
                )
    shutil.rmtree(home, ignore_errors=True)
    return found


def report(
    workloads: Sequence[Workload],
    engines: Sequence[str],
    found: dict[tuple[str, str], list[Measured]],
    out: Console,
) -> bool:
    """Print the table of ratios; whether all checksums agree and nothing failed."""
    others = [name for name in engines if name != "ours"]
    grid = Table(title="fastest run, seconds", title_justify="left")
    for heading in (
        "",
        "workload",
        *engines,
        *(f"ours / {o}" for o in others),
        "to reach",
        "peak MB",
        "above MB",
    ):
        grid.add_column(heading, justify="left" if heading in ("", "workload") else "right")
    good = True
    fastest = {
        key: min((run["seconds"] for run in runs if "seconds" in run), default=None)
        for key, runs in found.items()
    }
    for workload in workloads:
        best = {engine: fastest[workload.name, engine] for engine in engines}
        sums = set()
        for engine in engines:
            runs = found[workload.name, engine]
            sums.update(r["checksum"] for r in runs if "seconds" in r)
            good &= not any("failed" in r for r in runs)
        good &= len(sums) == 1
        cells = ["cannot" if best[e] is None else f"{best[e]:.3f}" for e in engines]
        ratios = [
            f"{best['ours'] / best[o]:.2f}" if best.get("ours") and best[o] else "" for o in others
        ]
        peaks, above = (
            " / ".join(_most(found[workload.name, e], member) for e in engines)
            for member in ("peak_mb", "above_mb")
        )
        goal = shown(workload.name, fastest)
        differ = "" if len(sums) <= 1 else f"  CHECKSUMS DIFFER: {sorted(sums)}"
        grid.add_row(workload.name, workload.title + differ, *cells, *ratios, goal, peaks, above)
    out.print(grid)
    return good


def _most(runs: Sequence[Measured], member: str) -> str:
    """The greatest of what the runs measured, ``-`` if none did."""
    return str(max((r[member] for r in runs if r.get(member) is not None), default="-"))


def main(arguments: list[str]) -> int:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("--only", default=DEFAULT, help=f"of {','.join(w.name for w in WORKLOADS)}")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--huge-pages", action="store_true", help="leave the kernel's as they are")
    wish = parser.parse_args(arguments)
    if not wish.huge_pages:
        without_huge_pages()
    out = Console(highlight=False, width=180 if not sys.stdout.isatty() else None)
    workloads, engines = wanted(wish.only), wish.engines.split(",")
    found = run(workloads, engines, wish.rounds, wish.scale, out)
    (CACHE / "bench" / "result.json").write_text(
        json.dumps(
            [{"workload": w, "engine": e, "runs": r} for (w, e), r in found.items()], indent=1
        )
    )
    return 0 if report(workloads, engines, found, out) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
