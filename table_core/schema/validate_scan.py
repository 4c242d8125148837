"""Options that say where a read begins: which ones belong together.

Paimon checks stored ones each time it opens the table, so a pair that contradicts itself makes a table that
nobody opens.  Where none of ``scan.mode`` is given, the first option that is decides the mode::

    scan.snapshot-id=3                           from-snapshot: right
    scan.mode=full, scan.snapshot-id=3           two starts
    scan.mode=from-timestamp                     no time

Source: ``org.apache.paimon.schema.SchemaValidation#validateStartupMode``, ``CoreOptions#startupMode``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.options import keys_scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.options.option import Option
    from table_core.options.table import TableOptions

__all__ = ["scan_option_problems"]

_TIMES: Final = (keys_scan.SCAN_TIMESTAMP_MILLIS, keys_scan.SCAN_TIMESTAMP)
_RANGES: Final = (
    keys_scan.INCREMENTAL_BETWEEN,
    keys_scan.INCREMENTAL_BETWEEN_TIMESTAMP,
    keys_scan.INCREMENTAL_TO_AUTO_TAG,
)
_ID, _TAG = keys_scan.SCAN_SNAPSHOT_ID, keys_scan.SCAN_TAG_NAME
_FILES: Final = keys_scan.SCAN_FILE_CREATION_TIME_MILLIS
_STATES: Final = (_ID, _TAG, keys_scan.SCAN_WATERMARK)


@dataclass(frozen=True, slots=True)
class _Start:
    """What one mode needs, and what it excludes."""

    one_of: tuple[Option[Any], ...]
    """Exactly one of these is given."""
    none_of: tuple[Option[Any], ...]


_STARTS: Final[Mapping[str, _Start]] = {
    "from-timestamp": _Start(_TIMES, (_ID, _FILES, _TAG, *_RANGES)),
    "from-snapshot": _Start(_STATES, (*_TIMES, _FILES, *_RANGES)),
    "from-snapshot-full": _Start((_ID,), (*_TIMES, _FILES, _TAG, *_RANGES)),
    "from-file-creation-time": _Start(
        (_FILES,), (_ID, keys_scan.SCAN_TIMESTAMP_MILLIS, _TAG, *_RANGES)
    ),
    "incremental": _Start(_RANGES, (_ID, *_TIMES, _FILES, _TAG)),
}
_STORED_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,9})?)?")
_OTHERS: Final = _Start((), (*_TIMES, _FILES, _ID, _TAG, *_RANGES))
_DECIDES: Final = (
    (_TIMES, "from-timestamp"),
    ((*_STATES, keys_scan.SCAN_VERSION), "from-snapshot"),
    ((_FILES,), "from-file-creation-time"),
    ((keys_scan.SCAN_CREATION_TIME_MILLIS,), "from-creation-timestamp"),
    (_RANGES, "incremental"),
)


def scan_option_problems(options: TableOptions, *, of_handle: bool = False) -> Iterator[str]:
    """Options that want two starts, and modes without theirs.

    ``of_handle``: whether they may say what a handle understands and a stored option cannot be:
    ``scan.version``, and ``incremental-to-auto-tag`` without a mode.
    """
    mode = options.get(keys_scan.SCAN_MODE)
    if mode == "default":
        mode = _decided(options)
    start = _STARTS.get(mode, _OTHERS)
    if not of_handle and options.is_set(keys_scan.SCAN_VERSION):
        yield "scan.version is for one read, and is not stored: use scan.snapshot-id or scan.tag-name"
        return
    text = options.get(keys_scan.SCAN_TIMESTAMP)
    if not of_handle and text is not None and not _STORED_TIME.fullmatch(text):
        yield (
            f"scan.timestamp {text!r} is not stored: Paimon reads times such as '2026-01-31 12:30:15' alone, "
            "in the zone of its process; use scan.timestamp-millis"
        )
    decided = mode == "incremental" and not options.is_set(keys_scan.SCAN_MODE)
    if decided and not of_handle and not any(options.is_set(option) for option in _RANGES[:2]):
        yield "incremental-to-auto-tag needs scan.mode=incremental where it is stored"
    needed = start.one_of
    if of_handle and mode == "from-snapshot":
        needed = (*needed, keys_scan.SCAN_VERSION)
    named = [option.key for option in needed if options.is_set(option)]
    if needed and len(named) != 1:
        keys = ", ".join(option.key for option in needed)
        what = f"not {' and '.join(named)}" if named else "and none is given"
        yield f"scan.mode {mode} takes exactly one of {keys}, {what}"
    for option in start.none_of:
        if options.is_set(option):
            yield f"{option.key} cannot be used with scan.mode {mode}: one start of a read at a time"


def _decided(options: TableOptions) -> str:
    for members, mode in _DECIDES:
        if any(options.is_set(option) for option in members):
            return mode
    return "latest-full"
