"""Snapshot properties that outlive the snapshot: every commit of ours repeats them.

A flow's position is such a property.  Foreign writers drop them, so they are looked up backwards: the
first snapshot of ours that the walk meets names them all.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.ondisk.snapshot import FIRST_ID, CommitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "BROUGHT_BACK_PROPERTY",
    "CARRIED_PREFIX",
    "COMMITS_PROPERTY",
    "HISTORY_INCOMPLETE",
    "HISTORY_PROPERTY",
    "NUMBER",
    "ROWS_KEPT_PROPERTY",
    "WRITER_PREFIX",
    "CarriedProperties",
    "carried",
    "carried_properties",
    "has_landed",
    "is_ours",
    "newest_return",
    "ruled_out_from",
    "with_commit",
]

NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
"""A number in a property; thousands of digits are none, and Python refuses to read them."""
CARRIED_PREFIX: Final = "tc."
"""How the names of carried properties begin."""
COMMITS_PROPERTY: Final = "tc.commits"
"""The newest commits under a name, oldest first: that they landed is known though their snapshots
are expired.  Part of the snapshot, so it is as atomic, and a rollback takes it back too."""
_COMMITS_MAX: Final = 64
WRITER_PREFIX: Final = "table-core-"
"""How ``writerVersion`` of our snapshots begins."""
ROWS_KEPT_PROPERTY: Final = "table-core.rows-kept"
"""Property of an OVERWRITE snapshot of ours that brings the very rows that it takes away, e.g. into other
buckets: readers of changes miss nothing."""
HISTORY_PROPERTY: Final = "tc.history"
HISTORY_INCOMPLETE: Final = "incomplete"
"""Property of our snapshots when carried properties from before them may have been lost: a snapshot
without it knows that what it does not name was never set."""
BROUGHT_BACK_PROPERTY: Final = "tc.brought-back"
"""Id of the newest snapshot that may have brought back files that had been taken out (``newest_return``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedProperties:
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


def carried(snapshots: Iterable[Snapshot], floor: Callable[[], int]) -> CarriedProperties:
    """The carried properties as of the first of ``snapshots`` (newest first, without a gap).

    Takes no more snapshots than it needs: one of ours ends the walk, and so does id 1.  ``floor`` is asked
    behind them: what lies below it may be a number that was used again by a writer that slept.
    """
    walked: list[Snapshot] = []
    for snapshot in snapshots:
        walked.append(snapshot)
        if _ends(snapshot):
            break
    lowest = floor() if len(walked) > 1 else FIRST_ID
    known = [snapshot for snapshot in walked if snapshot.id >= lowest]
    properties: dict[str, str] = {}
    for snapshot in known:
        properties = dict(carried_properties(snapshot)) | properties
    complete = bool(known) and _ends(known[-1]) and HISTORY_PROPERTY not in properties
    if returned := newest_return(known):
        properties[BROUGHT_BACK_PROPERTY] = str(returned)
    return CarriedProperties(properties=properties, complete=complete)


def newest_return(walked: Sequence[Snapshot]) -> int:
    """Id of the newest snapshot that may have brought back files that had been taken out; 0: none has.

    From it on, a file that is taken out stays out: no commit of ours brings one back, and of others only an
    overwrite does (Paimon's ``rollback_to_as_latest``).  ``walked``: from the newest snapshot down, as ``carried`` takes
    them.  Where snapshots that could be it are gone, it is the oldest above them.
    """
    returned, above = 0, 0
    for snapshot in walked:
        if above > snapshot.id + 1:
            returned = max(returned, above)
        above = snapshot.id
        noted = (snapshot.properties or {}).get(BROUGHT_BACK_PROPERTY, "")
        if NUMBER.fullmatch(noted):
            returned = max(returned, int(noted))
        if snapshot.commit_kind is CommitKind.OVERWRITE and not is_ours(snapshot):
            returned = max(returned, snapshot.id)
    return returned if not walked or _ends(walked[-1]) else max(returned, above)


def _ends(snapshot: Snapshot) -> bool:
    """Whether nothing older has to be asked."""
    return is_ours(snapshot) or snapshot.id == FIRST_ID


def has_landed(properties: Mapping[str, str], user: str, identifier: int, *, growing: bool) -> bool:
    """Whether ``COMMITS_PROPERTY`` says so; of a ``growing`` user, that it is past ``identifier``."""
    mark = _mark(user)
    for entry in properties.get(COMMITS_PROPERTY, "").split():
        name, _, number = entry.partition(":")
        if name == mark and NUMBER.fullmatch(number):
            landed = int(number)
            if landed == identifier or (growing and landed > identifier):
                return True
    return False


def ruled_out_from(snapshot: Snapshot, user: str, identifier: int) -> int:
    """The smallest id from which on, up to ``snapshot``, no snapshot of ours can be this commit.

    Each of ours adds at most one entry to the list, so a full list speaks for as many snapshots as it
    has entries, and one that never was full for all of them.
    """
    properties = snapshot.properties or {}
    if not is_ours(snapshot) or has_landed(properties, user, identifier, growing=False):
        return snapshot.id
    named = len(properties.get(COMMITS_PROPERTY, "").split())
    if named >= _COMMITS_MAX:
        return max(snapshot.id - named + 1, FIRST_ID)
    return snapshot.id if HISTORY_PROPERTY in properties else FIRST_ID


def with_commit(properties: Mapping[str, str], user: str, identifier: int, *, growing: bool) -> str:
    """The value of ``COMMITS_PROPERTY`` once this commit has landed too."""
    mark = _mark(user)
    new = f"{mark}:{identifier}"
    entries = properties.get(COMMITS_PROPERTY, "").split()
    kept = [e for e in entries if e != new and not (growing and e.startswith(f"{mark}:"))]
    return " ".join([*kept, new][-_COMMITS_MAX:])


def _mark(user: str) -> str:
    """Users may be long, and hold blanks."""
    return hashlib.sha256(user.encode()).hexdigest()[:16]
