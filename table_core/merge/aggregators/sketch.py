"""Folds of sketches and bitmaps kept in BYTES columns: each key's values become their union.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldThetaSketchAgg`` and its neighbours;
format 8.6.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from table_core.errors import DataError, UnsupportedFeatureError
from table_core.merge.aggregators.bitmap64 import decode_bitmap64, encode_bitmap64
from table_core.merge.aggregators.theta import Theta, union_of
from table_core.merge.aggregators.value import refuse_retracts
from table_core.merge.ordinal import present
from table_core.merge.take_indices import taken
from table_core.ondisk.roaring import decode32, encode32
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.merge.aggregators.column import FunctionColumn
    from table_core.merge.runs import Groups

__all__ = ["UNIONS", "Union"]

_HLL_LG_K: Final = 12


@dataclass(frozen=True, slots=True)
class Union:
    """A union by ``function``, one of ``UNIONS``; null counts nothing."""

    column: str
    function: str

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``, by its function."""
        return cls(column.name, column.function)

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class.  A single value is not decoded.

        Raises:
            DataError: a value is no such sketch or bitmap.
        """
        refuse_retracts(groups, self.function, self.column)
        here = present(column)
        counts = np.bincount(groups.ids[here], minlength=len(groups.starts))
        values = column.drop_null().to_pylist()
        stops = np.cumsum(counts)
        several = np.flatnonzero(counts > 1)
        unions = [self._union(values[stops[i] - counts[i] : stops[i]]) for i in several.tolist()]
        at = groups.first(here)
        at[several] = np.arange(len(several)) + len(column)
        return taken(pa.concat_arrays([column, pa.array(unions, column.type)]), at)

    def _union(self, bodies: Sequence[bytes]) -> bytes:
        try:
            return UNIONS[self.function](bodies)
        except (*UNFORESEEN, struct.error) as error:
            raise DataError(
                f"column {self.column!r}: {self.function!r} cannot read a value: {error}",
                column=self.column,
                row=None,
                value=None,
            ) from error


def _theta(bodies: Sequence[bytes]) -> bytes:
    return union_of([Theta.from_bytes(body) for body in bodies]).to_bytes()


def _bitmap32(bodies: Sequence[bytes]) -> bytes:
    return encode32(np.unique(np.concatenate([decode32(body)[0] for body in bodies])))


def _bitmap64(bodies: Sequence[bytes]) -> bytes:
    union: dict[int, Any] = {}
    for body in bodies:
        bitmap = decode_bitmap64(body)
        for key in bitmap if not union else sorted(bitmap):
            union[key] = np.union1d(union[key], bitmap[key]) if key in union else bitmap[key]
    return encode_bitmap64(union)


def _hll(bodies: Sequence[bytes]) -> bytes:
    try:
        import datasketches
    except ImportError as error:
        raise UnsupportedFeatureError(
            "aggregate function 'hll_sketch' needs the package 'datasketches'; install it",
            feature="hll_sketch",
        ) from error
    result = bodies[0]
    for body in bodies[1:]:
        union = datasketches.hll_union(_HLL_LG_K)
        try:
            union.update(datasketches.hll_sketch.deserialize(body))
            union.update(datasketches.hll_sketch.deserialize(result))
        except (RuntimeError, IndexError) as error:
            raise ValueError(str(error)) from error
        result = union.get_result(datasketches.tgt_hll_type.HLL_4).serialize_compact()
    return bytes(result)


UNIONS: Final[Mapping[str, Callable[[Sequence[bytes]], bytes]]] = {
    "theta_sketch": _theta,
    "hll_sketch": _hll,
    "rbm32": _bitmap32,
    "rbm64": _bitmap64,
}
"""By function name: the union of values, oldest first."""
