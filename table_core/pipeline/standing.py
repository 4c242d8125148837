"""Whether somebody else may run a pipeline: whose claim holds, and which is left behind."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_core.ondisk.pipeline_claim import PipelineClaim

__all__ = ["BEAT_MS", "SILENT_MAX_MS", "Standing", "standing"]

BEAT_MS: Final = 5_000
SILENT_MAX_MS: Final = 20_000
"""Who was not heard of for so long was killed, with its machine or on a machine that cannot be asked."""


class Standing(StrEnum):
    """What a claim means to who wants to run the pipeline."""

    FREE = "free"
    """Nobody runs it."""
    HELD = "held"
    """It was heard of since the first look: it is at work."""
    SILENT = "silent"
    """Nobody knows yet: look again."""


def standing(
    first: PipelineClaim | None,
    now: PipelineClaim | None,
    *,
    runs: bool | None,
    waited_ms: int,
) -> Standing:
    """What the claim ``now`` means, which was ``first`` when it was looked at ``waited_ms`` ago.

    ``runs``: whether its process does; None: it is of another machine.  A number of a process may be used again, so
    one that runs has to be heard of, too.
    """
    if now is None or now.ended or runs is False:
        return Standing.FREE
    if first is not None and (now.token, now.beats) != (first.token, first.beats):
        return Standing.HELD
    return Standing.FREE if waited_ms >= SILENT_MAX_MS else Standing.SILENT
