"""CREATE, ALTER and DROP, SHOW and DESCRIBE."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from table_core.datatypes.arrow import fields_from_arrow
from table_core.datatypes.kinds import Atomic, Root, with_nullability
from table_core.datatypes.text import type_text
from table_core.errors import ArgumentError, NotFoundError, UnsupportedFeatureError
from table_core.table.api.sql.context import text_rows
from table_core.table.api.sql.queries import inexact_columns, result_of
from table_core.table.api.system_table import SystemTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.datatypes.kinds import Field
    from table_core.sql import statements as said
    from table_core.table.api.sql.context import Context
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument
    from table_core.table.read.scan import Scan

__all__ = [
    "alter_table",
    "create_database",
    "create_table",
    "describe",
    "drop_database",
    "drop_partition",
    "drop_table",
    "rename_table",
    "show_columns",
    "show_create_table",
    "show_databases",
    "show_options",
    "show_partitions",
    "show_tables",
]


def create_database(statement: said.CreateDatabase, context: Context, _: str) -> Scan:
    """CREATE DATABASE."""
    context.catalog.create_database(statement.name, if_not_exists=statement.if_not_exists)
    return text_rows(())


def drop_database(statement: said.DropDatabase, context: Context, _: str) -> Scan:
    """DROP DATABASE."""
    if not statement.if_exists or statement.name in context.catalog.databases():
        context.catalog.drop_database(statement.name, cascade=statement.cascade)
    return text_rows(())


def create_table(statement: said.CreateTable, context: Context, text: str) -> Scan | ResultDocument:
    """CREATE TABLE; one with a query is dropped again if its rows cannot be written."""
    name = context.name(statement.table, text)
    if statement.query is not None:
        return _create_as(statement, context, name)
    if statement.like is not None:
        like = context.table(statement.like, text).definition
        context.catalog.create_table(
            name,
            like.fields,
            like.primary_keys,
            like.partition_keys,
            {**like.raw_options, **statement.options},
            like.comment,
            if_not_exists=statement.if_not_exists,
        )
        return text_rows(())
    context.catalog.create_table(
        name,
        statement.columns,
        statement.primary_key,
        statement.partition_by,
        statement.options,
        statement.comment,
        if_not_exists=statement.if_not_exists,
    )
    return text_rows(())


def _create_as(statement: said.CreateTable, context: Context, name: str) -> Scan | ResultDocument:
    from table_core.table.api.sql.changes import written

    assert statement.query is not None
    database, table = context.catalog.split(name)
    if statement.if_not_exists and table in context.catalog.tables(database):
        return text_rows(())
    rows = result_of(statement.query, context)
    fields = fields_from_arrow(rows.schema)
    _refuse_inexact(fields, inexact_columns(statement.query, context))
    if unnamed := statement.query.unnamed:
        raise UnsupportedFeatureError(
            f"CREATE TABLE … AS with the unnamed column {unnamed[0]}: give it a name, as in "
            f"{unnamed[0]} AS name",
            feature="unnamed columns in CREATE TABLE … AS",
        )
    made = context.catalog.create_table(
        name,
        [_nullable(field) for field in fields],
        statement.primary_key,
        statement.partition_by,
        statement.options,
        statement.comment,
    )
    try:
        return written(made, rows.to_reader(), None, context)
    except BaseException:
        if made.latest_snapshot() is None:
            context.catalog.drop_table(name)
        raise


def _nullable(field: Field) -> Field:
    from dataclasses import replace

    return replace(field, type=with_nullability(field.type, nullable=True))


def _refuse_inexact(fields: Iterable[Field], inexact: tuple[str, ...]) -> None:
    for field in fields:
        is_decimal = isinstance(field.type, Atomic) and field.type.root is Root.DECIMAL
        if is_decimal and field.name in inexact:
            raise UnsupportedFeatureError(
                f"CREATE TABLE … AS with the computed column {field.name!r}: Spark may give it another "
                f"precision than {type_text(field.type)}; create the table with its columns, and write "
                "INSERT INTO … SELECT",
                feature="computed decimals in CREATE TABLE … AS",
            )


def drop_table(statement: said.DropTable, context: Context, text: str) -> Scan:
    """DROP TABLE."""
    context.catalog.drop_table(context.name(statement.table, text), if_exists=statement.if_exists)
    return text_rows(())


def alter_table(statement: said.AlterTable, context: Context, text: str) -> Scan:
    """ALTER TABLE."""
    name = context.name(statement.table, text)
    context.catalog.alter_table(name, statement.changes)
    return text_rows(())


def rename_table(statement: said.RenameTable, context: Context, text: str) -> Scan:
    """ALTER TABLE … RENAME TO; a name without a database stays in its database."""
    name = context.name(statement.table, text)
    to = statement.to
    target = (
        f"{name.partition('.')[0]}.{to.parts[0]}" if len(to.parts) == 1 else context.name(to, text)
    )
    context.catalog.rename_table(name, target)
    return text_rows(())


def drop_partition(statement: said.DropPartition, context: Context, text: str) -> ResultDocument:
    """ALTER TABLE … DROP PARTITION."""
    from table_core.table.api.sql.changes import exact_partition

    table = context.table(statement.table, text)
    start = statement.table.start
    partitions = [
        exact_partition(table, partition.items(), text, start) for partition in statement.partitions
    ]
    if not statement.if_exists:
        for partition in partitions:
            if table.partition(partition) is None:
                raise NotFoundError(
                    f"{table.name} has no partition {partition}: write DROP IF EXISTS PARTITION",
                    name=str(partition),
                )
    return table.drop_partitions(partitions, commit=context.commit)


# ------------------------------------------------------------------------------------------- show
def show_databases(statement: said.ShowDatabases, context: Context, _: str) -> Scan:
    """SHOW DATABASES."""
    names = _like(context.catalog.databases(), statement.like)
    return text_rows(("namespace",), [(name,) for name in names])


def show_tables(statement: said.ShowTables, context: Context, _: str) -> Scan:
    """SHOW TABLES."""
    database = context.need_database(statement.database)
    names = _like(context.catalog.tables(database), statement.like)
    return text_rows(("namespace", "tableName"), [(database, name) for name in names])


def _like(names: Iterable[str], pattern: str | None) -> list[str]:
    """Spark's patterns: ``*`` is any text, ``|`` is or, and case does not count."""
    if pattern is None:
        return list(names)
    parts = (re.escape(part.strip()).replace(r"\*", ".*") for part in pattern.split("|"))
    regex = re.compile("|".join(parts), re.IGNORECASE)
    return [name for name in names if regex.fullmatch(name)]


