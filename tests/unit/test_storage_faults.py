"""Faults happen when told, and only then."""

from __future__ import annotations

import pytest

from table_core.errors import OutcomeUnknownError, StorageUnavailableError, TableError
from table_core.ports import Storage
from table_core.storage.stores.faults import Crash, Fault, Faults, FaultyStorage
from table_core.storage.stores.memory import MemoryStorage
from table_core.testing.storage_contract import StorageContract


class TestNoFaults(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        return FaultyStorage(MemoryStorage("wh"), Faults.none())


class TestRepeatedRequests(StorageContract):
    """A store whose client repeats every request still keeps the contract, but for counts."""

    @pytest.fixture
    def storage(self) -> Storage:
        faults = Faults(lambda call: None if call.name == "delete" else Fault.TWICE)
        return FaultyStorage(MemoryStorage("wh"), faults)


def faulty(fault, at=0):
    inner = MemoryStorage("wh")
    return inner, FaultyStorage(inner, Faults.at({at: fault}))


def test_an_error_before_leaves_nothing():
    inner, storage = faulty(Fault.ERROR_BEFORE)
    with pytest.raises(StorageUnavailableError):
        storage.create("a", b"1")
    assert not inner.exists("a")
    assert storage.create("a", b"1")


def test_a_lost_answer_of_create_is_an_unknown_outcome():
    inner, storage = faulty(Fault.ERROR_AFTER)
    with pytest.raises(OutcomeUnknownError):
        storage.create("a", b"1")
    assert inner.read("a") == b"1"


@pytest.mark.parametrize(
    ("fault", "there"), [(Fault.CRASH_BEFORE, False), (Fault.CRASH_AFTER, True)]
)
def test_nothing_happens_after_a_crash_not_even_cleaning_up(fault, there):
    inner, storage = faulty(fault)
    with pytest.raises(Crash):
        storage.within("x").write("a", b"1")
    with pytest.raises(Crash):
        storage.delete(["x/a"])
    assert inner.exists("x/a") is there


def test_a_crash_within_a_deletion_leaves_the_rest():
    inner, storage = faulty(Fault.CRASH_AFTER, at=1)
    for name in "abc":
        inner.write(name, b"1")
    with pytest.raises(Crash):
        storage.delete("abc")
    assert [i.path for i in inner.walk("")] == ["c"]


def test_the_same_seed_gives_the_same_faults():
    def story(seed):
        storage = FaultyStorage(MemoryStorage(), Faults.seeded(seed, 0.3))
        told = []
        for number in range(50):
            try:
                storage.write(str(number), b"1")
            except (TableError, Crash) as error:
                told.append((number, str(error)))
        return told

    assert story(1) == story(1)
    assert story(1) != story(2)
