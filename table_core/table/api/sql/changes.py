"""INSERT, UPDATE, DELETE, TRUNCATE and MERGE: each one commit, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.errors import DataError, SqlError, UnsupportedFeatureError
from table_core.predicate.expression import And, Column, Compare
from table_core.predicate.sql import parse_where
from table_core.sql.names import Sides
from table_core.sql.statements import Values
from table_core.sql.text import near_of
from table_core.table.api.sql.queries import result_of
from table_core.table.dml.expressions import evaluate
from table_core.table.dml.merge_clauses import (
    MatchedDelete,
    MatchedUpsert,
    NotMatchedBySourceDelete,
    NotMatchedBySourceUpsert,
    NotMatchedInsert,
)
from table_core.table.metadata.describing import committed
from table_core.table.write.coerce import cast_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.sql import statements as said
    from table_core.sql.text import Words
    from table_core.table.api.sql.context import Context
    from table_core.table.api.table import Table
    from table_core.table.dml.merge_clauses import MergeClause
    from table_core.table.metadata.results import ResultDocument

__all__ = ["delete", "exact_partition", "insert", "merge", "truncate", "update", "written"]


def written(
    table: Table,
    rows: pa.RecordBatchReader | pa.Table,
    overwrite: str | Mapping[str, object] | None,
    context: Context,
) -> ResultDocument:
    """Write ``rows`` as one commit."""
    started_ms, before = table.access.clock.now_ms(), table.latest_snapshot()
    with table.write(commit=context.commit, overwrite=overwrite) as writer:
        writer.write(rows)
        done = writer.commit()
    facts = {"replayed": done.replayed}
    return committed(table.access, "write", done, before, facts, started_ms=started_ms)


# ---------------------------------------------------------------------------------------- insert
def insert(statement: said.Insert, context: Context, text: str) -> ResultDocument:
    """INSERT INTO and INSERT OVERWRITE."""
    table = context.table(statement.table, text)
    valued = _partition(table, statement, text)
    columns = _columns(table, statement, text, valued)
    if isinstance(statement.rows, Values):
        rows: pa.RecordBatchReader | pa.Table = _values(table, statement, columns, context, text)
    else:
        rows = _renamed(result_of(statement.rows, context).to_reader(), statement, columns, text)
    overwrite: str | Mapping[str, object] | None = None
    if statement.overwrite:
        overwrite = _replaced(table, valued, dynamic=context.dynamic_overwrite)
    return written(table, _with_partition(table, rows, valued), overwrite, context)


def _replaced(
    table: Table, valued: Mapping[str, object], *, dynamic: bool
) -> str | Mapping[str, object]:
    """What INSERT OVERWRITE replaces: as in Spark, all that PARTITION does not rule out, unless it is dynamic."""
    if table.partition_by and dynamic:
        return "partitions"
    return valued or "table"


def _partition(table: Table, statement: said.Insert, text: str) -> dict[str, object]:
    pairs = (*statement.partition, *((name, None) for name in statement.dynamic))
    valued = exact_partition(table, pairs, text, statement.table.start)
    open_ = {name.casefold() for name in statement.dynamic}
    return {name: value for name, value in valued.items() if name.casefold() not in open_}


def exact_partition(
    table: Table, pairs: Iterable[tuple[str, object]], text: str, start: int
) -> dict[str, object]:
    """What PARTITION says, by the exact names of the columns.

    Raises:
        SqlError: one is no partition column, or is named twice.
    """
    exact = {name.casefold(): name for name in table.partition_by}
    valued: dict[str, object] = {}
    for name, value in pairs:
        if name.casefold() not in exact:
            raise _wrong(
                f"PARTITION names {name!r}, and {table.name} is partitioned by "
                f"{', '.join(table.partition_by) or 'nothing'}",
                text,
                start,
            )
        if exact[name.casefold()] in valued:
            raise _wrong(f"PARTITION names {name!r} twice", text, start)
        valued[exact[name.casefold()]] = value
    return valued


def _columns(
    table: Table, statement: said.Insert, text: str, valued: Mapping[str, object]
) -> list[str]:
    """The columns that the rows are for, by their exact names."""
    names = [field.name for field in table.definition.fields]
    if statement.columns is None:
        return [name for name in names if name not in valued]
    exact = {name.casefold(): name for name in names}
    columns: list[str] = []
    for name in statement.columns:
        if name.casefold() not in exact:
            raise _wrong(f"{table.name} has no column {name!r}", text, statement.table.start)
        if exact[name.casefold()] in (*columns, *valued):
            raise _wrong(f"column {name!r} gets two values", text, statement.table.start)
        columns.append(exact[name.casefold()])
    return columns


def _require_as_many(have: int, columns: Sequence[str], text: str, start: int) -> None:
    if have != len(columns):
        raise _wrong(
            f"the rows have {have} columns, and {len(columns)} are wanted: {', '.join(columns)}",
            text,
            start,
        )


def _renamed(
    rows: pa.RecordBatchReader, statement: said.Insert, columns: list[str], text: str
) -> pa.RecordBatchReader:
    """Rows of a query under the names of the columns: by position, or BY NAME."""
    names = list(columns)
    if statement.by_name:
        exact = {name.casefold(): name for name in columns}
        unknown = [name for name in rows.schema.names if name.casefold() not in exact]
        if unknown:
            raise _wrong(f"no column {unknown[0]!r} in the table", text, statement.table.start)
        names = [exact[name.casefold()] for name in rows.schema.names]
    else:
        _require_as_many(len(rows.schema), columns, text, statement.table.start)
    schema = pa.schema(
        [field.with_name(name) for field, name in zip(rows.schema, names, strict=True)]
    )
    return pa.RecordBatchReader.from_batches(schema, _batches(rows, schema))


def _batches(rows: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _values(
    table: Table, statement: said.Insert, columns: list[str], context: Context, text: str
) -> pa.Table:
    """The rows of VALUES, each value of the type of its column."""
    assert isinstance(statement.rows, Values)
    sides = Sides(())
    by_column: list[list[Any]] = [[] for _ in columns]
    one = {"": pa.table({"_": [0]})}
    for number, row in enumerate(statement.rows.rows):
        _require_as_many(len(row), columns, text, row[0].start)
        for at, (name, words) in enumerate(zip(columns, row, strict=True)):
            cell = evaluate(sides.value(words, context.parameters), one)
            field = table.definition.field(name)
            try:
                fitted = cast_column(field, pa.chunked_array([cell]), number)
            except DataError as error:
                raise words.wrong(str(error), words.start) from error
            by_column[at] += fitted.chunks
    return pa.table({name: pa.chunked_array(by_column[at]) for at, name in enumerate(columns)})


def _with_partition(
    table: Table, rows: pa.RecordBatchReader | pa.Table, valued: Mapping[str, object]
) -> Any:
    if not valued:
        return rows
    constants = {
        name: cast_column(
            table.definition.field(name), pa.chunked_array([_partition_value(table, name, value)])
        )
        for name, value in valued.items()
    }
    return _with_constants(rows, constants)


def _partition_value(table: Table, name: str, value: object) -> pa.Array:
    """As PARTITION says it: a text stands for a value of any type."""
    from table_core.datatypes.cast_text import from_text

    type_ = table.definition.field(name).type
    if value is None:
        return pa.nulls(1)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return from_text(pa.array([text], pa.string()), type_)  # type: ignore[arg-type]  # partition columns are atomic


def _with_constants(rows: Any, constants: Mapping[str, Any]) -> Any:
    schema = rows.schema
    for name, value in constants.items():
        schema = schema.append(pa.field(name, value.type))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else rows:
            more = [pa.repeat(value[0], batch.num_rows) for value in constants.values()]
            yield pa.RecordBatch.from_arrays([*batch.columns, *more], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


# --------------------------------------------------------------------------- update, delete, truncate
def _own(table: Table, alias: str | None, parts: Sequence[str]) -> Sides:
    names = (alias,) if alias else (parts[-1],)
    return Sides(((names, "", tuple(field.name for field in table.definition.fields)),))


def _target_columns(
    table: Table, assignments: Sequence[said.Assignment], names: Sequence[str], text: str
) -> Iterator[tuple[str, Words]]:
    exact = {field.name.casefold(): field.name for field in table.definition.fields}
    done = set()
    for assignment in assignments:
        *prefix, name = assignment.column
        folded = [one.casefold() for one in names]
        if name.casefold() not in exact or (prefix and prefix[-1].casefold() not in folded):
            raise _wrong(
                f"{table.name} has no column {'.'.join(assignment.column)!r}",
                text,
                assignment.value.start,
            )
        if name.casefold() in done:
            raise _wrong(f"column {name!r} is set twice", text, assignment.value.start)
        done.add(name.casefold())
        yield exact[name.casefold()], assignment.value


def update(statement: said.Update, context: Context, text: str) -> ResultDocument:
    """UPDATE."""
    table = context.table(statement.table, text)
    sides = _own(table, statement.alias, statement.table.parts)
    names = (statement.alias or statement.table.parts[-1],)
    values = {
        name: sides.value(words, context.parameters)
        for name, words in _target_columns(table, statement.values, names, text)
    }
    where = "true"
    if statement.where is not None:
        where = sides.condition(statement.where, context.parameters)
    return table.update(values, where, commit=context.commit)


def delete(statement: said.Delete, context: Context, text: str) -> ResultDocument:
    """DELETE; without WHERE all rows go."""
    table = context.table(statement.table, text)
    if statement.where is None:
        return table.truncate(commit=context.commit)
    sides = _own(table, statement.alias, statement.table.parts)
    return table.delete(sides.condition(statement.where, context.parameters), commit=context.commit)


def truncate(statement: said.Truncate, context: Context, text: str) -> ResultDocument:
    """TRUNCATE TABLE, whole or of one partition."""
    table = context.table(statement.table, text)
    if statement.partition:
        pairs = statement.partition.items()
        partition = exact_partition(table, pairs, text, statement.table.start)
        return table.drop_partitions([partition], commit=context.commit)
    return table.truncate(commit=context.commit)


# ----------------------------------------------------------------------------------------- merge
def merge(statement: said.Merge, context: Context, text: str) -> ResultDocument:
    """MERGE INTO."""
    table = context.table(statement.table, text)
    source = result_of(statement.source, context)
    target_name = statement.alias or statement.table.parts[-1]
    target = ((target_name,), "target", tuple(f.name for f in table.definition.fields))
    other = ((statement.source_alias,), "source", tuple(source.schema.names))
    if target_name.casefold() == statement.source_alias.casefold():
        raise _wrong(
            f"both sides are called {target_name!r}: give one an alias", text, statement.on.start
        )
    on = _keys(statement.on, Sides((target, other)), context)
    clauses = [
        _clause(when, table, (target, other), context, text, target_name) for when in statement.when
    ]
    return table.merge_into(source, on, clauses, commit=context.commit)


def _keys(words: Words, sides: Sides, context: Context) -> dict[str, str]:
    """The columns that ON says are equal: target to source."""
    condition = parse_where(sides.condition(words, context.parameters))
    parts = condition.parts if isinstance(condition, And) else (condition,)
    pairs: dict[str, str] = {}
    for part in parts:
        pair = _pair(part)
        if pair is None or pair[0] in pairs:
            raise words.refused(
                "ON with more than columns that are equal",
                "write ON target.a = source.a AND …, and the rest behind WHEN MATCHED AND",
                words.start,
            )
        pairs[pair[0]] = pair[1]
    return pairs


def _pair(part: Any) -> tuple[str, str] | None:
    if not isinstance(part, Compare) or part.op != "=":
        return None
    columns = {
        side.path[0]: side.path[1]
        for side in (part.left, part.right)
        if isinstance(side, Column) and len(side.path) == 2
    }
    if columns.keys() != {"target", "source"}:
        return None
    return columns["target"], columns["source"]


def _clause(
    when: said.MergeWhen,
    table: Table,
    both: tuple[Any, Any],
    context: Context,
    text: str,
    target_name: str,
) -> MergeClause:
    target, source = both
    seen = {
        "matched": Sides((target, source)),
        "not matched": Sides((source,)),
        "not matched by source": Sides((target,)),
    }[when.kind]
    condition = None
    if when.condition is not None:
        condition = seen.condition(when.condition, context.parameters)
    values: dict[str, str] | None = None
    if when.values is not None:
        named = _target_columns(table, when.values, (target_name,), text)
        values = {name: seen.value(words, context.parameters) for name, words in named}
    elif when.action != "delete":
        _require_all(table, source[2])
    if when.kind == "not matched":
        return NotMatchedInsert(values=values, condition=condition)
    if when.kind == "matched":
        if when.action == "delete":
            return MatchedDelete(condition=condition)
        return MatchedUpsert(values=values, condition=condition)
    if when.action == "delete":
        return NotMatchedBySourceDelete(condition=condition)
    return NotMatchedBySourceUpsert(values=values or {}, condition=condition)


def _require_all(table: Table, source: Sequence[str]) -> None:
    """``*`` takes every column of the target from the source."""
    have = {name.casefold() for name in source}
    lacking = [f.name for f in table.definition.fields if f.name.casefold() not in have]
    if lacking:
        raise UnsupportedFeatureError(
            f"* in MERGE: the source has no {', '.join(lacking)}; name the columns that are written",
            feature="* of a source without all columns",
        )


def _wrong(message: str, text: str, start: int) -> SqlError:
    place = near_of(text, start)
    return SqlError(
        f"{message} (line {place['line']}, column {place['column']}, at {place['near']!r})", **place
    )
