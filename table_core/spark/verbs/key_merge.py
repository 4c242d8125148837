"""A merge into a key table where rows must be seen as they were: keys move, or the engine builds rows up.

    pairs ─ each row as it shall be, and as it was ─ shuffle by key ─ ``KeyChanges`` in each task ─ files

All rows of a key meet in one task, which decides about them as ``Table.merge_into`` does.  Merges that only
write the newest versions of rows whose keys stay do without: see ``merge_into``.

An update sets the key of (1, a) to 2, and a delete takes (3, c); rows of ``by_key``::

    key  _ROW_KIND  row    clause  old
    2    +U         2, a   0       NULL    under its new key, where another row may be
    1    -D         1, a   -1      NULL    under the one that it loses; it was counted above
    3    -D         3, c   1       NULL
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.merge.engines.versions import Versions
from table_core.merge.pairs import pairs_of
from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.spark.session.conditions import named
from table_core.spark.session.own_columns import own_column
from table_core.spark.verbs.column_cast import as_field
from table_core.table.dml.key_changes import KeyChanges, wanted_rows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame

    from table_core.table.metadata.access import TableAccess

__all__ = [
    "CLAUSE_COLUMN",
    "OLD_COLUMN",
    "by_key",
    "needs_old",
    "new_rows",
    "versions_of",
]

CLAUSE_COLUMN: Final = own_column("clause")
"""The number of the clause that a row comes from."""
OLD_COLUMN: Final = own_column("old")
"""The target row of a pair."""
_OCCUPIED: Final = own_column("occupied")
_SIDE: Final = own_column("side")
_ELSEWHERE: Final = -1
"""In place of a clause: the row was counted already."""


def needs_old(access: TableAccess) -> bool:
    """Whether what to write depends on the row that is there, or on how a writer reads NULL and kinds."""
    schema = access.schema
    return (
        not Versions(schema).is_plain
        or any(field.default is not None for field in schema.fields)
        or "rowkind.field" in schema.raw_options
    )


def by_key(rows: DataFrame, target: DataFrame, access: TableAccess, *, moves: bool) -> DataFrame:
    """``rows`` of pairs, each once under the key that it gets and once under the one that it loses."""
    names, key = [field.name for field in access.schema.fields], access.schema.primary_keys
    rows = _completed(rows, access)
    old = f.col(OLD_COLUMN)
    kept = f.lit(True)
    for name in key:
        kept = kept & named(name).eqNullSafe(old.getField(name))
    there, deleted = old.isNotNull(), named(ROW_KIND_COLUMN) == f.lit("-D")
    gone = there & (deleted | ~kept)
    nothing = f.lit(None).cast(rows.schema[OLD_COLUMN].dataType)
    put = f.struct(
        named(ROW_KIND_COLUMN),
        *(named(name) for name in names),
        named(CLAUSE_COLUMN),
        f.when(there & kept, old).otherwise(nothing).alias(OLD_COLUMN),
    )
    take = f.struct(
        f.lit("-D").alias(ROW_KIND_COLUMN),
        *(old.getField(name).alias(name) for name in names),
        f.when(deleted, named(CLAUSE_COLUMN)).otherwise(f.lit(_ELSEWHERE)).alias(CLAUSE_COLUMN),
        nothing.alias(OLD_COLUMN),
    )
    sides = f.filter(
        f.array(f.when(~deleted, put), f.when(gone, take)), lambda one: one.isNotNull()
    )
    keyed = rows.select(f.explode(sides).alias(_SIDE)).select(f"{_SIDE}.*")
    if access.schema.bucket == POSTPONE_BUCKET:  # its rows go into no bucket yet
        keyed = keyed.repartition(*(named(name) for name in key))
    if not moves:
        return keyed.withColumn(_OCCUPIED, f.lit(False))
    keys = target.select(*(named(n).alias(f"{_OCCUPIED}{at}") for at, n in enumerate(key)))
    keys = keys.withColumn(_OCCUPIED, f.lit(True))
    same = [named(name) == f.col(f"{_OCCUPIED}{at}") for at, name in enumerate(key)]
    shown = [named(name) for name in keyed.columns]
    occupied = f.coalesce(f.col(_OCCUPIED), f.lit(False)).alias(_OCCUPIED)
    return keyed.join(keys, same, "left").select(*shown, occupied)


def _completed(rows: DataFrame, access: TableAccess) -> DataFrame:
    """``rows`` with the keys under which they are stored: new ones with a default in place of NULL."""
    new = named(ROW_KIND_COLUMN) == f.lit("+I")
    for field in access.schema.select(access.schema.primary_keys):
        if field.default is not None:
            have, key = rows.schema[field.name].dataType, named(field.name)
            new_key = as_field(key, have, field, new, completes=True)
            kept = as_field(key, have, field, ~new)
            rows = rows.withColumn(field.name, f.when(new, new_key).otherwise(kept))
    return rows


def versions_of(
    access: TableAccess,
) -> Callable[[Iterable[pa.RecordBatch], Counter[int]], Iterator[pa.Table]]:
    """What a task does with its rows of ``by_key``; see ``_versions``."""
    return partial(_versions, access)


def _versions(
    access: TableAccess, batches: Iterable[pa.RecordBatch], decided: Counter[int]
) -> Iterator[pa.Table]:
    """What a task writes for its rows of ``by_key``; ``decided`` counts them by clause."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return
    rows = pa.concat_tables(tables).combine_chunks()
    for pair in rows[CLAUSE_COLUMN].value_counts():
        if (number := pair["values"].as_py()) != _ELSEWHERE:
            decided[number] += pair["counts"].as_py()
    names = [field.name for field in access.schema.fields]
    kinds = rows[ROW_KIND_COLUMN]
    taken = rows.filter(pc.equal(kinds, "-D"))
    put = rows.filter(pc.not_equal(kinds, "-D"))
    inserts = pc.equal(put[ROW_KIND_COLUMN], "+I")
    olds = put[OLD_COLUMN].combine_chunks().drop_null()
    was = pa.table([olds.field(name) for name in names], names=names)
    met = pa.concat_tables(
        [_whole(access, was), _whole(access, taken.select(names))], promote_options="none"
    ).combine_chunks()
    new = wanted_rows(access, put.filter(inserts).select(names), inserted=True)
    changed = wanted_rows(access, put.filter(pc.invert(inserts)).select(names), inserted=False)
    changes = KeyChanges(
        access=access,
        met=met,
        wanted=pa.concat_tables([changed, new]).combine_chunks(),
        inserted=new.num_rows,
        others=_others(access, put, met),
        deleted=arrow_schema(access.schema.fields).empty_table(),
    )
    yield from changes.written()


