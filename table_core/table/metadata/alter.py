"""Runs schema changes: read the newest schema, evolve it, create the next one if absent."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.commit.asked import differences
from table_core.commit.basis import Opened
from table_core.errors import (
    ArgumentError,
    CommitConflictError,
    GaveUpError,
    NotFoundError,
    SchemaError,
    TableError,
)
from table_core.ondisk import layout
from table_core.ondisk.line import FOLLOWS, schema_follows
from table_core.options import keys_scan
from table_core.schema.document import schema_from_json
from table_core.schema.evolve import evolve
from table_core.schema.old_types import unreadable
from table_core.table.metadata.new_schema import new_schema
from table_core.table.metadata.refs.branches import branch_access
from table_core.table.metadata.refs.late_documents import is_late_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import CommitAs

__all__ = ["alter"]

_log = logging.getLogger(__name__)
_ATTEMPTS_MAX: Final = 20
_COMMIT: Final = "tc.commit"
"""Member of a schema document that names the commit it came by; others ignore it."""
_ASKED: Final = "tc.asked"
"""What was asked for then (``commit.asked``)."""
_UNDONE: Final = "tc.undone"
"""Member of a schema document that names the commit whose change it takes back."""
_OF_ONE: Final = frozenset({_COMMIT, _ASKED, _UNDONE, FOLLOWS})
"""Members that are of one schema, and of none that follows it."""


def alter(
    access: TableAccess,
    changes: tuple[SchemaChange, ...],
    commit: CommitAs | None = None,
    *,
    expect: int | None = None,
    undoes: bool = False,
    keeps: Callable[[TableSchema, TableSchema], None] | None = None,
) -> TableSchema:
    """Apply ``changes`` to the newest schema; the schema that holds them.

    ``keeps`` refuses a new schema that loses values of the one before.  ``expect`` is the schema that the changes were decided on: to another one nothing is done.
    ``undoes``: they take back what came by ``commit``, so that under that name it can be asked for anew.

    With a user and an identifier, the schema names who made it and what was asked, so that the same
    call under that name finds it and changes nothing.

    Raises:
        ArgumentError: something else was asked for under that name.
        SchemaError: a change is not allowed; nothing was changed.
        CommitConflictError: the newest schema is another than ``expect``.
        NotFoundError: the table was dropped or renamed meanwhile, or another one is in its place.
        OutcomeUnknownError: it was, and the change may have gone along.
        GaveUpError: other writers kept changing the schema.
    """
    metadata = access.metadata
    named = None if commit is None or not commit.is_named else commit
    if named is not None:
        named = named.with_request("alter-table", access.branch, changes=changes)
    for attempt in range(_ATTEMPTS_MAX):
        ids = metadata.schema_ids()
        if not ids:
            raise access.is_gone()
        if attempt == 0 and named is not None and not undoes and _has_landed(access, ids, named):
            return metadata.schema(ids[-1])
        newest, birth = _newest(access, ids, expect)
        evolved = evolve(
            newest,
            changes,
            has_snapshots=metadata.head_id() is not None,
            now_ms=access.clock.now_ms(),
        )
        if evolved != newest:
            evolved = _linked(evolved, newest, birth, named, undoes=undoes)
        _require_fallback(access, newest, evolved)
        _require_readable(access, newest, evolved)
        path = layout.schema_path(evolved.id, access.branch)
        if evolved == newest:
            return evolved
        if keeps is not None:
            keeps(newest, evolved)
        if access.storage.create(path, new_schema(evolved)):
            _require_same(access, newest, path)
            return evolved
    raise GaveUpError(
        f"{access.name}: the schema changed {_ATTEMPTS_MAX} times meanwhile; try again",
        user=None,
        attempts=_ATTEMPTS_MAX,
    )


def _newest(access: TableAccess, ids: Sequence[int], expect: int | None) -> tuple[TableSchema, str]:
    """The newest of the schemas ``ids``, which the changes were decided on, and the birth of its table.

    Raises:
        CommitConflictError: it is another one than ``expect``; or was made in another table, by who takes it away
            in a moment, or was killed.
    """
    # Read first: the newest schema may be another table's by then.
    birth = Opened.of(access.metadata.schema(ids[0])).birth
    newest = access.metadata.schema(ids[-1])
    if expect not in {None, newest.id}:
        raise _conflict(
            access,
            newest,
            f"the schema is {newest.id} by now, and the changes are for {expect}: somebody changed it meanwhile; "
            "look at it, then ask again",
            f"schema {newest.id} instead of {expect}",
        )
    if is_late_schema(access.metadata, newest, birth):
        problem = f"schema {newest.id} was made in another table, which was dropped"
        raise _conflict(
            access,
            newest,
            f"{problem}. Whoever made it takes it away, unless it was killed: ask again, then let 'table-core "
            "recover' do it",
            problem,
        )
    return newest, birth


def _linked(
    schema: TableSchema, before: TableSchema, birth: str, named: CommitAs | None, *, undoes: bool
) -> TableSchema:
    """``schema``, which says what it was built on, and who made it where that has a name."""
    members = {} if named is None else {_UNDONE: _name(named)} if undoes else _told(named)
    members[FOLLOWS] = schema_follows(birth, before)
    others = {key: value for key, value in schema.extra.items() if key not in _OF_ONE}
    return replace(schema, extra=others | members)


def _conflict(
    access: TableAccess, newest: TableSchema, what: str, problem: str
) -> CommitConflictError:
    message = f"{access.name}: {what}"
    return CommitConflictError(message, table=access.name, head_id=newest.id, conflicts=[problem])


def _require_same(access: TableAccess, newest: TableSchema, path: str) -> None:
    """Require that the schema that was changed is still there, now that ``path`` follows it.

    Who drops or renames a table takes all schemas along, then looks for what came since: so this one would be a
    schema without a table, and the next table of that name would begin with it.

    Raises:
        NotFoundError: it is not; ``path`` is deleted again.
        OutcomeUnknownError: nor is ``path``: it went along.
    """
    before = layout.schema_path(newest.id, access.branch)
    try:
        if schema_from_json(access.storage.read(before), path=before) == newest:
            return
    except NotFoundError:
        pass
    except (
        TableError
    ) as error:  # the change is made: what a second look cannot say is not worth failing
        _log.warning("%s: nobody looked whether the table is still there: %s", access.name, error)
        return
    if not access.storage.exists(path):
        access.require_stayed("its schema was changed")
    access.storage.delete([path])
    raise access.is_gone()


def _require_fallback(access: TableAccess, before: TableSchema, after: TableSchema) -> None:
    """Require the branch that the table is read with from now on: without it nobody could read it.

    Raises:
        NotFoundError: there is no such branch.
    """
    key = keys_scan.SCAN_FALLBACK_BRANCH.key
    name = after.raw_options.get(key)
    if name and name != before.raw_options.get(key) and name != access.branch:
        branch_access(access, name)


def _require_readable(access: TableAccess, before: TableSchema, after: TableSchema) -> None:
    """Require that files which are read now can be read under ``after`` too.

    Raises:
        SchemaError: the type of a column changed more than once, and some files are too old.
    """
    types = {field.id: field.type for field in before.fields}
    if all(field.type == types.get(field.id, field.type) for field in after.fields):
        return
    head = access.head()
    ids = [] if head is None else access.metadata.schema_ids()
    old = {id: unreadable(access.metadata.schema(id).fields, after.fields) for id in ids}
    if head is None or not any(old.values()):
        return
    live = {entry.file.schema_id for entry in access.live_entries(head)}
    problems = [f"schema {id}: {what}" for id in sorted(live) for what in old.get(id, ())]
    if problems:
        raise SchemaError(
            f"{access.name} has files of older schemas, which nobody could read any more: "
            f"{'; '.join(problems)}. Write those rows again first, by a compaction that rewrites all "
            "files or by an overwrite, or add another column",
            problems=problems,
        )


def _has_landed(access: TableAccess, ids: Sequence[int], commit: CommitAs) -> bool:
    """Whether one of the schemas ``ids`` came by ``commit``, and none took that back since.

    Raises:
        ArgumentError: it did, and something else was asked for.
    """
    for id in reversed(ids):
        extra, name = access.metadata.schema(id).extra, _name(commit)
        if extra.get(_UNDONE) == name:
            return False
        if extra.get(_COMMIT) != name:
            continue
        stored = extra.get(_ASKED)
        differs = differences(str(stored), commit.asked or "") if stored else ()
        if differs:
            raise ArgumentError(
                f"{access.name}: commit {name} has landed in schema {id}, and what is asked for now "
                f"differs in {', '.join(differs)}. Nothing was done: give another call another "
                "identifier, or ask for the same again",
                argument="commit",
                value=commit.identifier,
                user=commit.user,
                schema=id,
                differs=differs,
            )
        return True
    return False


def _told(commit: CommitAs) -> dict[str, str]:
    return {_COMMIT: _name(commit), **({_ASKED: commit.asked} if commit.asked else {})}


def _name(commit: CommitAs) -> str:
    return f"{commit.user}:{commit.identifier}"
