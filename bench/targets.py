"""What the workloads are to reach: a multiple of another's time in the same run, or seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TARGETS", "Target", "shown"]

RUST: Final = "pypaimon+rust"


@dataclass(frozen=True)
class Target:
    """At most ``limit`` times what ``engine`` took for ``workload`` (default: the same one).

    Without an engine ``limit`` is in seconds.
    """

    limit: float
    engine: str | None = None
    workload: str | None = None


TARGETS: Final[Mapping[str, Target]] = {
    "W1": Target(1.0, RUST),
    "W2": Target(1.0, RUST),
    "W3": Target(0.6, RUST),
    "W3k": Target(0.05),
    "W4": Target(2.0, "ours", "W4a"),
    "W4r": Target(1.3, "ours", "W4f"),
    "W4s": Target(1.3, "ours", "W4g"),
    "W4k": Target(0.05),
    "W5": Target(0.06),
    "W5x": Target(1.5),
    "S3": Target(2.0, "ours", "W3"),
    "C3": Target(2.0, "ours", "W3"),
    "L3": Target(13.0, "ours", "W3"),
    "L3k": Target(0.05),
    "L6": Target(2.0),
    "W8": Target(1.1, RUST),
    "W8r": Target(1.3, "ours", "W8f"),
    "W9": Target(0.7, RUST),
    "W9r": Target(0.3, RUST),
    "W9u": Target(0.7, RUST),
    "W9v": Target(0.3, RUST),
    "W10r": Target(0.3, "pypaimon"),
    "W10c": Target(0.03),
    "W10p": Target(1.0, RUST),
    "W10l": Target(1.0, RUST),
}


def shown(name: str, best: Mapping[tuple[str, str], float | None]) -> str:
    """The target of a workload and what it came to; ``best``: seconds by workload and engine."""
    target = TARGETS.get(name)
    ours = best.get((name, "ours"))
    if target is None or ours is None:
        return ""
    if target.engine is None:
        reached, unit = ours, " s"
    else:
        peer = best.get((target.workload or name, target.engine))
        if not peer:
            return ""
        of = target.workload or {RUST: "Rust"}.get(target.engine, target.engine)
        reached, unit = ours / peer, f" x {of}"
    sign = "" if reached <= target.limit else "  MISSED"
    return f"{reached:.2f} of {target.limit:g}{unit}{sign}"
