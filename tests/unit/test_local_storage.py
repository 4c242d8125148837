"""Races between processes, kills and refusals on the local store.

Method: real processes, a real kill -9, real permissions; of ``fsync``, which no kill can show, is
written down what it was done to.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from table_core.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    CorruptFileError,
    NotFoundError,
    StorageUnavailableError,
)
from table_core.options.budgets import DOCUMENT_BYTES, take_budgets
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.no_replace import rename_no_replace
from table_core.storage.stores.os_errors import table_error
from table_core.storage.stores.whole_file import read_any

ROUNDS = 200
LONGEST_PAUSE_S = 2e-4


def _race(root, writer, barrier, won):
    storage = LocalStorage(root)
    for number in range(ROUNDS):
        barrier.wait()
        won[number] = storage.create(f"snapshot/snapshot-{number}", b"%d" % writer)


def test_exactly_one_of_two_processes_creates_each_snapshot(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    won = [context.Array("b", ROUNDS) for _ in range(2)]
    racers = [context.Process(target=_race, args=(tmp_path, w, barrier, won[w])) for w in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    storage = LocalStorage(tmp_path)
    for number in range(ROUNDS):
        assert won[0][number] + won[1][number] == 1
        winner = b"0" if won[0][number] else b"1"
        assert storage.read(f"snapshot/snapshot-{number}") == winner
    assert len(list(storage.walk(""))) == ROUNDS  # no draft is left


def test_a_killed_writer_leaves_no_half_file(tmp_path):
    """Kill at many moments; whatever has a final name is whole."""
    code = textwrap.dedent(
        """
        import sys, pathlib
        from table_core.storage.stores.local import LocalStorage
        storage, run = LocalStorage(pathlib.Path(sys.argv[1])), sys.argv[2]
        for number in range(10**9):
            storage.create(f"s/snapshot-{run}-{number}", b"x" * 3_000_000)
            storage.write("s/LATEST", b"y" * 3_000_000)
            print("ready", flush=True)
        """
    )
    for run in range(8):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(run)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.01 + 0.007 * run)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    files = {i.path: i.size for i in LocalStorage(tmp_path).list("s")}
    finals = {path: size for path, size in files.items() if not path.startswith("s/.")}
    assert finals
    assert set(finals.values()) == {3_000_000}
    drafts = [path for path in files if path.startswith("s/.")]
    assert all(path.endswith(".tmp") for path in drafts)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (2, NotFoundError),
        (20, NotFoundError),
        (13, AccessDeniedError),
        (1, AccessDeniedError),
        (30, AccessDeniedError),
        (28, StorageUnavailableError),
        (5, StorageUnavailableError),
        (110, StorageUnavailableError),
    ],
)
def test_the_class_of_the_error_says_what_to_do(code, error):
    found = table_error(
        OSError(code, os.strerror(code)), root="file:///wh", path="a/b", action="write"
    )
    assert type(found) is error
    assert "file:///wh/a/b" in str(found)


def test_a_refusal_names_the_folder_and_the_cure():
    error = table_error(PermissionError(13, "no"), root="file:///wh", path="s/x", action="create")
    assert "file:///wh/s" in str(error)
    assert "right to create" in str(error)


def test_a_full_disk_is_unavailable_and_says_what_to_do():
    """/dev/full answers ENOSPC to every write."""
    with pa.OSFile("/dev/full", "wb") as out, pytest.raises(OSError) as caught:
        out.write(b"x" * 10_000)
    found = table_error(caught.value, root="file:///wh", path="full", action="write")
    assert type(found) is StorageUnavailableError
    assert "free space" in str(found)


def test_a_file_where_a_folder_should_be_is_no_success(tmp_path):
    storage = LocalStorage(tmp_path)
    storage.write("a", b"x")
    with pytest.raises((NotFoundError, StorageUnavailableError)):
        storage.create("a/b", b"y")
    assert not storage.exists("a/b")


def test_sync_reaches_every_file_and_then_every_folder_up_to_the_root(tmp_path, monkeypatch):
    done, fsync = [], os.fsync

    def watched(number):
        fsync(number)
        done.append(os.path.relpath(os.readlink(f"/proc/self/fd/{number}"), tmp_path))

    storage = LocalStorage(tmp_path)
    files = [f"p={day}/bucket-{number}/data" for day in range(3) for number in range(2)]
    for file in files:
        with storage.open_output(file) as out:
            out.write(b"x")
    monkeypatch.setattr(os, "fsync", watched)
    storage.sync(files)
    buckets = {file.rpartition("/")[0] for file in files}
    assert sorted(done[: len(files)]) == files
    assert sorted(done[len(files) :]) == sorted({".", "p=0", "p=1", "p=2", *buckets})


def test_a_small_document_takes_little_room_while_it_is_read(tmp_path):
    """Not as much as a document may have, which a process with a limit does not get."""
    storage = LocalStorage(tmp_path)
    storage.write("a/x", b"x" * 1000)
    storage.read("a/x")  # loads what a first read loads
    tracemalloc.start()
    try:
        assert storage.read("a/x") == b"x" * 1000
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_a_pipe_is_read_to_its_end_or_its_limit(tmp_path):
    """A pipe does not say how long it is, and gives what there is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    body = b"0123456789" * 40_000
    read_any(Path(__file__))  # takes the limits of this process, once
    try:
        for most in (len(body), len(body) - 1):
            take_budgets({DOCUMENT_BYTES.variable: f"{most} b"})
            writer = threading.Thread(target=_filled, args=(pipe, body))
            writer.start()
            if most == len(body):
                assert read_any(pipe) == body
            else:
                with pytest.raises(CorruptFileError, match=DOCUMENT_BYTES.variable):
                    read_any(pipe)
            writer.join()
    finally:
        take_budgets(os.environ)


