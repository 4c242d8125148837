"""Appends the rows of files, each file once.

With a position the files are taken in the order of their names, and the property that holds the
last name is committed with the rows, under ``expect`` of what was read: whoever runs again, or at
the same time, finds nothing left to take.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from table_core.errors import DataError, NotFoundError
from table_core.storage.locate import open_storage
from table_core.storage.row_files import find_files, read_rows, split_glob
from table_core.table.committing.committer import find_commit
from table_core.table.results import ResultDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ports import Storage
    from table_core.table.results import Commit, CommitAs
    from table_core.table.table import Table

__all__ = ["append_files"]


def append_files(
    table: Table, args: Mapping[str, Any], commit: CommitAs, storage_options: Mapping[str, str]
) -> ResultDocument:
    """Write the files that ``args["rows_uri"]`` matches into ``table``, in one commit.

    ``args``: ``rows_uri``; ``rows_position`` (None, or the property that keeps the last name);
    ``overwrite``.

    Raises:
        DataError: a file does not decode or does not fit the table; facts name the file.
        NotFoundError: without a position, when no file matches.
        CommitConflictError: another run has taken files meanwhile.
    """
    clock = table.access.clock
    started_ms = clock.now_ms()
    before = table.latest_snapshot()
    asked = {name: args.get(name) for name in ("rows_uri", "rows_position", "overwrite")}
    commit = commit.asking("write", table.access.branch, **asked)
    landed = find_commit(table.access, commit)
    details: dict[str, Any] = {"replayed": landed is not None}
    done = landed
    if landed is None:
        folder, pattern = split_glob(args["rows_uri"])
        storage = open_storage(folder, storage_options)
        found = find_files(storage, pattern)
        key = args.get("rows_position")
        if key is not None:
            stored = table.position(key)
            found = [path for path in found if stored is None or path > stored]
            commit = replace(
                commit,
                properties={**commit.properties, **({key: found[-1]} if found else {})},
                expect={**commit.expect, key: stored},
            )
        elif not found:
            raise NotFoundError(f"no file matches {args['rows_uri']}", name=args["rows_uri"])
        details |= {"files": len(found), "position": found[-1] if found else None}
        if found:
            done = _append(table, storage, found, commit, args.get("overwrite"))
    id_before = before.id if before else None
    return ResultDocument(
        action="write",
        table=table.name,
        snapshot_before=id_before,
        snapshot_after=(done.snapshot_id if done else None) or id_before,
        rows_written=done.rows_added if done else 0,
        seconds=(clock.now_ms() - started_ms) / 1000,
        details=details,
    )


def _append(
    table: Table, storage: Storage, paths: Sequence[str], commit: CommitAs, overwrite: Any
) -> Commit:
    with table.write(commit=commit, overwrite=overwrite) as writer:
        for path in paths:
            for batch in read_rows(storage, path, table.arrow_schema):
                try:
                    writer.write(batch)
                except DataError as error:
                    raise DataError(
                        f"{storage.uri}/{path}: {error}", **{**error.facts, "path": path}
                    ) from error
        return writer.commit()
