"""Runs the command line on a terminal of its own and writes what came there: ``python tests/on_terminal.py read d.t``."""

from __future__ import annotations

import os
import pty
import sys


def main(arguments: list[str]) -> int:
    """Write both streams of the command to standard output."""
    process, terminal = pty.fork()
    if process == 0:
        from table_core.cli.main import main as command

        sys.argv[1:] = arguments
        os.environ.update(COLUMNS="200", NO_COLOR="1", TERM="dumb")
        try:
            command()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # as Linux says that the last writer is gone
            break
        if not part:
            break
        sys.stdout.buffer.write(part)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
