"""Attack: whoever may write an ORC file.  Goal: a reader's process that ends, or its memory and time.

What is attacked are footers: Arrow's reader descends their types by recursion and makes a message of each member.
"""

from __future__ import annotations

import resource
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CorruptFileError
from table_core.options.budgets import take_budgets
from table_core.storage.orc.messages import Message, decode_message, encode_message, nested, packed
from table_core.storage.orc.stripes import read_ends
from table_core.table.api.table import Table
from tests.tables import write_rows

ROWS = pa.table({"i": pa.array(range(300), pa.int64()), "s": ["a", "bb", ""] * 100})
BLOCK = (1 << 23) - 1
LONG, LIST, STRUCT = 4, 10, 12


def written(tmp_path: Path) -> tuple[Table, Path]:
    catalog = tc.open_catalog((tmp_path / "wh").as_uri())
    catalog.create_database("d")
    options = {"file.format": "orc", "file.compression": "zlib", "bucket": "-1"}
    catalog.create_table("d.t", ROWS.schema, options=options)
    table = catalog.table("d.t")
    write_rows(table, ROWS)
    (path,) = (tmp_path / "wh/d.db/t/bucket-0").glob("*.orc")
    return table, path


def deflated(body: bytes) -> bytes:
    blocks = []
    for at in range(0, len(body), BLOCK):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        block = deflate.compress(body[at : at + BLOCK]) + deflate.flush()
        blocks.append((len(block) << 1).to_bytes(3, "little") + block)
    return b"".join(blocks)


def forge(path: Path, lie: Callable[[Message], bytes]) -> None:
    """Give the file at ``path`` the footer that ``lie`` makes of its own."""
    whole = path.read_bytes()
    script, footer = read_ends(pa.BufferReader(whole), len(whole))
    rows = whole[: len(whole) - 1 - whole[-1] - int(script[1][0])]  # type: ignore[arg-type]
    body = deflated(lie(footer))
    end = encode_message({**script, 1: [len(body)], 3: [BLOCK]})
    path.write_bytes(rows + body + end + bytes([len(end)]))


def type_(kind: int, children: Sequence[int] = (), names: Sequence[str] = ()) -> bytes:
    return encode_message({1: [kind], 2: [*children], 3: [name.encode() for name in names]})


def types(more: Callable[[int], list[bytes]]) -> Callable[[Message], bytes]:
    """One column more, whose type is the first of ``more``, which is told its number."""

    def lie(footer: Message) -> bytes:
        root = decode_message(nested(footer[4][0]))
        begin = len(footer[4])
        names = [nested(name).decode() for name in root[3]]
        head = type_(STRUCT, [*packed(root[2]), begin], [*names, "z"])
        return encode_message({**footer, 4: [head, *footer[4][1:], *more(begin)]})

    return lie


def many(member: int, count: int, body: bytes = b"") -> Callable[[Message], bytes]:
    return lambda footer: encode_message({**footer, member: [body] * count})


def two_parents(begin: int) -> list[bytes]:
    """Each type is in the one before it and in the one before that: as many ways as rabbits."""
    pairs = [type_(STRUCT, [n + 1, n + 2], ["a", "b"]) for n in range(begin, begin + 40)]
    return [*pairs, type_(LONG), type_(LONG)]


LIES: dict[str, tuple[Callable[[Message], bytes], str]] = {
    "types with two parents": (types(two_parents), "is not where it should be|is not there"),
    "types in another order": (
        types(lambda n: [type_(STRUCT, [n + 2, n + 1], ["a", "b"]), type_(LONG), type_(LONG)]),
        "is not where it should be",
    ),
    "a type that nothing has": (
        types(lambda _: [type_(LONG), type_(LONG)]),
        "is not where it should be",
    ),
    "a type that is not there": (types(lambda n: [type_(LIST, [n + 9])]), "is not there"),
    "deep types": (
        types(lambda n: [*(type_(LIST, [n + at + 1]) for at in range(60_000)), type_(LONG)]),
        "more than 200 types within one another",
    ),
    "many types": (
        types(lambda n: [type_(LIST, [n + at + 1]) for at in range(100_000)]),
        "of one kind",
    ),
    "many stripes": (many(3, 300_000), "of one kind"),
    "many statistics": (many(7, 200_000), "of one kind"),
    "a long footer": (
        lambda footer: encode_message({**footer, 99: [bytes(200 << 20)]}),
        "TABLE_CORE_FOOTER_BYTES_MAX",
    ),
}


@pytest.mark.parametrize("kind", LIES)
def test_a_footer_that_lies_is_an_error_soon_and_in_little_memory(
    tmp_path: Path, kind: str
) -> None:
    lie, told = LIES[kind]
    table, path = written(tmp_path)
    forge(path, lie)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(CorruptFileError, match=told) as caught:
        table.read().to_arrow()
    assert path.name in str(caught.value)
    assert time.process_time() - began < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10


def test_an_honest_footer_is_read_and_its_limit_is_an_option(tmp_path: Path) -> None:
    table, path = written(tmp_path)
    forge(path, encode_message)
    assert table.read().to_arrow().num_rows == 300
    take_budgets({"TABLE_CORE_FOOTER_BYTES_MAX": "100 b"})
    try:
        with pytest.raises(CorruptFileError, match="TABLE_CORE_FOOTER_BYTES_MAX"):
            table.read().to_arrow()
    finally:
        take_budgets({})


def test_types_may_be_as_deep_as_anybody_has_them(tmp_path: Path) -> None:
    nested_type, value = pa.int64(), 7
    held: object = value
    for _ in range(20):
        nested_type, held = pa.list_(pa.struct([("a", nested_type)])), [{"a": held}]
    rows = pa.table({"v": pa.array([held, None], nested_type)})
    catalog = tc.open_catalog((tmp_path / "wh").as_uri())
    catalog.create_database("d")
    catalog.create_table("d.deep", rows.schema, options={"file.format": "orc", "bucket": "-1"})
    write_rows(catalog.table("d.deep"), rows)
    assert catalog.table("d.deep").read().to_arrow()["v"].to_pylist() == [held, None]
