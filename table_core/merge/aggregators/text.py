"""listagg: texts joined by a delimiter.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldListaggAgg``; format 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.aggregators.lists import identities
from table_core.merge.aggregators.value import refuse_retracts
from table_core.merge.ordinal import present

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.merge.aggregators.column import FunctionColumn
    from table_core.merge.runs import Groups

__all__ = ["ListAgg"]


@dataclass(frozen=True, slots=True)
class ListAgg:
    """``listagg``: blank texts are left out; ``distinct`` appends only tokens not there yet."""

    column: str
    delimiter: str
    distinct: bool

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``, with its delimiter.

        Raises:
            OptionError: ``distinct`` without a delimiter.
        """
        delimiter = column.option("list-agg-delimiter")
        distinct = column.flag("distinct")
        if distinct and delimiter == "":
            raise column.wrong("list-agg-delimiter", delimiter, "distinct needs a delimiter")
        return cls(column.name, "," if delimiter is None else delimiter, distinct)

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        refuse_retracts(groups, "listagg", self.column)
        kept = present(column) & ~_blank(column)
        texts, group = column.filter(pa.array(kept)), groups.ids[kept]
        if self.distinct and len(texts):
            texts, group = self._unseen(texts, group)
        lengths = np.bincount(group, minlength=len(groups.starts))
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        mask = pa.array(lengths == 0)
        return pc.binary_join(pa.ListArray.from_arrays(offsets, texts, mask=mask), self.delimiter)

    def _unseen(
        self, texts: pa.Array, group: npt.NDArray[np.int64]
    ) -> tuple[pa.Array, npt.NDArray[np.int64]]:
        """Tokens in place of texts: all of a key's first text, then only new ones."""
        first = np.concatenate([[True], group[1:] != group[:-1]])
        parts = pc.split_pattern(texts, self.delimiter)
        owner = pc.list_parent_indices(parts).to_numpy()
        tokens = pc.list_flatten(parts)
        name = group[owner] * np.int64(len(tokens) + 1) + identities([tokens])
        new = np.zeros(len(tokens), np.bool_)
        new[np.unique(name, return_index=True)[1]] = True
        wanted = first[owner] | (new & ~_blank(tokens))
        return tokens.filter(pa.array(wanted)), group[owner][wanted]


def _blank(texts: pa.Array) -> npt.NDArray[np.bool_]:
    trimmed = pc.equal(pc.utf8_trim_whitespace(texts), "").fill_null(False)
    mask: npt.NDArray[np.bool_] = trimmed.to_numpy(zero_copy_only=False)
    return mask
