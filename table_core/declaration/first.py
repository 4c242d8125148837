"""A first declaration of tables that are there, or are to be: ``plan`` of a warehouse finds nothing to do."""

from __future__ import annotations

import datetime as dt
import json
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from table_core.datatypes.arrow import from_arrow
from table_core.datatypes.kinds import STRING, Atomic, Field, Root, with_nullability
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import holds_all, union
from table_core.errors import SchemaError, UnsupportedFeatureError
from table_core.schema.evolve import create

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from table_core.datatypes.kinds import DataType
    from table_core.schema.table_schema import TableSchema

__all__ = ["FileSchema", "by_table", "declaration_of", "table_of"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"])
"""What YAML takes for something else than text."""


def declaration_of(
    name: str,
    tables: Mapping[str, TableSchema],
    warehouse: str | None,
    remarks: Mapping[str, str] | None = None,
) -> str:
    """The YAML text that declares ``tables`` as they are; ``remarks`` are remarks on them."""
    lines = ["version: 1", f"name: {_quoted(name)}"]
    lines += [] if warehouse is None else [f"warehouse: {_quoted(warehouse)}"]
    lines.append("tables:" if tables else "tables: {}")
    for table, schema in tables.items():
        remark = (remarks or {}).get(table, "")
        lines.append(f"  {_quoted(table)}:" + (f"  # {remark}" if remark else ""))
        lines.append("    columns:")
        lines += [f"      {_quoted(field.name)}: {_column(field)}" for field in schema.fields]
        for member, columns in (
            ("primary_key", schema.primary_keys),
            ("partition_by", schema.partition_keys),
        ):
            if columns:
                lines.append(f"    {member}: [{', '.join(map(_quoted, columns))}]")
        if schema.raw_options:
            lines.append("    options:")
            lines += [f"      {_quoted(k)}: {_quoted(v)}" for k, v in schema.raw_options.items()]
        if schema.comment:
            lines.append(f"    comment: {_quoted(schema.comment)}")
    return "\n".join(lines) + "\n"


def _column(field: Field) -> str:
    type_ = _quoted(type_text(field.type))
    more = [
        f"{member}: {_quoted(text)}"
        for member, text in (("comment", field.description), ("default", field.default))
        if text is not None and (text or member == "default")
    ]
    return f"{{type: {type_}, {', '.join(more)}}}" if more else type_


def _quoted(text: str) -> str:
    """As YAML takes it for this text: JSON's quotes are YAML's."""
    if _PLAIN.fullmatch(text) and text.casefold() not in _WORDS:
        return text
    escaped = json.dumps(text, ensure_ascii=False)
    return escaped.replace("${", "$${")


_HIVE: Final = re.compile(r"([^=/]+)=([^/]*)")
_NOTHING: Final = "__HIVE_DEFAULT_PARTITION__"
_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSchema:
    """What one Parquet file says of itself."""

    path: str
    """From the folder that is looked at."""
    schema: pa.Schema

    @property
    def partition(self) -> dict[str, str | None]:
        """What its folders say: ``dt=2026-01-01``."""
        matches = [_HIVE.fullmatch(part) for part in posixpath.dirname(self.path).split("/")]
        pairs = [(unquote(one[1]), unquote(one[2])) for one in matches if one is not None]
        return {name: None if text == _NOTHING else text for name, text in pairs}


def by_table(files: Iterable[FileSchema], folder: str) -> dict[str, list[FileSchema]]:
    """Files by the names of their tables; those that lie in no folder of their own are of ``folder``.

    Raises:
        SchemaError: two folders would be one table; says which.
    """
    by_name: dict[str, list[FileSchema]] = {}
    folders: dict[str, str] = {}
    for file in files:
        parts = [p for p in posixpath.dirname(file.path).split("/") if p and not _HIVE.fullmatch(p)]
        own = "/".join(parts)
        name = re.sub(r"[^0-9A-Za-z_]+", "_", own or folder).strip("_").lower() or "rows"
        if (other := folders.setdefault(name, own)) != own:
            message = (
                f"the folders {other or '.'!r} and {own or '.'!r} would both be the table {name}: give "
                "one of them another name, or declare them one by one"
            )
            raise SchemaError(message, problems=[message])
        by_name.setdefault(name, []).append(file)
    return by_name


def table_of(
    name: str, files: Sequence[FileSchema], primary_key: Sequence[str] = ()
) -> TableSchema:
    """A table that holds what ``files`` hold.

    Raises:
        SchemaError: files disagree on a type or on their folders; says which.
        UnsupportedFeatureError: a file has a type that no table has; says which column.
    """
    fields: dict[str, DataType] = {}
    first: dict[str, FileSchema] = {}
    for file in files:
        for column in file.schema:
            kind = _type(file, column)
            if column.name in fields:
                kind = _joined(name, column.name, fields[column.name], kind, first, file)
            fields[column.name] = kind
            first.setdefault(column.name, file)
    for column_name, kind in fields.items():
        if any(column_name not in file.schema.names for file in files):
            fields[column_name] = with_nullability(kind, nullable=True)
    partitions = _partitions(name, files)
    for column_name, kind in partitions.items():
        fields.setdefault(column_name, kind)
    _refuse_cases(name, fields)
    keys = (*partitions, *(key for key in primary_key if key not in partitions))
    if primary_key:
        fields |= {key: with_nullability(fields[key], nullable=False) for key in keys}
    return create(
        [Field(0, column_name, kind) for column_name, kind in fields.items()],
        primary_key=keys if primary_key else (),
        partition_by=tuple(partitions),
        options={},
        comment=None,
        now_ms=0,
    )


def _refuse_cases(table: str, names: Iterable[str]) -> None:
    """Refuse columns that SQL cannot tell apart, as ``validate`` would."""
    there: dict[str, str] = {}
    for name in names:
        if (other := there.setdefault(name.casefold(), name)) != name:
            message = (
                f"{table}: columns {other!r} and {name!r} differ in case alone: rename one of them "
                "in the files, or declare the table by hand"
            )
            raise SchemaError(message, problems=[message])


def _type(file: FileSchema, column: pa.Field) -> DataType:
    try:
        return from_arrow(column.type, nullable=column.nullable)
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            f"{file.path}: column {column.name!r}: {error}", feature=str(column.type)
        ) from error


