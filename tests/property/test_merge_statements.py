"""Goal: ``merge_into`` does what SQL's MERGE does, whatever clauses there are and in whatever order.

Method: random target and source rows and random clauses, given to us and, as one statement, to DuckDB.  Half of
the time the target passes by row by row, as a large one does window by window.
"""

from __future__ import annotations

import random

import duckdb
import pytest

from tests.property.merge_clauses import SCHEMA, clauses, rows
from tests.row_by_row import row_by_row
from tests.tables import new_catalog, write_rows

TABLES = {
    "key": (("k",), {"bucket": "2"}),
    "key-lookup": (("k",), {"bucket": "1", "changelog-producer": "lookup"}),
    "append": ((), {"bucket": "-1"}),
    "append-vectors": ((), {"bucket": "-1", "deletion-vectors.enabled": "true"}),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", TABLES)
def test_clauses_do_what_they_do_in_sql(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        row_by_row(monkeypatch)
    chance, (key, options) = random.Random(f"{kind} {seed}"), TABLES[kind]
    catalog = new_catalog()
    table = catalog.create_table("d.t", SCHEMA, primary_key=key, options=options)
    with duckdb.connect() as sql:
        first = rows(chance, chance.sample(range(9), 6))
        sql.execute("CREATE TABLE target AS FROM first")
        write_rows(table, first)
        for _ in range(4):
            source = rows(chance, chance.sample(range(9), chance.randint(0, 7)))
            ours, statement = clauses(chance)
            sql.execute(f"MERGE INTO target USING source ON target.k = source.k {statement}")
            table.merge_into(source, ["k"], ours)
            want = sql.execute("SELECT * FROM target ORDER BY ALL").fetchall()
            found = [tuple(row.values()) for row in table.read().to_arrow().to_pylist()]
            assert sorted(found, key=repr) == sorted(want, key=repr), statement
