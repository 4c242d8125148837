"""A stripe that takes too much memory as a whole, read in batches.

Arrow's own reader gives whole stripes.  Its data sets read the same with as many rows at a time as one likes, but
a file from its beginning: rows of the stripes before are decoded and left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from table_core.options.budgets import STRIPE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.storage.orc.room import Room
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["rows_in_batches"]

_ROWS_MAX: Final = 65_536
_PARTS: Final = 4
"""Of the budget: what waits, what is decoded, and what is made of it."""


def rows_in_batches(
    source: Any, tail: OrcTail, stripe: int, names: Sequence[str], room: Room
) -> Iterator[pa.RecordBatch]:
    """The columns ``names`` of one stripe, of which ``room`` says what they take.

    Raises:
        pa.ArrowException: one row takes more than there may be, or it does not decode.
    """
    most = STRIPE_BYTES.most // _PARTS
    for what, size in (("one row", room.row), ("the texts of dictionaries", room.always)):
        if size > most:
            told = f"stripe {stripe}: {what} may take {size:,} bytes in memory, four times"
            raise pa.ArrowInvalid(STRIPE_BYTES.told(told))
    first = sum(rows for *_, rows in tail.stripes[:stripe])
    end = first + tail.stripes[stripe][4]
    scanner = (
        ds.OrcFileFormat()
        .make_fragment(source)
        .scanner(
            columns={name: pc.field((name,)) for name in names},
            batch_size=max(1, min(_ROWS_MAX, most // max(room.row, 1))),
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
    )
    at = 0
    with scanner.to_reader() as reader:
        for batch in reader:
            begin, at = at, at + batch.num_rows
            part = batch.slice(max(first - begin, 0), max(0, min(at, end) - max(begin, first)))
            if part.num_rows:
                yield part
            if at >= end:
                return
