"""What an ORC writer writes into: it never fails there, because that would end the interpreter.

Arrow's ``ORCWriter`` lets an error of its sink through ``close``, which its destructor calls too, as
a C++ exception that nothing catches.  So an error is kept until Python asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["OrcSink"]


@dataclass(slots=True)
class OrcSink:
    """A file for ``ORCWriter``; what comes after a failure goes nowhere."""

    file: Any
    closed: bool = False
    _told: int = 0
    _failure: Exception | None = field(default=None, repr=False)
    _given_up: bool = False

    def write(self, body: Any) -> int:
        """Take ``body``."""
        size = len(body)
        self._told += size
        if self._failure is None and not self._given_up:
            try:
                self.file.write(body)
            except Exception as error:  # noqa: BLE001 - kept for ``check``; see the module
                self._failure = error
        return size

    def tell(self) -> int:
        """Bytes taken."""
        return self._told

    def flush(self) -> None:
        """Nothing: ``file`` is flushed by whoever closes it."""

    def close(self) -> None:
        """Nothing: ``file`` is closed by whoever opened it."""

    def check(self) -> None:
        """Raise what a write ran into."""
        if self._failure is not None:
            raise self._failure

    def give_up(self) -> None:
        """Take everything from now on without writing it."""
        self._given_up = True
