"""Looks at every document of a table for what is broken, and says what can be done about it.

Nothing is changed here, and nothing is taken from a cache: what another handle remembers may be gone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.commit.basis import Opened
from table_core.errors import CorruptFileError, NotFoundError, UnsupportedFeatureError
from table_core.health.damage import Damage, Remedy, Run, run_of
from table_core.ondisk import layout
from table_core.ondisk.consumer import Consumer
from table_core.ondisk.hints import EARLIEST, LATEST, decode_hint
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.line import Link, Turn, is_schema_of_another_table, is_stray
from table_core.ondisk.manifest import decode_manifest, fold_entries
from table_core.ondisk.manifest_list import decode_manifest_list
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.tag import Tag
from table_core.schema.document import schema_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ports import Storage
    from table_core.schema.table_schema import TableSchema

__all__ = ["Diagnosis", "diagnosed"]

_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,18})\b')
_LOST: Final = "its rows are lost, unless they are in a later snapshot; its files stay until orphans are removed"


@dataclass(slots=True)
class Diagnosis:
    """What is broken in one branch."""

    storage: Storage
    branch: str
    files: dict[str, int]
    """Every file of the table, and its size."""
    damages: list[Damage] = field(default_factory=list)
    schemas: dict[int, TableSchema] = field(default_factory=dict)
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    tags: dict[str, Snapshot] = field(default_factory=dict)
    restored: dict[str, bytes] = field(default_factory=dict)
    """Documents to write again, by path."""
    moved: list[str] = field(default_factory=list)
    strays: set[int] = field(default_factory=set)
    """Snapshots that are not of the line, and go too."""
    turns: list[Turn] = field(default_factory=list)
    run: Run = field(default_factory=lambda: Run(0, 0))
    hints: dict[str, int | None] = field(default_factory=dict)
    """Hints to write; None: to delete."""
    gone: list[ManifestEntry] = field(default_factory=list)
    """Entries of the newest state whose files are gone."""
    sound: set[str] = field(default_factory=set)
    """Manifests that were read: most snapshots share most of them."""

    def add(self, path: str, problem: str, remedy: Remedy, about: str) -> None:
        """Note something that is broken."""
        self.damages.append(Damage(path=path, problem=problem, remedy=remedy, about=about))

    def move(self, path: str, problem: str, about: str) -> None:
        """Note a document that goes to the folder."""
        self.add(path, problem, Remedy.MOVED, about)
        self.moved.append(path)

    def read(self, path: str) -> bytes:
        """The bytes of a file; empty where it went since it was listed."""
        try:
            return self.storage.read(path)
        except NotFoundError:
            return b""

    def documents(self, folder: str, prefix: str) -> dict[str, str]:
        """What follows ``prefix`` in the names of ``folder``, and the paths."""
        start = f"{folder}/{prefix}"
        names = {path.removeprefix(start): path for path in self.files if path.startswith(start)}
        return {name: path for name, path in sorted(names.items()) if "/" not in name}

    def numbered(self, folder: str, prefix: str) -> dict[int, str]:
        """The same for numbers."""
        diagnosis = self.documents(folder, prefix)
        return {int(name): path for name, path in diagnosis.items() if name.isdecimal()}


def diagnosed(
    storage: Storage, branch: str, files: dict[str, int], donors: Iterable[Diagnosis]
) -> Diagnosis:
    """What is broken in ``branch``; ``donors`` are branches that were looked at, which may have the same schemas."""
    diagnosis = Diagnosis(storage, branch, files)
    broken = _schemas(diagnosis)
    _turns(diagnosis)
    _tags(diagnosis)
    _snapshots(diagnosis)
    _late_schemas(diagnosis, broken)
    _tell_schemas(diagnosis, broken, list(donors))
    _changelogs(diagnosis)
    _consumers(diagnosis)
    _hints(diagnosis)
    _data_files(diagnosis)
    return diagnosis


def _problem(read: Callable[[], object]) -> str | None:
    """What is wrong with a document."""
    try:
        read()
    except CorruptFileError as error:
        problems = error.facts.get("problems")
        return "; ".join(map(str, problems)) if isinstance(problems, list) else str(error)
    return None


# ------------------------------------------------------------------------------------ documents
def _schemas(diagnosis: Diagnosis) -> dict[int, str]:
    broken = {}
    paths = diagnosis.numbered(layout.schema_folder(diagnosis.branch), "schema-")
    for id, path in sorted(paths.items()):
        problem = _problem(partial(_take_schema, diagnosis, id, path))
        if problem is not None:
            broken[id] = problem
    for id in range(min(paths, default=0), max(paths, default=0)):
        if id not in paths:
            broken[id] = "it is gone"
    return broken


def _take_schema(diagnosis: Diagnosis, id: int, path: str) -> None:
    diagnosis.schemas[id] = schema_from_json(diagnosis.read(path), path=path)


def _late_schemas(diagnosis: Diagnosis, broken: dict[int, str]) -> None:
    """A change of another table's schema, by who was killed before it could look whether that table was still there."""
    states = (*diagnosis.snapshots.values(), *diagnosis.tags.values())
    used = max((state.schema_id for state in states), default=0)
    ids = sorted(diagnosis.schemas)
    while len(ids) > 1 and ids[-1] > used:
        schema, birth = diagnosis.schemas[ids[-1]], Opened.of(diagnosis.schemas[ids[0]]).birth
        if not is_schema_of_another_table(schema, birth, diagnosis.schemas.get(schema.id - 1)):
            return
        diagnosis.move(
            layout.schema_path(ids.pop(), diagnosis.branch),
            "it was made in another table, which was dropped",
            "the schema before it is the newest",
        )
        del diagnosis.schemas[schema.id]
        for id in range(ids[-1] + 1, schema.id):  # they were never here
            broken.pop(id, None)