def show_columns(statement: said.ShowColumns, context: Context, text: str) -> Scan:
    """SHOW COLUMNS."""
    names = context.table(statement.table, text).arrow_schema.names
    return text_rows(("col_name",), [(name,) for name in names])


def show_partitions(statement: said.ShowPartitions, context: Context, text: str) -> Scan:
    """SHOW PARTITIONS: those that have files, as ``dt=2026-01-01/hh=5``."""
    table = context.table(statement.table, text)
    if not table.partition_by:
        raise ArgumentError(
            f"{table.name} has no partitions: it was created without PARTITIONED BY",
            argument="text",
            value=table.name,
        )
    rows = sorted(
        "/".join(f"{key}={'null' if value is None else value}" for key, value in one.items())
        for one in table.live_partitions()
    )
    return text_rows(("partition",), [(row,) for row in rows])


def show_options(statement: said.ShowOptions, context: Context, text: str) -> Scan:
    """SHOW TBLPROPERTIES."""
    options = dict(context.table(statement.table, text).options)
    if statement.key is not None:
        if statement.key not in options:
            raise NotFoundError(
                f"option {statement.key!r} is not set",
                name=statement.key,
                available=sorted(options),
            )
        options = {statement.key: options[statement.key]}
    return text_rows(("key", "value"), sorted(options.items()))


def describe(statement: said.DescribeTable, context: Context, text: str) -> Scan:
    """DESCRIBE: columns, then partition columns; EXTENDED also what the table is."""
    table = context.table(statement.table, text)
    fields = fields_from_arrow(table.arrow_schema) if _is_system(table) else table.definition.fields
    rows = [(f.name, type_text(f.type), f.description) for f in fields]
    if table.partition_by:
        rows.append(("# Partition Information", "", ""))
        types = {f.name: f for f in fields}
        rows += [(n, type_text(types[n].type), types[n].description) for n in table.partition_by]
    if statement.extended and not _is_system(table):
        rows.append(("# Detailed Table Information", "", ""))
        rows.append(("Name", table.name, ""))
        rows.append(("Comment", table.definition.comment or "", ""))
        rows.append(("Location", table.uri, ""))
        rows.append(("Provider", "paimon", ""))
        rows.append(("Primary Key", ", ".join(table.primary_key), ""))
        rows += [(f"Option {key}", value, "") for key, value in sorted(table.options.items())]
    return text_rows(("col_name", "data_type", "comment"), rows)


def _is_system(table: Table) -> bool:
    return isinstance(table, SystemTable)


def show_create_table(statement: said.ShowCreateTable, context: Context, text: str) -> Scan:
    """SHOW CREATE TABLE: a statement that creates the same table, with Flink's types."""
    table = context.table(statement.table, text)
    definition = table.definition
    lines = [f"  {_column(field)}" for field in definition.fields]
    if definition.primary_keys:
        lines.append(f"  PRIMARY KEY ({_names(definition.primary_keys)}) NOT ENFORCED")
    parts = [f"CREATE TABLE {_names(table.name.split('.'), '.')} (\n" + ",\n".join(lines) + "\n)"]
    if definition.comment is not None:
        parts.append(f"COMMENT {_text(definition.comment)}")
    if definition.partition_keys:
        parts.append(f"PARTITIONED BY ({_names(definition.partition_keys)})")
    options = sorted(definition.raw_options.items())
    shown = ",\n".join(f"  {_text(key)} = {_text(value)}" for key, value in options)
    parts.append(f"WITH (\n{shown}\n)" if options else "WITH ()")
    return text_rows(("createtab_stmt",), [("\n".join(parts),)])


def _column(field: Field) -> str:
    text = f"{_names([field.name])} {type_text(field.type)}"
    if field.description is not None:
        text += f" COMMENT {_text(field.description)}"
    if field.default is not None:
        text += f" DEFAULT {_text(str(field.default))}"
    return text


def _names(names: Iterable[str], between: str = ", ") -> str:
    return between.join(f"`{name.replace('`', '``')}`" for name in names)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
