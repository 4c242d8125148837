"""Go back to an older state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_provider.arguments.checks import require_together
from paimon_provider.operators.base import PaimonTableOperator

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["PaimonRollbackOperator"]


class PaimonRollbackOperator(PaimonTableOperator):
    """Roll a table back to an older state; later snapshots and tags are deleted for good.

    No process should write to the table meanwhile. If a person must agree, put
    ``paimon_provider.approval.approval`` before it.

    :param snapshot: roll back to this snapshot. (templated)
    :param tag: or to this tag.  (templated)
    :param timestamp: or to the newest snapshot at or before this point in time, ISO 8601 with a
        zone.  (templated)
    :param dry_run: only report which snapshots and tags would be deleted.
    """

    action = "rollback"

    def __init__(
        self,
        *,
        snapshot: int | str | None = None,
        tag: str | None = None,
        timestamp: str | int | datetime | None = None,
        dry_run: bool = False,
        engine: str = "local",
        **kwargs: Any,
    ) -> None:
        super().__init__(engine=engine, **kwargs)
        self._take_arguments(locals())
        require_together(self)