def _tell_schemas(diagnosis: Diagnosis, broken: dict[int, str], donors: list[Diagnosis]) -> None:
    """A schema of another branch is the same, if that branch was made after it."""
    used = {s.schema_id for s in (*diagnosis.snapshots.values(), *diagnosis.tags.values())}
    broken |= dict.fromkeys(used - diagnosis.schemas.keys() - broken.keys(), "it is gone")
    for id, problem in broken.items():
        path = layout.schema_path(id, diagnosis.branch)
        donor = next((d for d in donors if id in d.schemas and _shares(diagnosis, d, id)), None)
        if donor is not None:
            diagnosis.restored[path] = diagnosis.read(layout.schema_path(id, donor.branch))
            diagnosis.add(
                path, problem, Remedy.RESTORED, f"branch {donor.branch!r} has the same schema"
            )
        elif id > max((*used, *diagnosis.schemas), default=id) and path in diagnosis.files:
            diagnosis.move(
                path, problem, "no snapshot was made under it: the change of the schema is lost"
            )
        else:
            diagnosis.add(
                path,
                problem,
                Remedy.NONE,
                "snapshots or files were written under it, and no branch has the same: put the file back from "
                "a copy of the warehouse",
            )


def _shares(diagnosis: Diagnosis, donor: Diagnosis, id: int) -> bool:
    """Whether both branches had the schema when the younger one was made."""
    younger = diagnosis if donor.branch == layout.MAIN else donor
    oldest = min(younger.snapshots.values(), key=lambda s: s.id, default=None)
    return oldest is not None and id <= oldest.schema_id


def _tags(diagnosis: Diagnosis) -> None:
    for name, path in diagnosis.documents(layout.tag_folder(diagnosis.branch), "tag-").items():
        body = diagnosis.read(path)
        problem = _problem(partial(_take_tag, diagnosis, name, body, path))
        if problem is None:
            state = _state_problem(diagnosis, diagnosis.tags[name])
            if state is not None:
                diagnosis.add(
                    path,
                    state,
                    Remedy.NONE,
                    "what it names is gone, and nothing has it: delete the tag",
                )
                del diagnosis.tags[name]
            continue
        match = _ID.search(body)
        id = int(match[1]) if match else 0
        snapshot = diagnosis.read(layout.snapshot_path(id, diagnosis.branch)) if id else b""
        if snapshot and _problem(partial(Tag.from_json, snapshot, path=path)) is None:
            diagnosis.restored[path] = snapshot
            diagnosis.add(
                path,
                problem,
                Remedy.RESTORED,
                f"from snapshot {id}; until when it was to hold is lost",
            )
        else:
            diagnosis.move(
                path, problem, "which snapshot it stood for cannot be told: tag it again"
            )


def _take_tag(diagnosis: Diagnosis, name: str, body: bytes, path: str) -> None:
    diagnosis.tags[name] = Tag.from_json(body, path=path).snapshot


def _turns(diagnosis: Diagnosis) -> None:
    """Without a turn that is broken nobody can begin the next one; what it took back is gone, or is told as a stray."""
    for path in diagnosis.numbered(layout.line_folder(diagnosis.branch), "turn-").values():
        problem = _problem(partial(_take_turn, diagnosis, path))
        if problem is not None:
            about = "a commit that began before that change of direction may end with an unknown outcome"
            diagnosis.move(path, problem, about)


def _take_turn(diagnosis: Diagnosis, path: str) -> None:
    diagnosis.turns.append(Turn.from_json(diagnosis.read(path), path=path))


