"""How far the collector has come with one table, and what it has to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from table_core.history.kinds import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot

__all__ = ["State", "expired_chunks", "is_news"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What was seen of a table when it was looked at last."""

    name: str
    """``database.table``, as the catalog spells it."""
    birth: str
    """What tells the table from another of that name."""
    head: int | None = None
    mark: str = ""
    """What tells the head from another snapshot of that number."""
    looked_ms: int = 0
    """When everything was looked at; a look at the head alone is none."""
    verdicts: tuple[Any, ...] = ()
    """``line.verdicts_document`` of the last whole look."""
    chunks: tuple[tuple[str, int, int], ...] = ()
    """Full chunks: part, time of the newest snapshot, how many snapshots."""
    open_count: int = 0
    """Snapshots in the open chunk."""

    @property
    def snapshots(self) -> int:
        """How many are kept."""
        return self.open_count + sum(count for _, _, count in self.chunks)

    def to_document(self) -> dict[str, Any]:
        """JSON-safe."""
        return {
            "version": VERSION,
            "name": self.name,
            "birth": self.birth,
            "head": self.head,
            "mark": self.mark,
            "looked_ms": self.looked_ms,
            "verdicts": list(self.verdicts),
            "chunks": [list(chunk) for chunk in self.chunks],
            "open_count": self.open_count,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> State | None:
        """Read what ``to_document`` made; None of another version, or of what is none: begin anew."""
        try:
            if document["version"] != VERSION:
                return None
            chunks = tuple((str(p), int(at), int(n)) for p, at, n in document["chunks"])
            return cls(
                name=str(document["name"]),
                birth=str(document["birth"]),
                head=None if document["head"] is None else int(document["head"]),
                mark=str(document["mark"]),
                looked_ms=int(document["looked_ms"]),
                verdicts=tuple(document["verdicts"]),
                chunks=chunks,
                open_count=int(document["open_count"]),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def is_before(self, snapshot: Snapshot | None) -> bool:
        """Whether ``snapshot``, the one of the number of our head, is our head: then the rest came after it."""
        return snapshot is not None and snapshot.delta_manifest_list == self.mark


def is_news(known: State | None, hinted: int | None, *, now_ms: int, recheck_ms: int) -> bool:
    """Whether a table has to be looked at, by what its ``LATEST`` hint says.

    A hint may be late, and tags, consumers and ages change without a commit: after ``recheck_ms`` a table
    is looked at anyway.
    """
    if known is None or hinted is None or hinted != known.head:
        return True
    return now_ms - known.looked_ms >= recheck_ms


def expired_chunks(
    chunks: Sequence[tuple[str, int, int]], *, now_ms: int, kept_ms: int
) -> list[str]:
    """Parts of the full chunks whose newest snapshot is older than ``kept_ms``."""
    return [part for part, newest_ms, _ in chunks if newest_ms < now_ms - kept_ms]
