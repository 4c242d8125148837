"""DELETE and UPDATE: by new row versions in a key table, by new files in one without a key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.commit.request import ChangedRows
from table_core.datatypes.arrow import arrow_schema
from table_core.errors import ArgumentError, UnsupportedFeatureError
from table_core.merge.engines.versions import Versions
from table_core.options import keys_merge
from table_core.options.argument_kinds import require_mapping
from table_core.table.commit_io.committer import begin, commit_parts
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.dml.expressions import evaluate, refuse_wrong_values
from table_core.table.dml.key_changes import wanted_rows, with_kind
from table_core.table.dml.overwrite import Reads, open_writer
from table_core.table.dml.postponed_rows import in_buckets, spreads_first
from table_core.table.dml.redo import done_again
from table_core.table.dml.row_changes import RowChanges
from table_core.table.dml.row_deletes import refuse_deletes
from table_core.table.files.file_reader import POSITION_COLUMN
from table_core.table.metadata.describing import committed
from table_core.table.read.committed_rows import committed_rows, refuse_fallback_rows
from table_core.table.read.scan import bound_where
from table_core.table.write.coerce import cast_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.predicate.expression import Expression
    from table_core.scan.split import Split
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument

__all__ = ["Statement", "delete", "deletion", "described", "run", "update", "updating"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What becomes of the rows for which ``where`` holds.  Picklable."""

    access: TableAccess
    action: str
    where: str | Expression
    values: Mapping[str, str] | None = None
    """Column to SQL over the row as it was; None deletes the row."""

    @property
    def operation(self) -> str:
        """What Paimon calls it in snapshots."""
        return self.action.upper()

    def changed(self, rows: int) -> ChangedRows:
        """What it did to ``rows`` rows."""
        return ChangedRows(deleted=rows) if self.values is None else ChangedRows(updated=rows)

    @property
    def bound(self) -> Bound | None:
        """The condition, with the names and types of the table."""
        return bound_where(self.access.schema, self.where)

    def with_request(self, commit: CommitAs, **more: object) -> CommitAs:
        """``commit``, with this as what it asks for, and ``more``."""
        branch = self.access.branch
        return commit.with_request(
            self.action, branch, where=self.where, values=self.values, **more
        )

    def versions(self, rows: pa.Table) -> pa.Table:
        """What a key table is given for ``rows``."""
        versions = Versions(self.access.schema)
        if self.values is None:
            return with_kind(versions.removed(rows), "-D")
        return with_kind(versions.changed(rows, _updated(self.access, rows, self.values)), "+U")

    def apply(self, change: RowChanges, splits: Iterable[Split] | None = None) -> None:
        """Find the rows of an append table, in ``splits`` or anywhere, and change them."""
        for bucket, file_name, matches in change.rows(self.bound, splits):
            change.take_out(bucket, file_name, matches[POSITION_COLUMN].to_numpy())
            if self.values is not None:
                rows = matches.drop_columns([POSITION_COLUMN])
                change.put_in(_updated(self.access, rows, self.values))


def delete(
    access: TableAccess, where: str | Expression, commit: CommitAs, *, dry_run: bool = False
) -> ResultDocument:
    """See ``Table.delete``."""
    statement = deletion(access, where)
    return _foreseen(statement) if dry_run else run(statement, commit)


def update(
    access: TableAccess,
    values: Mapping[str, str],
    where: str | Expression,
    commit: CommitAs,
    *,
    dry_run: bool = False,
) -> ResultDocument:
    """See ``Table.update``."""
    statement = updating(access, values, where)
    return _foreseen(statement) if dry_run else run(statement, commit)


def deletion(access: TableAccess, where: str | Expression) -> Statement:
    """DELETE, checked.

    Raises:
        UnsupportedFeatureError: the table does not delete rows.
    """
    _need_where("delete", where)
    access = access.in_newest_schema()
    bound_where(access.schema, where)
    if access.schema.is_key_table:
        refuse_deletes(access.schema)
    return Statement(access=access, action="delete", where=where)


