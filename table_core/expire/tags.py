"""Forgetting a tag, and what only it kept.

The tag goes first.  As long as its snapshot is there, nothing else goes.  Afterwards a file of the tagged
state is free if neither neighbour has it: what is in any state before is in the tag before, or was taken
out by then; what is in any state after is in the next tag or the earliest snapshot, because a file
that was taken out never comes back.  A run cut short leaves orphans, and so does a rollback beside it.

Source: ``org.apache.paimon.utils.TagManager.deleteTag``, ``TagDeletion``; format 11.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.live_keys import key_of
from table_core.expire.run import batches, is_append, unneeded
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
            neighbours = yield from _neighbours(tagged, others)
            if neighbours is None:
                return
            yield from _delete_files(done, tagged, neighbours, retention, others)
            yield from _delete_metadata(done, tagged, neighbours, retention, others)
        except FilesExpiredError:  # a neighbour went meanwhile: there is a later one
            if attempt == _ATTEMPTS - 1:
                raise
            done.files, done.bytes = files, size
        else:
            return


def _neighbours(tagged: Snapshot, others: fx.Pins) -> Steps[tuple[Snapshot, ...] | None]:
    """The tag before, and the tag or the snapshot after; None: its snapshot was taken back, not expired.

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
    return (*before, *after)


def _delete_files(
    done: Forgotten,
    tagged: Snapshot,
    neighbours: tuple[Snapshot, ...],
    retention: fx.Retention,
    others: fx.Pins,
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
        free = yield from unneeded(neighbours, going, branches=others.branches)
        done.files += sum(1 + len(entry.file.extra_files) for entry in free)
        done.bytes += sum(entry.file.file_size for entry in free)
        if free and not retention.dry_run:
            yield fx.Delete(data=tuple((e.partition, e.bucket, e.file) for e in free))


def _delete_metadata(
    done: Forgotten,
    tagged: Snapshot,
    neighbours: tuple[Snapshot, ...],
    retention: fx.Retention,
    others: fx.Pins,
) -> Steps[None]:
    kept: set[str] = set()
    for state in neighbours:
        names = yield fx.ReadMetadata(state, must_read=True)
        assert isinstance(names, fx.Metadata)
        kept.update(names.state, names.other)
    if others.branches:
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
