"""How long the process of a job lives: until it is done, is told to stop, or is left alone."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Final

__all__ = ["end_when_told", "end_with_runner"]

_ENDED: Final = 128 + signal.SIGTERM


def end_with_runner() -> None:
    """Under Spark's ``PythonRunner``: end as soon as its JVM has.

    Who kills a driver kills a JVM.  The Python beside it would go on until it needs that JVM, and may
    even commit.  Its standard input is a pipe that the JVM holds: it closes when the JVM is gone.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        threading.Thread(target=_end_at_eof, name="paimon runner", daemon=True).start()


def end_when_told() -> None:
    """On SIGTERM leave by ``SystemExit``, so that what runs elsewhere is ended on the way out."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_ENDED))


def _end_at_eof() -> None:
    try:
        while os.read(0, 4096):
            continue
    except OSError:  # there is no standard input: nobody to wait for
        return
    os._exit(_ENDED)
