"""Any two verbs of a table and a catalog at once: one runs whole just before some call of the other.

Method: ``tests/interleave``.  By day a seed draws ``INTERLEAVE_CASES``, with three verbs, kills and lost
answers among them; at night every pair in which a verb goes back or deletes, or both want one name, and 10,000 triples,
in thirty shards, each night another one (``make interleave SHARD=2``).  To run one case alone, as a finding prints it:
``CASE="key | append | compact | 12" pytest tests/simulation/test_interleavings.py``.

Mutants: ``BUGS`` below, each of which must be found.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from itertools import islice
from typing import Any

import pytest

from table_core.commit import attempt as attempts
from table_core.commit.attempt import Attempt
from table_core.commit.readback import CreateOutcome
from table_core.commit.request import CommitPart
from table_core.schema.change import SetOption
from table_core.storage.stores.memory import MemoryStorage
from table_core.table.api import catalog as catalogs
from table_core.table.commit_io import uncommitted
from table_core.table.metadata import documents
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.results import CommitAs
from tests import lanes
from tests.interleave.judge import Case, Judge, changeable
from tests.interleave.plan import SHARDS, Judges, drawn, judged, of_shard, planned, triples
from tests.lanes import PROFILE, budget, sampled

CASES = budget("INTERLEAVE_CASES", ci=60, nightly=1_000_000)
SECONDS = budget("INTERLEAVE_S", ci=500, nightly=600)
TRIPLES = budget("INTERLEAVE_TRIPLES", ci=6, nightly=10_000)
SHARD_S = budget("INTERLEAVE_SHARD_S", ci=2, nightly=3_400)
ONE = os.environ.get("CASE")
_SHARD = os.environ.get("INTERLEAVE_SHARD")
THIS_SHARD = int(_SHARD) - 1 if _SHARD else lanes.SEED % SHARDS
"""A shard takes up to an hour: each night another one, or ``make interleave SHARD=2``."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)  # what a step after a commit meets is looked at, not read
    yield
    logging.disable(logging.NOTSET)


def told(findings: list[Any]) -> str:
    return "\n".join(str(one) for one in findings[:20])


@pytest.mark.skipif(ONE is None, reason="CASE names one")
def test_one_case() -> None:
    case = Case.parse(str(ONE))
    found = Judge(case.kind).run(case)
    assert found is None, str(found)


@pytest.mark.timeout(0)
def test_any_two_verbs_at_once_leave_what_they_leave_one_after_the_other() -> None:
    seed = int(os.environ.get("SEED") or lanes.SEED)
    judges = Judges()
    count, findings = judged(islice(drawn(seed, judges), CASES), judges, SECONDS)
    print(f"SEED={seed}: {count} interleavings of {CASES} planned")
    assert not findings, f"SEED={seed}, {count} interleavings\n{told(findings)}"
    assert count >= min(CASES / 2, SECONDS / 10)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("number", [THIS_SHARD])
def test_every_pair_in_which_a_verb_goes_back(number: int) -> None:
    """As far as an hour goes, in another order each night; by day, as far as two seconds go."""
    judges, seed = Judges(), int(os.environ.get("SEED") or lanes.SEED)
    count, findings = judged(of_shard(number, seed=seed), judges, SHARD_S)
    all_of_it = planned(number) if PROFILE == "nightly" else "?"
    what = (
        f"shard {number + 1} of {SHARDS}, SEED={seed}: {count} interleavings of {all_of_it} planned"
    )
    print(what)
    assert not findings, f"{what}\n{told(findings)}"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("number", [THIS_SHARD])
