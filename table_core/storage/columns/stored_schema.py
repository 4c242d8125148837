"""Arrow schemas as files store them: with field ids, nested ones derived.

Source: ``org.apache.paimon.format.parquet.ParquetSchemaConverter``, ``OrcTypeUtil``,
``SpecialFields``; format 5.3 and T32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Array, Atomic, Map, Multiset, Root, Row, Vector
from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.datatypes.kinds import DataType, Field

__all__ = [
    "ORC_ID",
    "PARQUET_ID",
    "asked_paths",
    "leaf_counts",
    "leaf_paths",
    "refuse_shredded",
    "schema_with_ids",
]

PARQUET_ID: Final = "PARQUET:field_id"
ORC_ID: Final = "paimon.id"
_NESTED_BASE: Final = (2**31 - 1) // 4
_IDS_A_COLUMN: Final = 1024


def schema_with_ids(fields: Sequence[Field], key: str) -> pa.Schema:
    """The Arrow schema of ``fields`` whose metadata hold each id under ``key``."""
    return pa.schema([_member(field, key) for field in fields])


def _member(field: Field, key: str) -> pa.Field:
    type_ = _type(field.type, field.id, 0, key)
    return _field(field.name, type_, field.id, key, nullable=field.type.nullable)


def _field(name: str, type_: pa.DataType, id: int, key: str, *, nullable: bool) -> pa.Field:
    free = nullable or key == ORC_ID  # which has no NOT NULL
    return pa.field(name, type_, nullable=free, metadata={key: str(id)})


def _type(type_: DataType, owner: int, depth: int, key: str) -> pa.DataType:
    """``type_`` inside the column or ROW member ``owner``, ``depth`` collections deep."""
    inner = owner * _IDS_A_COLUMN + depth + 1
    match type_:
        case Row(fields):
            return pa.struct([_member(field, key) for field in fields])
        case Array(element) | Vector(element):
            item = _type(element, owner, depth + 1, key)
            return pa.list_(
                _field("element", item, _NESTED_BASE + inner, key, nullable=element.nullable)
            )
        case Map(key_type, value):
            return _map(key_type, value, owner, depth, key)
        case Multiset(element):
            return _map(element, Atomic(Root.INT, nullable=False), owner, depth, key)
        case Atomic(Root.VARIANT):
            members = ["value", "metadata"]
            return pa.struct(
                [_field(m, pa.binary(), i, key, nullable=False) for i, m in enumerate(members)]
            )
        case Atomic(Root.TIME) if key == ORC_ID:
            return pa.int32()  # ORC has no time of day
        case Atomic():
            return arrow_type(type_)


def _map(key_type: DataType, value: DataType, owner: int, depth: int, key: str) -> pa.DataType:
    inner = owner * _IDS_A_COLUMN + depth + 1
    key_id = {key: str(_NESTED_BASE - inner)}
    return pa.map_(
        pa.field("key", _type(key_type, owner, depth + 1, key), nullable=False, metadata=key_id),
        _field(
            "value",
            _type(value, owner, depth + 1, key),
            _NESTED_BASE + inner,
            key,
            nullable=value.nullable,
        ),
    )


def asked_paths(asked: pa.Schema, stored: pa.Schema) -> list[str]:
    """What to call the columns ``asked`` of a file, where of a ROW only some members are asked for."""
    return [path for field in asked for path in _asked(field, stored.field(field.name).type, "")]


def _asked(field: pa.Field, stored: pa.DataType, above: str) -> Iterator[str]:
    path = f"{above}{field.name}"
    if not (pa.types.is_struct(field.type) and pa.types.is_struct(stored)):
        yield path
        return
    below = {member.name: member.type for member in stored}
    parts = [
        part
        for member in field.type
        if member.name in below
        for part in _asked(member, below[member.name], f"{path}.")
    ]
    whole = len(parts) == len(below) and all(
        part == f"{path}.{n}" for part, n in zip(parts, below, strict=True)
    )
    yield from [path] if whole or not parts else parts


def refuse_shredded(type_: DataType, stored: pa.DataType, name: str, path: str) -> None:
    """Refuse a VARIANT of which the file keeps parts in columns of their own.

    Raises:
        UnsupportedFeatureError: what this release reads would lack them.
    """
    match type_:
        case Row(fields) if pa.types.is_struct(stored):
            below = {member.name: member.type for member in stored}
            for field in fields:
                if field.name in below:
                    refuse_shredded(field.type, below[field.name], f"{name}.{field.name}", path)
        case Array(element) | Vector(element) if hasattr(stored, "value_type"):
            refuse_shredded(element, stored.value_type, f"{name}.element", path)
        case Map(_, value) if pa.types.is_map(stored):
            refuse_shredded(value, stored.item_type, f"{name}.value", path)
        case Atomic(Root.VARIANT) if pa.types.is_struct(stored):
            if stored.get_field_index("typed_value") >= 0:
                raise UnsupportedFeatureError(
                    f"{path}: the VARIANT {name!r} is shredded: parts of its values lie in columns of their "
                    "own, which this release does not read. Write the rows again without "
                    "variant.shreddingSchema and variant.inferShreddingSchema",
                    feature="shredded VARIANT",
                )


def leaf_paths(name: str, type_: Any) -> Iterator[str]:
    """Dotted paths of the Parquet columns below the column ``name``."""
    if pa.types.is_struct(type_):
        for member in type_:
            yield from leaf_paths(f"{name}.{member.name}", member.type)
    elif pa.types.is_map(type_):
        yield from leaf_paths(f"{name}.key_value.key", type_.key_type)
        yield from leaf_paths(f"{name}.key_value.value", type_.item_type)
    elif (
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    ):
        yield from leaf_paths(f"{name}.list.element", type_.value_type)
    else:
        yield name


def leaf_counts(schema: pa.Schema) -> list[int]:
    """How many Parquet columns each column of a file's Arrow ``schema`` has."""
    return [
        sum(1 for _ in leaf_paths("", type_)) if pa.types.is_nested(type_) else 1
        for type_ in schema.types
    ]
