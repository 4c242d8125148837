"""record-level.expire-time: rows that a compaction leaves out because they are too old.

Source: ``org.apache.paimon.io.RecordLevelExpire``; format 8.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.kinds import Atomic, Root
from table_core.datatypes.text import type_to_json
from table_core.errors import OptionError
from table_core.merge.ordinal import ordinals, single_chunk, validity
from table_core.options import keys_merge

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.schema.table_schema import TableSchema

__all__ = ["RecordExpiry"]

_MILLIS_FROM: Final = 10**12
"""A BIGINT from here on is milliseconds, not seconds."""
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TIMES: Final = frozenset({Root.INT, Root.BIGINT, Root.TIMESTAMP, Root.TIMESTAMP_LTZ})


@dataclass(frozen=True, slots=True)
class RecordExpiry:
    """A row is expired once its ``field`` plus ``seconds`` has passed.  Null never expires."""

    field: str
    seconds: int

    @classmethod
    def of(cls, schema: TableSchema) -> RecordExpiry | None:
        """What the options of ``schema`` ask for, or None.

        Raises:
            OptionError: no time field, no such column, or one that holds no time.
        """
        after = schema.options.get(keys_merge.RECORD_LEVEL_EXPIRE_TIME)
        if after is None:
            return None
        option = keys_merge.RECORD_LEVEL_TIME_FIELD.key
        name = schema.options.get(keys_merge.RECORD_LEVEL_TIME_FIELD)
        field = schema.by_name.get(name) if name else None
        if field is None:
            raise OptionError(
                f"'record-level.expire-time' needs {option!r} to name a column, and it is "
                f"{name!r}; there are {list(schema.by_name)}",
                option=option,
                value=name,
            )
        if not (isinstance(field.type, Atomic) and field.type.root in _TIMES):
            raise OptionError(
                f"{option!r} names {name!r}, which is {type_to_json(field.type)}; it must be INT, "
                "BIGINT or a timestamp",
                option=option,
                value=name,
            )
        return cls(field.name, after // 1000)

    def kept(self, rows: pa.Table, now_ms: int) -> pa.Table:
        """``rows`` that are not expired at ``now_ms``.  Shape: ``rows[n]`` to ``result[r]``."""
        column = single_chunk(rows[self.field])
        stays = _seconds(column) + self.seconds >= now_ms // 1000
        valid = validity(column)
        if valid is not None:
            stays |= ~valid
        return rows if bool(stays.all()) else rows.filter(pa.array(stays))

    def holds_expired(self, oldest: pa.Scalar, now_ms: int) -> bool:
        """Whether a file whose smallest time is ``oldest`` has expired rows."""
        if not oldest.is_valid:
            return False
        column = pa.array([oldest], oldest.type)
        return bool(now_ms // 1000 - self.seconds > _seconds(column)[0])


def _seconds(column: pa.Array) -> npt.NDArray[np.int64]:
    values = ordinals(column)
    seconds: npt.NDArray[np.int64] = values
    if pa.types.is_timestamp(column.type):
        # Java divides milliseconds and truncates towards zero.
        per_millisecond = _PER_SECOND[column.type.unit] // 1000
        millis = values // per_millisecond if per_millisecond else values * 1000
        seconds = millis // 1000 + ((millis < 0) & (millis % 1000 != 0))
    elif pa.types.is_int64(column.type):
        seconds = np.where(values >= _MILLIS_FROM, values // 1000, values)
    return seconds
