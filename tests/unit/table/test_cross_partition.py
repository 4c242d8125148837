"""Tables whose key does not say the partition, against a dictionary of where each key is."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from tests.lanes import budget
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        ("n", pa.int64()),
        ("text", pa.string()),
    ]
)
DAYS = [19_000, 19_001, 19_002]
ENGINES = {
    "deduplicate": {},
    "first-row": {},
    "partial-update": {},
    "aggregation": {"fields.n.aggregate-function": "sum"},
}
Row = dict[str, object]


def expected(engine: str, rows: list[Row]) -> dict[object, Row]:
    """What a table of ``engine`` holds, by key."""
    state: dict[object, Row] = {}
    for row in rows:
        old, kind = state.get(row["k"]), row["_ROW_KIND"]
        new = {name: row[name] for name in SCHEMA.names}
        if engine == "deduplicate":
            state.pop(row["k"], None)
            if kind != "-D":
                state[row["k"]] = new
        elif old is None:
            state[row["k"]] = new
        elif engine != "first-row":
            merged = {
                name: new[name] if new[name] is not None else old[name] for name in SCHEMA.names
            }
            if engine == "aggregation" and None not in (old["n"], new["n"]):
                merged["n"] = old["n"] + new["n"]  # type: ignore[operator]  # both are numbers
            state[row["k"]] = {**merged, "day": old["day"]}
    return state


def some(draw: random.Random, *, deletes: bool) -> list[Row]:
    return [
        {
            "k": draw.randint(0, 9),
            "day": draw.choice(DAYS),
            "n": draw.choice([None, draw.randint(0, 99)]),
            "text": draw.choice([None, f"t{draw.randint(0, 9)}"]),
            "_ROW_KIND": draw.choice(["+I", "+I", "-D"]) if deletes else "+I",
        }
        for _ in range(draw.randint(0, 14))
    ]


def arrow(rows: list[Row]) -> pa.Table:
    columns = {
        f.name: pa.array([row[f.name] for row in rows], f.type if f.name != "day" else pa.int32())
        for f in SCHEMA
    }
    columns["day"] = columns["day"].cast(pa.date32())
    columns["_ROW_KIND"] = pa.array([row["_ROW_KIND"] for row in rows], pa.string())
    return pa.table(columns)


def made(folder: Path, **options: str) -> tc.Table:
    catalog = new_catalog(f"memory://{folder}")
    return catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("k",),
        partition_by=("day",),
        options={"bucket": "-1", **options},
    )


def state_of(table: tc.Table) -> dict[object, Row]:
    rows = table.read().to_arrow()
    rows = rows.set_column(1, "day", rows["day"].cast(pa.int32())).to_pylist()
    found = {row["k"]: row for row in rows}
    assert len(found) == len(rows), "a key in two partitions"
    return found


@pytest.mark.parametrize("seed", range(budget("CROSS_PARTITION", ci=3, nightly=40)))
@pytest.mark.parametrize(
    "options", [{}, {"write-buffer-size": "2 b"}, {"dynamic-bucket.target-row-num": "2"}]
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_is_where_its_engine_wants_it(
    tmp_path: Path, engine: str, options: dict[str, str], seed: int
) -> None:
    draw, history = random.Random(seed), []
    table = made(tmp_path, **{"merge-engine": engine, **ENGINES[engine], **options})
    for _ in range(4):
        with table.write() as writer:
            for _ in range(2):
                rows = some(draw, deletes=engine == "deduplicate")
                history += rows
                writer.write(arrow(rows))
            writer.commit()
        if engine == "first-row":
            table.compact()
        assert state_of(table) == expected(engine, history)


def test_buckets_fill_up_one_by_one(tmp_path: Path) -> None:
    table = made(tmp_path, **{"dynamic-bucket.target-row-num": "3"})
    rows = [{"k": k, "day": DAYS[0], "n": 1, "text": None, "_ROW_KIND": "+I"} for k in range(8)]
    for part in (rows[:4], rows[4:]):
        write_rows(table, arrow(part))
    counts = {}
    for split in table.read().splits():
        counts[split.bucket] = counts.get(split.bucket, 0) + sum(f.row_count for f in split.files)
    assert counts == {0: 3, 1: 3, 2: 2}


def test_overwriting_one_partition_is_refused_and_the_whole_table_is_not(tmp_path: Path) -> None:
    table = made(tmp_path)
    rows = [{"k": 1, "day": DAYS[0], "n": 1, "text": None, "_ROW_KIND": "+I"}]
    write_rows(table, arrow(rows))
    for spec in ("partitions", {"day": "2022-01-08"}):
        with pytest.raises(tc.errors.UnsupportedFeatureError, match="move between partitions"):
            table.write(overwrite=spec)
    rows[0]["day"] = DAYS[1]
    write_rows(table, arrow(rows), overwrite="table")
    assert state_of(table) == expected("deduplicate", rows)
    assert len(table.read().splits()) == 1


@pytest.mark.parametrize("marks", ["false", "true"])
@pytest.mark.parametrize("engine", ENGINES)
def test_keys_that_no_read_shows_yet_are_known(tmp_path: Path, engine: str, marks: str) -> None:
    """Beside deletion vectors, and of first-row, level 0 waits for a compaction."""
    if engine == "first-row" and marks == "true":
        return  # there is no such table
    options = {"merge-engine": engine, "deletion-vectors.enabled": marks, **ENGINES[engine]}
    draw, history = random.Random(engine), []
    table = made(tmp_path, **options)
    waiting = tc.open_table(table.uri, options={"write-only": "true"})
    for _ in range(4):
        rows = some(draw, deletes=engine == "deduplicate")
        history += rows
        write_rows(waiting, arrow(rows))
    table.compact("minor")
    table.compact()
    assert state_of(table) == expected(engine, history)


def test_what_is_taken_back_is_not_the_partition(tmp_path: Path) -> None:
    table = made(tmp_path, **{"merge-engine": "aggregation", **ENGINES["aggregation"]})
    row = {"k": 1, "day": DAYS[0], "n": 5, "text": "a"}
    kinds = ("+I", "-U")
    write_rows(table, arrow([{**row, "_ROW_KIND": kind} for kind in kinds]))
    (found,) = table.read().to_arrow().select(["k", "n", "text"]).to_pylist()
    assert found == {"k": 1, "n": 0, "text": None}
