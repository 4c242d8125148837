"""The verbs on the branches of a table (format 11.7)."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    CommitConflictError,
    NotFoundError,
)
from table_core.ondisk import layout
from table_core.ondisk.hints import EARLIEST, LATEST, encode_hint
from table_core.options import keys_scan
from table_core.options.branch_name import require_branch_name
from table_core.table.maintenance.fast_forward import FastForward
from table_core.table.maintenance.tag_deletion import delete_tags
from table_core.table.maintenance.tags import Tags
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import (
    base_of,
    branch_access,
    branch_names,
    is_branch,
    publish_note,
)
from table_core.table.metadata.refs.moves import dropping, moving
from table_core.table.metadata.refs.tags import keeper_of, state_of, tag_names, tagged
from table_core.table.metadata.refs.turns import founding, require_no_turn
from table_core.table.metadata.unsupported import refuse_tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.ondisk.tag import Tag
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.refs.turns import HeldTurn
    from table_core.table.metadata.results import ResultDocument

__all__ = ["Branches"]


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of one table.  ``main`` is always there and not among them."""

    access: TableAccess

    def list(self) -> list[str]:
        """Names of all branches, sorted."""
        return branch_names(self.access)

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def __contains__(self, name: object) -> bool:
        return name in self.list()

    def maker(self, name: str) -> str | None:
        """Who made the branch ``name``, which is to be published: '' if nobody said; None: it is not to be.

        Raises:
            NotFoundError: no such branch.
            ArgumentError: ``main``, or a name that no branch may have.
        """
        if not self._has(name):
            branch_access(self.access, name)
        path, storage = publish_note(name), self.access.storage
        return storage.read(path).decode() if storage.exists(path) else None

    def create(
        self,
        name: str,
        tag: str | None = None,
        if_not_exists: bool = False,
        snapshot: int | None = None,
        dry_run: bool = False,
        to_publish: bool = False,
        made_by: str = "",
        replace: bool = False,
    ) -> ResultDocument:
        """Create the branch ``name``: empty, or from the state of ``tag``.

        It has the schemas up to that state.  From the newest state it has all of them: a change of the table
        that no commit has used yet holds on the branch too.

        With ``snapshot`` that is tagged first, as ``<name>-base``: nobody who expires main, Apache Paimon
        included, then takes what the branch began with.  ``to_publish`` notes that main is to take the
        branch over, or nobody: a flow that writes to it reads for main, so what it has read stays in its
        sources until main has the rows; ``made_by`` stands in that note (``maker``).  ``replace`` forgets a
        branch of that name first, once it is known that the new one can be made.

        Raises:
            AlreadyExistsError: the name is taken, and ``if_not_exists`` and ``replace`` are off; or
                somebody else made the tag ``<name>-base``.
            OutcomeUnknownError: the table was dropped or renamed meanwhile, and the branch may have gone along.
            CommitConflictError: somebody else makes that branch just now; or ``snapshot`` may be one of those
                that a rollback or fast-forward which is under way meets on its way.
            NotFoundError: no such tag or snapshot.
            ArgumentError: ``main``, a number, or another name that no branch may have; or both ``tag``
                and ``snapshot``; or what is replaced is the branch of this handle, or has made ``tag``.
        """
        access = self.access
        require_branch_name(name)
        access.require_same()
        if tag is not None and snapshot is not None:
            raise ArgumentError("name a tag or a snapshot, not both", argument="snapshot")
        exists = name in self.list()
        if exists and not (if_not_exists or replace):
            raise AlreadyExistsError(f"{access.name} has a branch {name!r} already", name=name)
        is_new = replace or not exists
        if is_new:
            self._require_beginning(name, tag, snapshot, there=exists, replace=replace)
        if replace and not dry_run:
            self.delete(name, if_exists=True)
        if is_new and not dry_run:
            maker = made_by if to_publish else None
            with access.staying(f"branch {name!r} was made"):
                started = self._made(name, tag, snapshot, maker=maker, if_not_exists=if_not_exists)
            is_new = started is not None
            tag, snapshot = started or (tag, snapshot)
        elif is_new:
            began = None if tag is None else tagged(access, tag).snapshot.id
            tag, snapshot = (tag, began) if snapshot is None else (base_of(name), snapshot)
        details = {"branch": name, "tag": tag, "snapshot": snapshot, "created": is_new}
        return unchanged(access, "create-branch", details, dry_run=dry_run)

    def _require_beginning(
        self, name: str, tag: str | None, snapshot: int | None, *, there: bool, replace: bool
    ) -> None:
        """Refuse what a branch ``name`` cannot begin with, before anything is changed.

        Raises:
            ArgumentError, AlreadyExistsError, NotFoundError: as ``create``.
        """
        access = self.access
        if replace:
            self._refuse_fallback(name)
        if replace and name == access.branch:
            raise ArgumentError(
                f"branch {name!r} cannot be replaced by itself: ask on the handle of main",
                argument="replace",
                value=True,
            )
        own = _made_for(access, name, there=there)
        if snapshot is not None:
            if keeper_of(access, snapshot) is None:
                access.metadata.snapshot(snapshot)  # there is one
            refuse_tags(access)
            if (base := base_of(name)) in tag_names(access) and base not in own:
                raise AlreadyExistsError(
                    f"{access.name} has a tag {base!r} already, which was not made for a branch "
                    f"{name!r}: rename or delete it",
                    name=base,
                )
        elif tag is not None:
            tagged(access, tag)
            if replace and tag in own:
                raise ArgumentError(
                    f"tag {tag!r} was made for the branch {name!r} and goes with it: name its snapshot, "
                    "or another tag",
                    argument="tag",
                    value=tag,
                )

    def _made(
        self,
        name: str,
        tag: str | None,
        snapshot: int | None,
        *,
        maker: str | None,
        if_not_exists: bool,
    ) -> tuple[str | None, int | None] | None:
        """Make the branch ``name``; its tag and snapshot, or None: somebody has made it meanwhile.

        ``maker``: see ``Branches.maker``.

        Raises:
            AlreadyExistsError: somebody has, and ``if_not_exists`` is off.
            CommitConflictError: as ``create``.
        """
        access = self.access
        if snapshot is not None:
            require_no_turn(access)
        with founding(self._line(name), by=f"branch {name}") as turn:
            if is_branch(access, name, Metadata(access.storage).schema_ids()):
                if if_not_exists:
                    return None
                raise AlreadyExistsError(
                    f"{access.name} has a branch {name!r} already, which somebody made meanwhile",
                    name=name,
                )
            if snapshot is not None:
                tag, snapshot = base_of(name), self._tag_base(name, snapshot)
            if maker is not None:
                access.storage.write(publish_note(name), maker.encode())
            began = self._make(turn, name, tag)
        return tag, began

    def _tag_base(self, name: str, snapshot: int) -> int:
        """Tag ``snapshot`` for the branch ``name``, unless a run that was cut short has tagged one; which it is.

        A note of it in the folder of the branch comes first: a tag of that name without it is another's.
        """
        access, tag = self.access, base_of(name)
        if tag in tag_names(access) and _noted(access, name) == tag:
            return tagged(access, tag).snapshot.id
        if tag not in tag_names(access):
            access.storage.write(_note_path(name), tag.encode())
        Tags(access).create(tag, snapshot=snapshot)
        return snapshot

    def _make(self, turn: HeldTurn, name: str, tag: str | None) -> int | None:
        """Make the branch ``name`` of the state of ``tag`` within ``turn``; the snapshot that it begins with.

        Raises:
            NotFoundError: the tag was deleted meanwhile, or the table was dropped.
            CommitConflictError: somebody else has made the branch meanwhile.
        """
        access = self.access
        storage, source = access.storage, access.branch
        schemas = access.metadata.schema_ids()
        origin = None if tag is None else tagged(access, tag)
        storage.delete(_left_over(access, name))
        if tag is not None and origin is not None:
            if not _is_newest(access, origin.snapshot):
                schemas = [id for id in schemas if id <= origin.snapshot.schema_id]
            storage.write(layout.tag_path(tag, name), origin.to_json())
            state = state_of(access, origin.snapshot)
            storage.write(layout.snapshot_path(state.id, name), state.to_json())
            for which in (EARLIEST, LATEST):
                hint = layout.hint_path("snapshot", which, name)
                storage.write(hint, encode_hint(origin.snapshot.id))
        bodies = {id: storage.read(layout.schema_path(id, source)) for id in schemas}
        turn.require()
        for id in reversed(schemas):  # the first schema makes the branch one, so it comes last
            if not turn.bring_forth(layout.schema_path(id, name), bodies[id]):
                raise _was_made(access, name)
        if not access.metadata.schema_ids():
            # A folder that is left over would forbid the next table.
            storage.delete_tree(layout.branch_folder(name))
            raise access.is_gone()
        if tag is None or origin is None:
            return None
        self._check_tag(name, tag, origin)
        return origin.snapshot.id

    def _check_tag(self, name: str, tag: str, origin: Tag) -> None:
        """Require that ``tag`` is what the branch was made of: else its files may be gone.

        Who deletes a tag does so before it looks for branches.
        """
        try:
            if tagged(self.access, tag).snapshot == origin.snapshot:
                return
            reason = "stands for another snapshot by now"
        except NotFoundError:
            reason = "was deleted meanwhile"
        self.delete(name)
        raise NotFoundError(
            f"{self.access.name}: tag {tag!r} {reason}; there is no branch {name!r}",
            name=tag,
            available=[],
        )

    def delete(self, name: str, if_exists: bool = False, dry_run: bool = False) -> ResultDocument:
        """Delete the branch ``name``, and the tag ``<name>-base`` if it was made for it.

        ``details["deleted"]`` says whether it was there.  Data files that only it needed stay until
        ``remove_orphan_files``.

        Raises:
            NotFoundError: there is none, and ``if_exists`` is off.
            OutcomeUnknownError: the table was dropped or renamed meanwhile, and the branch may have gone along.
            CommitConflictError: somebody renames the branch just now.
            ArgumentError: ``main``, or a name that no branch may have; or the table reads the branch
                (``scan.fallback-branch``).
        """
        access, storage = self.access, self.access.storage
        access.require_same()
        if (
            name == access.branch != layout.MAIN
        ):  # its tags go with it; the one it began with is main's
            main = Metadata(storage)
            access = replace(access, metadata=main, schema=main.latest_schema())
        there = self._has(name)
        self._refuse_fallback(name)
        if not there and not if_exists:
            branch_access(access, name)
        folder = layout.branch_folder(name)
        documents = list(storage.walk(folder)) if there else []
        bases = _made_for(access, name, there=there)
        with dropping(self._line(name)) if there and not dry_run else nullcontext():
            # While the branch is there, its files outlive the tag, and are told of as orphans later.
            done = delete_tags(access, bases, action="delete-branch", dry_run=dry_run)
            if there and not dry_run:  # what makes it a branch goes first
                first = Metadata(storage).schema_ids()[:1]
                storage.delete([layout.schema_path(id, name) for id in first])
            if not dry_run:
                storage.delete_tree(folder)
                access.require_stayed(f"branch {name!r} was deleted")
        details = {"branch": name, "deleted": there, "documents_deleted": len(documents)}
        return replace(done, details={**details, **done.details})

    def rename(self, name: str, to: str, dry_run: bool = False) -> ResultDocument:
        """Rename the branch ``name`` to ``to``, which must be free.  Not atomic on object stores.

        Raises:
            NotFoundError: no such branch.
            AlreadyExistsError: ``to`` is taken.
            CommitConflictError: somebody rolls the branch back, recovers or deletes it just now.
            ArgumentError: ``main``, or a name that no branch may have; or the table reads the branch
                (``scan.fallback-branch``).
        """
        self.access.require_same()
        require_branch_name(to)
        if not self._has(name):
            branch_access(self.access, name)
        self._refuse_fallback(name)
        if to in self.list():
            raise AlreadyExistsError(f"{self.access.name} has a branch {to!r} already", name=to)
        if not dry_run:
            with moving(self._line(name), self._line(to)):
                self.access.storage.move(layout.branch_folder(name), layout.branch_folder(to))
        return unchanged(self.access, "rename-branch", {"branch": name, "to": to}, dry_run=dry_run)

    def fast_forward(self, name: str, dry_run: bool = False) -> ResultDocument:
        """Make main continue from the branch ``name``. What main did since the branch began is removed.

        Raises:
            NotFoundError: no such branch, or it has no snapshot.
            ArgumentError: nobody can tell whether the branch follows a tag of main; or ``name`` is
                ``main``, or a name that no branch may have.
        """
        plan = FastForward.of(self.access, name)
        if not dry_run:
            plan, untold = FastForward.perform(self.access, name)
            plan.follow(untold)
        return plan.result(dry_run=dry_run)

    def _line(self, name: str) -> TableAccess:
        """The branch ``name``, whether it is there or not."""
        return replace(self.access, metadata=Metadata(self.access.storage, name))

    def _refuse_fallback(self, name: str) -> None:
        """Refuse to take away a branch that main, or this branch, is read with: it could not be read any more.

        Raises:
            ArgumentError: it is.
        """
        access = self.access
        key = keys_scan.SCAN_FALLBACK_BRANCH.key
        for metadata in (Metadata(access.storage), access.metadata):
            if metadata.branch == name:
                continue  # it goes itself
            if metadata.latest_schema().raw_options.get(key) == name:
                raise ArgumentError(
                    f"{access.name} is read with its branch {name!r} (option {key} of branch "
                    f"{metadata.branch!r}): remove that option first",
                    argument="name",
                    value=name,
                )

    def _has(self, name: str) -> bool:
        """Whether there is a branch ``name``; one that others made may be named as ours may not.

        Raises:
            ArgumentError: ``main``, whose folder is the whole table, or a name that leads out of the
                branches.
        """
        if name != layout.MAIN and name in self.list():
            return True
        require_branch_name(name)
        return False


