"""Rows of a source and rows of its table here, side by side: which of them differ, and in which columns."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.audit.checksums import duckdb_connection

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DIFFERS", "MISSING_HERE", "MISSING_IN_SOURCE", "Difference", "RowPairs", "pairs_of"]

MISSING_HERE: Final = "missing in table"
MISSING_IN_SOURCE: Final = "missing in source"
DIFFERS: Final = "differs"


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that is not the same in a table and in its source."""

    table: str
    kind: str
    """``missing in table``, ``missing in source`` or ``differs``."""
    key: str
    """The key's columns and their values, as JSON; of a table without a key those of the row."""
    columns: tuple[str, ...] = ()
    """Where it differs; () for a row that is missing."""

    def to_record(self) -> dict[str, str]:
        """As a row."""
        columns = ", ".join(self.columns)
        return {"table": self.table, "kind": self.kind, "key": self.key, "columns": columns}


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Which rows of a source and of a table differ."""

    differences: Sequence[Difference]
    source: Sequence[int]
    """Places of rows of the source that the table lacks, or has otherwise."""
    here: Sequence[int]
    """Places of rows of the table that the source has not, or has otherwise."""


def pairs_of(
    table: str, key: Sequence[str], columns: Sequence[str], source: pa.Table, here: pa.Table
) -> RowPairs:
    """Compare rows by ``key``, or as a whole where that is ().

    A row that is equal to one of several of the source with its key does not differ: where several source
    tables feed one table, the last of them has it.  Of several rows here with that key only one may be.
    """
    names = {name: f"c{n}" for n, name in enumerate(columns)}
    with duckdb_connection() as connection:
        connection.register("s", _numbered(source, names))
        connection.register("h", _numbered(here, names))
        same = " AND ".join(f"s.{c} IS NOT DISTINCT FROM h.{c}" for c in names.values())
        if not key:
            return _whole_rows(table, columns, connection, source, here)
        by_key = " AND ".join(f"s.{names[name]} = h.{names[name]}" for name in key)
        flags = ", ".join(f"s.{c} IS DISTINCT FROM h.{c}" for c in names.values())
        equal = f"SELECT min(h.n) FROM s JOIN h ON {by_key} WHERE {same} GROUP BY s.n"
        rows = connection.sql(
            f"SELECT s.n, h.n, {flags} FROM s FULL JOIN h ON {by_key} "
            f"WHERE h.n IS NULL OR h.n NOT IN ({equal}) ORDER BY s.n, h.n"
        ).fetchall()
    differences = []
    for there, mine, *differs in rows:
        is_pair = there is not None and any(differs)
        kind = MISSING_HERE if mine is None else DIFFERS if is_pair else MISSING_IN_SOURCE
        text = _text(source if mine is None else here, there if mine is None else mine, key)
        where = tuple(n for n, one in zip(columns, differs, strict=True) if one)
        differences.append(Difference(table, kind, text, where if kind == DIFFERS else ()))
    return RowPairs(
        differences,
        [row[0] for row in rows if row[0] is not None],
        [row[1] for row in rows if row[1] is not None],
    )


def _whole_rows(
    table: str, columns: Sequence[str], connection: Any, source: pa.Table, here: pa.Table
) -> RowPairs:
    """Rows as often as they are there."""
    listed = ", ".join(f"c{n}" for n in range(len(columns)))
    counted = "SELECT *, row_number() OVER (PARTITION BY {}) AS k FROM {}"
    same = " AND ".join(f"a.c{n} IS NOT DISTINCT FROM b.c{n}" for n in range(len(columns)))

    def lacking(these: str, others: str) -> list[int]:
        rows = connection.sql(
            f"SELECT a.n FROM ({counted.format(listed, these)}) a "
            f"ANTI JOIN ({counted.format(listed, others)}) b ON a.k = b.k AND {same} ORDER BY a.n"
        ).fetchall()
        return [row[0] for row in rows]

    there, mine = lacking("s", "h"), lacking("h", "s")
    differences = [
        *(Difference(table, MISSING_HERE, _text(source, n, columns)) for n in there),
        *(Difference(table, MISSING_IN_SOURCE, _text(here, n, columns)) for n in mine),
    ]
    return RowPairs(differences, there, mine)


def _numbered(rows: pa.Table, names: dict[str, str]) -> pa.Table:
    columns = [_exact(rows.column(name)) for name in names]
    chosen = pa.table(columns, names=list(names.values()))
    return chosen.append_column("n", pa.array(range(rows.num_rows), pa.int64()))


def _exact(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floating numbers as their bits: zero is not minus zero, and each NaN is the same."""
    if not pa.types.is_floating(values.type):
        return values
    bits = pa.int32() if pa.types.is_float32(values.type) else pa.int64()
    nan = pa.scalar(math.nan, values.type)
    chunks = [pc.if_else(pc.is_nan(chunk), nan, chunk).view(bits) for chunk in values.chunks]
    return pa.chunked_array(chunks, bits)


def _text(rows: pa.Table, n: int, names: Sequence[str]) -> str:
    row = rows.select(list(names)).slice(n, 1).to_pylist()[0]
    return json.dumps(row, ensure_ascii=False, default=str)
