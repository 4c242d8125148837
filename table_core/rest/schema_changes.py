"""What turns one schema into the next one, as a REST catalog is asked for it.

Source: ``org.apache.paimon.schema.SchemaChange`` of 2.0.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from table_core.datatypes.kinds import with_nullability
from table_core.datatypes.text import type_to_json
from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.datatypes.kinds import Field
    from table_core.schema.table_schema import TableSchema

__all__ = ["alter_request", "is_same_schema"]


def alter_request(before: TableSchema, after: TableSchema) -> dict[str, object]:
    """The request for the changes from ``before`` to ``after``.

    Raises:
        UnsupportedFeatureError: it would drop the default of a column.
    """
    changes = [*_columns(before, after), *_positions(before, after), *_options(before, after)]
    if before.comment != after.comment:
        changes.append({"action": "updateComment", "comment": after.comment})
    if before.primary_keys and not after.primary_keys:
        changes.append({"action": "dropPrimaryKey"})
    return {"changes": changes}


def is_same_schema(one: TableSchema, other: TableSchema) -> bool:
    """Whether both say the same of a table, whoever wrote them, and when."""
    return replace(one, time_millis=0, extra={}) == replace(other, time_millis=0, extra={})


def _columns(before: TableSchema, after: TableSchema) -> Iterator[dict[str, object]]:
    """Columns that go, change and come; of a column it is its id that stays."""
    old, new = ({field.id: field for field in schema.fields} for schema in (before, after))
    for id, field in old.items():
        if id not in new:
            yield {"action": "dropColumn", "fieldNames": [field.name]}
    for id, field in old.items():
        if id in new and new[id].name != field.name:
            yield {
                "action": "renameColumn",
                "fieldNames": [field.name],
                "newName": new[id].name,
            }
    for id, field in sorted(new.items()):  # the server numbers what comes in its order
        if id in old:
            yield from _changed(old[id], field)
        else:
            yield {
                "action": "addColumn",
                "fieldNames": [field.name],
                "dataType": type_to_json(field.type),
                "comment": field.description,
            }
            yield from _defaulted(None, field)


def _changed(old: Field, new: Field) -> Iterator[dict[str, object]]:
    name: Mapping[str, Any] = {"fieldNames": [new.name]}
    same_null = with_nullability(new.type, nullable=old.type.nullable)
    if same_null != old.type:
        yield {
            "action": "updateColumnType",
            **name,
            "newDataType": type_to_json(same_null),
            "keepNullability": True,
        }
    if new.type.nullable != old.type.nullable:
        yield {
            "action": "updateColumnNullability",
            **name,
            "newNullability": new.type.nullable,
        }
    if new.description != old.description:
        yield {"action": "updateColumnComment", **name, "newComment": new.description}
    yield from _defaulted(old.default, new)


def _defaulted(old: str | None, new: Field) -> Iterator[dict[str, object]]:
    if new.default == old:
        return
    if new.default is None:
        raise UnsupportedFeatureError(
            f"dropping the default of column {new.name!r} is not in this release for a table of a REST catalog. "
            "Nothing was changed",
            feature="dropping a default in a REST catalog",
        )
    yield {
        "action": "updateColumnDefaultValue",
        "fieldNames": [new.name],
        "newDefaultValue": new.default,
    }


def _positions(before: TableSchema, after: TableSchema) -> Iterator[dict[str, object]]:
    """Moves, from left to right, of what stands elsewhere once all others have come and gone."""
    names, wanted = {f.id: f.name for f in after.fields}, [f.name for f in after.fields]
    there = [names[f.id] for f in before.fields if f.id in names]
    there += [names[id] for id in sorted(names) if names[id] not in there]
    for place, name in enumerate(wanted):
        if there[place] == name:
            continue
        there.remove(name)
        there.insert(place, name)
        left = wanted[place - 1] if place else None
        move = {
            "fieldName": name,
            "referenceFieldName": left,
            "type": "AFTER" if place else "FIRST",
        }
        yield {"action": "updateColumnPosition", "move": move}


def _options(before: TableSchema, after: TableSchema) -> Iterator[dict[str, object]]:
    for key in before.raw_options.keys() - after.raw_options.keys():
        yield {"action": "removeOption", "key": key}
    for key, value in after.raw_options.items():
        if before.raw_options.get(key) != value:
            yield {"action": "setOption", "key": key, "value": value}