def _left_over(access: TableAccess, branch: str) -> list[str]:
    """What somebody has left who was killed while he made ``branch``, but for notes and his turn."""
    folders = (
        layout.schema_folder(branch),
        layout.snapshot_folder(branch),
        layout.tag_folder(branch),
    )
    starts = tuple(f"{folder}/" for folder in folders)
    there = access.storage.walk(layout.branch_folder(branch))
    return [info.path for info in there if info.path.startswith(starts)]


def _was_made(access: TableAccess, branch: str) -> CommitConflictError:
    problem = f"somebody else has made the branch {branch!r} meanwhile"
    return CommitConflictError(
        f"{access.name}: {problem}. Look at it, then ask again",
        table=access.name,
        head_id=None,
        conflicts=[problem],
    )


def _is_newest(access: TableAccess, snapshot: Snapshot) -> bool:
    head = access.metadata.head()
    return head is not None and head.state == snapshot.state


def _note_path(branch: str) -> str:
    return f"{layout.branch_folder(branch)}/base-tag"


def _noted(access: TableAccess, branch: str) -> str | None:
    """The tag that was made for ``branch``; None: none, so one of that name is somebody's own."""
    try:
        return access.storage.read(_note_path(branch)).decode()
    except NotFoundError:
        return None


def _made_for(access: TableAccess, name: str, *, there: bool) -> list[str]:
    """The tag that was made for the branch ``name``, if it still stands for where that began."""
    base = _noted(access, name)
    if base is None or base not in tag_names(access):
        return []
    if not there:  # its making was cut short
        return [base]
    branch = branch_access(access, name)
    is_same = (
        base in tag_names(branch) and tagged(access, base).snapshot == tagged(branch, base).snapshot
    )
    return [base] if is_same else []