def test_any_three_verbs_at_once(number: int) -> None:
    """``INTERLEAVE_TRIPLES`` by a seed, a shard's part of them at a time."""
    seed = int(os.environ.get("SEED") or lanes.SEED)
    judges, part = Judges(), -(-TRIPLES // SHARDS) if PROFILE == "nightly" else TRIPLES
    count, findings = judged(islice(triples(SHARDS * seed + number, judges), part), judges, SHARD_S)
    what = f"shard {number + 1} of {SHARDS}, SEED={seed}: {count} triples of {part} planned"
    print(what)
    assert not findings, f"{what}\n{told(findings)}"


# ------------------------------------------------------------------------------- deliberate bugs
def no_conflicts(patch: pytest.MonkeyPatch) -> None:
    """What does not fit on the head is committed all the same."""
    patch.setattr(Attempt, "refuse", lambda self, conflicts: None)


def no_stale_rows(patch: pytest.MonkeyPatch) -> None:
    """A statement does not look whether its rows are still the newest."""
    patch.setattr(attempts, "stale_rows", lambda part, since, bounds: iter(()))


def waiting_rows_have_no_neighbours(patch: pytest.MonkeyPatch) -> None:
    """Rows that wait for their bucket are compared with others that wait, and with none that have one."""
    before = attempts.stale_rows

    def same_bucket(part: Any, since: Any, bounds: Any) -> Iterator[Any]:
        mine = {(entry.partition, entry.bucket) for entry in part.entries}
        yield from (c for c in before(part, since, bounds) if (c.partition, c.bucket) in mine)

    patch.setattr(attempts, "stale_rows", same_bucket)


def replaces(patch: pytest.MonkeyPatch) -> None:
    """A snapshot is written over one that is there."""

    def create(self: MemoryStorage, path: str, body: bytes) -> bool:
        self.write(path, body)
        return True

    patch.setattr(MemoryStorage, "create", create)


def believes_the_hint(patch: pytest.MonkeyPatch) -> None:
    """``LATEST`` is the head, whatever comes after it."""

    def newest(metadata: Metadata) -> tuple[int, bytes] | None:
        hinted = metadata.hinted_head()
        return None if hinted is None else (hinted, metadata.snapshot_body(hinted))

    patch.setattr(documents, "newest_of", newest)


def no_search(patch: pytest.MonkeyPatch) -> None:
    """A retry does not look whether an earlier run has landed."""

    def find(run: object, state: object) -> Iterator[Any]:
        yield from ()

    from table_core.commit import protocol

    patch.setattr(protocol, "find", find)


def no_reading_back(patch: pytest.MonkeyPatch) -> None:
    """What was created without an answer was another's."""
    from table_core.commit import protocol

    patch.setattr(protocol, "judge", lambda stored, wanted: CreateOutcome.LOST)


def deletes_what_may_have_landed(patch: pytest.MonkeyPatch) -> None:
    """Files of a commit are deleted though nobody knows whether it landed."""
    from table_core.table.commit_io import committer

    patch.setattr(uncommitted, "is_certain", lambda error: True)
    patch.setattr(committer, "is_certain", lambda error: True)


def copies_onto_another(patch: pytest.MonkeyPatch) -> None:
    """A copy commits into a table that is there."""
    from table_core.table.api import clone

    def part(*, is_first: bool, **others: Any) -> CommitPart:
        return CommitPart(**others)

    patch.setattr(clone, "CommitPart", part)


def tags_what_expired(patch: pytest.MonkeyPatch) -> None:
    """A tag is written, and nobody looks whether its snapshot is still there."""
    from table_core.table.metadata.refs import tags

    patch.setattr(tags, "require_tagged", lambda *_: None)


def drops_the_schema_first(patch: pytest.MonkeyPatch) -> None:
    """A drop that is cut short leaves rows without a table."""

    def delete(root: Any) -> None:
        root.delete_tree("schema")
        root.delete_tree("snapshot")
        root.delete_tree("")

    patch.setattr(catalogs, "delete_files", delete)


def no_look_after_the_create(patch: pytest.MonkeyPatch) -> None:
    """A commit does not look whether what it was built on is still there."""

    def stands(run: object, head: object, new: object) -> Generator[Any, Any, bool]:
        yield from ()
        return True

    from table_core.commit import protocol

    patch.setattr(protocol, "stands", stands)


def no_identity_in_expiry(patch: pytest.MonkeyPatch) -> None:
    """An expiry goes on though the line has turned."""
    from table_core.table.maintenance import expire_effects

    patch.setattr(expire_effects, "newest_turn", lambda access, mark=None: 0)


def says_too_little(patch: pytest.MonkeyPatch) -> None:
    """An expiry says that the first snapshot goes, and deletes those after it along with it."""
    from table_core.table.metadata.refs import turns

    shipped = turns.HeldMark.move_to
    patch.setattr(turns.HeldMark, "move_to", lambda self, _: shipped(self, 1))


def moves_without_a_turn(patch: pytest.MonkeyPatch) -> None:
    """A rename takes along what somebody is at work on."""
    patch.setattr(catalogs, "moving_all", lambda *_: nullcontext())


def refuses_too_late(patch: pytest.MonkeyPatch) -> None:
    """What a table cannot do is refused once something has changed."""
    from table_core.table.compact import rescale as module
    from table_core.table.metadata.alter import alter

    before = module.rescale

    def late(access: Any, *what: Any, **how: Any) -> Any:
        alter(access, (SetOption("num-levels", "7"),), CommitAs())
        return before(access, *what, **how)

    patch.setattr(module, "rescale", late)


Bug = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, tuple[Bug, str, list[tuple[str, str]]]] = {
    "no conflicts": (no_conflicts, "append", [("compact", "delete"), ("update", "truncate")]),
    "no stale rows": (no_stale_rows, "key", [("update one", "upsert"), ("update one", "truncate")]),
    "waiting rows": (waiting_rows_have_no_neighbours, "postponed", [("update", "truncate")]),
    "replaces": (replaces, "append", [("append", "upsert")]),
    "believes the hint": (believes_the_hint, "append", [("roll back one", "append"), ("append", "roll back one")]),
    "no search": (no_search, "append", [("append", "read")]),
    "no reading back": (no_reading_back, "append", [("append", "read")]),
    "deletes what landed": (deletes_what_may_have_landed, "append", [("append", "read")]),
    "copies onto another": (copies_onto_another, "append", [("clone", "clone"), ("clone", "clone another")]),
    "tags what expired": (tags_what_expired, "append", [("tag a snapshot", "expire to one")]),
    "drops the schema first": (drops_the_schema_first, "append", [("drop", "create")]),
    "moves without a turn": (moves_without_a_turn, "append", [("drop", "rename")]),
    "refuses too late": (refuses_too_late, "postponed", [("rescale", "append")]),
    "no look after the create": (no_look_after_the_create, "append", [("append", "roll back one")]),
    "says too little": (says_too_little, "append", [("expire to one", "roll back to tag")]),
    "no identity in expiry": (no_identity_in_expiry, "append", [("expire to one", "roll back to tag")]),
}  # fmt: skip
FAULTY = {
    "no search",
    "no reading back",
    "deletes what landed",
    "drops the schema first",
    "refuses too late",
}
"""Found where an answer is lost or a process dies."""