def _snapshots(diagnosis: Diagnosis) -> None:
    paths = diagnosis.numbered(layout.snapshot_folder(diagnosis.branch), "snapshot-")
    problems: dict[int, str | None] = {}
    for id, path in paths.items():
        problems[id] = _problem(partial(_take_snapshot, diagnosis, id, path))
    hinted, floor = _hinted(diagnosis, LATEST), _hinted(diagnosis, EARLIEST)
    if (
        floor in paths
    ):  # what is below it was left by an expiry that was cut short, and goes with the next
        paths = {id: path for id, path in paths.items() if id >= floor}
    _tell_strays(diagnosis, paths, hinted)
    problems = {id: problems[id] for id in sorted(paths.keys() - diagnosis.strays)}
    paths = {id: paths[id] for id in problems}
    for id, problem in problems.items():
        if problem is None:
            problems[id] = _state_problem(diagnosis, diagnosis.snapshots[id])
    if hinted and paths and hinted not in paths and hinted > max(paths):
        problems[hinted] = "it is gone, and LATEST names it"
    for id in range(min(paths, default=0), max(paths, default=0)):
        problems.setdefault(id, "it is gone")
    known = {tag.id: name for name, tag in diagnosis.tags.items()}
    restorable = {id for id in problems if id in known and id not in diagnosis.snapshots}
    diagnosis.run = run_of(problems, restorable)
    for id, problem in sorted(problems.items()):
        if problem is not None or id not in diagnosis.run:
            _tell_snapshot(diagnosis, id, problem, known.get(id) if id in restorable else None)


def _take_snapshot(diagnosis: Diagnosis, id: int, path: str) -> None:
    diagnosis.snapshots[id] = Snapshot.from_json(diagnosis.read(path), path=path)


def _hinted(diagnosis: Diagnosis, which: str) -> int | None:
    return decode_hint(diagnosis.read(layout.hint_path("snapshot", which, diagnosis.branch)))


def _tell_strays(diagnosis: Diagnosis, ids: Collection[int], hinted: int | None) -> None:
    """What is above the newest snapshot that readers reach: they show a table without it (docs/adr/0026).

    ``LATEST`` says where they begin.  Where it says nothing: at the last one that no turn took back.
    """
    lists = {state.partition("/")[2] for turn in diagnosis.turns for state in turn.gone}
    withdrawn = {id for id in ids if _is_withdrawn(diagnosis.snapshots.get(id), lists)}
    end = max(set(ids) - withdrawn, default=max(ids, default=0))
    if hinted is not None and hinted in ids:
        end = hinted
    while end + 1 in ids and not _is_stray(diagnosis, end + 1):
        end += 1
    for id in sorted(id for id in ids if id > end):
        diagnosis.strays.add(id)
        proof = "it is of a line that was taken back"
        if id not in withdrawn and not _is_stray(diagnosis, id):
            proof = f"it stands above a gap, and readers show snapshot {end} as the newest"
        about = f"snapshot {end} stays the newest; the files of this one are kept"
        diagnosis.move(layout.snapshot_path(id, diagnosis.branch), proof, about)


def _is_withdrawn(snapshot: Snapshot | None, lists: Collection[str]) -> bool:
    """Whether a turn took ``snapshot`` back, or what it was built on; ``lists``: the delta lists of what turns took."""
    if snapshot is None:
        return False
    link = Link.of(snapshot)
    return snapshot.delta_manifest_list in lists or (link is not None and link.before in lists)


def _is_stray(diagnosis: Diagnosis, id: int) -> bool:
    snapshot, before = diagnosis.snapshots.get(id), diagnosis.snapshots.get(id - 1)
    return snapshot is not None and before is not None and is_stray(snapshot, before)


def _tell_snapshot(diagnosis: Diagnosis, id: int, problem: str | None, tag: str | None) -> None:
    path, run = layout.snapshot_path(id, diagnosis.branch), diagnosis.run
    if not run.top:
        diagnosis.add(
            path,
            problem or "",
            Remedy.NONE,
            "no snapshot and no tag of this branch is whole: put the files back from a copy of the warehouse",
        )
    elif id in run and tag is not None:
        diagnosis.restored[path] = Tag(snapshot=diagnosis.tags[tag]).to_json()
        diagnosis.snapshots[id] = diagnosis.tags[tag]
        diagnosis.add(path, problem or "", Remedy.RESTORED, f"tag {tag!r} has the same snapshot")
    elif id > run.top:
        about = f"snapshot {run.top} becomes the newest; {_LOST}"
        if path in diagnosis.files:
            diagnosis.move(path, problem or "", about)
        else:
            diagnosis.add(path, problem or "", Remedy.REWRITTEN, about)
    elif path in diagnosis.files:
        about = f"history begins at snapshot {run.first}; no row of the newest state is lost"
        diagnosis.move(path, problem or f"a later snapshot before {run.first} is broken", about)
    else:
        diagnosis.add(
            path, problem or "", Remedy.REWRITTEN, f"history begins at snapshot {run.first}"
        )


