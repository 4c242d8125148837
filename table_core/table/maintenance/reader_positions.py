"""The positions that a table keeps for what feeds it: shown, set and reset by people.

A change is a commit without rows, under ``expect`` of what was seen: so it is in the history, and a run
that is under way meets it as a conflict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from table_core.commit.request import CommitPart
from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk.snapshot import CommitKind
from table_core.position.document import Position, Positions
from table_core.position.place import SnapshotPlace, SourcePlace
from table_core.position.reader import Reader, ReaderKind, require_position_name
from table_core.position.source import TableId
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.metadata.carried import carried_as_of
from table_core.table.metadata.describing import committed, unchanged
from table_core.table.metadata.positions import place_at, positions_of, table_at, table_id
from table_core.table.metadata.refs.consumers import consumers, position_of
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.metadata.timeline import find_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.table.metadata.access import Handle, TableAccess
    from table_core.table.metadata.results import Commit

__all__ = ["ReaderPositions"]

Records: TypeAlias = "list[dict[str, Any]]"
"""``list`` is a verb here."""
_NOT_POSITIONS = frozenset({"tc.commits", "tc.history"})


@dataclass(frozen=True, slots=True)
class ReaderPositions:
    """The positions of one table handle: of what feeds it, and of consumers that read it."""

    access: TableAccess

    def list(self) -> Records:
        """A record for each: ``position, reader, kind, source, place``.

        ``position`` is the property that holds it, or ``consumer:<id>``.  What is no document of positions is
        shown as it is, as ``place``; what change capture has taken over is not.
        """
        records = []
        for name, text in sorted(self._properties().items()):
            held = Positions.parse(text)
            if held is None and text:
                records.append(_record(name, None, text))
            records += [_record(name, one, str(one.place)) for one in held or ()]
        for id in sorted(consumers(self.access)):
            one = position_of(self.access, id)
            records.append(_record(f"consumer:{id}", one, str(one.place) if one else ""))
        return records

    def show(self, name: str) -> Records:
        """What the property ``name`` holds, whole.

        Of change capture ``text`` is what ``set`` takes for the property ``tc.source.position``.

        Raises:
            NotFoundError: there is none.
        """
        text = self._text(name)
        held = Positions.parse(text)
        return [{"text": text}] if held is None else list(map(_shown, held))

    def set(
        self,
        name: str,
        snapshot: int | None = None,
        source: Handle | None = None,
        reader: str | None = None,
        text: str | None = None,
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Let the reader whose position the property ``name`` holds go on after ``snapshot``; 0: at the start.

        ``source`` is the table that is read, and ``reader`` the name of the flow: needed where the property
        holds several, or none yet.  ``text`` is stored as it is instead, for readers of other sources.

        Raises:
            ArgumentError: not one of ``snapshot`` and ``text``; or nobody can tell which position is meant.
            NotFoundError: ``source`` has neither that snapshot nor the next one.
            CommitConflictError: it has moved meanwhile.
        """
        require_position_name("position", name)
        if (snapshot is None) == (text is None):
            raise ArgumentError("give a snapshot, or a text", argument="snapshot", value=snapshot)
        if text is not None and (source is not None or reader is not None):
            raise ArgumentError(
                "a text is stored as it is: it says itself whose position it is, and in which source",
                argument="text",
                value=text,
            )
        change = _Change.of(
            self.access,
            "set-position",
            name,
            commit,
            source,
            dry_run=dry_run,
            snapshot=snapshot,
            text=text,
            reader=reader,
        )
        if change.landed is not None:
            return change.replayed()
        before = self._properties().get(name)
        if snapshot is None:
            return change.stored(before, str(text))
        return change.stored(before, self._set_at(name, before, snapshot, source, reader).text)

    def reset(
        self,
        name: str,
        source: Handle | None = None,
        reader: str | None = None,
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Let the reader start again: everything that its source holds then is new to it.

        Of change capture all positions are meant, unless ``reader`` says which.  The tables of a server
        are then read anew, and take the place of the rows that are there.

        Raises:
            NotFoundError: there is no such position.
            ArgumentError: nobody can tell which one is meant.
            CommitConflictError: it has moved meanwhile.
        """
        change = _Change.of(
            self.access, "reset-position", name, commit, source, dry_run=dry_run, reader=reader
        )
        if change.landed is not None:
            return change.replayed()
        before = self._text(name)
        held = Positions.parse(before)
        after = Positions()
        kinds = {one.reader.kind for one in held or ()}
        if held is not None and kinds == {ReaderKind.SYNC} and reader is None and source is None:
            after = replace(held, held=())
        elif held is not None:
            position = self._meant(name, held, source, reader, needed=True)
            assert position is not None
            after = held.without(position)
            if isinstance(position.place, SnapshotPlace):  # whose it is stays known
                after = held.moved(replace(position, place=SnapshotPlace(id=0)), position)
        return change.stored(before, after.text)

    # ----------------------------------------------------------------------------------- parts
    def _properties(self) -> dict[str, str]:
        properties = positions_of(self.access).properties
        return {name: text for name, text in properties.items() if name not in _NOT_POSITIONS}

    def _text(self, name: str) -> str:
        known = self._properties()
        if name not in known:
            raise NotFoundError(
                f"{self.access.name} has no position {name!r}; there are {sorted(known)}",
                name=name,
                available=sorted(known),
            )
        return known[name]

    def _set_at(
        self,
        name: str,
        before: str | None,
        snapshot: int,
        source: Handle | None,
        reader: str | None,
    ) -> Positions:
        """What the property ``name`` holds when the reader that is meant stands at ``snapshot``."""
        held = Positions.parse(before) or Positions()
        position = self._meant(name, held, source, reader, needed=False)
        place = SnapshotPlace(id=snapshot)
        if source is not None:
            place = place_at(source.access, snapshot)
            if snapshot and not place.mark and find_snapshot(source.access, snapshot + 1) is None:
                source.access.metadata.snapshot(snapshot)  # says which there are
        if position is None:
            if source is None:
                raise ArgumentError(
                    f"{self.access.name} has no position {name!r}: say of which source table",
                    argument="source",
                    value=None,
                )
            who = Reader(ReaderKind.FLOW, reader or name.removeprefix("tc.flow."), explicit=True)
            return held.moved(Position(who, table_id(source.access), place))
        at = position.source if source is None else table_id(source.access)
        if source is None and isinstance(at, TableId):
            at = replace(at, birth="")  # of whatever table is there
        return held.moved(Position(position.reader, at, place), position)

    def _meant(
        self, name: str, held: Positions, source: Handle | None, reader: str | None, *, needed: bool
    ) -> Position | None:
        fits = [one for one in held if reader is None or one.reader.name == reader]
        if source is not None:
            here = table_at(source.access)
            fits = [one for one in fits if here.in_place_of(one.source)]
        if len(fits) > 1 or (not fits and needed):
            readers = [f"{one.reader} in {one.source}" for one in held]
            raise ArgumentError(
                f"{name!r} holds the positions of {readers}: say which one, by reader and source",
                argument="reader",
                value=reader,
            )
        return fits[0] if fits else None


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of a position, as it was asked for."""

    access: TableAccess
    action: str
    name: str
    commit: CommitAs
    landed: Commit | None
    dry_run: bool
    started_ms: int

    @classmethod
    def of(
        cls,
        access: TableAccess,
        action: str,
        name: str,
        commit: CommitAs | None,
        source: Handle | None,
        *,
        dry_run: bool,
        **asked: object,
    ) -> _Change:
        """What is asked for, and whether it has landed: the reader may have gone on since."""
        started_ms = access.clock.now_ms()
        where = None if source is None else [source.access.storage.uri, source.access.branch]
        as_ = (commit or CommitAs()).with_request(
            action, access.branch, position=name, source=where, **asked
        )
        landed = None if dry_run else find_commit(access, as_)
        return cls(access, action, name, as_, landed, dry_run, started_ms)

    def stored(self, before: str | None, after: str) -> ResultDocument:
        """Let the property be ``after``, if it is ``before``."""
        details = {"position": self.name, "before": before, "after": after}
        as_ = replace(
            self.commit,
            properties={**self.commit.properties, self.name: after},
            expect={self.name: before, **self.commit.expect},
        )
        if self.dry_run:
            return unchanged(self.access, self.action, details, dry_run=True)
        nothing = CommitPart(kind=CommitKind.APPEND)
        done = commit_parts(self.access, as_, append=nothing, force=True)
        return self._told(done, details)

    def replayed(self) -> ResultDocument:
        """What was done: as far as the snapshots are there, with what it was before."""
        details: dict[str, object] = {"position": self.name}
        id = self.landed.snapshot_id if self.landed is not None else None
        for what, at in (("before", (id or 0) - 1), ("after", id or 0)):
            if find_snapshot(self.access, at) is not None:
                details[what] = carried_as_of(self.access, at).properties.get(self.name)
        return self._told(self.landed, details)

    def _told(self, done: Commit | None, details: Mapping[str, object]) -> ResultDocument:
        return committed(self.access, self.action, done, None, details, started_ms=self.started_ms)


def _shown(position: Position) -> dict[str, Any]:
    document, place = position.to_document(), position.place
    return {**document, "text": place.short} if isinstance(place, SourcePlace) else document


def _record(name: str, position: Position | None, place: str) -> dict[str, Any]:
    who = None if position is None else position.reader
    return {
        "position": name,
        "kind": "" if who is None else who.kind.value,
        "reader": "" if who is None else who.name,
        "source": "" if position is None else str(position.source),
        "place": place,
    }
