"""The Avro schemas of manifests, as Java writes them.

Rules of the Java reader (format 4.1, T1, T2): a nullable field is ``["null", T]`` in that order; a
manifest has exactly its six top-level fields; names in one schema are unique.

Source: ``org.apache.paimon.format.avro.AvroSchemaConverter``; format 4.1 to 4.3 and 4.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "INDEX_MANIFEST",
    "MANIFEST",
    "MANIFEST_LIST",
    "WRITE_COLS_SEQUENCES",
    "schema_of_values",
    "with_fields",
]

_NAMESPACE: Final = "org.apache.paimon.avro.generated"


def _field(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": type_}


def _nullable(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", type_], "default": None}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _top(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "record", "namespace": _NAMESPACE, "fields": list(fields)}


def _stats(name: str) -> dict[str, Any]:
    return _record(
        name,
        _field("_MIN_VALUES", "bytes"),
        _field("_MAX_VALUES", "bytes"),
        _nullable("_NULL_COUNTS", _array(["null", "long"])),
    )


WRITE_COLS_SEQUENCES: Final[Mapping[str, Any]] = _nullable("_WRITE_COLS_SEQUENCES", _array("long"))
"""Member of ``_FILE`` that Paimon 2.0 does not know; written only where a file has it."""
MANIFEST: Final[Mapping[str, Any]] = _top(
    _field("_VERSION", "int"),
    _field("_KIND", "int"),
    _field("_PARTITION", "bytes"),
    _field("_BUCKET", "int"),
    _field("_TOTAL_BUCKETS", "int"),
    _field(
        "_FILE",
        _record(
            "record__FILE",
            _field("_FILE_NAME", "string"),
            _field("_FILE_SIZE", "long"),
            _field("_ROW_COUNT", "long"),
            _field("_MIN_KEY", "bytes"),
            _field("_MAX_KEY", "bytes"),
            _field("_KEY_STATS", _stats("record__FILE__KEY_STATS")),
            _field("_VALUE_STATS", _stats("record__FILE__VALUE_STATS")),
            _field("_MIN_SEQUENCE_NUMBER", "long"),
            _field("_MAX_SEQUENCE_NUMBER", "long"),
            _field("_SCHEMA_ID", "long"),
            _field("_LEVEL", "int"),
            _field("_EXTRA_FILES", _array("string")),
            _nullable("_CREATION_TIME", {"type": "long", "logicalType": "timestamp-millis"}),
            _nullable("_DELETE_ROW_COUNT", "long"),
            _nullable("_EMBEDDED_FILE_INDEX", "bytes"),
            _nullable("_FILE_SOURCE", "int"),
            _nullable("_VALUE_STATS_COLS", _array("string")),
            _nullable("_EXTERNAL_PATH", "string"),
            _nullable("_FIRST_ROW_ID", "long"),
            _nullable("_WRITE_COLS", _array("string")),
        ),
    ),
)
MANIFEST_LIST: Final[Mapping[str, Any]] = _top(
    _field("_VERSION", "int"),
    _field("_FILE_NAME", "string"),
    _field("_FILE_SIZE", "long"),
    _field("_NUM_ADDED_FILES", "long"),
    _field("_NUM_DELETED_FILES", "long"),
    _field("_PARTITION_STATS", _stats("record__PARTITION_STATS")),
    _field("_SCHEMA_ID", "long"),
    _nullable("_MIN_BUCKET", "int"),
    _nullable("_MAX_BUCKET", "int"),
    _nullable("_MIN_LEVEL", "int"),
    _nullable("_MAX_LEVEL", "int"),
    _nullable("_MIN_ROW_ID", "long"),
    _nullable("_MAX_ROW_ID", "long"),
)
INDEX_MANIFEST: Final[Mapping[str, Any]] = _top(
    _field("_VERSION", "int"),
    _field("_KIND", "int"),
    _field("_PARTITION", "bytes"),
    _field("_BUCKET", "int"),
    _field("_INDEX_TYPE", "string"),
    _field("_FILE_NAME", "string"),
    _field("_FILE_SIZE", "long"),
    _field("_ROW_COUNT", "long"),
    _nullable(
        "_DELETIONS_VECTORS_RANGES",
        _array(
            [
                "null",
                _record(
                    "record__DELETIONS_VECTORS_RANGES",
                    _field("f0", "string"),
                    _field("f1", "int"),
                    _field("f2", "int"),
                    _nullable("_CARDINALITY", "long"),
                ),
            ]
        ),
    ),
    _nullable("_EXTERNAL_PATH", "string"),
    _nullable(
        "_GLOBAL_INDEX",
        _record(
            "record__GLOBAL_INDEX",
            _field("_ROW_RANGE_START", "long"),
            _field("_ROW_RANGE_END", "long"),
            _field("_INDEX_FIELD_ID", "int"),
            _nullable("_EXTRA_FIELD_IDS", _array("int")),
            _nullable("_INDEX_META", "bytes"),
            _nullable("_SOURCE_META", "bytes"),
        ),
    ),
)


def with_fields(
    schema: Mapping[str, Any], at: str | None, *more: Mapping[str, Any]
) -> dict[str, Any]:
    """``schema`` with ``more`` members behind the others, or behind those of its record ``at``."""
    if at is None:
        return {**schema, "fields": [*schema["fields"], *more]}
    fields = [
        {**f, "type": with_fields(f["type"], None, *more)} if f["name"] == at else f
        for f in schema["fields"]
    ]
    return {**schema, "fields": fields}


def schema_of_values(name: str, values: list[Any]) -> dict[str, Any] | None:
    """A nullable member that holds ``values`` of a member nobody knows; None if none does."""
    type_ = _type_of(f"record__{name.lstrip('_')}", [v for v in values if v is not None])
    return None if type_ is None else _nullable(name, type_)


def _type_of(name: str, values: list[Any]) -> Any:
    kinds = {type(v) for v in values}
    if kinds == {dict}:
        keys = dict.fromkeys(key for value in values for key in value)
        members = [schema_of_values_in(name, key, values) for key in keys]
        return None if None in members else _record(name, *[m for m in members if m is not None])
    if kinds == {list}:
        items = [item for value in values for item in value]
        inner = _type_of(f"{name}__item", [i for i in items if i is not None])
        if inner is None:
            return None if any(i is not None for i in items) else _array(["null", "long"])
        return _array(["null", inner] if None in items else inner)
    primitives = {bool: "boolean", int: "long", float: "double", str: "string", bytes: "bytes"}
    return primitives.get(kinds.pop()) if len(kinds) == 1 else None


def schema_of_values_in(name: str, key: str, values: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The nullable member ``key`` of a nested record of unknown values."""
    type_ = _type_of(
        f"{name}__{key.lstrip('_')}", [v[key] for v in values if v.get(key) is not None]
    )
    return _nullable(key, "long" if type_ is None else type_)
