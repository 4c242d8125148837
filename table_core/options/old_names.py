"""Options of older releases of Apache Paimon, and what replaced them.

Stored ones are passed over, as Paimon itself does; one that a user gives is refused with these words.
Old names that only mean a new one are the aliases of that option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OLD_NAMES", "replacement_of"]

_LOG: Final = (
    "the log system is gone: set changelog-producer, and read changes as a stream (scan.mode)"
)
OLD_NAMES: Final[Mapping[str, str]] = {
    "append-only.assert-disorder": "leave it out: the rows of a bucket always keep their order",
    "compaction.early-max.file-num": "leave it out: compaction.min.file-num decides",
    "compaction.max.file-num": "leave it out: compaction.min.file-num and target-file-size decide",
    "lookup.local-file-type": "leave it out: lookup files are sorted",
    "record-level.time-field-type": "leave it out: the type of record-level.time-field decides",
    "sequence.auto-padding": "leave it out: give sequence.field columns that are fine enough",
    "streaming-read-mode": "leave it out: streams read the files of the table",
    "write-mode": "leave it out: a table without a primary key is an append table",
    "table.type": "set type instead",
}
"""Each old option and what to do; ``log.*`` has a rule of its own."""


def replacement_of(key: str) -> str | None:
    """What to do instead of setting the old option ``key``; None: it is none."""
    return _LOG if key.startswith("log.") else OLD_NAMES.get(key)