def _changelogs(diagnosis: Diagnosis) -> None:
    for id, path in diagnosis.numbered(
        layout.changelog_folder(diagnosis.branch), "changelog-"
    ).items():
        body = diagnosis.read(path)
        problem = _problem(partial(Snapshot.from_json, body, path=path))
        if problem is not None:
            diagnosis.move(path, problem, f"the changes of snapshot {id} cannot be read any more")


def _consumers(diagnosis: Diagnosis) -> None:
    for name, path in diagnosis.documents(
        layout.consumer_folder(diagnosis.branch), "consumer-"
    ).items():
        body = diagnosis.read(path)
        problem = _problem(partial(Consumer.from_json, body, path=path))
        if problem is not None:
            diagnosis.move(
                path,
                problem,
                f"how far reader {name!r} came is lost: it starts anew, or set it by 'consumer reset'",
            )


def _hints(diagnosis: Diagnosis) -> None:
    run = diagnosis.run
    if not run.top:
        return
    for which, right in ((LATEST, run.top), (EARLIEST, run.first)):
        path = layout.hint_path("snapshot", which, diagnosis.branch)
        hinted = decode_hint(diagnosis.read(path)) if path in diagnosis.files else None
        if path in diagnosis.files and hinted is None:
            diagnosis.add(path, "no number", Remedy.REWRITTEN, f"it is {right}")
            diagnosis.hints[path] = right
        elif hinted != right and (which == LATEST or hinted is not None or run.first > 1):
            diagnosis.hints[path] = right
    for which in (LATEST, EARLIEST):
        path = layout.hint_path("changelog", which, diagnosis.branch)
        if path in diagnosis.files and decode_hint(diagnosis.read(path)) is None:
            diagnosis.add(path, "no number", Remedy.REWRITTEN, "readers list the folder without it")
            diagnosis.hints[path] = None


# --------------------------------------------------------------------------------------- states
def _state_problem(diagnosis: Diagnosis, snapshot: Snapshot) -> str | None:
    """What of the metadata of a state is gone or broken; data files are looked at elsewhere."""
    lists = (
        (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
    )
    try:
        for name, size in lists:
            path = layout.manifest_path(name)
            metas = decode_manifest_list(_whole(diagnosis, path, size), path=path)
            for meta in metas:
                path = layout.manifest_path(meta.file_name)
                if path not in diagnosis.sound:
                    decode_manifest(_whole(diagnosis, path, meta.file_size), path=path, lean=True)
                    diagnosis.sound.add(path)
        if snapshot.index_manifest is not None:
            path = layout.manifest_path(snapshot.index_manifest)
            for entry in decode_index_manifest(_whole(diagnosis, path, None), path=path):
                _require_index(diagnosis, entry.file_name)
    except (CorruptFileError, UnsupportedFeatureError) as error:
        return str(error)
    return None


def _whole(diagnosis: Diagnosis, path: str, size: int | None) -> bytes:
    if path not in diagnosis.files:
        raise CorruptFileError(f"{path} is gone", path=path, problems=["it is gone"])
    body = diagnosis.read(path)
    if size not in {None, len(body)}:
        what = f"{path}: {len(body)} bytes instead of {size}"
        raise CorruptFileError(what, path=path, problems=[what])
    return body


def _require_index(diagnosis: Diagnosis, name: str) -> None:
    if name not in {path.rpartition("/")[2] for path in diagnosis.files if name in path}:
        raise CorruptFileError(f"index file {name} is gone", path=name, problems=["it is gone"])


def _data_files(diagnosis: Diagnosis) -> None:
    """Files of the newest state that are gone or cut short."""
    head = diagnosis.snapshots.get(diagnosis.run.top)
    if head is None or not diagnosis.schemas:
        return
    schema = diagnosis.schemas.get(head.schema_id) or diagnosis.schemas[max(diagnosis.schemas)]
    entries: list[ManifestEntry] = []
    for name in (head.base_manifest_list, head.delta_manifest_list):
        path = layout.manifest_path(name)
        for meta in decode_manifest_list(diagnosis.read(path), path=path):
            at = layout.manifest_path(meta.file_name)
            entries += decode_manifest(diagnosis.read(at), path=at)
    for entry in fold_entries(entries).live.values():
        path = layout.data_file_path(schema, entry.partition, entry.bucket, entry.file)
        if "://" in path:
            continue
        size = diagnosis.files.get(path)
        if size == entry.file.file_size:
            continue
        problem = (
            "it is gone" if size is None else f"{size} bytes instead of {entry.file.file_size}"
        )
        diagnosis.add(
            path,
            problem,
            Remedy.FORGOTTEN,
            f"its {entry.file.row_count} rows are lost; older snapshots and tags that have it cannot be read",
        )
        diagnosis.gone.append(entry)
