"""Leaves events out of a table without a key that were delivered before, and says what it cannot tell."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.delivered import content_of
from table_core.cdc.model.truncates import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.model.batch import Position, SourceBatch
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.delivered import Delivered

__all__ = ["warn_of_repeats", "without_repeats"]

_log = logging.getLogger(__name__)
_NO_CHANGES = pa.array(["r", "t"])
"""Rows of a connector's snapshot have one place, and a truncate empties twice as well as once."""


def without_repeats(
    batch: SourceBatch[Position], changes: Sequence[Changes], known: Delivered
) -> tuple[list[Changes], Delivered]:
    """The changes that are no events of ``known``, and what is known behind them."""
    numbers = np.concatenate([one.lines for one in changes] or [np.zeros(0, np.int64)])
    told = batch.deliveries(ordered := np.unique(numbers)) if len(numbers) else None
    if told is None:
        return list(changes), known
    ops = pa.concat_arrays([one.ops.cast(pa.string()) for one in changes])
    wanted = numbers[np.asarray(pc.invert(pc.is_in(ops, value_set=_NO_CHANGES)))]

    def content(n: int) -> str:
        text = batch.text_of(int(ordered[n]))
        return content_of(text if isinstance(text, bytes) else text.encode())

    after, repeated = known.after(told.only(np.isin(ordered, wanted)), content)
    if not repeated.any():
        return list(changes), after
    again = ordered[repeated]
    parts = [chosen(one, ~np.isin(one.lines, again)) for one in changes]
    return [part for part in parts if part is not None], after


def warn_of_repeats(batch: SourceBatch[Position], changes: Sequence[Changes], name: str) -> None:
    """Say of a table that is made without a key what happens to an event that comes twice."""
    if not batch.may_repeat:
        return
    numbers = np.unique(np.concatenate([one.lines for one in changes]))
    told = batch.deliveries(numbers)
    effect = (
        "are left out where they come again in the same partition or file; other ones, and rows of a "
        "snapshot that was begun again, are here twice"
        if told is not None and bool(told.known.all())
        else "are here twice: not all of these tell their place in the log of MySQL, MariaDB or PostgreSQL"
    )
    _log.warning(
        "%s is made without a key, and its source delivers at least once. Events that it delivers "
        "twice %s. With primary_key=… they do no harm",
        name,
        effect,
    )
