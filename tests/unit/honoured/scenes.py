"""Small tables on which an option is seen to act; ``shows`` says with what result."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import table_core as tc
from tests.tables import write_rows

__all__ = ["NOON", "SCENES", "Scene", "SetClock", "files", "footer", "made", "put", "rows", "shows"]

NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)
SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), ("v", pa.int64()), ("dt", pa.string())]
)
SCENES: dict[str, Scene] = {}


@dataclass(frozen=True)
class Scene:
    """What is seen of a table without the option, and with it."""

    value: str
    without: Any
    with_it: Any
    look: Callable[[Mapping[str, str]], Any]


def shows(key: str, value: str, without: Any, with_it: Any) -> Callable[[Any], Any]:
    """The decorated function looks at a table with the options that it is given."""

    def note(look: Callable[[Mapping[str, str]], Any]) -> Callable[[Mapping[str, str]], Any]:
        assert key not in SCENES
        SCENES[key] = Scene(value, without, with_it, look)
        return look

    return note


class SetClock:
    """Stands still until it is set; its zone is UTC.  It notes how long it was to wait."""

    def __init__(self) -> None:
        self.at_ms = NOON
        self.waits: list[int] = []

    def sleep_ms(self, duration_ms: int) -> None:
        self.waits.append(duration_ms)
        self.at_ms += duration_ms

    def now_ms(self) -> int:
        return self.at_ms

    def local_offset_ms(self, at_ms: int) -> int:
        return 0


def made(
    options: Mapping[str, str] = {},
    *,
    keys: Sequence[str] = ("k",),
    by: Sequence[str] = (),
    clock: SetClock | None = None,
    **more: str,
) -> Any:
    """A table with ``options`` over ``more``, whose names have ``_`` for ``-`` and ``__`` for ``.``."""
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    all_ = {"bucket": "1" if keys else "-1", **given, **options}
    table = catalog.create_table("d.t", SCHEMA, primary_key=keys, partition_by=by, options=all_)
    return table if clock is None else tc.Table(replace(table.access, clock=clock))


def rows(keys: Sequence[int], dt: str | None = "a", plus: int = 0) -> pa.Table:
    """Rows of these keys; a value is its key and ``plus``."""
    columns = {"k": list(keys), "v": [k + plus for k in keys], "dt": [dt] * len(keys)}
    return pa.table(columns, schema=SCHEMA)


def put(table: Any, keys: Sequence[int], dt: str | None = "a", plus: int = 0, **more: Any) -> Any:
    """Commit rows of these keys."""
    return write_rows(table, rows(keys, dt, plus), **more)


def files(table: Any, start: str = "") -> list[str]:
    """The paths below the table that have ``start`` in them, sorted."""
    return sorted(i.path for i in table.access.storage.walk("") if start in i.path)


def footer(table: Any, part: str = "/data-") -> Any:
    """The footer of the first Parquet file."""
    found = next(path for path in files(table, part) if path.endswith(".parquet"))
    return pq.ParquetFile(pa.BufferReader(table.access.storage.read(found))).metadata