def _joined(
    table: str,
    column: str,
    old: DataType,
    new: DataType,
    first: Mapping[str, FileSchema],
    file: FileSchema,
) -> DataType:
    """The type that holds the values of both."""
    nullable = old.nullable or new.nullable
    a, b = with_nullability(old, nullable=True), with_nullability(new, nullable=True)
    if holds_all(b, a):
        return with_nullability(a, nullable=nullable)
    if holds_all(a, b):
        return with_nullability(b, nullable=nullable)
    both = union(a, b)
    if both is None or not (holds_all(a, both) and holds_all(b, both)):
        message = (
            f"{table}: column {column!r} is {type_text(a)} in {first[column].path} and {type_text(b)} in "
            f"{file.path}, and no type holds both: declare the table by hand"
        )
        raise SchemaError(message, problems=[message])
    return with_nullability(both, nullable=nullable)


def _partitions(table: str, files: Sequence[FileSchema]) -> dict[str, DataType]:
    """The columns that folders name, with the type that all their values have."""
    names = {tuple(file.partition) for file in files}
    if len(names) > 1:
        message = f"{table}: files lie in folders of {' and of '.join(sorted(map(str, names)))}"
        raise SchemaError(message, problems=[message])
    values: dict[str, list[str | None]] = {name: [] for name in next(iter(names))}
    for file in files:
        for name, text in file.partition.items():
            values[name].append(text)
    return {name: _of_texts([t for t in texts if t is not None]) for name, texts in values.items()}


def _of_texts(texts: Sequence[str]) -> DataType:
    if texts and all(_WHOLE.fullmatch(text) for text in texts):
        large = any(abs(int(text)) > _INT_MAX for text in texts)
        return Atomic(Root.BIGINT if large else Root.INT)
    if texts and all(_is_date(text) for text in texts):
        return Atomic(Root.DATE)
    return STRING


def _is_date(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
