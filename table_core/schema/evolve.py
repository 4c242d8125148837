"""A table's first schema, and each next one.

    (columns, keys, options)  --create-->  schema 0
    (schema N, changes)       --evolve-->  schema N + 1

Ids are given out depth first and never used again: that is what keeps old files readable.  Every
fault of a request is reported at once.

Source: ``org.apache.paimon.schema.SchemaManager``; format 2.2 to 2.4 and 13.1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, assert_never

import pyarrow as pa

from table_core.datatypes.arrow import from_arrow
from table_core.datatypes.kinds import Atomic, Field, Root, Row, with_nullability
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError, OptionError, SchemaError, UnsupportedFeatureError
from table_core.options import keys_identity
from table_core.options.old_names import replacement_of
from table_core.options.user_options import refuse_wrong
from table_core.schema.change import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from table_core.schema.column_names import column_names
from table_core.schema.evolve_columns import change_column, refused
from table_core.schema.evolve_options import (
    check_option_change,
    options_that_name,
    renamed_in_options,
)
from table_core.schema.nested import numbered, split_path
from table_core.schema.orc_moments import has_zoned_orc, with_orc_moments
from table_core.schema.table_schema import TableSchema
from table_core.schema.validate import unsupported_feature, violations_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


__all__ = ["create", "evolve"]

_NEVER_STORED: Final = ("connector", "path", "auto-create", "write-mode")


def create(
    columns: pa.Schema | Sequence[Field],
    *,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    now_ms: int,
) -> TableSchema:
    """Schema 0 of a new table.

    Primary-key columns become NOT NULL.  A fixed bucket of an append table without ``bucket-key``
    gets all columns as its key.

    Raises:
        SchemaError: rules are broken; facts list all of them.
        OptionError: an option is unknown, or its value does not parse.
        UnsupportedFeatureError: a feature that this release refuses by name.
    """
    table_options = dict(options or {})
    refuse_wrong({k: v for k, v in table_options.items() if k not in _NEVER_STORED})
    problems: list[str] = []
    partition = _one_of(problems, "partition", partition_by, table_options.pop("partition", None))
    key = _one_of(problems, "primary-key", primary_key, table_options.pop("primary-key", None))
    _refuse_legacy(table_options, key, problems)
    stored = {k: str(v) for k, v in table_options.items() if k not in _NEVER_STORED}
    row, highest = numbered(Row(_fields(columns)), -1)
    assert isinstance(row, Row)
    schema = TableSchema(
        id=0,
        fields=row.fields,
        highest_field_id=highest,
        partition_keys=partition,
        primary_keys=key,
        raw_options=stored,
        comment=comment,
        time_millis=now_ms,
    )
    return _sound(with_orc_moments(_with_bucket_key(_with_key_not_null(schema))), problems)


def evolve(
    schema: TableSchema, changes: Iterable[SchemaChange], *, has_snapshots: bool, now_ms: int
) -> TableSchema:
    """The schema after ``changes``, applied one after the other; its id is one higher.

    Raises:
        SchemaError: changes are refused or the result breaks rules; facts list all problems.
        OptionError: an option is unknown, cannot change, or its value does not parse.
        UnsupportedFeatureError: a feature that this release refuses by name.
    """
    problems: list[str] = []
    result = schema
    for change in changes:
        try:
            result = _applied(result, change, has_snapshots=has_snapshots)
        except SchemaError as refusal:
            problems.append(f"{type(change).__name__}: {refusal}")
    if problems:
        raise SchemaError("; ".join(problems), problems=problems)
    moved = replace(result, id=schema.id + 1, time_millis=now_ms)
    if not has_zoned_orc(schema):  # else files may be there that were written without the option
        moved = with_orc_moments(moved)
    return _sound(_with_key_not_null(moved), problems)


def _applied(schema: TableSchema, change: SchemaChange, *, has_snapshots: bool) -> TableSchema:
    match change:
        case SetOption(key, value):
            if key in _NEVER_STORED:
                old = replacement_of(key)
                hint = f" (of an older release: {old})" if old else ""
                raise refused(f"option {key!r} is not stored in a table{hint}")
            refuse_wrong({key: value})
            return check_option_change(schema, key, str(value), has_snapshots=has_snapshots)
        case RemoveOption(key):
            return check_option_change(schema, key, None, has_snapshots=has_snapshots)
        case UpdateComment(comment):
            return replace(schema, comment=comment)
        case DropPrimaryKey():
            if has_snapshots:
                raise refused("the primary key can go only while the table has no snapshot")
            return replace(schema, primary_keys=())
        case RenameColumn(name, new_name):
            renamed, path = change_column(schema, change), split_path(schema.fields, name)
            return renamed_in_options(renamed, path[0], new_name) if len(path) == 1 else renamed
        case DropColumn(name):
            dropped = change_column(schema, change)
            path = split_path(schema.fields, name)
            if named := options_that_name(schema, path[0]) if len(path) == 1 else ():
                raise refused(
                    f"column {name!r} cannot be dropped: {', '.join(named)} "
                    f"{'names' if len(named) == 1 else 'name'} it; remove or change that first"
                )
            return dropped
        case (
            AddColumn()
            | UpdateColumnComment()
            | UpdateColumnDefault()
            | UpdateColumnNullability()
            | UpdateColumnPosition()
            | UpdateColumnType()
        ):
            return change_column(schema, change)
        case _:
            assert_never(change)


def _fields(columns: pa.Schema | Sequence[Field]) -> tuple[Field, ...]:
    fields: list[Field] = []
    problems = []
    for column in _columns(columns):
        if isinstance(column, Field):
            fields.append(column)
            continue
        try:
            fields.append(_from_arrow(column))
        except (SchemaError, UnsupportedFeatureError) as error:
            problems.append(f"column {column.name!r}: {error}")
    if problems:
        raise SchemaError("; ".join(problems), problems=problems)
    return tuple(fields)


def _columns(columns: Any) -> Any:
    """The columns of a schema, or of rows in any Arrow form.

    Raises:
        ArgumentError: they are neither.
    """
    if isinstance(columns, pa.Schema):
        return columns
    if isinstance(columns, list | tuple) and all(isinstance(c, Field | pa.Field) for c in columns):
        return columns
    own = getattr(columns, "schema", None)
    if isinstance(own, pa.Schema):
        return own
    if hasattr(columns, "__arrow_c_schema__"):
        return pa.schema(columns)
    if hasattr(columns, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(columns).schema
    raise ArgumentError(
        f"schema: give an Arrow schema, such as pa.schema([('id', pa.int64())]), or rows whose columns it "
        f"shall have, not {type(columns).__name__}; of a dict, pa.table(…).schema",
        argument="schema",
        value=type(columns).__name__,
    )


def _from_arrow(column: Any) -> Field:
    metadata = {k.decode(): v.decode() for k, v in (column.metadata or {}).items()}
    text = metadata.get("paimon.type")
    type_ = parse_type(text) if text else from_arrow(column.type, nullable=column.nullable)
    comment = metadata.get("comment") or metadata.get("description")
    return Field(0, column.name, type_, comment, metadata.get("default"))


def _one_of(
    problems: list[str], option: str, argument: Sequence[str], text: str | None
) -> tuple[str, ...]:
    """Keys given as an argument or as an option, never as both."""
    argument = column_names(option, argument)
    if text is None:
        return argument
    named = tuple(name.strip() for name in text.split(",") if name.strip())
    if argument and tuple(argument) != named:
        problems.append(f"option {option!r} says {list(named)}, the argument {list(argument)}")
    return named


def _refuse_legacy(options: Mapping[str, str], key: tuple[str, ...], problems: list[str]) -> None:
    """Options of old releases and of the connector, format 13.1."""
    if options.get("connector", "paimon") != "paimon":
        problems.append(f"connector must be 'paimon', not {options['connector']!r}")
    mode = options.get("write-mode")
    if mode is not None and mode not in {"change-log", "append-only"}:
        raise OptionError(
            f"option 'write-mode' cannot be {mode!r}: expected change-log or append-only",
            option="write-mode",
            value=mode,
        )
    if (mode == "append-only" and key) or (mode == "change-log" and not key):
        what = "with" if key else "without"
        raise UnsupportedFeatureError(
            f"write-mode={mode} {what} a primary key is of old releases: leave write-mode out",
            feature=f"write-mode={mode}",
        )


def _with_key_not_null(schema: TableSchema) -> TableSchema:
    if schema.options.get(keys_identity.PRIMARY_KEY_NULLABLE):
        return schema
    fields = tuple(
        replace(f, type=with_nullability(f.type, nullable=False))
        if f.name in schema.primary_keys
        else f
        for f in schema.fields
    )
    return replace(schema, fields=fields)


def _with_bucket_key(schema: TableSchema) -> TableSchema:
    """Older documents let a fixed-bucket append table hash all columns: write them out."""
    if schema.is_key_table or schema.bucket < 1 or schema.bucket_keys:
        return schema
    hashed = [f.name for f in schema.fields if f.name not in schema.partition_keys]
    nested = [
        f.name
        for f in schema.fields
        if f.name in hashed and (not isinstance(f.type, Atomic) or f.type.root is Root.VARIANT)
    ]
    if nested:
        what = f"columns {nested} cannot be hashed: name the columns to hash in bucket-key"
        raise SchemaError(what, problems=[what])
    return replace(schema, raw_options={**schema.raw_options, "bucket-key": ",".join(hashed)})


def _sound(schema: TableSchema, problems: list[str]) -> TableSchema:
    violations = violations_of(schema)
    if not problems and (unsupported := unsupported_feature(schema)) is not None:
        raise unsupported.error("the schema", "make")  # what it lacks beside would not help
    if problems := [*problems, *violations]:
        raise SchemaError("; ".join(problems), problems=problems)
    return schema
