"""Values of rows that were removed, where nothing came after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.merge.aggregators.nested import Collect
from table_core.merge.aggregators.value import IgnoreRetract, Pick
from table_core.merge.ordinal import present
from table_core.merge.take_indices import taken

if TYPE_CHECKING:
    from table_core.merge.aggregators.value import Aggregator
    from table_core.merge.runs import Groups

__all__ = ["removed_kept"]


def removed_kept(
    values: pa.Array, result: pa.Array, aggregator: Aggregator, groups: Groups
) -> pa.Array:
    """``result``, but the value of a removed row as it was written where nothing came after it.

    A null that follows says nothing, except to a ``Pick`` or where distinct elements are collected.

    Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldAggregator#agg``.
    """
    if groups.removed is None or not groups.removed.any():
        return result
    inner = aggregator.inner if isinstance(aggregator, IgnoreRetract) else aggregator
    heeds_nulls = isinstance(inner, Pick) or inner == Collect(distinct=True)
    non_null = np.ones(len(values), np.bool_) if heeds_nulls else present(values).copy()
    if inner is not aggregator:
        non_null &= groups.adds()
    non_null[groups.starts[groups.removed]] = False
    alone = groups.removed & ~groups.reduce(np.logical_or, non_null, False)
    place = np.arange(len(result))
    place[alone] = groups.starts[alone] + len(result)
    return taken(pa.concat_arrays([result, values]), place)
