"""The collector of cycles is still as long as anybody wants it so, and afterwards as it was."""

from __future__ import annotations

import gc
import threading

import pytest

from table_core.storage.collector import collector_still


def test_it_runs_again_when_the_last_one_is_done() -> None:
    assert gc.isenabled()
    with collector_still():
        with collector_still():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_one_thread_ends_while_another_goes_on() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def still() -> None:
        with collector_still():
            begun.set()
            may_end.wait(10)

    thread = threading.Thread(target=still)
    thread.start()
    assert begun.wait(10)
    with collector_still():
        pass
    assert not gc.isenabled()
    may_end.set()
    thread.join()
    assert gc.isenabled()


def test_who_has_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collector_still():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_runs_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="told"), collector_still():
        raise ValueError("told")
    assert gc.isenabled()
