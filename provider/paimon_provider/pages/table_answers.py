"""What the routes about one table answer, made from the cache alone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from paimon_provider.pages.answers import iso
from paimon_provider.pages.text import cell_text
from table_core.errors import ArgumentError, NotFoundError
from table_core.history.kinds import Kind
from table_core.history.snapshots import CHUNK, Chunk, SnapshotRow, chunk_part, numbers_of
from table_core.options.table import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from paimon_provider.pages.answers import Asker

__all__ = [
    "compare_answer",
    "detail_answer",
    "history_answer",
    "levels_answer",
    "made_ms",
    "options_answer",
    "partitions_answer",
    "refs_answer",
    "schemas_answer",
    "snapshot_answer",
    "snapshots_answer",
]

_TEXT_MAX: Final = 2_000
_BUCKETS_MAX: Final = 500
_PARTITION_SORTS: Final = ("rows", "bytes", "files", "small_files", "written_at")
_COMPARED_MAX: Final = 1_000
"""Two snapshots that are further apart are not compared partition by partition."""
_DAY_MS: Final = 86_400_000


def detail_answer(asker: Asker, uri: str) -> dict[str, Any]:
    """Columns, keys and what kind of table it is; None where nobody has collected it."""
    document = asker.document(uri, Kind.DETAIL)
    names = ("comment", "merge_engine", "changelog_producer", "bucket", "format")
    return {
        **{name: _text_or_number(document.get(name)) for name in names},
        "primary_key": _texts(document.get("primary_key")),
        "partition_by": _texts(document.get("partition_by")),
        "fields": [
            {
                "id": _number(field.get("id")),
                "name": cell_text(field.get("name"), _TEXT_MAX),
                "type": cell_text(field.get("type"), _TEXT_MAX),
                "nullable": bool(field.get("nullable")),
                "comment": _text_or_number(field.get("comment")),
            }
            for field in _records(document.get("fields"))
        ],
    }


def snapshots_answer(asker: Asker, uri: str, before: int | None, limit: int) -> dict[str, Any]:
    """Newest first, those below ``before``."""
    rows = []
    tags = _tags(asker, uri)
    for row in _newest_first(asker, uri, before):
        rows.append(_snapshot(asker, row, tags))
        if len(rows) == limit:
            break
    return {"total": _total(asker, uri), "snapshots": rows}


def _newest_first(asker: Asker, uri: str, before: int | None = None) -> Iterator[SnapshotRow]:
    """The snapshots that are kept, newest first; a chunk is read when it is needed."""
    yield from _below(_chunk(asker.document(uri, Kind.OPEN)), before)
    parts = asker.db.execute(
        "SELECT part FROM document WHERE uri = ? AND kind = ? AND part < ? ORDER BY part DESC",
        (uri, Kind.SNAPSHOTS.value, "~" if before is None else chunk_part(max(before, 0))),
    ).fetchall()
    for (part,) in parts:
        yield from _below(_chunk(asker.document(uri, Kind.SNAPSHOTS, part)), before)


def _below(rows: tuple[SnapshotRow, ...], before: int | None) -> Iterator[SnapshotRow]:
    return (row for row in reversed(rows) if before is None or row.id < before)


def _chunk(document: Mapping[str, Any]) -> tuple[SnapshotRow, ...]:
    try:
        return Chunk.from_document(document).rows
    except ValueError:  # none, or written by somebody else
        return ()


def _total(asker: Asker, uri: str) -> int:
    full = asker.db.execute(
        "SELECT count(*) FROM document WHERE uri = ? AND kind = ?", (uri, Kind.SNAPSHOTS.value)
    ).fetchone()[0]
    return int(full) * CHUNK + len(_chunk(asker.document(uri, Kind.OPEN)))


def _tags(asker: Asker, uri: str) -> dict[int, list[str]]:
    by_snapshot: dict[int, list[str]] = {}
    for tag in _records(asker.document(uri, Kind.REFS).get("tags")):
        if isinstance(tag.get("snapshot_id"), int):
            by_snapshot.setdefault(tag["snapshot_id"], []).append(
                cell_text(tag.get("name"), _TEXT_MAX)
            )
    return by_snapshot


def _snapshot(asker: Asker, row: SnapshotRow, tags: Mapping[int, list[str]]) -> dict[str, Any]:
    same = (
        *("id", "kind", "operation", "identifier", "rows_added", "rows_deleted", "rows", "bytes"),
        *("files_added", "files_deleted", "files", "schema_id"),
    )
    return {
        **{name: getattr(row, name) for name in same},
        "identifier": str(row.identifier),
        "at": iso(row.at_ms),
        "user": cell_text(row.user, _TEXT_MAX),
        "by": asker.by_user(row.user),
        "watermark": iso(row.watermark),
        "tags": tags.get(row.id, []),
        "properties": {
            cell_text(k, _TEXT_MAX): cell_text(v, _TEXT_MAX)
            for k, v in (row.properties or {}).items()
        },
    }


def _one(asker: Asker, uri: str, id: int) -> SnapshotRow:
    """One snapshot.

    Raises:
        NotFoundError: it is not kept.
    """
    for row in _newest_first(asker, uri, id + 1):
        if row.id == id:
            return row
        break
    raise NotFoundError(f"snapshot {id} is not among those that were collected", name=str(id))


def snapshot_answer(asker: Asker, uri: str, id: int) -> dict[str, Any]:
    """``GET /api/table/snapshot``."""
    row = _one(asker, uri, id)
    return {**_snapshot(asker, row, _tags(asker, uri)), "by_bucket": _by_bucket(row)}


_POINT: Final = ("at_ms", "rows", "bytes", "files")
_BUCKET_MEMBERS: Final = (
    *("partition", "bucket", "files_added", "files_deleted", "rows_added", "rows_deleted"),
    *("bytes_added", "bytes_deleted"),
)


def _by_bucket(row: SnapshotRow) -> list[dict[str, Any]] | None:
    if row.by_bucket is None:
        return None
    return [dict(zip(_BUCKET_MEMBERS, one, strict=True)) for one in row.by_bucket]


def compare_answer(asker: Asker, uri: str, from_id: int, to_id: int) -> dict[str, Any]:
    """``GET /api/table/compare``: by partition as far as every snapshot between says so.

    Raises:
        ArgumentError: ``to`` is not after ``from``.
        NotFoundError: one of them is not kept.
    """
    if to_id <= from_id:
        raise ArgumentError(f"to={to_id} is not after from={from_id}", argument="to")
    older, newer, tags = _one(asker, uri, from_id), _one(asker, uri, to_id), _tags(asker, uri)
    sums: dict[str, list[int]] | None = {} if to_id - from_id <= _COMPARED_MAX else None
    seen = 0
    for row in _newest_first(asker, uri, to_id + 1) if sums is not None else ():
        if row.id <= from_id:
            break
        seen += 1
        if row.by_bucket is None:
            sums = None
            break
        for one in row.by_bucket:
            total = (sums if sums is not None else {}).setdefault(str(one[0]), [0, 0, 0])
            for at, (added, deleted) in enumerate(((4, 5), (6, 7), (2, 3))):
                total[at] += one[added] - one[deleted]
    whole = sums is not None and seen == to_id - from_id
    schemas = [
        change
        for schema in schemas_answer(asker, uri)["schemas"]
        if older.schema_id < (schema["id"] or 0) <= newer.schema_id
        for change in schema["changes"]
    ]
    return {
        "from": _snapshot(asker, older, tags),
        "to": _snapshot(asker, newer, tags),
        "rows": newer.rows - older.rows,
        "bytes": _minus(newer.bytes, older.bytes),
        "files": _minus(newer.files, older.files),
        "schema_changes": schemas,
        "by_partition": [
            {"partition": name, "rows": rows, "bytes": size, "files": files}
            for name, (rows, size, files) in sorted((sums or {}).items())
        ]
        if whole
        else None,
    }


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def history_answer(asker: Asker, uri: str, points: int) -> dict[str, Any]:
    """``GET /api/table/history``: evenly chosen, the first and the last among them."""
    parts = asker.db.execute(
        "SELECT kind, part FROM document WHERE uri = ? AND kind IN (?, ?) ORDER BY kind DESC, part",
        (uri, Kind.SNAPSHOTS.value, Kind.OPEN.value),
    ).fetchall()
    rows: list[tuple[int | None, ...]] = []
    for kind, part in parts:
        try:
            rows += numbers_of(asker.document(uri, kind, part), _POINT)
        except (ValueError, TypeError):  # written by somebody else
            continue
    if len(rows) > points:
        step = (len(rows) - 1) / (points - 1)
        rows = [rows[round(at * step)] for at in range(points)]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(_POINT)}
    return {"at": [iso(at) for at in columns.pop("at_ms")], **columns}


def levels_answer(asker: Asker, uri: str, partition: str) -> dict[str, Any]:
    """``GET /api/table/levels``; ``partition`` as the answer spells it."""
    document = asker.document(uri, Kind.LEVELS)
    buckets = []
    for one in _lists(document.get("buckets"), 4):
        label, bucket, runs, levels = one
        if partition and label != partition:
            continue
        members = ("level", "files", "bytes", "rows")
        told = [dict(zip(members, level, strict=True)) for level in _lists(levels, 4)]
        buckets.append(
            {
                "partition": cell_text(label, _TEXT_MAX),
                "bucket": bucket,
                "levels": sorted(told, key=lambda level: str(level["level"])),
                "sorted_runs": runs,
                "read_amplification": runs,
            }
        )
    total = len(buckets) if partition else _whole(document.get("total"))
    return {"buckets": buckets[:_BUCKETS_MAX], "total": total}


def partitions_answer(asker: Asker, uri: str, sort: str, offset: int, limit: int) -> dict[str, Any]:
    """``GET /api/table/partitions``; heat is 1 where it is written now, and less by half a day.

    Raises:
        ArgumentError: nothing that can be sorted by.
    """
    name = sort.removeprefix("-")
    if name not in _PARTITION_SORTS:
        known = ", ".join(_PARTITION_SORTS)
        raise ArgumentError(f"sort={sort!r}: known are {known}", argument="sort")
    document = asker.document(uri, Kind.PARTITIONS)
    key = "written_ms" if name == "written_at" else name
    rows = _records(document.get("partitions"))
    rows.sort(key=lambda one: _whole(one.get(key)), reverse=sort.startswith("-"))
    return {
        "total": _whole(document.get("total")),
        "partitions": [_partition(asker, one) for one in rows[offset : offset + limit]],
    }


def _partition(asker: Asker, one: Mapping[str, Any]) -> dict[str, Any]:
    values, written = one.get("values"), one.get("written_ms")
    at = written if isinstance(written, int) else None
    age_days = None if at is None else max(0, asker.now_ms - at) / _DAY_MS
    return {
        "values": {
            cell_text(k, _TEXT_MAX): cell_text(v, _TEXT_MAX)
            for k, v in (values.items() if isinstance(values, dict) else ())
        },
        **{name: _whole(one.get(name)) for name in ("rows", "bytes", "files", "small_files")},
        "written_at": iso(at),
        "heat": 0.0 if age_days is None else round(1 / (1 + 2 * age_days), 4),
    }


def schemas_answer(asker: Asker, uri: str) -> dict[str, Any]:
    """``GET /api/table/schemas``."""
    schemas = []
    for one in _records(asker.document(uri, Kind.SCHEMAS).get("schemas")):
        changes = [
            {name: _text_or_number(c.get(name)) for name in ("kind", "column", "before", "after")}
            for c in _records(one.get("changes"))
        ]
        id, at = _whole(one.get("id")), _iso_of(one.get("at_ms"))
        schemas.append({"id": id, "at": at, "changes": changes})
    return {"schemas": schemas}


def made_ms(asker: Asker, uri: str) -> int | None:
    """When the table was made, as its first schema says; None where that one was not collected."""
    schemas = _records(asker.document(uri, Kind.SCHEMAS).get("schemas"))
    return next((_number(one.get("at_ms")) for one in schemas if one.get("id") == 0), None)


@cache
def _known_options() -> tuple[tuple[str, str | None, str], ...]:
    """Key, default and meaning of every option that a table can have."""
    known = []
    for option in OPTIONS.values():
        default = option.default
        text = None if default in (None, (), "") else str(default)
        if isinstance(default, bool):
            text = text.lower() if text else None
        known.append((option.key, text, option.meaning))
    return tuple(sorted(known))


def options_answer(asker: Asker, uri: str) -> dict[str, Any]:
    """``GET /api/table/options``: those that are set first."""
    stored = asker.document(uri, Kind.DETAIL).get("options")
    if not isinstance(stored, dict):
        return {"options": []}
    known = {key: (default, does) for key, default, does in _known_options()}
    options = []
    for key in (*sorted(stored), *(key for key in known if key not in stored)):
        default, does = known.get(key, (None, None))
        options.append(
            {
                "key": cell_text(key, _TEXT_MAX),
                "value": cell_text(stored[key], _TEXT_MAX) if key in stored else default,
                "default": default,
                "set": key in stored,
                "does": does,
            }
        )
    return {"options": options}


def refs_answer(asker: Asker, uri: str) -> dict[str, Any]:
    """``GET /api/table/refs``."""
    document = asker.document(uri, Kind.REFS)
    return {
        "tags": [
            {
                "name": cell_text(tag.get("name"), _TEXT_MAX),
                "snapshot_id": _number(tag.get("snapshot_id")),
                "at": _iso_of(tag.get("at_ms")),
                "expires_at": _iso_of(tag.get("expires_ms")),
            }
            for tag in _records(document.get("tags"))
        ],
        "branches": [
            {
                "name": cell_text(branch.get("name"), _TEXT_MAX),
                "created_at": _iso_of(branch.get("created_ms")),
                "from_snapshot": _number(branch.get("from_snapshot")),
            }
            for branch in _records(document.get("branches"))
        ],
        "consumers": [
            {
                "name": cell_text(one.get("name"), _TEXT_MAX),
                "next_snapshot": _number(one.get("next_snapshot")),
                "lag_snapshots": _number(one.get("lag_snapshots")),
                "lag_s": None if not isinstance(one.get("lag_ms"), int) else one["lag_ms"] // 1000,
            }
            for one in _records(document.get("consumers"))
        ],
    }


def _records(stored: object) -> list[dict[str, Any]]:
    return [one for one in stored if isinstance(one, dict)] if isinstance(stored, list) else []


def _lists(stored: object, length: int) -> list[list[Any]]:
    rows = stored if isinstance(stored, list) else []
    return [row for row in rows if isinstance(row, list) and len(row) == length]


def _texts(stored: object) -> list[str]:
    return [cell_text(one, _TEXT_MAX) for one in stored] if isinstance(stored, list) else []


def _text_or_number(stored: object) -> str | int | None:
    if stored is None or (isinstance(stored, int) and abs(stored) < 2**53):
        return stored
    return cell_text(stored, _TEXT_MAX)


def _number(stored: object) -> int | None:
    return stored if isinstance(stored, int) else None


def _whole(stored: object) -> int:
    return _number(stored) or 0


def _iso_of(at_ms: object) -> str | None:
    return iso(at_ms) if isinstance(at_ms, int) else None
