"""What every ``Storage`` owes.  Subclass ``StorageContract`` and give it a ``storage`` fixture.

The suite knows nothing of any one store.  Where stores may differ (whether an emptied folder is
still there), it accepts both answers and says so.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from table_core.errors import AlreadyExistsError, ArgumentError, NotFoundError

if TYPE_CHECKING:
    from table_core.ports import Storage

__all__ = ["StorageContract"]


class StorageContract:
    """The suite.  The fixture ``storage`` gives an empty store."""

    tells_what_was_there = True
    """Whether it knows which of the files that it deletes are there."""

    def test_a_created_file_reads_back(self, storage: Storage) -> None:
        """Also in folders that nobody made."""
        assert storage.create("a/b/c", b"body")
        assert storage.read("a/b/c") == b"body"

    def test_create_never_replaces(self, storage: Storage) -> None:
        """The second creator loses and the first one's bytes stay."""
        assert storage.create("s/snapshot-1", b"first")
        assert not storage.create("s/snapshot-1", b"second")
        assert storage.read("s/snapshot-1") == b"first"

    def test_one_of_many_threads_creates(self, storage: Storage) -> None:
        """Each thread has a handle of its own name; exactly one wins each round."""
        with ThreadPoolExecutor(8) as pool:
            for number in range(20):
                path = f"s/snapshot-{number}"
                bodies = [f"{number} by {writer}".encode() for writer in range(8)]
                won = list(pool.map(lambda body, at=path: storage.create(at, body), bodies))
                assert won.count(True) == 1
                assert storage.read(path) == bodies[won.index(True)]

    def test_a_created_file_may_be_empty_or_large(self, storage: Storage) -> None:
        """Nothing and six megabytes (above the part size of multipart uploads)."""
        large = bytes(range(256)) * 24_576
        assert storage.create("empty", b"")
        assert storage.create("large", large)
        assert storage.read("empty") == b""
        assert storage.read("large") == large
        assert not storage.create("large", b"other" + large)

    def test_write_replaces(self, storage: Storage) -> None:
        """Hints are overwritten."""
        storage.write("s/LATEST", b"1")
        storage.write("s/LATEST", b"22")
        assert storage.read("s/LATEST") == b"22"

    def test_a_missing_file_is_not_found(self, storage: Storage) -> None:
        """Whoever asks for it, and with the path in the facts."""
        for ask in (storage.read, storage.open_input):
            with pytest.raises(NotFoundError) as caught:
                ask("no/such")
            assert caught.value.facts["path"] == "no/such"
        assert not storage.exists("no/such")

    def test_exists_knows_files_and_folders(self, storage: Storage) -> None:
        """A name that only begins like a file does not exist."""
        storage.write("folder/file", b"x")
        assert storage.exists("folder/file")
        assert storage.exists("folder")
        assert not storage.exists("folder/fil")
        assert not storage.exists("fold")

    def test_list_tells_direct_entries(self, storage: Storage) -> None:
        """With sizes, and folders as folders; neighbours with the same beginning stay out."""
        storage.write("t/one", b"1")
        storage.write("t/two", b"22")
        storage.write("t/deep/three", b"333")
        storage.write("t2/four", b"4444")
        entries = {i.path: i for i in storage.list("t")}
        assert set(entries) == {"t/one", "t/two", "t/deep"}
        assert [entries[p].size for p in ("t/one", "t/two")] == [1, 2]
        assert entries["t/deep"].is_dir
        assert not entries["t/one"].is_dir
        assert entries["t/one"].modified_ms > 1_600_000_000_000

    def test_listing_nothing_gives_nothing(self, storage: Storage) -> None:
        """A folder that is not there has no entries."""
        assert list(storage.list("no")) == []
        assert list(storage.walk("no")) == []
        assert list(storage.list("")) == []

    def test_walk_tells_every_file(self, storage: Storage) -> None:
        """At any depth, and no folders."""
        paths = {"t/a", "t/b/c", "t/b/d/e"}
        for path in paths:
            storage.write(path, b"x")
        storage.write("other", b"x")
        assert {i.path for i in storage.walk("t")} == paths
        assert {i.path for i in storage.walk("")} == paths | {"other"}

    def test_names_keep_odd_characters(self, storage: Storage) -> None:
        """Partition folders are escaped already: nothing may be escaped twice (format 1.4)."""
        path = "s=a%2Fb%3Dc d\u00e9 +x/bucket-0/data-1.parquet"
        storage.write(path, b"x")
        assert storage.read(path) == b"x"
        assert [i.path for i in storage.walk("")] == [path]
        assert storage.delete([path]) == 1

    def test_delete_counts_what_was_there(self, storage: Storage) -> None:
        """And takes the rest as deleted.  A store that does not tell counts all."""
        storage.write("a", b"x")
        storage.write("b", b"x")
        assert storage.delete(["a", "gone", "b"]) == (2 if self.tells_what_was_there else 3)
        assert storage.delete(["a", "b"]) == (0 if self.tells_what_was_there else 2)
        assert storage.delete([]) == 0
        assert not storage.exists("a")
        storage.write("a[1]", b"x")
        storage.write("a1", b"x")
        storage.delete(["a[1]"])
        assert [info.path for info in storage.list("")] == ["a1"], "a name is no pattern"

    def test_delete_tree_leaves_neighbours(self, storage: Storage) -> None:
        """A name that begins alike is a neighbour."""
        storage.write("t/a/b", b"x")
        storage.write("t/c", b"x")
        storage.write("t2/d", b"x")
        storage.delete_tree("t")
        storage.delete_tree("t")
        assert {i.path for i in storage.walk("")} == {"t2/d"}
        assert not storage.exists("t")

    def test_delete_empty_folder_spares_full_ones(self, storage: Storage) -> None:
        """A store without folders answers False for an emptied one: it is gone already."""
        storage.write("t/a/b", b"x")
        assert not storage.delete_empty_folder("t/a")
        assert storage.read("t/a/b") == b"x"
        storage.delete(["t/a/b"])
        storage.delete_empty_folder("t/a")
        assert not storage.exists("t/a")
        assert not storage.delete_empty_folder("t/a")

    def test_a_made_folder_is_listed(self, storage: Storage) -> None:
        """A database without tables is a folder without files."""
        storage.make_folder("shop.db")
        storage.make_folder("shop.db")
        assert [(i.path, i.is_dir) for i in storage.list("")] == [("shop.db", True)]
        assert storage.exists("shop.db")
        assert list(storage.list("shop.db")) == []
        assert list(storage.walk("")) == []
        storage.delete_tree("shop.db")
        assert not storage.exists("shop.db")

    def test_move_takes_a_folder_along(self, storage: Storage) -> None:
        """And never onto something."""
        storage.write("old/a/b", b"1")
        storage.write("old/c", b"2")
        storage.move("old", "new/place")
        assert {i.path for i in storage.walk("")} == {"new/place/a/b", "new/place/c"}
        storage.write("old/c", b"3")
        with pytest.raises(AlreadyExistsError):
            storage.move("old", "new/place")
        with pytest.raises(NotFoundError):
            storage.move("nothing", "else")
        storage.move("old/c", "single")
        assert storage.read("single") == b"3"

    def test_within_moves_the_root(self, storage: Storage) -> None:
        """Paths and URIs are relative to it."""
        inner = storage.within("db/table")
        inner.write("x/y", b"1")
        assert storage.read("db/table/x/y") == b"1"
        assert inner.uri == f"{storage.uri}/db/table"
        assert [i.path for i in inner.walk("")] == ["x/y"]
        assert [i.path for i in inner.list("")] == ["x"]

    def test_written_streams_read_back(self, storage: Storage) -> None:
        """Data files are streamed, then seeked in."""
        with storage.open_output("b/data") as out:
            out.write(b"0123456789" * 1000)
            out.write(b"end")
        storage.sync(["b/data"])
        with storage.open_input("b/data") as file:
            file.seek(9_998)
            assert file.read(5) == b"89end"
        assert [i.size for i in storage.list("b")] == [10_003]

    def test_paths_stay_below_the_root(self, storage: Storage) -> None:
        """Manifests that others wrote name files that we delete."""
        for path in ("../x", "a/../../x", "a//b", "./a"):
            with pytest.raises(ArgumentError):
                storage.read(path)
            with pytest.raises(ArgumentError):
                storage.delete([path])
