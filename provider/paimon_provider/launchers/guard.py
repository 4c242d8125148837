"""Runs a command and outlives nobody: the script between a worker and its Spark job.

``python guard.py GRACE_SECONDS FOLDER COMMAND…`` with a pipe as stdin.  When the pipe closes, because
somebody wants the job to stop or because the worker was killed with -9, the job's processes get
SIGTERM and, ``GRACE_SECONDS`` later, SIGKILL.  *All* processes: the session is searched, since Spark
moves its Python workers into process groups of their own.  ``FOLDER`` holds the job's spec; it is deleted when the
job is stopped that way, because nobody is left to do it.

Standard library only: this file is run by its path and imports nothing of ours.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["main", "session_members"]

_SESSION_FIELD = 3  # of /proc/<pid>/stat, counted after the command name


def session_members(session: int) -> list[int]:
    """Process ids in ``session``, without zombies.  Empty where there is no ``/proc``."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, *fields = (entry / "stat").read_text().rpartition(") ")[2].split()
        except OSError:  # gone meanwhile
            continue
        if state != "Z" and int(fields[_SESSION_FIELD - 1]) == session:
            members.append(int(entry.name))
    return members


def main(grace_seconds: float, folder: str, command: list[str]) -> int:
    """Run ``command``; its exit status, 128 + n if signal n ended it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    stopped = threading.Event()

    def stop_when_abandoned() -> None:
        while os.read(0, 4096):
            pass
        stopped.set()
        _signal_others(signal.SIGTERM)
        try:
            child.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            _signal_others(signal.SIGKILL)

    threading.Thread(target=stop_when_abandoned, daemon=True).start()
    status = child.wait()
    _signal_others(signal.SIGKILL)
    if stopped.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


def _signal_others(number: signal.Signals) -> None:
    session = os.getsid(0)
    for pid in session_members(session):
        if pid != os.getpid():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]))
