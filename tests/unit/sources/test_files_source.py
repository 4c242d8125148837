"""Files of events: which, in which order, and from where on."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

from table_core.cdc.source.files.source import FilesSource, TextBlock
from table_core.errors import ArgumentError, EventError, NotFoundError
from table_core.storage.stores.local import LocalStorage


def write(folder: Path, files: dict[str, bytes]) -> LocalStorage:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return LocalStorage(folder)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("/*.jsonl", ["a.jsonl", "b.jsonl"]),
        ("/a.json*", ["a.json", "a.jsonl"]),
        ("/a.jsonl", ["a.jsonl"]),
        ("", ["a.json", "a.jsonl", "b.jsonl", "c.jsonl.gz"]),
        ("/**/*.jsonl", ["a.jsonl", "b.jsonl", "sub/d.jsonl"]),
        ("/s*/?.jsonl", ["sub/d.jsonl"]),
    ],
)
def test_which_files_are_meant(tmp_path: Path, pattern: str, found: list[str]) -> None:
    names = [
        "b.jsonl",
        "a.jsonl",
        "a.json",
        "c.jsonl.gz",
        "notes.txt",
        ".hidden.jsonl",
        "sub/d.jsonl",
    ]
    write(tmp_path, dict.fromkeys(names, b"x\n"))
    source = FilesSource(f"{tmp_path}{pattern}")
    storage = LocalStorage(Path(source.folder))
    assert [info.path for info in source.listing(storage)] == [
        name.removeprefix("sub/") if source.folder.endswith("sub") else name for name in found
    ]


def test_two_stars_within_a_name_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"as in \*\*/\*\.jsonl"):
        FilesSource("file:///in/**.jsonl")


def test_no_file_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    source = FilesSource(f"{tmp_path}/none/*.jsonl")
    with pytest.raises(NotFoundError, match="no events at"):
        source.listing(LocalStorage(Path(source.folder)))
    with pytest.raises(NotFoundError):
        FilesSource(f"{tmp_path}/a.jsonl").listing(LocalStorage(tmp_path))
    assert FilesSource(f"{tmp_path}/*.jsonl").listing(LocalStorage(tmp_path)) == []


BODY = b"".join(b"line %d %s\n" % (n, b"x" * (n % 7)) for n in range(1, 101))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("block_bytes", [1, 10, 64, 1 << 20])
@pytest.mark.parametrize("ending", [b"", b"the last"])
def test_reading_can_stop_and_go_on_at_every_block(
    tmp_path: Path, name: str, block_bytes: int, ending: bytes
) -> None:
    body = BODY + ending
    storage = write(tmp_path, {name: gzip.compress(body) if name.endswith("gz") else body})
    source = FilesSource(f"{tmp_path}/{name}")
    (info,) = source.listing(storage)
    size = info.size
    whole = body + b"\n" if ending else body

    def read(lines: int = 0, offset: int = 0) -> list[TextBlock]:
        return list(
            source.blocks(
                storage, name, size=size, lines=lines, offset=offset, block_bytes=block_bytes
            )
        )

    found = read()
    assert b"".join(b.body for b in found) == whole
    assert all(a.lines + 1 == b.first_line for a, b in pairwise(found))
    assert (found[-1].lines, found[-1].offset) == (whole.count(b"\n"), size)
    for n in range(0, len(found), max(1, len(found) // 7)):
        rest = read(found[n].lines, found[n].offset)
        assert b"".join(b.body for b in rest) == b"".join(b.body for b in found[n + 1 :])


def test_a_block_that_begins_within_a_file_knows_its_first_line(tmp_path: Path) -> None:
    storage = write(tmp_path, {"a.jsonl": BODY})
    source = FilesSource(f"{tmp_path}/a.jsonl")
    (block, *_) = source.blocks(storage, "a.jsonl", size=len(BODY), lines=1, offset=9)
    assert (block.first_line, block.body[:6]) == (2, b"line 2")


def test_what_is_appended_later_is_left_for_later(tmp_path: Path) -> None:
    storage = write(tmp_path, {"a.jsonl": b"1\n2\n"})
    (tmp_path / "a.jsonl").write_bytes(b"1\n2\n3\n")
    source = FilesSource(f"{tmp_path}/a.jsonl")
    first = list(source.blocks(storage, "a.jsonl", size=4))
    assert [b.body for b in first if b.body] == [b"1\n2\n"]
    last = list(source.blocks(storage, "a.jsonl", size=6, lines=2, offset=4))
    assert [(b.body, b.first_line) for b in last if b.body] == [(b"3\n", 3)]


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(BODY)[:-20]])
def test_a_broken_gzip_file_is_told(tmp_path: Path, body: bytes) -> None:
    storage = write(tmp_path, {"a.jsonl.gz": body})
    source = FilesSource(f"{tmp_path}/a.jsonl.gz")
    with pytest.raises(EventError, match="no whole gzip file"):
        list(source.blocks(storage, "a.jsonl.gz", size=len(body)))


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(ArgumentError, match="format='morse'"):
        FilesSource("x", format="morse")
    with pytest.raises(ArgumentError, match="decimals"):
        FilesSource("x", decimals="binary")


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(FilesSource("s3://b/*.jsonl", storage_options={"secret": "hush"}))
