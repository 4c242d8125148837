"""Copy a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.lineage.columns import Derivation
from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["PaimonCloneOperator"]


class PaimonCloneOperator(PaimonTableOperator):
    """Copy one state of a table to a new table, and create its database if that is missing.

    An interrupted copy resumes where it stopped. History, tags, branches and consumers are not
    copied.

    :param table: the new table.  (templated)
    :param source: the table to copy.  (templated)
    :param snapshot: the snapshot to copy; default: the newest. (templated)
    :param tag: copy the state of this tag instead. (templated)
    :param timestamp: or the newest snapshot at or before this point in time, ISO 8601 with a zone.
        (templated)
    :param positions: also copy the positions of the flows, files and syncs that feed ``source``.
        Whatever feeds the copy continues from there; from then on the positions of the two tables
        are independent.
    :param dry_run: only report what would be copied.
    """

    action = "clone"
    never_nothing = ("tag",)
    source: str

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
        self._take_arguments(locals())

    def derivation(self) -> Derivation:
        """The table that is copied, column by column."""
        return Derivation(views={"source": self.source})