def cases(judge: Judge, pairs: list[tuple[str, str]], *, faulty: bool) -> Iterator[Case]:
    from table_core.storage.stores.faults import Fault

    for first, second in pairs:
        for call in judge.calls(first):
            if faulty and (changeable(call) or call.name == "create"):
                for fault in (Fault.ERROR_AFTER, Fault.CRASH_AFTER):
                    yield Case(judge.kind, first, second, call.index, fault=fault)
            elif not faulty and changeable(call):
                yield Case(judge.kind, first, second, call.index)


@pytest.mark.parametrize("bug", sampled(BUGS, 4))
def test_each_deliberate_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it, kind, pairs = BUGS[bug]
    judge = Judge(kind)
    chosen = list(cases(judge, pairs, faulty=bug in FAULTY))
    for case in chosen:  # what each order gives is known before anything is broken
        for name in (case.first, case.second):
            judge.serial((name,))
        judge.serial((case.first, case.second))
        judge.serial((case.second, case.first))
    break_it(monkeypatch)
    findings = [found for case in chosen if (found := judge.run(case)) is not None]
    assert findings, bug
    # One that only ends in a TypeError breaks itself, and shows nothing of the judge.
    assert any("a raw" not in found.what for found in findings), told(findings)


@pytest.mark.parametrize("bug", sampled(BUGS, 4))
def test_without_a_bug_the_same_cases_are_sound(bug: str) -> None:
    _, kind, pairs = BUGS[bug]
    judge = Judge(kind)
    each = 12 if PROFILE == "ci" else 1
    for case in islice(cases(judge, pairs, faulty=bug in FAULTY), 0, None, each):
        found = judge.run(case)
        assert found is None, f"{bug}: {found}"


def test_what_a_table_refuses_it_refuses_after_a_lost_answer_too() -> None:
    judge = Judge("postponed")
    assert not judge.serial(("rescale",))[0][0]
    for case in cases(judge, [("rescale", "append")], faulty=True):
        found = judge.run(case)
        assert found is None, str(found)
