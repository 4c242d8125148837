"""Which files a compaction of newer ones must not leave out, because their rows have to be met first.

See ``merge.engines.parts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from table_core.lsm.triggers import needs_lookup
from table_core.merge.engines.engine import order_of
from table_core.merge.engines.parts import deciding_sequences, takes_back_in_parts
from table_core.ondisk.stats import covered_fields, decode_stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.datatypes.kinds import DataType, Field
    from table_core.ondisk.data_file import DataFile
    from table_core.table.metadata.access import TableAccess

__all__ = ["ColumnRange", "MustMeet", "column_range", "must_meet"]

MustMeet: TypeAlias = "Callable[[DataFile, DataFile], bool]"
"""Whether rows of a file (first) have to meet those of an older one before they are merged otherwise."""


def must_meet(access: TableAccess) -> MustMeet | None:
    """The rule for the files of a table, for those whose keys overlap; None: any may be left out."""
    schema = access.schema
    takes_back, sequences = takes_back_in_parts(schema), deciding_sequences(schema)
    if needs_lookup(access.options) or (takes_back and not sequences):
        return None  # who looks up meets them anyway

    def meets(newer: DataFile, older: DataFile) -> bool:
        retracts = newer.delete_row_count != 0  # None: it may have some
        if retracts and not takes_back:
            return True
        return not all(_follows(access, newer, older, sequence) for sequence in sequences)

    return meets


def _follows(
    access: TableAccess, newer: DataFile, older: DataFile, sequence: tuple[str, ...]
) -> bool:
    """Whether every row of ``newer`` comes after those of ``older`` by the first field of ``sequence``."""
    order = order_of(access.schema)
    field = access.schema.field(sequence[0])
    ours, theirs = column_range(access, newer, field), column_range(access, older, field)
    of_group = sequence != order.sequence_fields
    if of_group and len(sequence) == 1 and ours is not None and ours.nulls == newer.row_count:
        return True  # rows that leave the group alone
    if ours is None or theirs is None or ours.type != theirs.type:
        return False
    before, after = (ours, theirs) if order.descending and not of_group else (theirs, ours)
    if before.high is None or after.low is None or before.nulls != 0 or after.nulls != 0:
        return False
    only = len(sequence) == 1  # else the next field decides
    return bool(before.high < after.low or (only and before.high == after.low))


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The values of one column in one file; None where they are not known."""

    type: DataType
    low: Any
    high: Any
    nulls: int | None


def column_range(access: TableAccess, file: DataFile, column: Field) -> ColumnRange | None:
    """The values of ``column`` in ``file``; None if it does not have the column, or does not say."""
    written = access.metadata.schema(file.schema_id)
    own = next((f for f in written.fields if f.id == column.id), None)
    covered = covered_fields(written.fields, file.value_stats_cols, path=file.file_name)
    known = decode_stats(file.value_stats, covered, path=file.file_name)
    if own is None or own.name not in known:
        return None
    return ColumnRange(own.type, *known[own.name])
