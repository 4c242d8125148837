"""The members of Debezium's events in columns, of blocks that are the common case.

Arrow's JSON reader makes a column of each member, and no Python object of any row::

    {"op":"c","before":null,"after":{"id":1,"name":"a"},"ts_ms":5}    op      c     u
    {"op":"u","before":null,"after":{"id":2,"name":null},"ts_ms":6}   after   struct(id 1 2, name a NULL)
                                                                      ts_ms   5     6

What it cannot tell apart, or reads otherwise than JSON says, is not columnar, and None here: the block
then goes line by line through ``json_fallback``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.json_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.cdc.debezium.source_block import CutSource

__all__ = [
    "SOURCE",
    "absent_members",
    "event_members",
    "has_constants",
    "members_of",
]

_NAME: Final = re.compile(rb'"([^"\\]{1,200})":')
_LINES_LOOKED_AT: Final = 256
_BYTES_LOOKED_AT: Final = 1 << 14
_MORE_MEMBERS: Final = 32
_MANY_MEMBERS: Final = 20_000
_MORE_NAMES: Final = 256
SOURCE: Final = pa.struct(
    [("db", pa.string()), ("schema", pa.string()), ("table", pa.string()), ("ts_ms", pa.int64())]
)


def event_members(
    lines: pa.LargeBinaryArray,
    path: tuple[str, ...],
    types: Mapping[str, pa.DataType],
    absent: frozenset[str] = frozenset(),
) -> dict[str, pa.Array] | None:
    """The members of the events, one array each; None where they are not columnar.

    ``absent`` are members that no event should have, or have only as null: a structure costs a value
    for each of its members where it is null, too.  If one has them, all are read anew.

    Shape: ``large_binary[n]`` lines to arrays ``[n]``.
    """
    row = pa.struct(list(types.items()))
    members = {"op": pa.string(), "source": SOURCE, "ts_ms": pa.int64()}
    if types:
        members |= {"before": row, "after": row}
    expected = {name: type_ for name, type_ in members.items() if name not in absent}
    columns = members_of(lines, path, expected, "infer")
    if columns is None:
        return None
    if any(name in columns and not pa.types.is_null(columns[name].type) for name in absent):
        return event_members(lines, path, types)
    columns = {name: column for name, column in columns.items() if name not in absent}
    return columns if columns.keys() & {"before", "after"} else None


def has_many_names(lines: pa.LargeBinaryArray) -> bool:
    """Whether lines may have so many columns, each in few of them, that columns cost too much room.

    Each column takes room for every line: 10,000 lines of which each has a name of its own would be 10,000
    columns of 10,000 values.  Lines with more members than usual are counted, and of some lines the names.
    """
    members = np.asarray(pc.count_substring(lines, b'":'))
    usual = int(np.median(members))
    if int(members[members > usual + _MORE_MEMBERS].sum()) > _MANY_MEMBERS:
        return True
    names: set[bytes] = set()
    for n in np.linspace(0, len(lines) - 1, min(len(lines), _LINES_LOOKED_AT)).astype(int).tolist():
        names.update(_NAME.findall(lines[n].as_py()[:_BYTES_LOOKED_AT]))
    return len(names) > 2 * usual + _MORE_NAMES


def absent_members(lines: pa.LargeBinaryArray, cut: CutSource | None) -> frozenset[str]:
    """Members that events need not be asked for."""
    absent = set()
    if cut is not None and not cut.is_cut.false_count:
        absent.add("source")
    if pc.all(pc.match_substring(lines, b'"before":null,')).as_py():
        absent.add("before")
    return frozenset(absent)


def members_of(
    lines: pa.LargeBinaryArray,
    path: tuple[str, ...],
    members: Mapping[str, pa.DataType],
    unexpected: str,
) -> dict[str, pa.Array] | None:
    """The members that ``path`` leads to, one array each; None where they are not columnar.

    Others than ``members`` come along if ``unexpected`` is ``infer``.

    For ``path`` ("payload",) and ``op`` the schema is payload: struct(op: string), and what comes back is the
    array of ``op``.

    Shape: ``large_binary[n]`` lines to arrays ``[n]``.
    """
    schema = pa.schema(list(members.items()))
    for step in reversed(path):
        schema = pa.schema([(step, pa.struct(list(schema)))])
    table = read_lines(lines, schema, unexpected)
    if table is None:
        return None
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    for step in path:
        inner = columns[step]
        if not isinstance(inner, pa.StructArray):
            return None
        columns = dict(zip((f.name for f in inner.type), inner.flatten(), strict=True))
    return columns


def has_constants(values: pa.Array | None) -> bool:
    """Whether there is a bare ``NaN`` or ``Infinity``: it is no JSON, but Arrow reads it."""
    if isinstance(values, pa.StructArray):
        return any(has_constants(member) for member in values.flatten())
    if isinstance(values, pa.ListArray):
        return has_constants(values.flatten())
    if values is None or not pa.types.is_floating(values.type):
        return False
    return pc.all(pc.is_finite(values)).as_py() is False
