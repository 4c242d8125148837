"""Whether a source is still the one that was read; what is not is an error before anything is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.errors import SourceDivergedError
from table_core.position.decide import SYNC_WAYS, Diverged, what_next
from table_core.position.document import Position
from table_core.position.reader import Reader, ReaderKind
from table_core.position.source import PostgresId

if TYPE_CHECKING:
    from table_core.cdc.model.claims import Claim
    from table_core.position.decide import Now

__all__ = ["diverged", "refuse_diverged"]


def refuse_diverged(claim: Claim, now: Now, address: str, expired: str = "") -> None:
    """Refuse a source that is not what a claim is about, or has not all that comes after it.

    A source of another identity is another source, unless it stands where that one stood, or comes
    from it: a standby that was promoted, wherever it is.

    Args:
        claim: what a table has.
        now: the source as it is.
        address: where it is.
        expired: what happened where it lost what comes next, and what to do; '' for the usual words.

    Raises:
        SourceDivergedError: nobody can say what comes next.
    """
    follows = isinstance(now.source, PostgresId) and now.source.follows(claim.source)
    if not now.source.is_same(claim.source) and claim.address != address and not follows:
        return
    if type(now.source) is not type(claim.source):
        return
    reader = Reader(ReaderKind.SYNC, claim.route)
    decision = what_next(Position(reader, claim.source, claim.at), now)
    if isinstance(decision, Diverged):
        why = expired if expired and decision.reason == "expired" else decision.why
        raise diverged(replace(decision, why=why))


def diverged(divergence: Diverged) -> SourceDivergedError:
    """What to raise: the tables are read anew where they are dropped, or their position is set."""
    ways = ("drop the tables here, so that they are read anew", *SYNC_WAYS)
    return SourceDivergedError(
        f"{divergence.why}; nothing was read. Decide: {'; or '.join(ways)}",
        reader=divergence.reader,
        source=divergence.source,
        reason=divergence.reason,
        stored=divergence.stored,
        found=divergence.actual,
        ways_out=list(ways),
    )
