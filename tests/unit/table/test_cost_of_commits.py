"""What a commit asks of the store, call by call: on an object store each call is a request."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

import table_core as tc
from table_core.commit import effects as fx
from table_core.commit.basis import Basis
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.table.commit_io.commit_effects import CommitEffects
from table_core.table.metadata.documents import Metadata
from tests.clocks import SetClock
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
KEEPS_ALL = {"snapshot.num-retained.min": "1000"}


def made(**how: object) -> tuple[tc.Table, Faults]:
    """A table, and the calls that its handles make."""
    faults = Faults.none()
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog = replace(catalog, storage=FaultyStorage(catalog.storage, faults))
    catalog.create_database("d")
    return catalog.create_table("d.t", SCHEMA, **how), faults  # type: ignore[arg-type]  # options


def put(table: tc.Table, n: int, **how: object) -> None:
    with table.write(**how) as writer:  # type: ignore[arg-type]  # commit
        writer.write(pa.table({"k": [n], "v": [n]}, schema=table.arrow_schema))
        writer.commit()


def calls_of_one_more(table: tc.Table, faults: Faults, *, named: bool) -> Counter[str]:
    for n in range(12):
        how = {"commit": tc.CommitAs(user="u", identifier=n)} if named else {}
        faults.calls.clear()
        put(table, n, **how)
    return Counter(call.name for call in faults.calls)


def test_an_append_asks_for_little() -> None:
    calls = calls_of_one_more(*made(options=KEEPS_ALL), named=False)
    assert calls["write"] + calls["create"] + calls["open_output"] == 6, calls
    assert calls.total() <= 21, calls  # with two that tell the disk to keep it


def test_a_named_write_to_a_key_table_asks_for_little() -> None:
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "100", **KEEPS_ALL}
    calls = calls_of_one_more(*made(primary_key=("k",), options=options), named=True)
    assert calls.total() <= 32, calls


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_a_quiet_commit_asks_nothing_of_the_line_of_snapshots(named: bool, fresh: bool) -> None:
    """What it was built on is at hand, and what it read before is there: so it asks for no turn."""
    table, faults = made(options=KEEPS_ALL)
    calls_of_one_more(table, faults, named=named)
    faults.calls.clear()
    handle = tc.Table(replace(table.access, metadata=Metadata(table.access.storage)))
    how = {"commit": tc.CommitAs(user="u", identifier=99)} if named else {}
    put(handle if fresh else table, 99, **how)
    assert not [call for call in faults.calls if call.path.startswith("line")]
    assert len(faults.calls) <= (25 if named else 21)


def test_a_restarted_writer_reads_little_of_a_long_history() -> None:
    table, faults = made(options={"write-only": "true", **KEEPS_ALL})
    for n in range(140):
        put(table, n, commit=tc.CommitAs(user=f"u{n % 7}", identifier=n))
    faults.calls.clear()
    restarted = tc.Table(replace(table.access, metadata=replace(table.access.metadata, history={})))
    put(restarted, 500, commit=tc.CommitAs(user="u0", identifier=500))
    read = {c.path for c in faults.calls if c.path.startswith("snapshot/snapshot-")}
    assert len(read) <= 6, read
    assert table.read().to_arrow().num_rows == 141


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_what_a_commit_read_is_not_read_again_on_the_head_that_it_saw(
    alone: bool, named: bool
) -> None:
    options = {"bucket": "1", "write-only": str(alone).lower(), **KEEPS_ALL}
    asked = []
    for basis in (True, False):
        table, faults = made(primary_key=("k",), options=options)
        put(table, 1)
        with table.write() as writer:
            writer.write(pa.table({"k": [1], "v": [2]}, schema=table.arrow_schema))
            result = writer.prepare()
        faults.calls.clear()
        how = tc.CommitAs(user="u", identifier=1) if named else None
        table.commit([result if basis else replace(result, basis=Basis())], how)
        asked.append(Counter(call.name for call in faults.calls))
    assert asked[0] == asked[1]


def test_who_lost_a_long_attempt_waits_as_long() -> None:
    table, _ = made()
    clock = SetClock(1_000)
    performer = CommitEffects(replace(table.access, clock=clock))
    clock.at_ms += 1  # a store that answers at once: as the options say
    performer.perform(fx.Wait(attempt=1, minimum_ms=5, maximum_ms=10, ceiling_ms=900))
    clock.at_ms += 300
    performer.perform(fx.Wait(attempt=2, minimum_ms=10, maximum_ms=20, ceiling_ms=900))
    clock.at_ms += 300
    performer.perform(fx.Wait(attempt=4, minimum_ms=10, maximum_ms=20, ceiling_ms=900))
    first, second, third = clock.waits_ms
    assert 5 <= first <= 10
    assert 300 <= second <= 600
    assert 450 <= third <= 900


@pytest.mark.parametrize("healed", [False, True])
def test_a_commit_never_lists_the_snapshots_of_a_table_that_has_not_expired(healed: bool) -> None:
    table, faults = made(options={"write-only": "true", **KEEPS_ALL})
    for n in range(3):
        put(table, n)
    assert table.access.metadata.hinted_floor() == 1
    if healed:  # written by a release, or a program, that leaves no hint
        table.access.storage.delete(["snapshot/EARLIEST"])
        put(table, 3)
        assert table.access.metadata.hinted_floor() == 1
    for n in range(2):
        faults.calls.clear()
        put(table, n, commit=tc.CommitAs(user="u", identifier=n))
        listed = [c.path for c in faults.calls if c.name == "list" and "snapshot" in c.path]
        assert listed == []


def test_a_hint_of_expiry_is_not_replaced_by_a_commit() -> None:
    table, _ = made(options={"write-only": "true", **KEEPS_ALL})
    for n in range(5):
        put(table, n)
    table.expire_snapshots(retain_max=2, retain_min=2)
    floor = table.access.metadata.hinted_floor()
    assert floor == 4
    put(table, 6)
    assert table.access.metadata.hinted_floor() == floor


def test_a_writer_that_has_committed_reads_the_hint_once() -> None:
    table, faults = made(primary_key=("k",), options={"bucket": "1", "write-only": "true"})
    put(table, 1)
    faults.calls.clear()
    put(table, 2)
    assert [c.name for c in faults.calls if c.path == "snapshot/LATEST"] == ["read", "write"]


@pytest.mark.parametrize("others", [1, 2, 12])
def test_a_writer_that_has_committed_numbers_its_rows_after_those_of_others(others: int) -> None:
    """Whether they are few, which are read one after the other, or many, for which the hint is read."""
    table, _ = made(primary_key=("k",), options={"bucket": "1", "write-only": "true"})
    other = tc.Table(replace(table.access, metadata=Metadata(table.access.storage)))
    rows = pa.table({"k": [1], "v": [0]}, schema=table.arrow_schema)
    put(table, 1)
    for value in range(others):
        write_rows(other, rows.set_column(1, "v", pa.array([value])))
    write_rows(table, rows.set_column(1, "v", pa.array([99])))
    assert table.read().to_arrow().to_pylist() == [{"k": 1, "v": 99}]
    assert table.latest_snapshot().id == others + 2


def test_a_writer_that_has_committed_goes_on_after_a_rollback_by_another() -> None:
    table, _ = made(primary_key=("k",), options={"bucket": "1", "write-only": "true"})
    other = tc.Table(replace(table.access, metadata=Metadata(table.access.storage)))
    for n in range(3):
        put(table, n)
    other.rollback_to(snapshot=1)
    put(table, 9)
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == [0, 9]
    assert table.latest_snapshot().id == 2
