"""What one commit does, alone on a table: documents, refusals, limits, foreign writers.

Races and faults are in ``tests/simulation``, whose fake table this borrows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from table_core.commit import effects as fx
from table_core.commit.live import LiveFiles
from table_core.commit.outcome import Outcome
from table_core.commit.overwrite import Selection, matcher
from table_core.commit.protocol import commit, drive
from table_core.commit.readback import Seen, committed_identifiers
from table_core.commit.request import CommitLimits, CommitPart, CommitRequest
from table_core.errors import (
    AccessDeniedError,
    ArgumentError,
    CommitConflictError,
    ForeignOverwriteError,
    GaveUpError,
    OutcomeUnknownError,
    StorageUnavailableError,
)
from table_core.ondisk.properties import HISTORY_PROPERTY, WRITER_PREFIX
from table_core.ondisk.snapshot import CommitKind, Snapshot
from tests.simulation.fake_table import PARTITION, FakeTable


class Table(FakeTable):
    """A fake table with words for the tests."""

    def part(self, rows: int = 1, kind: CommitKind = CommitKind.APPEND, **more: Any) -> CommitPart:
        entry = self.new_file(Counter({("u", next(self.counter)): rows}))
        return CommitPart(kind=kind, entries=(entry,), **more)

    def put(self, append: CommitPart | None = None, **more: Any) -> Outcome:
        request = CommitRequest(
            **{  # type: ignore[arg-type]  # any member may be given
                "table": "t",
                "user": f"user-{next(self.counter)}",
                "identifier": 0,
                "fresh_user": "user" not in more,
                "writer_version": f"{WRITER_PREFIX}0",
                "append": append,
                **more,
            }
        )
        seen = self.seen
        outcome = drive(commit(request, bounds=lambda _: (0, 0), seen=seen), self.answer)
        self.seen = outcome.seen
        return outcome

    seen: tuple[Seen, ...] = ()

    def answer(self, effect: Any) -> Any:
        hook = self.hooks.get(type(effect).__name__)
        reply = hook(effect) if hook else None
        return self.perform(effect) if reply is None else reply

    @property
    def hooks(self) -> dict[str, Any]:
        return self.__dict__.setdefault("_hooks", {})

    def head(self) -> Snapshot:
        found = self.snapshot(self.head_id())
        assert found is not None
        return found


@pytest.fixture
def table() -> Table:
    return Table()


def test_the_first_snapshot_has_id_1_and_an_empty_base(table: Table) -> None:
    outcome = table.put(table.part(rows=3), watermark=7, operation="WRITE")
    head = table.head()
    assert outcome.snapshot_ids == (1,)
    assert table.lists[head.base_manifest_list] == ()
    assert (head.delta_record_count, head.total_record_count, head.next_row_id) == (3, 3, 0)
    assert (head.watermark, head.operation, head.properties) == (7, "WRITE", None)


def test_counts_are_physical_rows_and_watermarks_never_fall(table: Table) -> None:
    table.put(table.part(rows=3), watermark=1234)
    table.put(table.part(rows=2), watermark=1000)
    assert (table.head().total_record_count, table.head().watermark) == (5, 1234)
    table.put(compact=CommitPart(kind=CommitKind.COMPACT, entries=table.compaction()))
    assert (table.head().delta_record_count, table.head().total_record_count) == (0, 5)
    assert table.head().commit_kind is CommitKind.COMPACT


def test_a_clock_that_goes_back_does_not_take_the_table_along(table: Table) -> None:
    table.put(table.part())
    before = table.head().time_millis
    table.now_ms = 0
    table.put(table.part())
    assert table.head().time_millis == before


def test_both_halves_share_user_and_identifier(table: Table) -> None:
    part = table.part()
    upgrade = replace(part.entries[0], file=part.entries[0].file.upgraded(5))
    half = CommitPart(kind=CommitKind.COMPACT, entries=(part.entries[0].deleted(), upgrade))
    outcome = table.put(part, compact=half, properties={"x": "1", "tc.p": "2"})
    first, second = (table.snapshot(id) for id in outcome.snapshot_ids)
    assert first
    assert second
    assert (first.commit_user, first.commit_identifier) == (
        second.commit_user,
        second.commit_identifier,
    )
    assert [first.commit_kind, second.commit_kind] == [CommitKind.APPEND, CommitKind.COMPACT]
    assert (first.properties, second.properties) == ({"x": "1", "tc.p": "2"}, {"tc.p": "2"})


def test_a_known_commit_is_found_and_not_made_again(table: Table) -> None:
    made = table.put(table.part(), user="me")
    found = table.put(table.part(), user="me")
    assert (made.replayed, found.replayed) == (False, True)
    assert found.snapshot_ids == made.snapshot_ids == (1,)
    assert table.put(None, user="me").replayed, "also when there is nothing to write any more"
    assert table.head_id() == 1


def test_a_growing_stream_is_past_what_it_committed(table: Table) -> None:
    table.put(table.part(), user="me", identifier=6, growing=True)
    late = table.put(table.part(), user="me", identifier=5, growing=True)
    assert (late.superseded_by, late.replayed, table.head_id()) == (1, True, 1)
    assert table.put(table.part(), user="me", identifier=7, growing=True).snapshot_ids == (2,)
    history = list(table.down_from(2))
    found = partial(committed_identifiers, history, floor=lambda: 1)
    assert found(user="me", identifiers=[5, 6, 7, 8]) == {5, 6, 7}
    assert found(user="other", identifiers=[5]) == frozenset()
    with pytest.raises(OutcomeUnknownError, match="complete only from 9 on"):
        committed_identifiers(history, user="me", identifiers=[5], floor=lambda: 9)


def test_nothing_to_commit_makes_no_snapshot_unless_forced(table: Table) -> None:
    assert table.put(None).snapshot_ids == ()
    assert table.put(CommitPart(kind=CommitKind.APPEND)).snapshot_ids == ()
    assert table.put(None, force=True, properties={"tc.p": "1"}).snapshot_ids == (1,)
    assert table.head().properties == {"tc.p": "1"}


def test_an_append_that_deletes_is_an_overwrite(table: Table) -> None:
    table.put(table.part())
    old = next(iter(table.live(table.head()).values()))
    part = CommitPart(kind=CommitKind.APPEND, entries=(old.deleted(), *table.part().entries))
    table.put(part)
    assert table.head().commit_kind is CommitKind.OVERWRITE
    with pytest.raises(CommitConflictError) as caught:
        table.put(part)
    assert len(caught.value.facts["conflicts"]) == 2  # type: ignore[arg-type]  # a tuple


def test_expectations_are_checked_against_the_head(table: Table) -> None:
    table.put(table.part(), properties={"tc.p": "1", "mine": "a"})
    with pytest.raises(CommitConflictError, match=r"tc\.p is '1', expected None"):
        table.put(table.part(), expect={"tc.p": None})
    with pytest.raises(CommitConflictError):
        table.put(None, expect={"tc.p": "2"})
    assert table.put(table.part(), expect={"tc.p": "1", "mine": "a"}).snapshot_ids == (2,)
    with pytest.raises(CommitConflictError, match="mine is None"):
        table.put(table.part(), expect={"mine": "a"})


def test_where_history_is_gone_a_position_is_unknown_and_stays_unknown(table: Table) -> None:
    for _ in range(3):
        table.put(table.part(), writer_version="java")
    del table.snapshots[1]
    with pytest.raises(OutcomeUnknownError, match="cannot be known"):
        table.put(table.part(), expect={"tc.p": None})
    table.put(table.part())
    assert HISTORY_PROPERTY in (table.head().properties or {})
    with pytest.raises(OutcomeUnknownError):
        table.put(table.part(), expect={"tc.p": None})
    table.put(table.part(), expect={"tc.p": None}, properties={"tc.p": "0"}, start_anew=True)
    table.put(table.part(), expect={"tc.p": "0"})


def replaced(body: bytes) -> bytes:
    return body.replace(b'"commitUser": "', b'"commitUser": "java-')


def test_a_replaced_snapshot_stops_the_next_commit(table: Table) -> None:
    table.put(table.part())
    table.put(table.part())
    table.snapshots[2] = replaced(table.snapshots[2])
    with pytest.raises(ForeignOverwriteError) as caught:
        table.put(table.part())
    assert str(caught.value.facts["theirs"]).startswith("java-")
    assert table.head_id() == 2, "nothing was built on top"


def test_a_head_replaced_while_we_commit_is_noticed(table: Table) -> None:
    table.put(table.part())

    def race(effect: fx.Create) -> None:
        table.snapshots[1] = replaced(table.snapshots[1])

    table.hooks["Create"] = race
    with pytest.raises(ForeignOverwriteError):
        table.put(table.part())


def test_a_rollback_while_we_commit_is_noticed(table: Table) -> None:
    for _ in range(3):
        table.put(table.part())

    def race(effect: fx.Create) -> None:
        table.snapshots.pop(2, None)
        table.snapshots.pop(3, None)

    table.hooks["Create"] = race
    with pytest.raises(OutcomeUnknownError, match="rolled back"):
        table.put(table.part())


def test_a_rollback_between_commits_is_nobodys_fault(table: Table) -> None:
    for _ in range(3):
        table.put(table.part())
    del table.snapshots[3]
    assert table.put(table.part()).snapshot_ids == (3,)


def lose(table: Table, times: int) -> None:
    """Let another writer win the next ``times`` races."""

    def race(effect: fx.Create) -> None:
        nonlocal times
        if times:
            times -= 1
            hooks, seen = dict(table.hooks), table.seen
            table.hooks.clear()
            table.put(table.part())
            table.hooks.update(hooks)
            table.seen = seen

    table.hooks["Create"] = race


def test_lost_races_are_tried_again_and_leave_no_file(table: Table) -> None:
    lose(table, 2)
    outcome = table.put(table.part())
    assert (outcome.snapshot_ids, outcome.races_lost) == ((3,), 2)
    used = {m.file_name for s in table.down_from(3) for m in table.metas(s)}
    assert set(table.manifests) == used


def test_giving_up_commits_nothing_and_leaves_no_file(table: Table) -> None:
    waits: list[fx.Wait] = []
    table.hooks["Wait"] = waits.append
    lose(table, 99)
    table.seen = ()
    with pytest.raises(GaveUpError) as caught:
        table.put(table.part(), limits=CommitLimits(retries_max=3))
    assert caught.value.facts["attempts"] == 4
    assert [(w.minimum_ms, w.maximum_ms) for w in waits] == [(5, 10), (10, 20), (20, 40)]
    used = {m.file_name for s in table.down_from(4) for m in table.metas(s)}
    assert set(table.manifests) == used


def test_time_is_a_limit_too(table: Table) -> None:
    lose(table, 99)
    with pytest.raises(GaveUpError):
        table.put(table.part(), limits=CommitLimits(timeout_ms=25))


def fault(error: Exception) -> Any:
    def hook(_: object) -> None:
        raise error

    return hook


GONE = StorageUnavailableError("no answer", path="", reason="")


@pytest.mark.parametrize("effect", ["ReadHead", "WriteManifests"])
def test_a_fault_before_the_create_is_what_it_is(table: Table, effect: str) -> None:
    table.hooks[effect] = fault(GONE)
    with pytest.raises(StorageUnavailableError):
        table.put(table.part())


def test_a_refused_create_is_what_it_is(table: Table) -> None:
    table.hooks["Create"] = fault(AccessDeniedError("no", path="", reason=""))
    with pytest.raises(AccessDeniedError):
        table.put(table.part())


def test_a_fault_before_the_floor_is_known_is_an_unknown_outcome(table: Table) -> None:
    table.hooks["ReadFloor"] = fault(GONE)
    with pytest.raises(OutcomeUnknownError):
        table.put(table.part())


def test_a_hint_that_cannot_be_written_is_a_warning(table: Table) -> None:
    table.hooks["Announce"] = fault(GONE)
    outcome = table.put(table.part())
    assert (outcome.snapshot_ids, outcome.warnings) == ((1,), (GONE,))


def test_statistics_hold_while_the_schema_stays(table: Table) -> None:
    table.put(CommitPart(kind=CommitKind.ANALYZE, statistics="stat-1"))
    table.put(table.part())
    assert table.head().statistics == "stat-1"
    table.hooks["ReadHead"] = lambda e: replace(table.perform(e), schema_id=1)
    table.put(table.part())
    assert (table.head().statistics, table.head().schema_id) == (None, 1)


def test_duplicates_are_dropped_where_the_option_says_so(table: Table) -> None:
    part = table.part()
    table.put(part)
    once = CommitLimits(discard_duplicate_files=True)
    assert table.put(part, limits=once).snapshot_ids == ()
    assert table.put(replace(part, entries=part.entries + table.part().entries), limits=once)
    assert table.head().total_record_count == 2


def test_an_overwrite_takes_what_is_live_when_it_lands(table: Table) -> None:
    table.put(table.part(rows=5))
    lose(table, 1)
    table.put(table.part(rows=2, overwrite=Selection.table()))
    assert (table.head().commit_kind, table.head().total_record_count) == (CommitKind.OVERWRITE, 2)


def test_a_dynamic_overwrite_without_files_does_nothing(table: Table) -> None:
    table.put(table.part())
    nothing = CommitPart(kind=CommitKind.APPEND, overwrite=Selection.dynamic([]))
    assert table.put(nothing).snapshot_ids == ()
    everything = CommitPart(kind=CommitKind.OVERWRITE, overwrite=Selection.table())
    assert table.put(everything, operation="TRUNCATE").snapshot_ids == (2,)
    assert table.head().total_record_count == 0
    assert table.put(everything).snapshot_ids == (), "there is nothing left to take"


def decode(partition: bytes) -> tuple[object, ...]:
    return (partition.decode(), len(partition))


def test_a_static_spec_may_be_partial_and_new_files_must_belong() -> None:
    matches = matcher(("name", "size"), decode, [{"size": 2}])
    assert [matches(b"ab"), matches(b"abc")] == [True, False]
    assert matcher(("name",), decode, [{}])(b"x")
    assert not matcher(("name",), decode, [])(b"x")
    with pytest.raises(ArgumentError, match="there are"):
        matcher(("name",), decode, [{"nope": 1}])
    table = Table()
    entry = replace(table.part().entries[0], partition=b"abc")
    with pytest.raises(ArgumentError, match="do not belong"):
        Selection.static(matches).apply(LiveFiles(entries=(), index=()), (entry,))


def test_rows_that_wait_for_a_bucket_go_with_their_partition_but_not_with_a_rescale(
    table: Table,
) -> None:
    real = table.part().entries[0]
    postponed = replace(table.part().entries[0], bucket=-2)
    live = LiveFiles(entries=(real, postponed), index=())
    assert len(Selection.table().apply(live, ()).delta) == 2
    assert Selection.rescaled(lambda _: True).apply(live, ()).delta == (real.deleted(),)
    assert Selection.drop(lambda p: p != PARTITION).apply(live, ()).delta == ()


def test_halves_of_the_wrong_kind_are_refused(table: Table) -> None:
    with pytest.raises(ArgumentError):
        table.put(table.part(kind=CommitKind.COMPACT))
    with pytest.raises(ArgumentError):
        table.put(compact=table.part())


def test_bucket_counts_are_checked_where_they_may_differ(table: Table) -> None:
    table.put(table.part())
    more = table.part()
    more = replace(more, entries=(replace(more.entries[0], total_buckets=2, bucket=1),))
    table.hooks["ReadHead"] = lambda e: replace(table.perform(e), buckets_may_differ=True)
    with pytest.raises(CommitConflictError, match="bucket-count"):
        table.put(more)
