"""Goal: a damaged table ends as an error that says so: never another exception, never a hang.

Method: one small table whose files come in every kind there is (three data formats, deletion vectors,
changelog, tag, consumer, branch), copied with one file cut at each tenth of its length or with bytes
flipped, then read in all ways.  A cut gives the right rows or an error; flipped bytes may also give
other values, because no format has a checksum everywhere.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.locate import open_storage
from table_core.table.api.table import Table
from table_core.table.metadata.refs.branches import branch_access
from tests.lanes import budget
from tests.tables import write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        pa.field("v", pa.string()),
        pa.field("t", pa.timestamp("us")),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
    ]
)
FLIPS = budget("FLIPS", ci=4, nightly=40)
CUTS = budget("CUTS", ci=5, nightly=10)
"""Of a file: at so many places, which lie evenly."""


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


class Numbered:
    """Ids and times that are the same in every process."""

    def __init__(self) -> None:
        self.count = 0

    def uuid(self) -> str:
        self.count += 1
        return str(uuid.UUID(int=self.count))

    def jitter(self) -> float:
        return 0.5

    def now_ms(self) -> int:
        self.count += 1
        return 1_700_000_000_000 + self.count

    def local_offset_ms(self, at_ms: int) -> int:
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        raise AssertionError("nothing to wait for")


def built() -> dict[str, bytes]:
    fixed = Numbered()
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog = replace(catalog, clock=fixed, ids=fixed)
    catalog.create_database("d")
    options = {"bucket": "2", "changelog-producer": "input", "write-only": "true"}
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k", "p"), partition_by=("p",), options=options
    )
    for step, name in enumerate(("parquet", "orc", "avro")):
        handle = catalog.table("d.t", options={"file.format": name})
        write_rows(handle, rows(step * 10, 30))
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
    lambda t: Table(branch_access(t.access, "b")).read().to_arrow(),
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


def paths_of_every_kind() -> dict[str, str]:
    """Two files of each kind, by names that are the same in every process: writers have threads."""
    found: dict[str, list[str]] = {}
    for path in sorted(WHOLE):
        kind = re.sub(r"[0-9a-f]{8}-[-0-9a-f]*|p=[^/]*|[0-9]", "", path)
        found.setdefault(kind, []).append(path)
    return {
        f"{kind}#{n}": path for kind, paths in found.items() for n, path in enumerate(paths[:2])
    }


PATHS = paths_of_every_kind()
RIGHT = read_all(WHOLE)


@pytest.mark.parametrize("kind", list(PATHS))
def test_a_file_that_is_cut_short_is_an_error_or_does_not_matter(kind: str) -> None:
    path = PATHS[kind]
    body = WHOLE[path]
    for part in range(CUTS):
        cut = body[: len(body) * part // CUTS]
        found = read_all({**WHOLE, path: cut})
        for at, (got, want) in enumerate(zip(found, RIGHT, strict=True)):
            if isinstance(got, tc.errors.TableError) or at == 5:  # $files shows where it lies
                continue
            assert got == want, f"read {at} of {path} cut at {part}/{CUTS}"


@pytest.mark.parametrize("name", ["manifest-list-", "manifest-[0-9a-f]"])
def test_a_document_that_lost_whole_blocks_is_an_error(name: str) -> None:
    """Found by cutting: Avro that ends between two blocks looks whole."""
    paths = [path for path in WHOLE if re.match(f"manifest/{name}", path)]
    for path in paths:
        body = WHOLE[path]
        head = body.index(body[-16:]) + 16  # the first block comes behind the first sync marker
        found = read_all({**WHOLE, path: body[:head]})
        for at, (got, want) in enumerate(zip(found, RIGHT, strict=True)):
            if not isinstance(got, tc.errors.TableError) and at != 5:
                assert got == want, f"read {at} without the blocks of {path}"


@pytest.mark.parametrize("kind", list(PATHS))
def test_flipped_bytes_are_an_error_or_other_values(kind: str) -> None:
    path = PATHS[kind]
    source = random.Random(kind)  # a fixed seed: the test is the same each time
    for _ in range(FLIPS):
        body = bytearray(WHOLE[path])
        for _ in range(source.choice((1, 1, 4))):
            if body:
                body[source.randrange(len(body))] ^= 1 << source.randrange(8)
        read_all({**WHOLE, path: bytes(body)})


@pytest.mark.parametrize("kind", list(PATHS))
def test_a_file_that_is_gone_is_named(kind: str) -> None:
    path = PATHS[kind]
    rest = {name: body for name, body in WHOLE.items() if name != path}
    for got, want in zip(read_all(rest), RIGHT, strict=True):
        if isinstance(got, tc.errors.TableError):
            assert got.kind in {"not-found", "corrupt"}
        elif "consumer" not in path and "tag" not in path:
            assert got[0] in {want[0], 0} or "snapshot" in path
