"""What comes next for a reader is right, or said loudly, in every history of its source; and each check counts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from table_core.position import decide
from table_core.position.files import FileFacts, FilesTaken
from table_core.position.lines import OffsetsPlace
from table_core.position.place import SnapshotPlace
from table_core.position.source import TableId, TopicsId
from tests.simulation.decisions_world import Decisions

STEPS = int(os.environ.get("STEPS") or "0") or 50_000
LONG = 1_000
Mutate = Callable[[pytest.MonkeyPatch], None]


def lived(seed: int) -> Counter[str]:
    world = Decisions(seed)
    for step in range(LONG):
        try:
            world.step()
        except BaseException as error:
            error.add_note(f"seed {seed}, step {step}")
            raise
    return world.loud


def test_a_reader_goes_on_in_its_own_source_alone_and_is_never_loud_for_nothing() -> None:
    loud = Counter[str]()
    for seed in range(STEPS // LONG):
        loud += lived(seed)
    print(f"{STEPS} steps", dict(loud))
    assert {
        "TableNow rolled-back", "TableNow made-anew", "TopicsNow made-anew", "TopicsNow expired",
        "FilesNow changed",
    } <= set(loud)  # fmt: skip


def ids_alone(patch: pytest.MonkeyPatch) -> None:
    """A snapshot is the one of its number."""
    patch.setattr(SnapshotPlace, "is_at", lambda self, other: self.id == other.id)


def no_marks(patch: pytest.MonkeyPatch) -> None:
    """What tells a snapshot from another is not stored."""
    before = SnapshotPlace.to_document
    patch.setattr(SnapshotPlace, "to_document", lambda self: before(SnapshotPlace(id=self.id)))


def no_births(patch: pytest.MonkeyPatch) -> None:
    """A table of another birth is the same one; so is a snapshot of that number in it."""
    patch.setattr(TableId, "is_same", lambda self, other: self.in_place_of(other))
    no_marks(patch)


def no_end(patch: pytest.MonkeyPatch) -> None:
    """A table that ends before what was read is waited for."""
    before = decide._in_table

    def found(stored: object, place: SnapshotPlace, now: decide.TableNow) -> decide.Next:
        if now.head.id < place.id:
            return decide.GoOn(place)
        return before(stored, place, now)  # type: ignore[arg-type]  # a source

    patch.setattr(decide, "_in_table", found)


def births_before_marks(patch: pytest.MonkeyPatch) -> None:
    """A table that was moved is another one, though its snapshots are the same."""
    before = decide._in_table

    def found(stored: TableId, place: SnapshotPlace, now: decide.TableNow) -> decide.Next:
        if not stored.is_same(now.source) and place.id:
            return decide.Diverged(reason="made-anew", why="it is elsewhere")
        return before(stored, place, now)

    patch.setattr(decide, "_in_table", found)


def topics_by_name(patch: pytest.MonkeyPatch) -> None:
    """A topic is the one of its name."""
    before = TopicsId.to_document
    patch.setattr(TopicsId, "to_document", lambda self: before(replace(self, topics={})))


def any_cluster(patch: pytest.MonkeyPatch) -> None:
    """A cluster is the one at its address."""
    patch.setattr(TopicsId, "is_same", lambda self, other: True)


def offsets_not_compared(patch: pytest.MonkeyPatch) -> None:
    """What was deleted before it was read is passed over."""
    before = decide._in_topics

    def found(stored: TopicsId, place: OffsetsPlace, now: decide.TopicsNow) -> decide.Next:
        ends = {at: (0, end) for at, (_, end) in now.ends.items()}
        return before(stored, place, replace(now, ends=ends))

    patch.setattr(decide, "_in_topics", found)


def files_by_name(patch: pytest.MonkeyPatch) -> None:
    """A file is known by its name, not by its folder."""
    key = FileFacts.key.fget  # type: ignore[attr-defined]  # a property
    patch.setattr(
        FileFacts,
        "key",
        property(lambda self: key(replace(self, path=self.path.rpartition("/")[2][:3]))),
    )


def files_without_state(patch: pytest.MonkeyPatch) -> None:
    """A file that was taken stays what it was."""
    patch.setattr(FileFacts, "state", property(lambda self: b"12345678"))


def only_the_listing_is_kept(patch: pytest.MonkeyPatch) -> None:
    """What another pattern has taken is forgotten."""
    before = FilesTaken.after
    patch.setattr(FilesTaken, "after", lambda self, listing: before(FilesTaken(), listing))


def diverged_is_start(patch: pytest.MonkeyPatch) -> None:
    """A position that does not fit is none."""
    before = decide.what_next

    def found(stored: object, now: decide.Now) -> decide.Next:
        said = before(stored, now)  # type: ignore[arg-type]  # a position
        return decide.Start() if isinstance(said, decide.Diverged) else said

    patch.setattr("tests.simulation.decisions_world.what_next", found)


MUTANTS = [
    ids_alone, no_marks, no_births, no_end, births_before_marks, topics_by_name, any_cluster,
    offsets_not_compared, files_by_name, files_without_state, only_the_listing_is_kept,
    diverged_is_start,
]  # fmt: skip


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_mutant_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    for seed in range(20):
        try:
            lived(seed)
        except (AssertionError, KeyError) as error:
            print(error.__notes__)
            return
    pytest.fail("nobody has noticed")