def _filled(pipe, body):
    with contextlib.suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
        for start in range(0, len(body), 10_001):
            file.write(body[start : start + 10_001])


def test_sync_names_the_file_that_is_not_there(tmp_path):
    storage = LocalStorage(tmp_path)
    storage.write("a/there", b"x")
    with pytest.raises(NotFoundError, match="a/gone"):
        storage.sync(["a/there", "a/gone"])


def test_rename_without_replacing_refuses_a_taken_name(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    with pytest.raises(FileExistsError):
        rename_no_replace(tmp_path / "a", tmp_path / "b")
    assert rename_no_replace(tmp_path / "a", tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == b"1"


def test_move_does_not_fill_an_empty_folder(tmp_path):
    """POSIX rename would replace it."""
    storage = LocalStorage(tmp_path)
    storage.write("old/a", b"x")
    storage.make_folder("new")
    with pytest.raises(AlreadyExistsError):
        storage.move("old", "new")


def test_walk_refuses_links_to_folders_by_name(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_bytes(b"x")
    (tmp_path / "table").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "table" / "link")
    with pytest.raises(AccessDeniedError, match="table/link is a link"):
        list(LocalStorage(tmp_path / "table").walk(""))


def test_a_local_store_travels_to_another_process(tmp_path):
    storage = LocalStorage(tmp_path)
    assert pickle.loads(pickle.dumps(storage)) == storage


def test_who_clears_empty_folders_stops_no_writer(tmp_path):
    """Mutant: the folder made once.  What is written is never cleared."""
    storage, done = LocalStorage(tmp_path), threading.Event()

    def clear():
        while not done.wait(random.uniform(0, LONGEST_PAUSE_S)):
            if storage.delete_empty_folder("p=1/bucket-0"):
                storage.delete_empty_folder("p=1")

    clearer = threading.Thread(target=clear)
    clearer.start()
    try:
        for number in range(ROUNDS):
            name = f"p=1/bucket-0/data-{number}"
            with storage.open_output(name) as file:
                file.write(b"x")
            storage.write(f"p=1/bucket-0/mark-{number}", b"y", durable=False)
            assert storage.delete([name, f"p=1/bucket-0/mark-{number}"]) == 2
    finally:
        done.set()
        clearer.join()


def test_a_tree_goes_although_somebody_still_writes_into_it(tmp_path):
    storage, tree = LocalStorage(tmp_path), tmp_path / "tree"
    tree.mkdir()
    begun = threading.Event()

    def write():
        for number in range(500):
            try:
                (tree / str(number)).touch()
            except FileNotFoundError:
                return
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(60)
    storage.delete_tree("tree")
    writer.join()
    assert not tree.exists()


def test_a_folder_in_the_place_of_a_file_is_refused_by_name(tmp_path):
    """Arrow's own error for it has no code, so it read like a store that may work later."""
    (tmp_path / "f").mkdir()
    storage = LocalStorage(tmp_path)
    for read in (storage.read, storage.open_input):
        with pytest.raises(CorruptFileError, match="f"):
            read("f")
