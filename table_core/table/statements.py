"""DELETE and UPDATE: by new row versions in a key table, by new files in one without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.options import keys_merge
from table_core.table.coerce import cast_column
from table_core.table.committer import commit_parts, find_commit
from table_core.table.expressions import evaluate
from table_core.table.file_reader import POSITION_COLUMN
from table_core.table.overwriting import open_writer
from table_core.table.results import Commit, ResultDocument
from table_core.table.row_changes import RowChanges
from table_core.table.row_deletes import deletes_of, refuse_deletes
from table_core.table.scan import batch_scan, bound_where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.predicate.expression import Expression
    from table_core.table.access import TableAccess
    from table_core.table.results import CommitAs

__all__ = ["delete", "update"]


def delete(access: TableAccess, where: str | Expression, commit: CommitAs) -> ResultDocument:
    """See ``Table.delete``."""
    _need_where("delete", where)
    if access.schema.is_key_table:
        refuse_deletes(access.schema)

        def gone(rows: pa.Table) -> pa.Table:
            return _with_kind(deletes_of(access.schema, rows), "-D")

        return _write_versions(access, "delete", where, gone, commit)
    return _rewrite(access, "delete", where, None, commit)


def update(
    access: TableAccess, values: Mapping[str, str], where: str | Expression, commit: CommitAs
) -> ResultDocument:
    """See ``Table.update``."""
    _need_where("update", where)
    if not values:
        raise ArgumentError("update without a column changes nothing", argument="values")
    access.schema.select(values)  # refuses unknown columns by name

    def changed(rows: pa.Table) -> pa.Table:
        return _updated(access, rows, values)

    if not access.schema.is_key_table:
        return _rewrite(access, "update", where, changed, commit)
    fixed = sorted(set(values) & {*access.schema.primary_keys, *access.schema.partition_keys})
    if fixed:
        raise ArgumentError(
            f"update cannot change {fixed}, which say where a row is; delete the rows and write "
            "them anew",
            argument="values",
            value=fixed,
        )
    engine = access.options.get(keys_merge.MERGE_ENGINE)
    if engine in {"aggregation", "first-row"}:
        raise UnsupportedFeatureError(
            f"update on {access.name}: merge-engine {engine!r} does not take a row as it is",
            feature=f"update with merge-engine={engine}",
        )
    return _write_versions(
        access, "update", where, lambda rows: _with_kind(changed(rows), "+U"), commit
    )


def _need_where(action: str, where: object) -> None:
    if where is None or where == "":
        raise ArgumentError(
            f"{action} needs a condition; 'true' stands for all rows", argument="where"
        )


def _updated(access: TableAccess, rows: pa.Table, values: Mapping[str, str]) -> pa.Table:
    """``rows`` with ``values``, each SQL over the columns as they were."""
    result = rows
    for name, sql in values.items():
        field = access.schema.field(name)
        found = cast_column(field, pa.chunked_array([evaluate(sql, {"": rows, "target": rows})]))
        at = result.schema.get_field_index(name)
        result = result.set_column(at, result.schema.field(at), found)
    return result


def _write_versions(
    access: TableAccess,
    action: str,
    where: str | Expression,
    versions: Callable[[pa.Table], pa.Table],
    commit: CommitAs,
) -> ResultDocument:
    started_ms, head = access.clock.now_ms(), access.metadata.head()
    done, rows = find_commit(access, commit), 0
    if done is None:
        scan = batch_scan(access, where=where, snapshot=head.id if head else None)
        with open_writer(access, commit, None) as writer:
            for batch in scan.to_batches():
                writer.write(versions(pa.Table.from_batches([batch])))
                rows += batch.num_rows
            done = writer.commit() if rows else None
    return _document(access, action, head.id if head else None, done, rows, started_ms)


def _rewrite(
    access: TableAccess,
    action: str,
    where: str | Expression,
    changed: Callable[[pa.Table], pa.Table] | None,
    commit: CommitAs,
) -> ResultDocument:
    started_ms, head = access.clock.now_ms(), access.metadata.head()
    done, rows = find_commit(access, commit), 0
    if done is None:
        change = RowChanges(access, head)
        for bucket, file_name, found in change.rows(bound_where(access.schema, where)):
            change.take_out(bucket, file_name, found[POSITION_COLUMN].to_numpy())
            if changed is not None:
                change.put_in(changed(found.drop_columns([POSITION_COLUMN])))
        part = change.part()
        rows = change.gone
        if part is not None:
            done = commit_parts(access, commit, append=part)
    return _document(access, action, head.id if head else None, done, rows, started_ms)


def _document(
    access: TableAccess,
    action: str,
    before: int | None,
    done: Commit | None,
    rows: int,
    started_ms: int,
) -> ResultDocument:
    return ResultDocument(
        action=action,
        table=access.name,
        snapshot_before=before,
        snapshot_after=(done.snapshot_id if done else None) or before,
        files_deleted=done.files_deleted if done else 0,
        rows_written=done.rows_added if done else 0,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        details={"rows": rows, "replayed": bool(done and done.replayed)},
    )


def _with_kind(rows: pa.Table, kind: str) -> pa.Table:
    return rows.append_column(ROW_KIND_COLUMN, pa.repeat(pa.scalar(kind), rows.num_rows))
