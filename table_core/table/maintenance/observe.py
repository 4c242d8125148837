"""Reads what a collector keeps of one table: from metadata alone, new snapshots only, within limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.text import type_text
from table_core.errors import NotFoundError
from table_core.health.buckets import shape_of
from table_core.health.verdict import Measures, Verdict, verdicts
from table_core.history import line as lines
from table_core.history.kinds import VERSION, Kind
from table_core.history.schemas import schemas_document
from table_core.history.shape import levels_document, partitions_document
from table_core.history.state import State, expired_chunks
from table_core.ondisk import layout
from table_core.ondisk.partition_text import partition_text
from table_core.options import keys_files, keys_identity, keys_merge, keys_scan
from table_core.table.maintenance.health import health, small_bytes, thresholds
from table_core.table.maintenance.observed_snapshots import SnapshotHistory, Within, partition_of
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_names
from table_core.table.metadata.refs.consumers import consumers
from table_core.table.metadata.refs.tags import tag_names, tagged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.health.buckets import FileShape
    from table_core.history.snapshots import (
        Chunk,
    )
    from table_core.ondisk.file_columns import FileColumns
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["Observed", "Within", "observe", "partitions_observed"]

_FIELDS_MAX: Final = 2_000
_REFS_MAX: Final = 500
_TEXT_MAX: Final = 2_000


@dataclass(slots=True)
class Observed:
    """What is new to keep of one table."""

    state: State
    documents: dict[tuple[Kind, str], Mapping[str, Any]] = field(default_factory=dict)
    gone: list[tuple[Kind, str]] = field(default_factory=list)
    new_snapshots: int = 0


def observe(
    access: TableAccess, before: State | None, opened: Chunk | None, uri: str, within: Within
) -> Observed:
    """Look at the table; ``before`` and ``opened`` are what was kept of it last.

    Raises:
        NotFoundError: it was dropped meanwhile.
    """
    now_ms = access.clock.now_ms()
    head = access.head()
    birth = access.metadata.birth()
    known = before if before is not None and before.birth == birth else None
    live = access.metadata.live_files(head)
    shape = shape_of(live, keyed=access.schema.is_key_table, small_bytes=small_bytes(access))
    whole = known is None or now_ms - known.looked_ms >= within.recheck_ms
    judged = _verdicts(access, known, shape, whole=whole)
    history = SnapshotHistory(access, known, opened if known is not None else None, within)
    history.read(head, live)
    observed = Observed(
        State(
            name=access.name,
            birth=birth,
            head=head.id if head else None,
            mark=head.delta_manifest_list if head else "",
            looked_ms=now_ms if whole else known.looked_ms if known else now_ms,
            verdicts=tuple(lines.verdicts_document(judged)),
            chunks=history.chunks,
            open_count=len(history.open),
        )
    )
    put = observed.documents
    put[Kind.LINE, ""] = _line(access, head, live, shape, judged, history, uri)
    put[Kind.DETAIL, ""] = _detail(access)
    put[Kind.LEVELS, ""] = levels_document(
        live, keyed=access.schema.is_key_table, text_of=partial(partition_of, access.schema)
    )
    put[Kind.PARTITIONS, ""] = partitions_observed(access, live)
    put[Kind.SCHEMAS, ""] = schemas_document(access.metadata.schemas())
    put[Kind.REFS, ""] = _refs(access, head, now_ms)
    put |= history.documents()
    put[Kind.STATE, ""] = observed.state.to_document()
    observed.new_snapshots = history.read_now
    observed.gone = _gone(before, history, now_ms, within)
    if observed.gone:
        _forget(observed, history, now_ms, within)
    return observed


def _forget(observed: Observed, history: SnapshotHistory, now_ms: int, within: Within) -> None:
    old = set(expired_chunks(history.chunks, now_ms=now_ms, kept_ms=within.kept_ms))
    kept = tuple(chunk for chunk in history.chunks if chunk[0] not in old)
    observed.state = replace(observed.state, chunks=kept)
    observed.documents[Kind.STATE, ""] = observed.state.to_document()
    for part in old:
        observed.documents.pop((Kind.SNAPSHOTS, part), None)


def _gone(
    before: State | None, history: SnapshotHistory, now_ms: int, within: Within
) -> list[tuple[Kind, str]]:
    """Chunks of another table or of snapshots that were rolled back, and those that are too old."""
    now = {part for part, _, _ in history.chunks}
    was = {part for part, _, _ in before.chunks} if before else set()
    old = expired_chunks(history.chunks, now_ms=now_ms, kept_ms=within.kept_ms)
    return [(Kind.SNAPSHOTS, part) for part in sorted((was - now) | set(old))]


def _verdicts(
    access: TableAccess, known: State | None, shape: FileShape, *, whole: bool
) -> tuple[Verdict, ...]:
    """All verdicts where everything is looked at; else those on files, with what was found before."""
    if whole or known is None:
        return health(access, {}).verdicts
    quick = verdicts(
        Measures(shape=shape, keyed=access.schema.is_key_table), thresholds(access, {})
    )
    return lines.merged_verdicts(
        lines.verdicts_of(known.verdicts), [v for v in quick if v.action == "compact"]
    )


def _line(
    access: TableAccess,
    head: Snapshot | None,
    live: FileColumns,
    shape: FileShape,
    judged: tuple[Verdict, ...],
    history: SnapshotHistory,
    uri: str,
) -> dict[str, Any]:
    partitioned = bool(access.schema.partition_keys)
    return {
        "version": VERSION,
        "uri": uri,
        "table": access.name,
        "kind": "primary-key" if access.schema.is_key_table else "append",
        "rows": head.total_record_count if head else 0,
        "bytes": shape.bytes,
        "files": shape.files,
        "small_files": shape.small_files,
        "partitions": len(set(live.partition.tolist())) if partitioned else 0,
        "snapshot_id": head.id if head else None,
        "updated_ms": head.time_millis if head else None,
        "user": head.commit_user[:_TEXT_MAX] if head else None,
        "health": lines.health_word(judged),
        "badges": lines.badges_of(judged),
        "next_maintenance": lines.next_maintenance(judged),
        "sorted_runs_max": shape.sorted_runs_max,
        "read_amplification": round(shape.read_amplification, 3),
        "cut": {} if history.cut is None else {"snapshots": history.cut},
    }


def partitions_observed(access: TableAccess, live: FileColumns) -> dict[str, Any]:
    """Size, files and age of the partitions of ``live``.

    Files say in local time when they were made (format 4.4); these documents are in UTC.
    """
    document = partitions_document(
        live,
        small_bytes=small_bytes(access),
        texts_of=lambda row: dict(partition_text(access.schema, row)),
    )
    for one in document["partitions"]:
        if one["written_ms"] is not None:
            one["written_ms"] = _utc_ms(access, one["written_ms"])
    return document


def _detail(access: TableAccess) -> dict[str, Any]:
    schema, options = access.schema, access.options
    return {
        "version": VERSION,
        "comment": None if schema.comment is None else schema.comment[:_TEXT_MAX],
        "primary_key": list(schema.primary_keys),
        "partition_by": list(schema.partition_keys),
        "merge_engine": str(options.get(keys_merge.MERGE_ENGINE)) if schema.is_key_table else None,
        "changelog_producer": str(options.get(keys_scan.CHANGELOG_PRODUCER)),
        "bucket": options.get(keys_identity.BUCKET),
        "format": str(options.get(keys_files.FILE_FORMAT)),
        "schema_id": schema.id,
        "fields_total": len(schema.fields),
        "fields": [
            {
                "id": f.id,
                "name": f.name,
                "type": type_text(f.type),
                "nullable": f.type.nullable,
                "comment": f.description,
            }
            for f in schema.fields[:_FIELDS_MAX]
        ],
        "options": dict(schema.raw_options),
    }


def _refs(access: TableAccess, head: Snapshot | None, now_ms: int) -> dict[str, Any]:
    """Tags, branches and consumers: of each the first so many by name."""
    names = tag_names(access)
    tags = []
    for name in names[:_REFS_MAX]:
        try:
            tag = tagged(access, name)
        except NotFoundError:  # deleted meanwhile
            continue
        made_ms = None if tag.created_ns is None else _utc_ms(access, tag.created_ns // 1_000_000)
        ends = made_ms is not None and tag.retained_ns is not None
        tags.append(
            {
                "name": name,
                "snapshot_id": tag.snapshot.id,
                "at_ms": made_ms or tag.snapshot.time_millis,
                "expires_ms": (made_ms or 0) + (tag.retained_ns or 0) // 1_000_000
                if ends
                else None,
            }
        )
    return {
        "version": VERSION,
        "tags_total": len(names),
        "tags": tags,
        "branches": _branches(access),
        "consumers": [
            _consumer(access, id, next_id, head, now_ms)
            for id, next_id in sorted(consumers(access).items())[:_REFS_MAX]
        ],
    }


def _utc_ms(access: TableAccess, local_ms: int) -> int:
    return access.wall_clock.moment(local_ms)


def _branches(access: TableAccess) -> list[dict[str, Any]]:
    made_ms = {
        info.path.rpartition("/")[2]: info.modified_ms
        for info in access.storage.list(layout.BRANCH_FOLDER)
    }
    branches = []
    for name in branch_names(access)[:_REFS_MAX]:
        first = Metadata(access.storage, name).earliest_id()
        created_ms = made_ms.get(f"branch-{name}") or None
        branches.append({"name": name, "created_ms": created_ms, "from_snapshot": first})
    return branches


def _consumer(
    access: TableAccess, id: str, next_id: int, head: Snapshot | None, now_ms: int
) -> dict[str, Any]:
    """``lag_ms``: how long the oldest snapshot that it has not read has been there."""
    unread = 0 if head is None else max(0, head.id - next_id + 1)
    since_ms = None
    if unread and access.metadata.has_snapshot(next_id):
        since_ms = now_ms - access.metadata.snapshot(next_id).time_millis
    return {
        "name": id[:_TEXT_MAX],
        "next_snapshot": next_id,
        "lag_snapshots": unread,
        "lag_ms": 0 if not unread else since_ms,
    }
