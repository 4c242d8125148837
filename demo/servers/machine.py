"""What a server needs to know of this machine: free ports, its user, when it answers."""

from __future__ import annotations

import os
import pwd
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NotReadyError", "await_answer", "free_port", "user_name"]


class NotReadyError(Exception):
    """A server does not answer in time; the message holds the last reason."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def user_name() -> str:
    """The user of this process: servers that may run as root want its name."""
    return pwd.getpwuid(os.geteuid()).pw_name


def await_answer(
    ask: Callable[[], object],
    *,
    seconds: float,
    alive: Callable[[], None],
    every: float = 0.1,
) -> None:
    """Ask until ``ask`` does not raise.

    ``alive`` raises when the server has ended, so that nobody waits for it.

    Raises:
        NotReadyError: it raised until the time was over.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            ask()
        except Exception as error:
            alive()
            if time.monotonic() > until:
                raise NotReadyError(f"no answer in {seconds:.0f} s: {error}") from error
            time.sleep(every)
        else:
            return
