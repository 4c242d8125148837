"""Timestamps of ORC files that Arrow cannot give: it knows nanoseconds since 1970 alone.

ORC keeps seconds since 2015 and nanoseconds apart, so any year fits.  Used for stripes where Arrow
refuses; slower, and only for columns that are not nested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.errors import UnsupportedFeatureError
from table_core.storage.orc.numbers import decode_booleans, decode_integers
from table_core.storage.orc.stripes import read_stripe_streams

if TYPE_CHECKING:
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["BASE", "TIMESTAMPS", "nanoseconds", "read_timestamps"]

_TIMESTAMP: Final = 9
TIMESTAMPS: Final = frozenset({_TIMESTAMP, 18})
"""Kinds of columns: without and with a time zone."""
_PRESENT, _DATA, _SECONDARY = 0, 1, 5
_DIRECT_V2: Final = 2
BASE: Final = 1_420_070_400
"""2015-01-01 00:00:00 UTC in seconds."""
_UTC_NAMES: Final = frozenset({"", "UTC", "GMT", "Etc/UTC", "Z"})


def read_timestamps(
    file: Any, tail: OrcTail, stripe: int, field: pa.Field, *, path: str
) -> pa.Array:
    """The column ``field``, timestamps in milli- or microseconds, of one stripe.

    Raises:
        UnsupportedFeatureError: nested, written in another time zone than UTC, or with a digit
            more than ``type_`` has.
        ValueError, LookupError: the file is damaged.
    """
    name, type_ = field.name, field.type
    column, kind = tail.column(name)
    is_ours = pa.types.is_timestamp(type_) and type_.unit != "ns"
    if kind not in TIMESTAMPS or not is_ours:
        raise _unsupported(name, path, "nested, or with more than 6 digits of a second")
    stored = read_stripe_streams(file, tail, stripe, column)
    if kind == _TIMESTAMP and stored.timezone not in _UTC_NAMES:
        raise _unsupported(name, path, f"and was written in the time zone {stored.timezone}")
    if stored.encoding != _DIRECT_V2:
        raise _unsupported(name, path, "in the run-length encoding of ORC before 0.12")
    present = stored.streams.get(_PRESENT)
    there = np.ones(stored.rows, bool) if present is None else decode_booleans(present, stored.rows)
    count = int(there.sum())
    seconds = BASE + decode_integers(stored.streams.get(_DATA, b""), count, signed=True)
    nanos = nanoseconds(decode_integers(stored.streams.get(_SECONDARY, b""), count, signed=False))
    # Java truncates towards 1970 and writers keep it so: the fraction then belongs to one less.
    seconds = seconds - ((seconds < 0) & (nanos > 999_999))
    per_second = 1_000 if type_.unit == "ms" else 1_000_000
    values = np.zeros(stored.rows, np.int64)
    values[there] = seconds * per_second + nanos // (1_000_000_000 // per_second)
    return pa.array(values, mask=~there).cast(type_)


def nanoseconds(stored: Any) -> Any:
    """Nanoseconds, whose trailing zeros are counted in the last three bits."""
    zeros = stored & 7
    return (stored >> 3) * np.where(zeros > 0, 10 ** (zeros + 1), 1)


def _unsupported(name: str, path: str, why: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{path}: column {name!r} holds instants outside the years 1677 to 2262, {why}: "
        "this release cannot read these from ORC",
        feature="ORC timestamps outside 1677 to 2262",
        column=name,
        path=path,
    )
