"""One thing that was looked at, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "State"]


class State(StrEnum):
    """How it is."""

    OK = "ok"
    WARNING = "warning"
    """Work goes on, until it needs this."""
    FAULT = "fault"
    """Something does not work."""
    SKIPPED = "skipped"
    """It was not looked at, or nobody needs it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and the remedy where something is wrong."""

    check: str
    state: State
    observed: str
    remedy: str = ""

    def to_document(self) -> dict[str, str]:
        """Its JSON form."""
        return {
            "check": self.check,
            "state": str(self.state),
            "found": self.observed,
            "remedy": self.remedy,
        }
