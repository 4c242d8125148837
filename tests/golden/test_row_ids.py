"""Goal: ``$row_tracking`` shows the ids of rows that Spark updated, as Paimon does.

The rows expected are what Apache Paimon 2.0.0 reads from the case.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))

import corpus

import table_core as tc


def test_rows_keep_their_ids_through_an_update(tmp_path: Path) -> None:
    case = corpus.unpack("row-tracking", tmp_path)
    catalog = tc.open_catalog((case.folder / "warehouse").as_uri())
    table = catalog.table(f"{case.about['table']}$row_tracking")
    rows = table.read().to_arrow().to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (1, "a", 0, 1),
        (2, "bb", 1, 3),
        (3, "c", 2, 2),
    ]
    assert list(table.arrow_schema)[-2:] == [
        pa.field("_ROW_ID", pa.int64(), nullable=False),
        pa.field("_SEQUENCE_NUMBER", pa.int64(), nullable=False),
    ]
    assert table.read(columns=["_ROW_ID"], limit=2).to_arrow().to_pydict() == {"_ROW_ID": [0, 1]}