def new_rows(access: TableAccess, rows: pa.Table) -> Iterator[pa.Table]:
    """What a task writes for ``rows``, all of new keys: of those that are alike one.

    Raises:
        DataError: two of them have one key and differ.
    """
    new = wanted_rows(access, rows, inserted=True)
    none = new.slice(0, 0)
    changes = KeyChanges(
        access=access,
        met=none,
        wanted=new.combine_chunks(),
        inserted=new.num_rows,
        others=none.select(list(access.schema.primary_keys)),
        deleted=none,
    )
    yield from changes.written()


def _whole(access: TableAccess, rows: pa.Table) -> pa.Table:
    return wanted_rows(access, rows, inserted=False)


def _others(access: TableAccess, put: pa.Table, met: pa.Table) -> pa.Table:
    """Keys of rows that are there and not changed, among those that rows come to."""
    key = list(access.schema.primary_keys)
    occupied = put.filter(put[_OCCUPIED])
    fields = [access.schema.field(name) for name in key]
    shape = arrow_schema(fields)
    keys = pa.table([occupied[name].cast(shape.field(name).type) for name in key], schema=shape)
    at, of_met = pairs_of(keys, met.select(key), "left outer", stored=True)
    alone: Any = at[of_met < 0]
    return keys.take(pa.array(np.unique(alone), pa.int64()))
