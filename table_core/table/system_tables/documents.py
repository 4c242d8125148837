"""System tables of the table's own documents: snapshots, schemas, tags and the like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.text import field_to_json, type_text
from table_core.errors import CorruptFileError
from table_core.ondisk import layout
from table_core.options.stored_json import json_object
from table_core.table.metadata.refs.branches import branch_names
from table_core.table.metadata.refs.consumers import consumers as known_consumers
from table_core.table.metadata.refs.tags import tag_names, tagged
from table_core.table.system_tables.state import shown_state
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.table.metadata.access import TableAccess

__all__ = [
    "aggregation_fields",
    "branches",
    "consumers",
    "local_ms",
    "options",
    "rows_table",
    "schemas",
    "snapshots",
    "statistics",
    "tags",
]

_TEXT: Final = pa.string()
_LONG: Final = pa.int64()
_TIME: Final = pa.timestamp("ms")


def rows_table(columns: Sequence[tuple[str, Any, bool]], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """A table of ``(name, type, nullable)`` columns from rows of metadata.

    Raises:
        CorruptFileError: a number in the metadata is larger than any that a writer stores there.
    """
    records = list(rows)
    schema = pa.schema([pa.field(name, type_, nullable=null) for name, type_, null in columns])
    arrays = [_column(field, [row[at] for row in records]) for at, field in enumerate(schema)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _column(field: pa.Field, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowInvalid, OverflowError) as error:
        what = f"{field.name}: a value in the table's metadata is no {field.type}: {error}"
        raise CorruptFileError(what, path=field.name, problems=[what]) from error


def local_ms(access: TableAccess, at_ms: int) -> int:
    """An instant as wall clock of the local zone, which is how Paimon shows it."""
    return at_ms + access.clock.local_offset_ms(at_ms)


def snapshots(access: TableAccess) -> pa.Table:
    """``$snapshots``."""
    columns = [
        ("snapshot_id", _LONG, False),
        ("schema_id", _LONG, False),
        ("commit_user", _TEXT, False),
        ("commit_identifier", _LONG, False),
        ("commit_kind", _TEXT, False),
        ("commit_time", _TIME, False),
        ("base_manifest_list", _TEXT, False),
        ("delta_manifest_list", _TEXT, False),
        ("changelog_manifest_list", _TEXT, True),
        ("total_record_count", _LONG, True),
        ("delta_record_count", _LONG, True),
        ("changelog_record_count", _LONG, True),
        ("watermark", _LONG, True),
        ("next_row_id", _LONG, True),
        ("operation", _TEXT, True),
        ("writer_version", _TEXT, True),
    ]
    documents = (access.metadata.snapshot(id) for id in access.snapshot_ids())
    return rows_table(
        columns,
        (
            (
                s.id,
                s.schema_id,
                s.commit_user,
                s.commit_identifier,
                s.commit_kind.value,
                local_ms(access, s.time_millis),
                s.base_manifest_list,
                s.delta_manifest_list,
                s.changelog_manifest_list,
                s.total_record_count,
                s.delta_record_count,
                s.changelog_record_count,
                s.watermark,
                s.next_row_id,
                s.operation,
                s.writer_version,
            )
            for s in documents
        ),
    )


def schemas(access: TableAccess) -> pa.Table:
    """``$schemas``."""
    columns = [
        ("schema_id", _LONG, False),
        ("fields", _TEXT, False),
        ("partition_keys", _TEXT, False),
        ("primary_keys", _TEXT, False),
        ("options", _TEXT, False),
        ("comment", _TEXT, True),
        ("update_time", _TIME, False),
    ]
    documents = (access.metadata.schema(id) for id in access.metadata.schema_ids())
    return rows_table(
        columns,
        (
            (
                s.id,
                _json([field_to_json(f) for f in s.fields]),
                _json(list(s.partition_keys)),
                _json(list(s.primary_keys)),
                _json(_as_java_lists(s.raw_options)),
                s.comment,
                local_ms(access, s.time_millis),
            )
            for s in documents
        ),
    )


def options(access: TableAccess) -> pa.Table:
    """``$options``: those of the newest schema, and not those of the handle."""
    stored = access.metadata.latest_schema().raw_options
    return rows_table([("key", _TEXT, False), ("value", _TEXT, False)], stored.items())


def tags(access: TableAccess) -> pa.Table:
    """``$tags``."""
    columns = [
        ("tag_name", _TEXT, False),
        ("snapshot_id", _LONG, False),
        ("schema_id", _LONG, False),
        ("commit_time", _TIME, False),
        ("record_count", _LONG, True),
        ("create_time", _TIME, True),
        ("time_retained", _TEXT, True),
    ]
    named_tags = ((name, tagged(access, name)) for name in tag_names(access))
    return rows_table(
        columns,
        (
            (
                name,
                tag.snapshot.id,
                tag.snapshot.schema_id,
                local_ms(access, tag.snapshot.time_millis),
                tag.snapshot.total_record_count,
                None if tag.created_ns is None else tag.created_ns // 1_000_000,
                None if tag.retained_ns is None else _duration(tag.retained_ns),
            )
            for name, tag in named_tags
        ),
    )


def branches(access: TableAccess) -> pa.Table:
    """``$branches``."""
    modified = {
        info.path.rpartition("/")[2]: info.modified_ms
        for info in access.storage.list(layout.BRANCH_FOLDER)
    }
    columns = [("branch_name", _TEXT, False), ("create_time", _TIME, False)]
    return rows_table(
        columns,
        (
            (name, local_ms(access, modified.get(f"branch-{name}", 0)))
            for name in branch_names(access)
        ),
    )


def consumers(access: TableAccess) -> pa.Table:
    """``$consumers``."""
    columns = [("consumer_id", _TEXT, False), ("next_snapshot_id", _LONG, False)]
    return rows_table(columns, sorted(known_consumers(access).items()))


def statistics(access: TableAccess) -> pa.Table:
    """``$statistics``: what ANALYZE had stored at the state that is shown, no row before the first."""
    columns = [
        ("snapshot_id", _LONG, False),
        ("schema_id", _LONG, False),
        ("mergedRecordCount", _LONG, True),
        ("mergedRecordSize", _LONG, True),
        ("colstat", _TEXT, True),
    ]
    head = shown_state(access)
    if head is None or head.statistics is None:
        return rows_table(columns, [])
    path = layout.statistics_path(head.statistics)
    document = json_object(access.metadata.named_file(path), path=path)
    problems = ValidationErrors(path)
    row = (
        problems.need(document, "snapshotId", int, 0),
        problems.need(document, "schemaId", int, 0),
        problems.take(document, "mergedRecordCount", int),
        problems.take(document, "mergedRecordSize", int),
        _json(problems.take(document, "colStats", dict) or {}),
    )
    problems.raise_if_any()
    return rows_table(columns, [row])


def aggregation_fields(access: TableAccess) -> pa.Table:
    """``$aggregation_fields``: every column, with the options that begin with its name."""
    schema = access.metadata.latest_schema()
    columns = [
        ("field_name", _TEXT, False),
        ("field_type", _TEXT, False),
        ("function", _TEXT, True),
        ("function_options", _TEXT, True),
        ("comment", _TEXT, True),
    ]
    records = []
    for field in schema.fields:
        prefix = f"fields.{field.name}."
        own = {
            key: value
            for key, value in schema.raw_options.items()
            if key.startswith(prefix) and "." not in key.removeprefix(prefix)
        }
        records.append(
            (
                field.name,
                type_text(field.type),
                f"[{', '.join(own.values())}]",
                f"[{', '.join(own)}]",
                field.description,
            )
        )
    return rows_table(columns, records)


def _as_java_lists(options: Mapping[str, str]) -> dict[str, str]:
    """``options`` in the order in which Java's ``HashMap`` gives them."""
    capacity = 16
    while len(options) > capacity * 3 // 4:
        capacity *= 2
    return dict(sorted(options.items(), key=lambda item: _java_hash(item[0]) & (capacity - 1)))


def _java_hash(text: str) -> int:
    """``HashMap.hash`` of a ``String``: of its UTF-16 units, high bits folded into the low."""
    units = text.encode("utf-16-le")
    code = 0
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "little")) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _duration(nanos: int) -> str:
    """Java's ``Duration.toString``: ``PT36H``, ``PT1M0.5S``."""
    seconds, fraction = divmod(nanos, 1_000_000_000)
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    text = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if left or fraction:
        digits = f".{fraction:09d}".rstrip("0") if fraction else ""
        text += f"{left}{digits}S"
    return f"PT{text or '0S'}"
