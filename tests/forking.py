"""Many short scripts in processes of their own, which share what importing costs.

A server process imports the modules that the scripts need, once.  Each script then runs in a fork of it: with its own
folder, environment and output, as ``python script.py`` would.  The modules of the documents' examples take 1.5 s of CPU to
import, and a fork takes 10 ms.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Done", "ForkServer"]

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Done:
    """How a script ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


class ForkServer:
    """Runs scripts in forks of one process that has imported ``modules``; use it as a context manager."""

    def __init__(self, *modules: str, environment: Mapping[str, str]) -> None:
        self._modules = modules
        self._environment = {**os.environ, **environment}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forking", *self._modules],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # it ends when nothing more can be asked

    def run(self, *words: str, folder: Path) -> Done:
        """Run ``words``, a script or ``-m module`` with its arguments, in ``folder``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as outputs:
            out, err = (Path(outputs) / name for name in ("stdout", "stderr"))
            request = {"words": words, "folder": str(folder), "out": str(out), "err": str(err)}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError(f"the server ended with {self._process.wait()}: see its stderr")
            return Done(int(answer), out.read_text(), err.read_text())


def _run(request: dict[str, str]) -> int:
    """Run one script in this process, which nothing else uses; its exit status."""
    os.chdir(request["folder"])
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT), stream)
    first, *rest = request["words"]
    try:
        if first == "-m":
            sys.argv = list(rest)
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [first, *rest]
            sys.path.insert(0, str(Path(first).parent))
            runpy.run_path(first, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _serve(modules: list[str]) -> None:
    for module in modules:
        importlib.import_module(module)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a module prints is no answer
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = _run(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _, state = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(state)}\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.argv[1:])
