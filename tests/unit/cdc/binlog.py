"""A binary log as files, and a sync of them."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import partial
from pathlib import Path

import table_core as tc
from tests.golden import streams

LOG = partial(gzip.decompress, (streams.FOLDER / "mariadb" / "binlog.000001.gz").read_bytes())


def event(kind: int, body: bytes, at: int) -> bytes:
    size = 19 + len(body) + 4
    front = struct.pack("<IBIIIH", 1, kind, 1, size, at + size, 0) + body
    return front + struct.pack("<I", zlib.crc32(front))


def sync(folder: Path, **files: bytes) -> tc.ResultDocument:
    for number, body in files.items():
        (folder / f"binlog.00000{number[1:]}").write_bytes(body)
    catalog = tc.open_catalog(f"file://{folder}/wh")
    source = tc.FilesSource(f"file://{folder}/binlog.*", format="mysql-binlog")
    return tc.sync_database(catalog, "lake", source, including=r"shop_1\..*")
