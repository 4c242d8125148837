"""How the rows of an append table are to lie: sorted by columns, or along a curve through them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.kinds import Atomic, Root
from table_core.datatypes.row_kind import SEQUENCE_COLUMN
from table_core.errors import ArgumentError, OptionError, UnsupportedFeatureError
from table_core.merge.curve import hilbert, z_order
from table_core.merge.ordinal import single_chunk
from table_core.merge.sort import KeyOrder
from table_core.options import keys_write
from table_core.schema.table_schema import KEY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.schema.table_schema import TableSchema

__all__ = ["Clustering"]

_CURVES: Final = {"zorder": z_order, "hilbert": hilbert}
_NAMED: Final = re.compile(r"\s*(order|zorder|hilbert)\s*\((.*)\)\s*", re.IGNORECASE)
_PLACE: Final = f"{KEY_PREFIX}place"
_UNORDERED: Final = frozenset({Root.VARIANT, Root.BLOB})
_HILBERT_FROM: Final = 5


@dataclass(frozen=True, slots=True)
class Clustering:
    """``strategy``: ``order``, ``zorder`` or ``hilbert``."""

    columns: tuple[str, ...]
    strategy: str

    @classmethod
    def of(cls, schema: TableSchema, order_by: Sequence[str]) -> Clustering:
        """What ``order_by`` asks for: columns, or one text such as ``zorder(country, day)``.

        With columns alone ``clustering.strategy`` decides; ``auto`` is ``order`` for one column,
        ``zorder`` for up to four and ``hilbert`` beyond.

        Raises:
            ArgumentError: no such column, or one twice.
            OptionError: no such strategy.
            UnsupportedFeatureError: values of a column have no order.
        """
        strategy = schema.options.get(keys_write.CLUSTERING_STRATEGY).lower()
        named = _NAMED.fullmatch(order_by[0]) if len(order_by) == 1 else None
        columns = tuple(order_by)
        if named is not None:
            strategy = named[1].lower()
            columns = tuple(name.strip().strip("`") for name in named[2].split(","))
        for name in columns:
            if name not in schema.by_name or columns.count(name) > 1:
                raise ArgumentError(
                    f"order_by names {name!r}, which is no column or named twice; there are "
                    f"{list(schema.by_name)}",
                    argument="order_by",
                    value=list(order_by),
                )
            type_ = schema.field(name).type
            if not isinstance(type_, Atomic) or type_.root in _UNORDERED:
                raise UnsupportedFeatureError(
                    f"order_by names {name!r}, whose values have no order",
                    feature="sort compaction",
                )
        return cls(columns, _strategy(strategy, len(columns)))

    @property
    def order(self) -> KeyOrder:
        """What ``placed`` rows are sorted by."""
        return KeyOrder((_PLACE,) if self.strategy in _CURVES else self.columns)

    def placed(self, rows: pa.Table, first: int) -> pa.Table:
        """``rows`` with what they are sorted by; ``first`` is the number of the first of them.

        Shape: ``rows[n]`` to ``result[n]`` with columns more, which ``plain`` takes away.
        """
        numbers = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
        placed = rows.append_column(SEQUENCE_COLUMN, numbers)
        curve = _CURVES.get(self.strategy)
        if curve is None:
            return placed
        return placed.append_column(_PLACE, curve([single_chunk(rows[n]) for n in self.columns]))

    def plain(self, placed: pa.Table) -> pa.Table:
        """What ``placed`` was made of."""
        return placed.drop_columns(
            [name for name in (SEQUENCE_COLUMN, _PLACE) if name in placed.column_names]
        )


def _strategy(asked: str, columns: int) -> str:
    if asked == "auto":
        if columns == 1:
            return "order"
        return "zorder" if columns < _HILBERT_FROM else "hilbert"
    if asked not in {"order", *_CURVES}:
        raise OptionError(
            f"clustering.strategy={asked!r}: use auto, order, zorder or hilbert",
            option=keys_write.CLUSTERING_STRATEGY.key,
            value=asked,
        )
    if asked == "hilbert" and columns < 2:
        raise ArgumentError(
            "a Hilbert curve goes through two columns at least; use order",
            argument="order_by",
            value=columns,
        )
    return asked
