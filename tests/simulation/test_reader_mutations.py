"""The model of readers is strong enough: with any one check taken out, it fails.

Each mutant is caught by the same worlds each time.  They are more than any one of them needs: what happens in a world
changes with what its readers do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from table_core.errors import TableError
from table_core.jobs import pinning, window
from table_core.position import files
from table_core.position.kept import Kept
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader
from table_core.scan.stream_offset import StreamOffset
from table_core.table.api import clone
from table_core.table.maintenance import expire_effects
from table_core.table.metadata import documents as metadata
from table_core.table.metadata.refs import consumers
from table_core.table.read import stream_plan
from table_core.table.read.stream_plan import StreamPlanner
from tests.lanes import sampled
from tests.simulation.readers_world import lived

SEEDS = (409, 400, 401, 413, 410, 415, 406)
Mutate = Callable[[pytest.MonkeyPatch], None]


def no_birth(patch: pytest.MonkeyPatch) -> None:
    """A table made anew is the one of its name."""
    patch.setattr(metadata, "birth_of", lambda schema, time_millis: "born")


def ids_alone(patch: pytest.MonkeyPatch) -> None:
    """A snapshot is the one of its number."""
    patch.setattr(SnapshotPlace, "is_at", lambda self, other: self.id == other.id)


def no_hold(patch: pytest.MonkeyPatch) -> None:
    """Expiry does not wait for what a flow reads next."""
    patch.setattr(pinning._Consumer, "hold", lambda *_: None)
    patch.setattr(pinning._Consumer, "advance", lambda *_: None)


def holds_the_next_alone(patch: pytest.MonkeyPatch) -> None:
    """What a follower has read may expire."""
    patch.setattr(
        expire_effects,
        "held_from",
        lambda access: min(consumers.consumers(access).values(), default=None),
    )


def overwrites_passed_over(patch: pytest.MonkeyPatch) -> None:
    """Rows of an overwrite are no changes."""
    patch.setattr(window, "_brings_rows", lambda *_: False)


def one_reader(patch: pytest.MonkeyPatch) -> None:
    """Whoever reads a source is its only reader."""
    patch.setattr(Reader, "is_same", lambda self, other: True)


def files_by_name(patch: pytest.MonkeyPatch) -> None:
    """A file is known by its name, not by its folder."""

    def of(root: str, info: Any) -> files.FileFacts:
        name = info.path.rpartition("/")[2]
        return files.FileFacts(path=name, size=info.size, modified_ms=info.modified_ms)

    patch.setattr(files.FileFacts, "of", of)


def files_without_state(patch: pytest.MonkeyPatch) -> None:
    """A file that was taken stays what it was."""
    patch.setattr(files.FileFacts, "state", property(lambda self: b"same"))


def copies_without_positions(patch: pytest.MonkeyPatch) -> None:
    """A copy has the rows and not how far they go."""
    patch.setattr(clone, "_positions", lambda access, state: {})


def no_expectations(patch: pytest.MonkeyPatch) -> None:
    """Two runs from one position both commit."""
    patch.setattr(Kept, "expect", property(lambda self: {}))


def never_looks_back(patch: pytest.MonkeyPatch) -> None:
    """A consumer goes on wherever the number is."""
    patch.setattr(
        stream_plan,
        "read_by",
        lambda access, name: (
            None
            if (found := consumers.position_of(access, name)) is None
            else replace(found.place, mark="")
        ),
    )


def numbers_in_checkpoints(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint keeps the number of a snapshot alone."""
    before = StreamOffset.from_document
    patch.setattr(
        StreamOffset,
        "from_document",
        lambda document: replace(before(document), read=None, birth=""),
    )


def end_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    """A stream waits for the number that comes next, whatever became of the one before."""
    patch.setattr(StreamPlanner, "_stands", lambda *_: None)


def diverged_is_start(patch: pytest.MonkeyPatch) -> None:
    """A position that does not fit is none."""
    before = pinning.came_to

    def came_to(stored: Any, now: Any) -> Any:
        try:
            return before(stored, now)
        except TableError:
            return None

    patch.setattr(pinning, "came_to", came_to)


MUTANTS = [
    no_birth,
    ids_alone,
    no_hold,
    holds_the_next_alone,
    overwrites_passed_over,
    one_reader,
    files_by_name,
    files_without_state,
    copies_without_positions,
    no_expectations,
    never_looks_back,
    numbers_in_checkpoints,
    end_not_looked_at,
    diverged_is_start,
]


def test_each_mutant_takes_out_what_is_there() -> None:
    for mutate in MUTANTS:  # also those that run at night alone
        with pytest.MonkeyPatch.context() as patch:
            mutate(patch)


@pytest.mark.parametrize("mutate", sampled(MUTANTS, 3), ids=lambda mutate: mutate.__name__)
def test_a_mutant_is_caught(
    mutate: Mutate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mutate(monkeypatch)
    for seed in SEEDS:
        try:
            lived(seed, tmp_path / str(seed))
        except (AssertionError, TableError) as error:
            print(seed, error.__notes__)
            return
    pytest.fail("nobody has noticed")
