"""Goal: a micro-batch is in the table once, whatever a stream repeats or forgets.

Method: every storage call of a batch fails, is lost or is the last one of the process, one after the
other; then the batch is repeated as Spark does.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, CommitConflictError, PositionDivergedError, TableError
from table_core.spark.streams.batch_commit import BatchCommit, name_of_checkpoint
from table_core.spark.streams.landed_batches import LandedBatches
from table_core.storage.stores.faults import Crash, Fault, Faults, FaultyStorage
from table_core.table.api.table import Table
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_access
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64())])


def table() -> tc.Table:
    catalog = new_catalog()
    return catalog.create_table("d.t", SCHEMA)


def commit_of(
    handle: tc.Table, batch: int, query: str | None = "q", name: str = "s", **how: bool
) -> BatchCommit:
    user = query or name
    return BatchCommit.of(handle.access, name=name, user=user, query_id=query, batch=batch, **how)


def put(handle: tc.Table, batch: int, query: str | None = "q", name: str = "s") -> None:
    found = commit_of(handle, batch, query, name)
    done = write_rows(handle, pa.table({"id": [batch]}), commit=found.commit)
    found.note(handle.access, done)


def ids(handle: tc.Table) -> list[int]:
    return sorted(handle.read().to_arrow()["id"].to_pylist())


def failing(handle: tc.Table, faults: Faults) -> tc.Table:
    access = handle.access
    storage = FaultyStorage(access.storage, faults)
    return Table(replace(access, storage=storage, metadata=Metadata(storage, access.branch)))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("fault", [Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.CRASH_AFTER])
def test_a_repeated_batch_is_there_once_wherever_the_first_ended(fault: Fault, number: int) -> None:
    def begun() -> tc.Table:
        handle = table()
        for batch in range(number):
            put(handle, batch)
        return handle

    counted = Faults.none()
    put(failing(begun(), counted), number)
    for call in range(len(counted.calls)):
        handle = begun()
        with contextlib.suppress(TableError, Crash):
            put(failing(handle, Faults.at({call: fault})), number)
        put(handle, number)
        put(handle, number + 1)
        assert ids(handle) == list(range(number + 2)), call


def test_a_batch_that_goes_back_or_comes_from_another_query_is_refused() -> None:
    handle = table()
    for batch in range(3):
        put(handle, batch)
    put(handle, 2)
    with pytest.raises(ArgumentError, match=r"batch 2.*now brings batch 1: the checkpoint was"):
        put(handle, 1)
    for batch in (0, 2, 3):
        with pytest.raises(ArgumentError, match="checkpoint was deleted"):
            put(handle, batch, query="another")
    put(handle, 0, query="another", name="another")
    put(handle, 3)
    assert ids(handle) == [0, 0, 1, 2, 3]


def test_a_target_that_was_rolled_back_is_not_gone_on_with() -> None:
    handle = table()
    for batch in (0, 4, 6, 7):  # those between had no rows
        put(handle, batch)
    handle.rollback_to(snapshot=2)
    for batch in (8, 7):
        with pytest.raises(
            PositionDivergedError, match="has batch 4 now: it was rolled back"
        ) as told:
            put(handle, batch)
        assert (told.value.facts["stored"], told.value.facts["found"]) == ("batch 7", "batch 4")
    put(handle, 8, query="new", name="new")
    for batch in (5, 6, 6, 7, 8):  # the checkpoint went back too
        put(handle, batch)
    assert ids(handle) == [0, 4, 5, 6, 7, 8, 8]


def test_a_branch_that_went_further_and_became_main_goes_on() -> None:
    handle = table()
    put(handle, 0)
    for batches in ((1, 2), (3,)):
        head = handle.latest_snapshot()
        assert head is not None
        handle.branches.create("b", snapshot=head.id)  # one that was deleted has left nothing
        branch = Table(branch_access(handle.access, "b"))
        for batch in batches:
            put(branch, batch)
        handle.branches.fast_forward("b")
        handle.branches.delete("b")
        put(handle, batches[-1])
    put(handle, 4)
    assert ids(handle) == [0, 1, 2, 3, 4]


def test_a_checkpoint_that_went_back_less_far_than_the_target_is_noticed() -> None:
    handle = table()
    for batch in range(6):
        put(handle, batch)
    handle.rollback_to(snapshot=3)
    for batch in (5, 4):
        with pytest.raises(PositionDivergedError, match="has batch 2 now: it was rolled back"):
            put(handle, batch)
    for batch in (3, 4, 5):
        put(handle, batch)
    assert ids(handle) == list(range(6))


@pytest.mark.parametrize("query", ["q", None])
def test_a_query_that_went_back_may_cut_its_batches_otherwise(query: str | None) -> None:
    handle = table()
    for batch in (0, 4, 6, 7):
        put(handle, batch)
    handle.rollback_to(snapshot=2)
    for batch in (5, 6, 7):  # without rows this time
        LandedBatches.passed(handle.access, "s", query, batch)
    put(handle, 8)
    assert ids(handle) == [0, 4, 8]


def test_a_batch_without_rows_hides_no_loss() -> None:
    handle = table()
    for batch in (0, 4, 6, 7):
        put(handle, batch)
    handle.rollback_to(snapshot=2)
    for batch in (8, 7):
        LandedBatches.passed(handle.access, "s", "q", batch)
    with pytest.raises(PositionDivergedError):
        put(handle, 9)


def test_a_batch_that_brings_all_rows_anew_does_not_mind_what_was_taken_back() -> None:
    handle = table()
    for batch in range(3):
        put(handle, batch)
    handle.rollback_to(snapshot=1)
    found = commit_of(handle, 3, replaces=True)
    with handle.write(commit=found.commit, overwrite="table") as writer:
        writer.write(pa.table({"id": [7]}))
        found.note(handle.access, writer.commit())
    put(handle, 4)
    assert ids(handle) == [4, 7]


def test_what_an_earlier_release_wrote_without_a_note_is_there() -> None:
    handle = table()
    put(handle, 0)
    for batch in (1, 2):
        write_rows(handle, pa.table({"id": [batch]}), commit=commit_of(handle, batch).commit)
    put(handle, 2)
    put(handle, 3)
    assert ids(handle) == [0, 1, 2, 3]


@pytest.mark.parametrize("query", ["q", None])
def test_a_rollback_before_a_stream_began_is_noticed(query: str | None) -> None:
    handle = table()
    write_rows(handle, pa.table({"id": [-1]}))
    put(handle, 3, query)
    handle.rollback_to(snapshot=1)
    with pytest.raises(PositionDivergedError, match="has none of its batches now"):
        put(handle, 4, query)
    put(handle, 3, query)
    put(handle, 4, query)
    assert ids(handle) == [-1, 3, 4]


def test_a_batch_that_landed_and_was_not_noted_is_missed_all_the_same() -> None:
    handle = table()
    for batch in (1, 2):
        put(handle, batch)
    write_rows(handle, pa.table({"id": [3]}), commit=commit_of(handle, 3).commit)
    handle.rollback_to(snapshot=1)
    with pytest.raises(PositionDivergedError):
        put(handle, 3)


def test_a_stream_whose_query_is_unknown_still_notices_that_it_goes_back() -> None:
    handle = table()
    for batch in (0, 1, 1):
        put(handle, batch, query=None)
    with pytest.raises(ArgumentError, match="checkpoint"):
        put(handle, 0, query=None)
    assert ids(handle) == [0, 1]


def test_of_two_queries_that_began_at_once_one_commits() -> None:
    handle = table()
    both = [
        BatchCommit.of(handle.access, name="s", user=query, query_id=query, batch=0).commit
        for query in ("a", "b")
    ]
    for commit, row in zip(both, (1, 2), strict=True):
        with handle.write(commit=commit) as writer:
            writer.write(pa.table({"id": [row]}))
            if row == 2:
                with pytest.raises(CommitConflictError):
                    writer.commit()
            else:
                writer.commit()
    assert ids(handle) == [1]


def test_a_checkpoint_has_one_name() -> None:
    assert name_of_checkpoint("/a/b/") == name_of_checkpoint("/a/b") != name_of_checkpoint("/a/c")
