"""A declared table as the warehouse has it: its schema, and the values of its partitions."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, Field, Root
from table_core.datatypes.text import parse_type
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.declaration.model import TableDeclaration
    from table_core.schema.table_schema import TableSchema

__all__ = ["canonical", "fields_of", "partition_problem", "schema_of"]


def schema_of(table: TableDeclaration) -> TableSchema:
    """The schema of a new table that is as declared.

    Raises:
        SchemaError: rules are broken; facts list all of them.
        OptionError: an option is unknown, or its value does not parse.
        UnsupportedFeatureError: a feature that this release refuses by name.
    """
    from table_core.schema.evolve import create  # Arrow: only where tables are looked into

    return create(
        fields_of(table),
        primary_key=table.primary_key,
        partition_by=table.partition_by,
        options=table.options,
        comment=table.comment,
        now_ms=0,
    )


def fields_of(table: TableDeclaration) -> list[Field]:
    """The columns of a new table that is as declared; ids are given out when it is made."""
    comments, defaults = table.column_comments, table.column_defaults
    return [
        Field(0, name, parse_type(kind), comments.get(name), defaults.get(name))
        for name, kind in table.columns.items()
    ]


_BITS: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on"), "true"),
    **dict.fromkeys(("false", "no", "off"), "false"),
}


def canonical(partition: Mapping[str, str], table: TableDeclaration | None) -> dict[str, str]:
    """``partition`` with ``07`` as ``7`` where the column is a number, and ``NO`` as ``false`` of a flag.

    The text of a text column stays as it is, and so does what does not parse.
    """
    texts = {}
    for name, text in partition.items():
        root = _root(table, name)
        value = _value(text, root)
        texts[name] = text if value is None else value
    return texts


def partition_problem(partition: Mapping[str, str], table: TableDeclaration) -> str | None:
    """What is wrong with a partition of ``table``; None if nothing is."""
    for name, text in partition.items():
        if name not in table.partition_by:
            known = ", ".join(table.partition_by) or "none"
            return f"{name!r} is no partition column; there are: {known}"
        if "{{" not in text and _value(text, _root(table, name)) is None:
            return f"{name}: {text!r} is no {table.columns[name]}"
    return None


def _root(table: TableDeclaration | None, column: str) -> Root | None:
    if table is None or column not in table.columns:
        return None
    try:
        type_ = parse_type(table.columns[column])
    except TableError:
        return None
    return type_.root if isinstance(type_, Atomic) else None


def _value(text: str, root: Root | None) -> str | None:
    """The spelling; None if ``text`` is no such value."""
    if "{{" in text:
        return text
    if root in _BITS:
        try:
            number = int(text)
        except ValueError:
            return None
        least = -(2 ** (_BITS[root] - 1))
        return str(number) if least <= number < -least else None
    if root is Root.DATE:
        return text if _is_date(text) else None
    if root is Root.BOOLEAN:
        return _FLAGS.get(text.lower())
    return text


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
