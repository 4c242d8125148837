"""Snapshot properties that outlive the snapshot: every commit of ours repeats them.

A flow's position is such a property.  Foreign writers drop them, so they are looked up backwards: the
first snapshot of ours that the walk meets names them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.ondisk.snapshot import FIRST_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "CARRIED_PREFIX",
    "HISTORY_INCOMPLETE",
    "HISTORY_PROPERTY",
    "WRITER_PREFIX",
    "Carried",
    "carried",
    "carried_properties",
    "is_ours",
]

CARRIED_PREFIX: Final = "tc."
"""How the names of carried properties begin."""
WRITER_PREFIX: Final = "table-core-"
"""How ``writerVersion`` of our snapshots begins."""
HISTORY_PROPERTY: Final = "tc.history"
HISTORY_INCOMPLETE: Final = "incomplete"
"""Property of our snapshots when carried properties from before them may have been lost: a snapshot
without it knows that what it does not name was never set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Carried properties, as of a snapshot."""

    properties: Mapping[str, str]
    complete: bool
    """What is not in ``properties`` was never set.  False: history that could hold it is gone."""


def is_ours(snapshot: Snapshot) -> bool:
    """Whether this package made ``snapshot``, so that it repeats every carried property."""
    return (snapshot.writer_version or "").startswith(WRITER_PREFIX)


def carried_properties(snapshot: Snapshot) -> Mapping[str, str]:
    """The carried properties that ``snapshot`` itself names."""
    return {k: v for k, v in (snapshot.properties or {}).items() if k.startswith(CARRIED_PREFIX)}


def carried(snapshots: Iterable[Snapshot]) -> Carried:
    """The carried properties as of the first of ``snapshots`` (newest first, without a gap).

    Takes no more snapshots than it needs: one of ours ends the walk, and so does id 1.
    """
    properties: dict[str, str] = {}
    for snapshot in snapshots:
        properties = dict(carried_properties(snapshot)) | properties
        if is_ours(snapshot) or snapshot.id == FIRST_ID:
            return Carried(properties=properties, complete=HISTORY_PROPERTY not in properties)
    return Carried(properties=properties, complete=False)
