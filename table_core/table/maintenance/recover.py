"""Recovers a table whose documents are broken: says what is, what can be saved, and does it when asked to.

What is taken away is copied to ``recovered/<time>-<uuid>`` first.  No process should write meanwhile: of a table whose
newest snapshot is broken none can, and a document that changed since it was looked at ends the run.

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
from table_core.table.metadata.results import CommitAs, ResultDocument

if TYPE_CHECKING:
    from collections.abc import Collection

    from table_core.ports import Clock, Ids, Storage

__all__ = ["recover"]


def recover(
    name: str, storage: Storage, clock: Clock, ids: Ids, *, dry_run: bool = True
) -> ResultDocument:
    """What is broken in the table at ``storage``, and with ``dry_run=False`` what was done about it.

    ``details["damage"]`` has a record for each thing: ``path``, ``problem``, ``remedy`` and ``about``, which says what
    is saved and lost, or why nothing can be done.  ``details["kept_in"]`` is the folder of what was taken away.

    Raises:
        NotFoundError: there is no table.
        CommitConflictError: somebody changed a document meanwhile.
    """
    started_ms = clock.now_ms()
    diagnoses = _diagnoses(storage)
    if not any(one.schemas or one.damages for one in diagnoses):
        raise NotFoundError(f"no table at {storage.uri}", name=name, available=[])
    run = f"{started_ms}-{ids.uuid()}"
    if not dry_run:
        for one in diagnoses:
            _carry_out(one, run)
        for one in diagnoses:
            _forget_files(name, one, storage, clock, ids)
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
    return [main, *branches]


def _carry_out(one: Diagnosis, run: str) -> None:
    """Restore first, so that at each moment as much as possible can be read; hints last."""
    storage = one.storage
    for path, body in one.restored.items():
        if path in one.files:
            _keep(one, path, run)
        storage.write(path, body)
    for path in sorted(one.moved, reverse=True):
        _keep(one, path, run)
        storage.delete([path])
    for path, id in one.hints.items():
        if id is None:
            storage.delete([path])
        else:
            storage.write(path, encode_hint(id))


def _keep(one: Diagnosis, path: str, run: str) -> None:
    """Copy a document to the folder of this run.

    Raises:
        CommitConflictError: it is another one by now.
    """
    body = one.storage.read(path)
    if len(body) != one.files[path]:
        raise CommitConflictError(
            f"{path} was changed meanwhile: let nobody write to the table, and call recover again",
            table=one.storage.uri,
            head_id=None,
            conflicts=[path],
        )
    one.storage.create(layout.recovered_path(path, run), body)


def _forget_files(name: str, one: Diagnosis, storage: Storage, clock: Clock, ids: Ids) -> None:
    """Commit that the newest state has no more the data files that are gone."""
    if not one.gone:
        return
    metadata = Metadata(storage, one.branch)
    schema = metadata.latest_schema()
    access = TableAccess(
        name=name, storage=storage, metadata=metadata, schema=schema, clock=clock, ids=ids
    )
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
