"""One question to a table, asked at three doors: the handle, ``tcs.read`` and ``format("paimon")``.

An answer is either columns with their types as Spark has them and rows without an order, or the class
and the words of a refusal.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

import table_core as tc
import table_core.spark as tcs
from table_core.datatypes.arrow import fields_from_arrow
from table_core.datatypes.kinds import Atomic, Root
from table_core.spark.session.failures import SPARK_ERRORS, explained
from table_core.spark.session.schema_bridge import spark_schema
from table_core.table.system_tables.listing import SYSTEM_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from table_core.datatypes.kinds import Field

Answer: TypeAlias = tuple[Any, ...]
MODES = ("auto", "delta", "changelog", "diff")


@dataclass(frozen=True)
class Ask:
    """What is read of a table: a state, a range of changes, or what a system table shows."""

    suffix: str = ""
    """``$files``, ``$branch_b`` …"""
    state: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of ``read`` that name a state."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the handle."""
    between: tuple[int, int, str] | None = None
    """The snapshots after the first to the second, in this mode."""
    where: str | None = None
    columns: tuple[str, ...] | None = None
    filtered_by_spark: bool = False
    """Whether the two doors of Spark get ``where`` as a filter of the DataFrame."""

    def __str__(self) -> str:
        found = {k: v for k, v in vars(self).items() if v not in ({}, "", None, False)}
        return ", ".join(f"{k}={v!r}" for k, v in found.items()) or "plain"

    @property
    def narrowing(self) -> dict[str, Any]:
        return {"where": self.where, "columns": self.columns and list(self.columns)}


# ------------------------------------------------------------------------------------------ doors
def by_handle(ask: Ask, catalog: tc.Catalog, name: str) -> Answer:
    return _answer(lambda: _scan(ask, catalog, name).to_arrow(), _rows_of_table)


def by_read(ask: Ask, catalog: tc.Catalog, name: str, spark: SparkSession) -> Answer:
    def frame() -> DataFrame:
        table = catalog.table(name + ask.suffix, options=ask.options)
        how = {**ask.narrowing, "nanoseconds": "truncate"}
        if ask.filtered_by_spark:
            how["where"] = None
        if ask.between is None:
            found = tcs.read(spark, table, **ask.state, **how)
        else:
            after, to, mode = ask.between
            found = tcs.changes(spark, table, after, to, mode=mode, **how)
        return found.where(ask.where or "") if ask.filtered_by_spark else found

    return _answer(frame, _rows_of_frame)


def by_format(ask: Ask, catalog: tc.Catalog, name: str, spark: SparkSession) -> Answer:
    def frame() -> DataFrame:
        path = catalog.table(name).uri + ask.suffix
        reader = spark.read.format("paimon").options(**ask.options, nanoseconds="truncate")
        for key, value in ask.state.items():
            reader = reader.option({"snapshot": "snapshot-id"}.get(key, key), str(value))
        if ask.between is not None:
            after, to, mode = ask.between
            reader = reader.option("incremental-between", f"{after},{to}")
            reader = reader.option("incremental-between-scan-mode", mode)
            reader = reader.option("read.changelog", "true")
        if ask.columns is not None:
            reader = reader.option("columns", ",".join(ask.columns))
        if ask.filtered_by_spark:
            return reader.option("push-filters", "true").load(path).where(ask.where or "")
        return (reader if ask.where is None else reader.option("where", ask.where)).load(path)

    return _answer(frame, _rows_of_frame)


def _scan(ask: Ask, catalog: tc.Catalog, name: str) -> Any:
    table = catalog.table(name + ask.suffix, options=ask.options)
    if ask.between is None:
        return table.read(**ask.state, **ask.narrowing)
    after, to, mode = ask.between
    return table.changes(after, to, mode=mode, **ask.narrowing)


# --------------------------------------------------------------------------------------- answers
def _answer(ask: Callable[[], Any], rows_of: Callable[[Any], Answer]) -> Answer:
    try:
        return rows_of(ask())
    except tc.errors.TableError as error:
        return _refusal(error)
    except SPARK_ERRORS as error:
        return _refusal(explained(error))


def _refusal(error: tc.errors.TableError) -> Answer:
    return ("refused", type(error).__name__, str(error))


def _rows_of_table(table: pa.Table) -> Answer:
    return _counted(table, spark_schema(_in_micros(fields_from_arrow(table.schema))))


def _rows_of_frame(frame: DataFrame) -> Answer:
    return _counted(frame.toArrow(), frame.schema)


