"""What a look at a source finds: what is in the way of a sync, what it leads to, and what helps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["Finding", "Level"]


class Level(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """The sync fails."""
    WARNING = "warning"
    """The sync works, and something costs more or is left out."""
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    what: str
    """The setting, right or table."""
    status: str
    effect: str = ""
    remedy: str = ""

    def to_record(self) -> dict[str, str]:
        """As a row."""
        return {name: str(value) for name, value in asdict(self).items()}
