"""Recovers a table whose documents are broken: says what is, what can be saved, and does it when asked to.

What is taken away is copied to ``recovered/<time>-<uuid>`` first.  It is a change of direction like a rollback
(docs/adr/0026): no other runs beside it, expiry stops, and a commit on what is taken away lands on what stays.  Still no
process should write meanwhile: a document that changed since it was looked at ends the run.

A snapshot that is not of the line (a stray) is copied to the folder of strays too, so that its files stay.

Covers Apache Paimon's procedures ``repair_earliest_snapshot``, ``remove_unexisting_files`` and
``remove_unexisting_manifests``; where a manifest is gone, an older whole snapshot becomes the newest, because rows of
a state without one of its manifests may come twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.commit.request import CommitPart
from table_core.errors import CommitConflictError, NotFoundError, TableError
from table_core.health.damage import Damage, Remedy
from table_core.ondisk import layout
from table_core.ondisk.hints import encode_hint
from table_core.ondisk.snapshot import CommitKind
from table_core.table.commit_io.committer import commit_parts
from table_core.table.maintenance.diagnose import Diagnosis, diagnosed
from table_core.table.metadata.access import TableAccess
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.turns import (
    HeldTurn,
    clean_after_end,
    require_no_expiry,
    turning,
)
from table_core.table.metadata.results import CommitAs, ResultDocument

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.ports import Clock, Ids, Storage
    from table_core.schema.table_schema import TableSchema

__all__ = ["recover"]


def recover(
    name: str, storage: Storage, clock: Clock, ids: Ids, *, dry_run: bool = True
) -> ResultDocument:
    """What is broken in the table at ``storage``, and with ``dry_run=False`` what was done about it.

    ``details["damage"]`` has a record for each thing: ``path``, ``problem``, ``remedy`` and ``about``, which says what
    is saved and lost, or why nothing can be done.  ``details["kept_in"]`` is the folder of what was taken away.

    Raises:
        NotFoundError: there is no table.
        CommitConflictError: somebody changed a document meanwhile, or rolls back, fast-forwards or recovers the table.
    """
    started_ms = clock.now_ms()
    diagnoses = _diagnoses(storage)
    if not any(one.schemas or one.damages for one in diagnoses):
        raise NotFoundError(f"no table at {storage.uri}", name=name, available=[])
    run = f"{started_ms}-{ids.uuid()}"
    if not dry_run:
        for one in diagnoses:
            if one.restored or one.moved or one.hints:
                schema = next(_schemas(diagnoses))  # a turn needs none, but a handle has one
                _carry_out(_access(name, one, schema, clock, ids), one, run)
        for one in diagnoses:
            _forget_files(name, one, clock, ids)
    head = diagnoses[0].run.top or None
    damages = [damage for one in diagnoses for damage in one.damages]
    after = _diagnoses(storage) if not dry_run and damages else diagnoses
    return ResultDocument(
        action="recover",
        table=name,
        snapshot_before=head,
        snapshot_after=after[0].run.top or None,
        files_before=None,
        files_after=None,
        bytes_before=None,
        bytes_after=None,
        files_deleted=None,
        bytes_deleted=None,
        seconds=(clock.now_ms() - started_ms) / 1000,
        dry_run=dry_run,
        details={
            "damage": [damage.to_document() for damage in damages],
            "left": [damage.to_document() for one in after for damage in one.damages],
            "kept_in": f"{layout.RECOVERED_FOLDER}/{run}"
            if not dry_run and any(one.moved or one.restored for one in diagnoses)
            else None,
        },
    )


def _diagnoses(storage: Storage) -> list[Diagnosis]:
    """Main first, then each branch; one without any schema is cut short, and none."""
    files = {info.path: info.size for info in storage.walk("")}
    start = f"{layout.BRANCH_FOLDER}/branch-"
    named = {path.removeprefix(start).partition("/")[0] for path in files if path.startswith(start)}
    main = diagnosed(storage, layout.MAIN, files, [])
    there = [b for b in sorted(named) if any(p.startswith(f"{start}{b}/schema/") for p in files)]
    branches = [diagnosed(storage, branch, files, [main]) for branch in there]
    if branches and any(d.remedy is Remedy.NONE for d in main.damages):
        main = diagnosed(storage, layout.MAIN, files, branches)
    if not any(_schemas([main, *branches])):
        for one in (main, *branches):
            _give_up(one)
    return [main, *branches]


def _give_up(one: Diagnosis) -> None:
    """Nobody can write to a table of which no schema can be read."""
    about = "no schema of the table can be read: put one back from a copy of the warehouse, then call recover again"
    one.damages[:] = [
        damage if damage.remedy is Remedy.NONE else replace(damage, remedy=Remedy.NONE, about=about)
        for damage in one.damages
    ]
    one.restored.clear()
    one.moved.clear()
    one.hints.clear()
    one.gone.clear()


def _schemas(diagnoses: Iterable[Diagnosis]) -> Iterator[TableSchema]:
    for one in diagnoses:
        yield from one.schemas.values()


def _access(name: str, one: Diagnosis, schema: TableSchema, clock: Clock, ids: Ids) -> TableAccess:
    metadata = Metadata(one.storage, one.branch)
    return TableAccess(
        name=name, storage=one.storage, metadata=metadata, schema=schema, clock=clock, ids=ids
    )


def _carry_out(access: TableAccess, one: Diagnosis, run: str) -> None:
    """Restore first, so that at each moment as much as possible can be read; hints last."""
    turns, schemas = layout.line_folder(one.branch), layout.schema_folder(one.branch)
    for path in [path for path in one.restored if path.startswith(schemas)]:
        _restore(one, path, run)
    for path in [path for path in one.moved if path.startswith(turns)]:
        _move(one, path, run)  # nobody could begin the next one
    with turning(access, "recovery", by=run, target=one.run.top) as turn:
        _require_unchanged(one)
        if any(path.startswith(layout.snapshot_folder(one.branch)) for path in one.restored):
            require_no_expiry(access, one.run.first)
        for path in [path for path in one.restored if not path.startswith(schemas)]:
            turn.require()
            _restore(one, path, run)
        gone = _take_away(turn, one, run)
        for path, id in one.hints.items():
            turn.require()
            if id is None:
                one.storage.delete([path])
            else:
                one.storage.write(path, encode_hint(id))
    newest = one.snapshots.get(one.run.top)
    if newest is not None:
        clean_after_end(turn, newest, gone)


def _require_unchanged(one: Diagnosis) -> None:
    """Require that the same snapshots are there as when the table was looked at.

    Raises:
        CommitConflictError: somebody has committed, expired or turned since.
    """
    start = f"{layout.snapshot_folder(one.branch)}/snapshot-"
    listed = one.storage.list(layout.snapshot_folder(one.branch))
    now = {(info.path, info.size) for info in listed if info.path.startswith(start)}
    changed = now ^ {item for item in one.files.items() if item[0].startswith(start)}
    if changed:
        raise _changed(one, min(changed)[0])


def _take_away(turn: HeldTurn, one: Diagnosis, run: str) -> list[Snapshot]:
    """Move what is broken or not of the line, newest snapshots first; the snapshots among it that can be read."""
    paths = {layout.snapshot_path(id, one.branch): id for id in one.strays | one.snapshots.keys()}
    gone = [
        one.snapshots[id] for path, id in paths.items() if path in one.moved and id in one.snapshots
    ]
    turn.take(gone)
    for snapshot in gone:
        if snapshot.id in one.strays:
            body = one.read(layout.snapshot_path(snapshot.id, one.branch))
            name = snapshot.delta_manifest_list
            one.storage.create(layout.stray_path(snapshot.id, name, one.branch), body)
    moved = [path for path in one.moved if not path.startswith(layout.line_folder(one.branch))]
    for path in sorted(moved, key=lambda path: (paths.get(path, 0), path), reverse=True):
        turn.require()
        _move(one, path, run)
    return gone


def _restore(one: Diagnosis, path: str, run: str) -> None:
    """Write a document again.

    Raises:
        CommitConflictError: it is another one by now, or is there again.
    """
    body = one.restored[path]
    if path in one.files:
        _keep(one, path, run)
        one.storage.write(path, body)
    elif not one.storage.create(path, body):
        raise _changed(one, path)


def _move(one: Diagnosis, path: str, run: str) -> None:
    _keep(one, path, run)
    one.storage.delete([path])


def _keep(one: Diagnosis, path: str, run: str) -> None:
    """Copy a document to the folder of this run.

    Raises:
        CommitConflictError: it is another one by now.
    """
    body = one.storage.read(path)
    if len(body) != one.files[path]:
        raise _changed(one, path)
    one.storage.create(layout.recovered_path(path, run), body)


def _changed(one: Diagnosis, path: str) -> CommitConflictError:
    return CommitConflictError(
        f"{path} was changed meanwhile: let nobody write to the table, and call recover again",
        table=one.storage.uri,
        head_id=None,
        conflicts=[path],
    )


def _forget_files(name: str, one: Diagnosis, clock: Clock, ids: Ids) -> None:
    """Commit that the newest state has no more the data files that are gone."""
    if not one.gone:
        return
    schema = Metadata(one.storage, one.branch).latest_schema()
    access = _access(name, one, schema, clock, ids)
    part = CommitPart(kind=CommitKind.APPEND, entries=tuple(entry.deleted() for entry in one.gone))
    try:
        commit_parts(access, CommitAs(), append=part, operation="RECOVER", upkeep=False)
    except TableError as error:
        paths = {entry.file.file_name for entry in one.gone}
        one.damages[:] = [_refused(d, paths, error) for d in one.damages]


def _refused(damage: Damage, names: Collection[str], error: TableError) -> Damage:
    """``damage`` of one of the files ``names``, about which nothing could be done."""
    if damage.path.rpartition("/")[2] not in names:
        return damage
    about = f"the commit without it was refused: {error}"
    return replace(damage, remedy=Remedy.NONE, about=about)