def _in_micros(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    times = (Root.TIMESTAMP, Root.TIMESTAMP_LTZ)
    return tuple(
        replace(f, type=replace(f.type, precision=min(f.type.precision or 6, 6)))
        if isinstance(f.type, Atomic) and f.type.root in times
        else f
        for f in fields
    )


def _counted(table: pa.Table, shape: Any) -> Answer:
    columns = [[_plain(v, c.type) for v in _python(c)] for c in table.columns]
    rows = zip(*columns, strict=True) if columns else [()] * table.num_rows
    types = tuple((each.name, each.dataType.simpleString()) for each in shape)
    return ("rows", types, Counter(rows))


def _python(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        units = {"s": 1_000_000, "ms": 1_000, "us": 1}
        numbers = column.cast(pa.int64()).to_pylist()
        if column.type.unit == "ns":
            return [None if n is None else n // 1000 for n in numbers]
        return [None if n is None else n * units[column.type.unit] for n in numbers]
    return list(column.to_pylist())


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value that can be counted, and where 0.0 is not -0.0 and NaN is NaN."""
    if value is None:
        return None
    if isinstance(value, float):
        return repr(value)
    if pa.types.is_map(kind):
        pairs = ((_plain(k, kind.key_type), _plain(v, kind.item_type)) for k, v in value)
        return tuple(sorted(pairs, key=repr))
    if pa.types.is_struct(kind):
        return tuple(_plain(value[each.name], each.type) for each in kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return tuple(_plain(each, kind.value_type) for each in value)
    if pa.types.is_timestamp(kind):
        return str(value).removesuffix("+00:00")  # nested; sessions are in UTC
    return value


def difference(handle: Answer, other: Answer) -> str:
    """What tells two answers apart; empty if nothing does."""
    if handle == other:
        return ""
    if handle[0] != "rows" or other[0] != "rows":
        return " / ".join(
            f"{each[1:] if each[0] != 'rows' else 'rows'}" for each in (handle, other)
        )
    if handle[1] != other[1]:
        return f"columns {handle[1]} / {other[1]}"
    only = [list((a[2] - b[2]).items())[:3] for a, b in ((handle, other), (other, handle))]
    return f"only the handle has {only[0]}, only the other {only[1]}"


# ------------------------------------------------------------------------------------- questions
def questions(table: tc.Table, seed: random.Random) -> dict[str, list[Ask]]:
    """Everything to ask ``table``, by family, each in an order of chance."""
    ids = [each.id for each in table.snapshots()]
    states: list[dict[str, Any]] = [{"snapshot": id} for id in ids]
    states += [{"tag": each} for each in table.tags.list()]
    times = [each.time_millis for each in table.snapshots()]
    states += [{"timestamp": time + later} for time in times for later in (-1, 0, 1)]
    found = {
        "states": [Ask(state=state) for state in states],
        "branches": [Ask(suffix=f"$branch_{each}") for each in table.branches.list()],
        "filters": list(_filters(table, seed, states)),
        "changes": list(_changes(ids)),
        "ranges": [_range(ask) for ask in _changes(ids)],
        "system": [Ask(suffix=f"${each}") for each in SYSTEM_TABLES],
        "refused": list(_refused(table)),
    }
    for asks in found.values():
        seed.shuffle(asks)
    return found


def _changes(ids: list[int]) -> Iterator[Ask]:
    first = ids[0] - 1 if ids else 0
    ends = [first, *ids]
    for mode in MODES:
        for after in ends:
            yield from (Ask(between=(after, to, mode)) for to in ends if to >= after)


def _range(ask: Ask) -> Ask:
    """A range that the options of the handle ask for: rows without their kinds."""
    assert ask.between is not None
    after, to, mode = ask.between
    between = {"incremental-between": f"{after},{to}", "incremental-between-scan-mode": mode}
    return replace(ask, between=None, options=between)


def _refused(table: tc.Table) -> Iterator[Ask]:
    yield Ask(state={"snapshot": 999})
    yield Ask(state={"tag": "no such tag"})
    yield Ask(state={"timestamp": 1})
    yield Ask(where="no_such_column = 1")
    yield Ask(where="1 +")
    yield Ask(columns=("no_such_column",))
    yield Ask(suffix="$no_such_table")
    yield Ask(suffix="$branch_missing")
    yield Ask(between=(1, 999, "auto"))
    yield Ask(options={"incremental-between": "0,999"})
    yield Ask(options={"scan.mode": "sideways"})


def _filters(table: tc.Table, seed: random.Random, states: list[Any]) -> Iterator[Ask]:
    """Conditions over values that the table has, now or in an older state."""
    for state in [{}, *states]:
        try:
            rows = table.read(**state).to_arrow()
        except tc.errors.TableError:
            continue
        for name in rows.column_names:
            literals = [t for v in rows[name].to_pylist() if (t := _literal(v, rows[name].type))]
            for where in _conditions(f"`{name}`", sorted(set(literals)), seed):
                yield Ask(state=state, where=where)
                yield Ask(state=state, where=where, filtered_by_spark=True)


def _conditions(name: str, literals: list[str], seed: random.Random) -> Iterator[str]:
    yield f"{name} IS NULL"
    yield f"{name} IS NOT NULL"
    if not literals:
        return
    some = [seed.choice(literals) for _ in range(3)]
    yield f"{name} {seed.choice(['=', '<>', '<', '<=', '>', '>='])} {some[0]}"
    yield f"{name} IN ({', '.join(some)})"
    yield f"NOT ({name} IN ({', '.join(some[:2])}))"
    yield f"{name} BETWEEN {min(some)} AND {max(some)}"
    yield f"NOT ({name} <= {some[0]}) OR {name} IS NULL"
    if some[0].startswith("'") and len(some[0]) > 3 and not set("%_\\'") & set(some[0][1:-1]):
        yield f"{name} LIKE '{some[0][1:3]}%'"


def _literal(value: Any, kind: pa.DataType) -> str | None:
    """``value`` in the SQL that we and Spark have alike; None where there is none."""
    if value is None or pa.types.is_nested(kind):
        return None
    if pa.types.is_boolean(kind):
        return str(value).upper()
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return str(value)
    if pa.types.is_string(kind):
        return None if set("\\'\0\n") & set(value) else f"'{value}'"
    if pa.types.is_date(kind):
        return f"DATE '{value.isoformat()}'"
    return None
