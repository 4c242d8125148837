"""ORC where Arrow's own reader and writer are not enough: padded CHARs, sinks that fail.

Method: files of Arrow's writer through a memory store; a sink whose disk is full.
"""

from __future__ import annotations

import gc

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from table_core.datatypes.kinds import STRING, Array, Atomic, Field, Map, Multiset, Root, Row
from table_core.errors import StorageUnavailableError
from table_core.storage.formats import WriterSettings, format_for
from table_core.storage.stores.memory import MemoryStorage

CHAR = Atomic(Root.CHAR, length=4)
FIELDS = (
    Field(0, "c", CHAR),
    Field(1, "v", STRING),
    Field(2, "a", Array(CHAR)),
    Field(3, "m", Map(CHAR, CHAR)),
    Field(4, "s", Multiset(CHAR)),
    Field(5, "r", Row((Field(6, "x", CHAR), Field(7, "y", STRING)))),
)


class FullDisk(MemoryStorage):
    """A store whose files take no bytes."""

    def open_output(self, path):
        file = super().open_output(path)

        class Full:
            def write(self, body):
                raise OSError(28, "No space left on device")

            def close(self):
                file.close()

        return Full()


def rows(pad):
    def p(text):
        return text.ljust(4) if pad else text

    return pa.table(
        {
            "c": [p("x"), None, p(" y")],
            "v": ["x ", None, " "],
            "a": pa.array([[p("x"), None], None, []], pa.list_(pa.string())),
            "m": pa.array([[(p("k"), p("v"))], None, []], pa.map_(pa.string(), pa.string())),
            "s": pa.array([[(p("k"), 2)], None, []], pa.map_(pa.string(), pa.int32())),
            "r": [{"x": p("x"), "y": "y "}, None, {"x": None, "y": " "}],
        }
    )


def test_blanks_that_pad_char_are_no_part_of_it():
    storage = MemoryStorage()
    sink = pa.BufferOutputStream()
    orc.write_table(rows(pad=True), sink)
    storage.write("f", sink.getvalue().to_pybytes())
    found = list(format_for("orc").read(storage, "f", None, FIELDS, batch_rows=2))
    assert [r for b in found for r in b.to_pylist()] == rows(pad=False).to_pylist()


def open_writer(storage):
    return format_for("orc").open_writer(storage, "f", FIELDS, WriterSettings())


def fill(writer):
    writer.write(rows(pad=False))
    writer.close()


def test_a_full_disk_is_an_error_and_not_the_end_of_the_process():
    writer = open_writer(FullDisk())
    with pytest.raises(StorageUnavailableError, match="No space left"):
        fill(writer)
    writer.abort()
    del writer
    gc.collect()


def test_a_writer_that_is_given_up_leaves_nothing():
    storage = MemoryStorage()
    writer = open_writer(storage)
    writer.write(rows(pad=False))
    writer.abort()
    del writer
    gc.collect()
    assert not list(storage.list(""))
