"""Did my write land?  Answers from stored snapshots, none of them guessed.

Two questions, each a pure function over documents that somebody else reads:

- ``judge``: a create failed or its reply was lost; whose file is there now?
- ``search``: an earlier process may have made this commit; is it in history?
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from table_core.commit.effects import Head, Search
from table_core.errors import ForeignOverwriteError, OutcomeUnknownError
from table_core.ondisk.properties import ruled_out_from
from table_core.ondisk.snapshot import FIRST_ID, CommitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from table_core.commit.effects import FindMine
    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "CreateOutcome",
    "Seen",
    "committed_identifiers",
    "digest",
    "judge",
    "remember",
    "search",
    "verify",
]

_SEEN_MAX: Final = 3
_CLOCKS_MS: Final = 60_000
"""So far the clocks of those who commit may be apart."""


def digest(body: bytes) -> str:
    """The name of ``body`` among all bytes: SHA-256 in hex."""
    return hashlib.sha256(body).hexdigest()


class CreateOutcome(Enum):
    """Whose snapshot is stored under the id we tried."""

    OURS = "ours"
    LOST = "lost"
    ABSENT = "absent"
    WITHDRAWN = "withdrawn"
    """It was ours, and what it was built on is gone: so is it."""


def judge(stored: Head | None, wanted: str) -> CreateOutcome:
    """What became of a snapshot whose bytes have the digest ``wanted``.

    The UUID inside makes two attempts differ, so equal bytes are the same attempt.
    """
    if stored is None:
        return CreateOutcome.ABSENT
    return CreateOutcome.OURS if stored.digest == wanted else CreateOutcome.LOST


@dataclass(frozen=True, slots=True)
class Seen:
    """A snapshot that a commit was built on, or that it made."""

    id: int
    digest: str
    user: str
    state: str
    """``Snapshot.state``."""

    @classmethod
    def of(cls, head: Head) -> Seen:
        """``head``, seen now."""
        return cls(head.id, head.digest, head.snapshot.commit_user, head.snapshot.state)


def remember(seen: tuple[Seen, ...], *heads: Head) -> tuple[Seen, ...]:
    """``seen`` with ``heads`` added; the newest few, oldest first."""
    by_id = {s.id: s for s in seen}
    for head in heads:
        by_id[head.id] = Seen.of(head)
    return tuple(by_id[id] for id in sorted(by_id)[-_SEEN_MAX:])


def verify(seen: Seen, stored: Head) -> None:
    """Require that ``stored`` still has the bytes that were ``seen``.

    Raises:
        ForeignOverwriteError: another writer replaced it; both users are named.
    """
    same = stored.snapshot.commit_user == seen.user and stored.snapshot.state == seen.state
    if stored.digest == seen.digest or same:
        return  # the second: made again of a tag
    theirs = stored.snapshot.commit_user
    raise ForeignOverwriteError(
        f"snapshot {seen.id} of {seen.user} was replaced by {theirs}. If the table was rolled back or "
        "fast-forwarded since, open it again and write again. If not, that writer commits without a lock: "
        "give both writers a catalog with a lock, check which commit was lost, and open the table again. "
        "Nothing was built on top",
        path=f"snapshot/snapshot-{seen.id}",
        ours=seen.user,
        theirs=theirs,
    )


def search(
    asked: FindMine, read: Callable[[int], Snapshot | None], *, at_hand: Container[int] = ()
) -> Search:
    """Look for one logical commit, from the newest snapshot down.

    ``read`` gives the snapshot of an id, None if there is none; those ``at_hand`` cost nothing.  What a
    snapshot's own list of commits rules out is not read: long histories are looked through in leaps.
    Identifiers that grow may have been begun by another engine, which keeps no list: there, every
    snapshot is read.

    Asked for commit 5 of user u, head 90.  The list in snapshot 90 is full with 50 commits, and u 5 is not
    among them: 41 to 90 are ruled out, and 40 is next.  It is of u with identifier 5 and COMPACT, which is
    the second half, so 39 is read too, which is the first.  Three reads instead of 52.
    """
    halves: list[Snapshot] = []
    id, lowest = asked.newest, asked.newest + 1
    superseded_by: int | None = None
    last_read = id + 1
    while id >= asked.oldest and (snapshot := read(id)) is not None:
        lowest = last_read = id
        if snapshot.commit_user == asked.user:
            if snapshot.commit_identifier == asked.identifier:
                halves.append(snapshot)
                if snapshot.commit_kind is not CommitKind.COMPACT:
                    break  # the half that comes first
            elif asked.growing and snapshot.commit_identifier > asked.identifier:
                superseded_by = superseded_by or id
            elif asked.growing:
                # Smaller: everything below is older still.  What is asked for is not there.
                lowest = FIRST_ID
                break
        if _is_older(snapshot, asked):
            lowest = FIRST_ID
            break
        if not asked.growing:
            lowest = ruled_out_from(snapshot, asked.user, asked.identifier)
        leap = range(max(lowest, asked.oldest) - 1, id)
        id = next((i for i in leap if i in at_hand), leap.start)
    if asked.since_ms is not None and not halves and lowest > asked.oldest:
        # The last leap ended in what is expired.  What is left of the snapshots that it passed over may be
        # old enough.
        left = (read(id) for id in range(lowest, last_read))
        earliest = next((snapshot for snapshot in left if snapshot is not None), None)
        if earliest is not None and _is_older(earliest, asked):
            lowest = FIRST_ID
    return Search(snapshots=tuple(halves), lowest=lowest, superseded_by=superseded_by)


def _is_older(snapshot: Snapshot, asked: FindMine) -> bool:
    """Whether this snapshot, and so each below it, was there before the commit was first tried."""
    return asked.since_ms is not None and snapshot.time_millis < asked.since_ms - _CLOCKS_MS


def committed_identifiers(
    snapshots: Iterable[Snapshot],
    *,
    user: str,
    identifiers: Iterable[int],
    floor: Callable[[], int],
) -> frozenset[int]:
    """Those of the growing ``identifiers`` of ``user`` that have landed.

    ``snapshots`` come newest first; reading stops at the first one of the user (format 10.4).
    ``floor`` is asked behind it.

    Raises:
        OutcomeUnknownError: that one lies below the floor, where a number may have been used again.
    """
    mine = next((s for s in snapshots if s.commit_user == user), None)
    if mine is None:
        return frozenset()
    lowest = floor()
    if mine.id < lowest:
        raise OutcomeUnknownError(
            f"the newest commit of {user!r} is snapshot {mine.id}, but the history is complete only from "
            f"{lowest} on. So nobody can tell whether that snapshot was ever part of the table. Check "
            "whether its rows are there",
            user=user,
            id=mine.id,
            floor=lowest,
        )
    return frozenset(i for i in identifiers if i <= mine.commit_identifier)