def updating(access: TableAccess, values: Mapping[str, str], where: str | Expression) -> Statement:
    """UPDATE, checked.

    Raises:
        ArgumentError: nothing would change, or what says where a row is.
        UnsupportedFeatureError: the merge engine does not take rows as they are.
    """
    _need_where("update", where)
    require_mapping("values", values, """{"v": "v + 1", "name": "'text'"}""")
    if not values:
        raise ArgumentError("update without a column changes nothing", argument="values")
    access = access.in_newest_schema()
    access.schema.select(values)  # refuses unknown columns by name
    own = arrow_schema(access.schema.fields)
    refuse_wrong_values(access.schema, values, {"": own, "target": own})
    bound_where(access.schema, where)
    statement = Statement(access=access, action="update", where=where, values=dict(values))
    if not access.schema.is_key_table:
        return statement
    fixed = sorted(set(values) & {*access.schema.primary_keys, *access.schema.partition_keys})
    if fixed:
        raise ArgumentError(
            f"update cannot change {fixed}: key and partition columns determine where a row is stored; "
            "delete the rows and write them again",
            argument="values",
            value=fixed,
        )
    engine = access.options.get(keys_merge.MERGE_ENGINE)
    if engine == "first-row":
        raise UnsupportedFeatureError(
            f"update on {access.name}: merge-engine {engine!r} does not take a row as it is",
            feature=f"update with merge-engine={engine}",
        )
    return statement


def run(statement: Statement, commit: CommitAs) -> ResultDocument:
    """Carry ``statement`` out in this process."""
    commit = statement.with_request(commit)
    return done_again(statement.access, lambda: _once(statement, commit))


def _once(statement: Statement, commit: CommitAs) -> ResultDocument:
    access = statement.access
    started_ms, begun = access.clock.now_ms(), begin(access, commit)
    done, head, rows = begun.landed, begun.head, 0
    if done is None:
        refuse_fallback_rows(access, head, statement.where)
    if done is None and access.schema.is_key_table:
        done, rows = _write_versions(statement, head, commit)
    elif done is None:
        change = RowChanges(access.for_whole_rows(), head)
        with undone_by(change.abort):
            statement.apply(change)
        part = change.part()
        rows = change.gone
        if part is not None:
            part = replace(part, changed=statement.changed(rows))
            done = commit_parts(access, commit, append=part, operation=statement.operation)
    return described(statement, head, done, rows, started_ms)


def _foreseen(statement: Statement) -> ResultDocument:
    """How many rows ``statement`` would change; their new values are computed, so that faults show."""
    access = statement.access
    started_ms, head, rows = access.clock.now_ms(), access.head(), 0
    refuse_fallback_rows(access, head, statement.where)
    for batch in committed_rows(access, head, statement.where).to_batches():
        if statement.values is not None:
            _updated(access, pa.Table.from_batches([batch]), statement.values)
        rows += batch.num_rows
    return described(statement, head, None, rows, started_ms).having(dry_run=True)


def _need_where(action: str, where: object) -> None:
    if where is None or where == "":
        raise ArgumentError(
            f"{action} needs a condition; use 'true' for all rows", argument="where"
        )


def _updated(access: TableAccess, rows: pa.Table, values: Mapping[str, str]) -> pa.Table:
    """``rows`` with ``values``, each SQL over the columns as they were."""
    result = rows
    for name, sql in values.items():
        field = access.schema.field(name)
        column = cast_column(field, pa.chunked_array([evaluate(sql, {"": rows, "target": rows})]))
        at = result.schema.get_field_index(name)
        result = result.set_column(at, result.schema.field(at), column)
    return wanted_rows(access, result, inserted=False)


def _write_versions(
    statement: Statement, head: Snapshot | None, commit: CommitAs
) -> tuple[Commit | None, int]:
    rows, head = 0, in_buckets(statement.access, head)
    scan = committed_rows(statement.access, head, statement.where)
    access, reads = statement.access.for_whole_rows(), Reads.of(statement.operation, head)
    with open_writer(access, commit, None, reads, is_new=True) as writer:
        for batch in scan.to_batches():
            writer.write(statement.versions(pa.Table.from_batches([batch])))
            rows += batch.num_rows
        return (writer.commit() if rows else None), rows


def described(
    statement: Statement, head: Snapshot | None, done: Commit | None, rows: int, started_ms: int
) -> ResultDocument:
    """What ``statement`` did to ``rows`` rows as of ``head``."""
    access = statement.access
    return committed(
        access,
        statement.action,
        done,
        head,
        {"rows": rows},
        started_ms=started_ms,
        since=head if spreads_first(access) else None,
    )
