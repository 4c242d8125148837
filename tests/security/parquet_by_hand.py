"""Parquet files whose heads and footers say what a test wants them to say, true or not."""

from __future__ import annotations

from dataclasses import dataclass

PLAIN, DELTAS, LENGTHS, SHARED, DICTIONARY = 0, 5, 6, 7, 8
ZSTD = 6
_TYPES = {"INT32": 1, "BYTE_ARRAY": 6}


@dataclass(frozen=True)
class Page:
    """A page whose ``body`` is packed, and what its head tells."""

    body: bytes
    unpacked: int
    values: int
    encoding: int = PLAIN
    is_dictionary: bool = False


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
    heads = [_head(page) for page in pages]
    body = b"".join(head + page.body for head, page in zip(heads, pages, strict=True))
    values = rows if values is None else values
    unpacked = len(body) if unpacked is None else unpacked
    path = [b"s", b"list", b"element"] if is_list else [b"s"]
    data_at = 4 + (len(heads[0] + pages[0].body) if pages[0].is_dictionary else 0)
    members = [
        (1, 5, _int(_TYPES[kind])),
        (
            2,
            9,
            _list(5, [_int(encoding) for encoding in sorted({page.encoding for page in pages})]),
        ),
        (3, 9, _list(8, [_bytes(name) for name in path])),
        (4, 5, _int(ZSTD)),
        (5, 6, _int(values)),
        (6, 6, _int(unpacked)),
        (7, 6, _int(len(body))),
        (9, 6, _int(data_at)),
        *([(11, 6, _int(4))] if pages[0].is_dictionary else []),
    ]
    chunk = _struct((2, 6, _int(4)), (3, 12, _struct(*members)))
    group = _struct((1, 9, _list(12, [chunk])), (2, 6, _int(unpacked)), (3, 6, _int(rows)))
    leaf = [(1, 5, _int(_TYPES[kind])), (3, 5, _int(0)), (4, 8, _bytes(path[-1]))]
    if kind == "BYTE_ARRAY":
        leaf.append((6, 5, _int(0)))  # UTF8
    schema = [_struct((4, 8, _bytes(b"root")), (5, 5, _int(1)))]
    if is_list:
        one = (5, 5, _int(1))
        schema.append(_struct((3, 5, _int(0)), (4, 8, _bytes(b"s")), one, (6, 5, _int(3))))
        schema.append(_struct((3, 5, _int(2)), (4, 8, _bytes(b"list")), one))
    schema.append(_struct(*leaf))
    footer = _struct(
        (1, 5, _int(1)), (2, 9, _list(12, schema)), (3, 6, _int(rows)), (4, 9, _list(12, [group]))
    )
    return b"PAR1" + body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _head(page: Page) -> bytes:
    told = [(1, 5, _int(page.values)), (2, 5, _int(page.encoding))]
    if not page.is_dictionary:
        told += [(3, 5, _int(3)), (4, 5, _int(3))]
    return _struct(
        (1, 5, _int(2 if page.is_dictionary else 0)),
        (2, 5, _int(page.unpacked)),
        (3, 5, _int(len(page.body))),
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
