"""What a run over many tables leaves behind: up to which position all of them are complete.

Tables without news get no commit.  So the last commit of a run says of every table how far it was
itself; of one that is elsewhere by now, e.g. because it was rolled back, the word does not hold.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.claims import Claim, Claims
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.cdc.model.claims import Who

__all__ = ["Complete", "Completed"]

_VERSION: Final = 2
_KEPT: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """All that ``claim`` takes is in ``tables``."""

    claim: Claim
    tables: Mapping[str, str]
    """How far each was itself, as a digest of its claims."""
    source_schemas: str | None = None
    """What is known of source tables that feed none yet."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What the runs say that ended with a commit to one table, the newest last."""

    held: tuple[Complete, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> Completed:
        """Read what ``text`` wrote.

        Raises:
            CorruptFileError: it tells of no runs.
        """
        with stored("runs", text):
            return cls(
                tuple(
                    Complete(
                        claim=Claims.parse(run["claim"]).held[0],
                        tables=run["tables"],
                        source_schemas=run.get("told"),
                    )
                    for run in json.loads(text or "{}").get("runs", ())
                )
            )

    @property
    def text(self) -> str:
        """Compact JSON."""
        runs = []
        for entry in self.held:
            run: dict[str, Any] = {
                "claim": Claims((entry.claim,)).text,
                "tables": dict(sorted(entry.tables.items())),
            }
            runs.append(
                run if entry.source_schemas is None else {**run, "told": entry.source_schemas}
            )
        return json.dumps({"v": _VERSION, "runs": runs}, separators=(",", ":"))

    def of(self, who: Who) -> list[Complete]:
        """What they say of a source and its choice of tables."""
        return [
            entry
            for entry in self.held
            if who.is_of(entry.claim) and entry.claim.route == who.route
        ]

    def after(self, who: Who, complete: Complete) -> Completed:
        """These once another run has ended here."""
        mine = self.of(who)
        left = [other for other in self.held if other not in mine]
        return Completed((*left, complete)[-_KEPT:])
