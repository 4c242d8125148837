"""Forgetting a tag, and what only it kept.

The tag goes first.  As long as its snapshot is there, nothing else goes.  Afterwards a file of the tagged
state is free if neither neighbour has it: what is in any state before is in the tag before, or was taken
out by then; what is in any state after is in the next tag or the earliest snapshot, because a file
that was taken out does not come back.  Where it may have (``may_have_come_back``), every state is asked.  A run
cut short leaves orphans, and so does a rollback beside it.

Source: ``org.apache.paimon.utils.TagManager.deleteTag``, ``TagDeletion``; format 11.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.live_keys import key_of
from table_core.expire.run import (
    batches,
    is_append,
    read_staying_paths,
    unneeded_elsewhere,
    unneeded_here,
)
from table_core.expire.snapshots import may_have_come_back, newest_snapshots
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from table_core.expire.snapshots import Steps

__all__ = ["Forgotten", "forget_tag"]

_ATTEMPTS: Final = 20


@dataclass(slots=True)
class Forgotten:
    """What went with tags, or with ``dry_run`` would go."""

    tags: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    metadata: int = 0
    metadata_bytes: int = 0
    gone: set[str] = field(default_factory=set)
    """Metadata paths that were counted."""
    known: frozenset[str] = frozenset()
    """The tags that there were when it began."""


def forget_tag(
    done: Forgotten, name: str | None, tagged: Snapshot, retention: fx.Retention, others: fx.Pins
) -> Steps[None]:
    """Delete the tag ``name`` of the state ``tagged``, and files that nothing needs now.

    ``others``: the tags that stay.  ``name`` None: the tag is another state's by now.  What goes is added
    to ``done``.
    """
    if name is not None:
        done.tags.append(name)
    snapshot = yield fx.ReadSnapshot(tagged.id)
    if name is not None and not retention.dry_run:
        new = yield fx.DeleteTag(name, done.known)
        assert isinstance(new, fx.Pins)
        tags = sorted((*others.tags, *new.tags), key=lambda tag: tag.id)
        others = replace(others, tags=tuple(tags))
    if isinstance(snapshot, Snapshot) or any(tag.id == tagged.id for tag in others.tags):
        return
    for attempt in range(_ATTEMPTS):
        files, size = done.files, done.bytes
        try:
            around = yield from _around(tagged, others)
            if around is None:
                return
            yield from _delete_files(done, tagged, around, retention)
            yield from _delete_metadata(done, tagged, around, retention)
        except FilesExpiredError:  # a neighbour went meanwhile: there is a later one
            if attempt == _ATTEMPTS - 1:
                raise
            done.files, done.bytes = files, size
        else:
            return


@dataclass(frozen=True, slots=True)
class _Around:
    """What is asked whether it needs a file of the tag."""

    neighbours: tuple[Snapshot, ...]
    """The tag before, and the tag or the snapshot after."""
    pins: fx.Pins


def _around(tagged: Snapshot, others: fx.Pins) -> Steps[_Around | None]:
    """What stays beside ``tagged``; None: its snapshot was taken back, not expired.

    Then the state that was gone back to may need each of its files, and is no neighbour by number.

    Raises:
        FilesExpiredError: the oldest snapshot was expired meanwhile.
    """
    before = [tag for tag in others.tags if tag.id < tagged.id][-1:]
    after = [tag for tag in others.tags if tag.id > tagged.id][:1]
    bounds = yield fx.ReadBounds()
    if isinstance(bounds, fx.Bounds):
        if tagged.id >= bounds.earliest:
            return None
        # Not one below the floor: it may be half gone, and nobody was promised what only it has.
        oldest = yield fx.ReadSnapshot(bounds.earliest)
        if not isinstance(oldest, Snapshot):
            raise FilesExpiredError(
                f"snapshot {bounds.earliest} was expired meanwhile", snapshot=bounds.earliest
            )
        if not (after and after[0].id <= oldest.id):
            after = [oldest]
        walked = yield from newest_snapshots(bounds)
        if may_have_come_back(walked, [tagged.id, *fx.states(bounds, others)]):
            others = replace(others, since=bounds.earliest)
    else:  # nothing says what happened between the tags
        others = replace(others, since=0)
    return _Around((*before, *after), others)


def _delete_files(
    done: Forgotten,
    tagged: Snapshot,
    around: _Around,
    retention: fx.Retention,
) -> Steps[None]:
    live = yield fx.ReadLive(tagged)
    assert isinstance(live, Iterator)
    for batch in batches(live):
        going = {
            key_of(entry): entry
            for entry in batch
            # Appended files may be the changes of a kept changelog (format 11.3).
            if not (retention.appends_are_changelog and is_append(entry.file))
        }
        going = yield from unneeded_here(around.neighbours, going, around.pins)
        free = yield from unneeded_elsewhere(going, around.pins)
        done.files += sum(1 + len(entry.file.extra_files) for entry in free)
        done.bytes += sum(entry.file.file_size for entry in free)
        if free and not retention.dry_run:
            yield fx.Delete(data=tuple((e.partition, e.bucket, e.file) for e in free))


def _delete_metadata(
    done: Forgotten,
    tagged: Snapshot,
    around: _Around,
    retention: fx.Retention,
) -> Steps[None]:
    kept: set[str] = set()
    if around.pins.since is not None:
        kept.update((yield from read_staying_paths(around.pins)))
    for state in around.neighbours if around.pins.since is None else ():
        names = yield fx.ReadMetadata(state, must_read=True)
        assert isinstance(names, fx.Metadata)
        kept.update(names.state, names.other)
    if around.pins.branches:
        needed = yield fx.ReadNeededPaths()
        assert isinstance(needed, frozenset)
        kept.update(str(path) for path in needed)
    names = yield fx.ReadMetadata(tagged, must_read=False)
    assert isinstance(names, fx.Metadata)
    groups = [names.other] if retention.appends_are_changelog else [names.other, names.state]
    going = {path: size for group in groups for path, size in group.items() if path not in kept}
    fresh = going.keys() - done.gone
    done.gone |= fresh
    done.metadata += len(fresh)
    done.metadata_bytes += sum(going[path] for path in fresh)
    if going and not retention.dry_run:
        yield fx.Delete(paths=tuple(going))
