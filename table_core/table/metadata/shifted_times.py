"""Tables of others whose zoned times depend on where Java runs: whoever works with one is told."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from table_core.schema.orc_moments import ORC_MOMENTS, may_be_shifted

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess

__all__ = ["warn_of_shifted_times"]

_log = logging.getLogger(__name__)
_TOLD: Final[set[tuple[str, int]]] = set()


def warn_of_shifted_times(access: TableAccess) -> None:
    """Say once for each schema of a table that its ORC files hold no moments for Java."""
    schema = access.schema
    if (access.storage.uri, schema.id) in _TOLD or not may_be_shifted(schema):
        return
    _TOLD.add((access.storage.uri, schema.id))
    _log.warning(
        "%s: its ORC files hold zoned times, and %s is not false: Java shifts them by the zone of its process. They are read and "
        "written here as Java in UTC does. Run Java with -Duser.timezone=UTC, or copy the rows into a new table",
        access.name,
        ORC_MOMENTS,
    )
