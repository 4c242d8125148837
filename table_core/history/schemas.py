"""What changed from one schema of a table to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.text import type_text
from table_core.history.kinds import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.schema.table_schema import TableSchema

__all__ = ["schema_changes", "schemas_document"]

_SCHEMAS_MAX: Final = 200


def schemas_document(schemas: Sequence[TableSchema]) -> dict[str, Any]:
    """The newest of ``schemas`` (ascending) first, each with what it changed; the first changed nothing."""
    shown = schemas[-_SCHEMAS_MAX:]
    told = []
    for at, schema in enumerate(shown):
        before = shown[at - 1] if at else None
        changes = [] if before is None else list(schema_changes(before, schema))
        told.append({"id": schema.id, "at_ms": schema.time_millis, "changes": changes})
    return {"version": VERSION, "total": len(schemas), "schemas": told[::-1]}


def schema_changes(before: TableSchema, after: TableSchema) -> Iterator[dict[str, Any]]:
    """Columns by their ids, so that a new name is a new name; then options and the comment."""
    old, new = ({field.id: field for field in one.fields} for one in (before, after))
    for id, field in new.items():
        was = old.get(id)
        if was is None:
            yield _change("add", field.name, None, type_text(field.type))
            continue
        if was.name != field.name:
            yield _change("rename", field.name, was.name, field.name)
        if was.type != field.type:
            yield _change("type", field.name, type_text(was.type), type_text(field.type))
        if was.description != field.description:
            yield _change("comment", field.name, was.description, field.description)
    for id, field in old.items():
        if id not in new:
            yield _change("drop", field.name, type_text(field.type), None)
    kept = [[f.id for f in one.fields if f.id in old and f.id in new] for one in (before, after)]
    if kept[0] != kept[1]:
        names = [", ".join(f.name for f in one.fields) for one in (before, after)]
        yield _change("order", None, *names)
    had, has = before.raw_options, after.raw_options
    for key in sorted({*had, *has}):
        if had.get(key) != has.get(key):
            yield _change("option", key, had.get(key), has.get(key))
    if before.comment != after.comment:
        yield _change("comment", None, before.comment, after.comment)


def _change(kind: str, column: str | None, before: str | None, after: str | None) -> dict[str, Any]:
    return {"kind": kind, "column": column, "before": before, "after": after}
