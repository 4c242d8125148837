"""Tables of thousands of columns, as events with columns of their own make them."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa

from table_core.table.write.coerce import coerce
from tests.tables import new_catalog
from tests.unit.cdc.feed import Feed, columns, event, lines

COLUMNS = 4000


def test_rows_find_their_columns_in_a_time_that_grows_with_them(tmp_path: Path) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    wide = pa.schema([pa.field(f"c{n}", pa.int64()) for n in range(COLUMNS)])
    table = catalog.create_table("d.t", wide)
    rows = pa.table({f"c{n}": pa.array([n], pa.int64()) for n in range(COLUMNS)})
    started = time.process_time()
    found = coerce(table.definition, rows)
    assert time.process_time() - started < 60
    assert found.select(wide.names).equals(rows)


def test_events_with_columns_of_their_own_have_no_room_for_those_of_others() -> None:
    each = [{"id": n, **{f"c{n}_{m}": n for m in range(40)}} for n in range(30)]
    feed = Feed(columns(id="BIGINT NOT NULL"))
    feed.give(lines(*(event("c", None, row) for row in each)))
    assert [feed.state[n,] for n in range(30)] == [
        {f.name: row.get(f.name) for f in feed.fields} for row in each
    ]
