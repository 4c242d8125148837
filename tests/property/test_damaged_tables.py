"""Goal: a damaged table ends as an error that says so: never another exception, never a hang.

Method: one small table whose files come in every kind there is (three data formats, deletion vectors,
changelog, tag, consumer, branch), copied with one file cut at each tenth of its length or with bytes
flipped, then read in all ways.  A cut gives the right rows or an error; flipped bytes may also give
other values, because no format has a checksum everywhere.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.locate import open_storage

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        pa.field("v", pa.string()),
        pa.field("t", pa.timestamp("us")),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
    ]
)
FLIPS = 6


def rows(first: int, count: int) -> pa.Table:
    keys = range(first, first + count)
    return pa.table(
        {
            "k": pa.array(keys, pa.int32()),
            "p": [f"part {k % 2}" for k in keys],
            "v": [f"value {k * 7919 % 100}" for k in keys],
            "t": pa.array([k * 10**12 for k in keys], pa.timestamp("us")),
            "m": [[("a", k)] for k in keys],
        },
        schema=SCHEMA,
    )


def built() -> dict[str, bytes]:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    options = {"bucket": "2", "changelog-producer": "input", "write-only": "true"}
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k", "p"), partition_by=("p",), options=options
    )
    for step, name in enumerate(("parquet", "orc", "avro")):
        handle = catalog.table("d.t", options={"file.format": name})
        with handle.write() as writer:
            writer.write(rows(step * 10, 30))
            writer.commit()
    table.tags.create("kept", snapshot=1)
    table.branches.create("b", tag="kept")
    storage = table.access.storage
    storage.write("consumer/consumer-c", b'{"nextSnapshot": 2}')
    return {info.path: storage.read(info.path) for info in storage.walk("")}


WHOLE = built()
READS: tuple[Callable[[tc.Table], Any], ...] = (
    lambda t: t.read().to_arrow(),
    lambda t: t.read(where="k = 5 AND p = 'part 1'").to_arrow(),
    lambda t: t.read(tag="kept").to_arrow(),
    lambda t: t.changes(after=0).to_arrow(),
    lambda t: t.changes(after=1, to=3, mode="diff").to_arrow(),
    lambda t: t.system("files").to_arrow(),
    lambda t: t.system("tags").to_arrow(),
    lambda t: t.system("consumers").to_arrow(),
)


def read_all(files: dict[str, bytes]) -> list[Any]:
    """What each read gives: sorted rows, or the error."""
    uri = f"memory://{uuid.uuid4().hex}"
    storage = open_storage(uri)
    for path, body in files.items():
        storage.write(path, body)
    found: list[Any] = []
    for read in READS:
        try:
            result = read(tc.open_table(uri))
            result.validate(full=True)
            found.append((result.num_rows, sorted(map(repr, result.to_pylist()))))
        except tc.errors.TableError as error:
            found.append(error)
    errors = [e for e in found if isinstance(e, tc.errors.TableError)]
    assert {e.kind.value for e in errors} <= {"corrupt", "not-found", "unsupported", "invalid"}
    return found


def paths_of_every_kind() -> list[str]:
    """Two files of each kind: which folder, which format."""
    found: dict[str, list[str]] = {}
    for path in sorted(WHOLE):
        folder, _, name = path.rpartition("/")
        kind = (
            name.rpartition(".")[2] + name[:4]
            if "bucket" in folder
            else folder + name.rstrip("0123456789")[:13]
        )
        found.setdefault(kind, []).append(path)
    return [path for group in found.values() for path in group[:2]]


PATHS = paths_of_every_kind()
RIGHT = read_all(WHOLE)


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_is_cut_short_is_an_error_or_does_not_matter(path: str) -> None:
    body = WHOLE[path]
    for tenth in range(10):
        cut = body[: len(body) * tenth // 10]
        found = read_all({**WHOLE, path: cut})
        for at, (got, want) in enumerate(zip(found, RIGHT, strict=True)):
            if isinstance(got, tc.errors.TableError) or at == 5:  # $files shows where it lies
                continue
            assert got == want, f"read {at} of {path} cut at {tenth}/10"


@pytest.mark.parametrize("path", PATHS)
def test_flipped_bytes_are_an_error_or_other_values(path: str) -> None:
    source = random.Random(path)  # a fixed seed: the test is the same each time
    for _ in range(FLIPS):
        body = bytearray(WHOLE[path])
        for _ in range(source.choice((1, 1, 4))):
            if body:
                body[source.randrange(len(body))] ^= 1 << source.randrange(8)
        read_all({**WHOLE, path: bytes(body)})


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_is_gone_is_named(path: str) -> None:
    rest = {name: body for name, body in WHOLE.items() if name != path}
    for got, want in zip(read_all(rest), RIGHT, strict=True):
        if isinstance(got, tc.errors.TableError):
            assert got.kind in {"not-found", "corrupt"}
        elif "consumer" not in path and "tag" not in path:
            assert got[0] in {want[0], 0} or "snapshot" in path
