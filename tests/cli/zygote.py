"""A process that has the command line loaded, and forks for each command that it is asked for.

A command is a process of its own with a terminal of its own size; only Python's imports are shared, which
are most of the time of a short command.  Requests come by a named pipe, one JSON a line; what a command
writes goes to the terminal, and then a mark with its exit status.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import traceback
from pathlib import Path
from typing import Any

MARK = "\x1e{number} {status}\x1e"


def load() -> None:
    """Everything that a command may load while it runs."""
    import table_core

    for module in pkgutil.walk_packages(table_core.__path__, "table_core."):
        if not module.name.startswith(("table_core.spark", "table_core.testing")):
            importlib.import_module(module.name)


def warm() -> None:
    """What the first command would load for all: the parser of arguments, the painter of help."""
    import gc
    import io
    from contextlib import redirect_stdout, suppress

    from table_core.cli.main import COMMAND

    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        COMMAND(["databases", "--help"])
    with redirect_stdout(io.StringIO()), suppress(SystemExit, Exception):
        COMMAND(["databases", "-w", "memory://nothing"])
    gc.collect()
    gc.freeze()  # what is never collected is never copied


def command(asked: dict[str, Any]) -> int:
    """Run one command in this process; its exit status."""
    os.chdir(asked["folder"])
    os.environ.update(asked["environment"])
    for stream, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if asked[name] is not None:
            flags = os.O_RDONLY if stream == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(asked[name], flags), stream)
    sys.argv = ["table-core", *asked["words"]]
    from table_core.cli.main import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def serve(requests: str) -> None:
    """Fork for each line of the pipe ``requests``."""
    load()
    warm()
    os.environ["TERM"] = "xterm-256color"
    with Path(requests).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            child = os.fork()
            if child == 0:
                status = command(json.loads(line))
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
            _, state = os.waitpid(child, 0)
            status = os.waitstatus_to_exitcode(state)
            sys.stdout.write(MARK.format(number=number, status=status))
            sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
