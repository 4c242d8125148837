"""Goal: sums that are taken back, before and after they were looked up, are Paimon's.

Method: the same rows into two tables, one written by us and one by Paimon; retracts may stand alone
or come before what they take back, which is where a lookup makes a difference.  No model: the rules
are Paimon's own (format 7.5, 8.6).
"""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from judge import KIND, Judge, agree, judged

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        ("total", pa.int64()),
        ("most", pa.int32()),
        ("last", pa.string()),
        ("seq", pa.int32()),
    ]
)
SUMS = {
    "merge-engine": "aggregation",
    "fields.total.aggregate-function": "sum",
    "fields.most.aggregate-function": "max",
    "fields.most.ignore-retract": "true",
}
GROUPS = {
    "merge-engine": "partial-update",
    "fields.seq.sequence-group": "total,last",
    "fields.total.aggregate-function": "sum",
}
TABLES = {
    "sums": SUMS,
    "sums-lookup": {**SUMS, "changelog-producer": "lookup"},
    "sums-vectors": {**SUMS, "deletion-vectors.enabled": "true"},
    "sums-sequence": {**SUMS, "changelog-producer": "lookup", "sequence.field": "seq"},
    "groups": GROUPS,
    "groups-lookup": {**GROUPS, "changelog-producer": "lookup"},
    "newest": {"sequence.field": "seq", "changelog-producer": "lookup"},
    "oldest": {
        "sequence.field": "seq",
        "sequence.field.sort-order": "descending",
        "deletion-vectors.enabled": "true",
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_retracts_take_back_what_paimon_takes_back(
    name: str, paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("default")
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **TABLES[name]}
    ours, theirs = (
        catalog.create_table(f"default.{which}", SCHEMA, primary_key=("k",), options=options)
        for which in ("ours", "theirs")
    )
    judge = paimon.table(tmp_path, "default.theirs")
    for seed in range(12):
        rows = _rows(random.Random(seed))
        write_rows(ours, rows)
        judge.write(judged(rows))
        if seed % 5 == 4:
            ours.compact()
            judge.compact()
        state = [["+I", *cells] for _, *cells in judge.read()]  # it shows +U as stored
        agree(ours.read().to_arrow(), state)
        agree(theirs.read().to_arrow(), state)
    if "changelog-producer" in options:
        newest = theirs.latest_snapshot().id
        last = ours.latest_snapshot().id
        agree(ours.changes(after=0, to=last).to_arrow(), judge.changes(0, newest))


def _rows(chance: random.Random) -> pa.Table:
    def row() -> dict[str, object]:
        return {
            "k": chance.randrange(12),
            "total": chance.choice([None, 1, 2, 5]),
            "most": chance.choice([None, 1, 2, 5]),
            "last": chance.choice([None, "a", "b"]),
            "seq": chance.choice([None, 1, 2, 3]),
        }

    data = [row() for _ in range(chance.randrange(1, 14))]
    kinds = [chance.choice(["+I", "+I", "+U", "-U", "-D"]) for _ in data]
    return pa.Table.from_pylist(data, schema=SCHEMA).append_column(KIND, pa.array(kinds))


@pytest.mark.parametrize("function", ["first_value", "first_non_null_value"])
def test_a_first_value_outlives_a_removal_by_another_group(
    function: str, paimon: Judge, tmp_path: Path
) -> None:
    theirs = paimon.table(tmp_path, "default.t")
    options = {
        "bucket": "1",
        "write-only": "true",
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "v",
        "fields.v.aggregate-function": function,
        "fields.v.ignore-retract": "true",
        "fields.h.sequence-group": "w",
        "partial-update.remove-record-on-sequence-group": "h",
    }
    columns = [("k", "INT NOT NULL"), ("g", "INT"), ("v", "INT"), ("h", "INT"), ("w", "INT")]
    theirs.create(columns, primary_key=["k"], **options)
    chance = random.Random(function)
    for _ in range(7):
        rows = [
            [
                chance.choice(["+I", "+I", "-D"]),
                k,
                *(chance.choice([None, 1, 2, 3]) for _ in "gvhw"),
            ]
            for k in range(60)
        ]
        theirs.write(rows)
        table = tc.open_catalog(tmp_path.as_uri()).table("default.t")
        agree(table.read().to_arrow(), [["+I", *row[1:]] for row in theirs.read()])
