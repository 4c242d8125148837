"""Copy a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.arguments.checks import with_checks
from paimon_provider.arguments.values import require_table
from paimon_provider.lineage.columns import Derivation
from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = ["PaimonCloneOperator"]


class PaimonCloneOperator(PaimonTableOperator):
    """Copy one state of a table to a new table; its database is made where it is missing.

    A copy that was cut short goes on where it stood.  History, tags, branches and consumers stay
    behind.

    :param table: the new table.  (templated)
    :param source: the table to copy.  (templated)
    :param snapshot: the state to copy; default is the newest.  (templated)
    :param tag: or the state of this tag.  (templated)
    :param timestamp: or the newest snapshot at or before this point in time, ISO 8601 with a zone.
        (templated)
    :param positions: whether how far the flows, files and syncs that feed ``source`` had come comes along,
        so that what feeds the copy goes on from there; each moves on by itself.
    :param dry_run: only report what would be copied.
    """

    template_fields: Sequence[str] = (
        *PaimonTableOperator.template_fields,
        *("source", "snapshot", "tag", "timestamp"),
    )
    action = "clone"

    checks = with_checks(source=require_table)

    def __init__(
        self,
        *,
        source: str,
        snapshot: int | str | None = None,
        tag: str | None = None,
        timestamp: str | int | datetime | None = None,
        positions: bool = True,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self.source = source
        self.snapshot = snapshot
        self.tag = tag
        self.timestamp = timestamp
        self.positions = positions
        self.dry_run_only = dry_run

    def derivation(self) -> Derivation:
        """The table that is copied, column by column."""
        return Derivation(views={"source": self.source})
