"""Parquet files whose heads and footers say what a test wants them to say, true or not."""

from __future__ import annotations

from dataclasses import dataclass

PLAIN, DELTAS, LENGTHS, SHARED, DICTIONARY = 0, 5, 6, 7, 8
ZSTD = 6
_TYPES = {"INT32": 1, "INT64": 2, "BYTE_ARRAY": 6}


@dataclass(frozen=True)
class Page:
    """A page whose ``body`` is packed, and what its head tells."""

    body: bytes
    unpacked: int
    values: int
    encoding: int = PLAIN
    is_dictionary: bool = False
    stored: int | None = None
    """What its head says that ``body`` has."""


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def run(values: int, value: int = 0) -> bytes:
    """So many times one value of one bit."""
    return varint(values << 1) + bytes([value])


def no_deltas(values: int, first: int = 0) -> bytes:
    """Numbers that are all ``first``, in one block."""
    block = 1 << max(7, (values - 1).bit_length())
    return varint(block) + varint(4) + varint(values) + varint(first << 1) + bytes(5)


@dataclass(frozen=True)
class Column:
    """Pages, and what the footer tells of them."""

    name: str
    pages: list[Page]
    kind: str = "BYTE_ARRAY"
    values: int | None = None
    unpacked: int | None = None
    is_list: bool = False
    untold: int = 0
    """How many bytes of it the footer leaves out."""
    begin_kind: int = 6
    """How the footer writes where the dictionary begins."""


def parquet(
    pages: list[Page],
    kind: str = "BYTE_ARRAY",
    *,
    rows: int,
    values: int | None = None,
    unpacked: int | None = None,
    is_list: bool = False,
) -> bytes:
    """A file of one column ``s``; without ``unpacked`` the footer says that nothing is packed."""
    return parquet_of([Column("s", pages, kind, values, unpacked, is_list)], rows)


def parquet_of(columns: list[Column], rows: int, *, writer: str = "by hand", gap: int = 0) -> bytes:
    """A file of ``columns``, with ``gap`` bytes before its footer."""
    body, schema, chunks, size = b"PAR1", [], [], 0
    for column in columns:
        parts = [_head(page) + page.body for page in column.pages]
        elements, chunk, unpacked = _described(column, parts, len(body), rows)
        body += b"".join(parts)
        schema += elements
        chunks.append(chunk)
        size += unpacked
    root = _struct((4, 8, _bytes(b"root")), (5, 5, _int(len(columns))))
    group = _struct((1, 9, _list(12, chunks)), (2, 6, _int(size)), (3, 6, _int(rows)))
    footer = _struct(
        (1, 5, _int(1)),
        (2, 9, _list(12, [root, *schema])),
        (3, 6, _int(rows)),
        (4, 9, _list(12, [group])),
        (6, 8, _bytes(writer.encode())),
    )
    return body + bytes(gap) + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _described(
    column: Column, parts: list[bytes], begin: int, rows: int
) -> tuple[list[bytes], bytes, int]:
    """What the footer tells of ``column``: in its schema, as a chunk, and its bytes."""
    size = sum(map(len, parts))
    unpacked = size if column.unpacked is None else column.unpacked
    has_dictionary = column.pages[0].is_dictionary
    name = column.name.encode()
    path = [name, b"list", b"element"] if column.is_list else [name]
    encodings = [_int(encoding) for encoding in sorted({page.encoding for page in column.pages})]
    members = [
        (1, 5, _int(_TYPES[column.kind])),
        (2, 9, _list(5, encodings)),
        (3, 9, _list(8, [_bytes(name) for name in path])),
        (4, 5, _int(ZSTD)),
        (5, 6, _int(rows if column.values is None else column.values)),
        (6, 6, _int(unpacked)),
        (7, 6, _int(size - column.untold)),
        (9, 6, _int(begin + len(parts[0]) if has_dictionary else begin)),
        *([(11, column.begin_kind, _int(begin))] if has_dictionary else []),
    ]
    leaf = [(1, 5, _int(_TYPES[column.kind])), (3, 5, _int(0)), (4, 8, _bytes(path[-1]))]
    if column.kind == "BYTE_ARRAY":
        leaf.append((6, 5, _int(0)))  # UTF8
    schema = []
    if column.is_list:
        one = (5, 5, _int(1))
        schema.append(_struct((3, 5, _int(0)), (4, 8, _bytes(name)), one, (6, 5, _int(3))))
        schema.append(_struct((3, 5, _int(2)), (4, 8, _bytes(b"list")), one))
    schema.append(_struct(*leaf))
    return schema, _struct((2, 6, _int(begin)), (3, 12, _struct(*members))), unpacked


def _head(page: Page) -> bytes:
    told = [(1, 5, _int(page.values)), (2, 5, _int(page.encoding))]
    if not page.is_dictionary:
        told += [(3, 5, _int(3)), (4, 5, _int(3))]
    return _struct(
        (1, 5, _int(2 if page.is_dictionary else 0)),
        (2, 5, _int(page.unpacked)),
        (3, 5, _int(len(page.body) if page.stored is None else page.stored)),
        (7 if page.is_dictionary else 5, 12, _struct(*told)),
    )


def _int(value: int) -> bytes:
    return varint(value << 1)


def _bytes(value: bytes) -> bytes:
    return varint(len(value)) + value


def _list(kind: int, items: list[bytes]) -> bytes:
    return bytes([len(items) << 4 | kind]) + b"".join(items)


def _struct(*members: tuple[int, int, bytes]) -> bytes:
    out, last = b"", 0
    for number, kind, value in members:
        out += bytes([number - last << 4 | kind]) + value
        last = number
    return out + b"\0"
