"""Plans lose no row and merge what must be merged.

Method: draw buckets of small files with versions of a few keys, as a merge tree holds them; read them
all, merge and filter in plain Python; then plan with pruning and splits, read only what the plan names,
merge only where it says so, and demand the same rows.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_core.bucketing.fixed import bucket_ids
from table_core.datatypes.text import parse_type
from table_core.ondisk.binary_row import array_of, decode_row, encode_row, sort_key
from table_core.ondisk.data_file import (
    EMPTY_STATS,
    DataFile,
    EntryKind,
    ManifestEntry,
    SimpleStats,
)
from table_core.predicate.bind import bind
from table_core.predicate.sql import parse_where
from table_core.scan.plan import plan_batch
from table_core.scan.prune import Pruner
from table_core.schema.evolve import create

INT = parse_type("INT")
COLUMNS = pa.schema([("p", pa.int32()), ("k", pa.int32()), ("v", pa.int32())])
BUCKETS = 2
WHERES = [
    "k = 1", "k IN (0, 3)", "v = 2", "v > 2", "k > 1 AND v < 2", "p = 0", "p = 1 AND k = 2",
    "k = 2 OR v = 1", "v IS NULL", "NOT v = 1", "p + k > 2", "k < 2.5 AND NOT p = 0", "k = 9",
]  # fmt: skip
KEYED = create(
    COLUMNS, primary_key=("p", "k"), partition_by=("p",), options={"bucket": str(BUCKETS)}, now_ms=0
)
APPEND = create(COLUMNS, partition_by=("p",), options={"bucket": "-1"}, now_ms=0)


def stats_of(values: list[tuple[int | None, ...]]) -> SimpleStats:
    columns = list(zip(*values, strict=True))
    there = [[v for v in column if v is not None] for column in columns]
    types = [INT] * len(columns)
    return SimpleStats(
        encode_row(types, [min(c, default=None) for c in there]),
        encode_row(types, [max(c, default=None) for c in there]),
        tuple(len(c) - len(t) for c, t in zip(columns, there, strict=True)),
    )


def bucket_of(key: int) -> int:
    return int(bucket_ids([array_of([key], INT)], [INT], BUCKETS)[0])


def bounds(file: DataFile):
    low, high = decode_row([INT], file.min_key), decode_row([INT], file.max_key)
    return sort_key([INT], low), sort_key([INT], high)


ROW = st.tuples(st.integers(0, 4), st.booleans(), st.none() | st.integers(0, 4))


@st.composite
def key_table(draw: st.DrawFn):
    """Entries, and the rows (key, sequence, is delete, value) of each file by name."""
    entries, rows, sequence = [], {}, 0
    for partition in range(2):
        for bucket in range(BUCKETS):
            for level in draw(st.lists(st.sampled_from([0, 0, 5]), max_size=4)):
                drawn = {
                    k: (d and level == 0, v)
                    for k, d, v in draw(st.lists(ROW, min_size=1, max_size=4))
                    if bucket_of(k) == bucket
                }
                taken = {
                    k for e in entries if e.file.level == 5 and e.partition == partition_row(partition)
                    for k, *_ in rows[e.file.file_name]
                }  # fmt: skip
                if level == 5 and (not drawn or any(min(drawn) <= t <= max(drawn) for t in taken)):
                    continue
                if not drawn:
                    continue
                content = []
                for key in sorted(drawn):
                    content.append((key, sequence, *drawn[key]))
                    sequence += 1
                name = f"data-{len(entries)}.parquet"
                rows[name] = content
                entries.append(entry(partition, bucket, level, name, content, draw(st.booleans())))
    # level 5 holds the oldest versions: give it the smallest sequences
    for e in entries:
        if e.file.level == 5:
            rows[e.file.file_name] = [
                (k, s - 10_000, d, v) for k, s, d, v in rows[e.file.file_name]
            ]
    return entries, rows


def partition_row(value: int) -> bytes:
    return encode_row([INT], [value])


def entry(partition, bucket, level, name, content, with_stats) -> ManifestEntry:
    keys = [c[0] for c in content]
    values = [(partition, c[0], c[3]) for c in content]
    return ManifestEntry(
        EntryKind.ADD,
        partition_row(partition),
        bucket,
        BUCKETS,
        DataFile(
            file_name=name,
            file_size=draw_size(name),
            row_count=len(content),
            min_key=encode_row([INT], [min(keys)]),
            max_key=encode_row([INT], [max(keys)]),
            key_stats=stats_of([(k,) for k in keys]),
            value_stats=stats_of(values) if with_stats else EMPTY_STATS,
            value_stats_cols=None if with_stats else (),
            min_sequence_number=content[0][1],
            max_sequence_number=content[-1][1],
            schema_id=0,
            level=level,
            delete_row_count=sum(c[2] for c in content),
        ),
    )


def draw_size(name: str) -> int:
    return 60_000_000 if name.endswith(("1.parquet", "3.parquet")) else 1000


def merged(groups: list[tuple[int, list]]) -> list[tuple[int, int, int | None]]:
    newest: dict[tuple[int, int], tuple] = {}
    for partition, content in groups:
        for key, sequence, is_delete, value in content:
            if (partition, key) not in newest or newest[partition, key][0] < sequence:
                newest[partition, key] = (sequence, is_delete, value)
    return [(*key, value) for key, (_, is_delete, value) in newest.items() if not is_delete]


def meets(where: str, rows) -> list[tuple[int, int, int | None]]:
    names = {"p": 0, "k": 1, "v": 2}
    python = where.replace(" AND ", " and ").replace(" OR ", " or ").replace("NOT ", "not ")
    python = python.replace(" = ", " == ").replace("IN", "in").replace("IS NULL", "is None")
    found = []
    for row in rows:
        scope = {name: row[at] for name, at in names.items()}
        if scope["v"] is None and "v" in where and "IS NULL" not in where:
            if where == "k = 2 OR v = 1" and scope["k"] == 2:
                found.append(row)
            continue
        if eval(python, {}, scope):
            found.append(row)
    return sorted(found, key=repr)


@given(key_table(), st.sampled_from([None, *WHERES]))
def test_key_tables_read_the_same_with_and_without_pruning(table, where) -> None:
    entries, rows = table
    everything = merged(
        [(decode_row([INT], e.partition)[0], rows[e.file.file_name]) for e in entries]
    )
    expected = sorted(everything, key=repr) if where is None else meets(where, everything)
    bound = None if where is None else bind(parse_where(where), KEYED.fields)
    pruner = Pruner(KEYED, KEYED.options, bound, schema_of=lambda _: KEYED)
    kept = [e for e in entries if pruner.keep_entry(e)]
    plan = plan_batch(KEYED, KEYED.options, kept, pruner, snapshot_id=7, bounds=bounds)
    assert pickle.loads(pickle.dumps(plan.splits)) == plan.splits
    found = []
    for split in plan.splits:
        partition = decode_row([INT], split.partition)[0]
        contents = [(partition, rows[f.file_name]) for f in split.files]
        if split.raw_convertible:
            found += [(partition, k, v) for _, content in contents for k, _, _, v in content]
        else:
            found += merged(contents)
    found = sorted(found, key=repr) if where is None else meets(where, found)
    assert found == expected
    assert plan.explain.entries == len(entries)


@given(key_table(), st.sampled_from(["v = 2", "v > 2"]))
def test_engines_that_mix_rows_keep_overlapping_files(table, where) -> None:
    entries, rows = table
    schema = replace(KEYED, raw_options={**KEYED.raw_options, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"})  # fmt: skip
    bound = bind(parse_where(where), schema.fields)
    pruner = Pruner(schema, schema.options, bound, schema_of=lambda _: schema)
    kept = {e.file.file_name for e in pruner.prune(entries, bounds)}
    for e in entries:
        for other in entries:
            same = (e.partition, e.bucket) == (other.partition, other.bucket) and e is not other
            keys = {r[0] for r in rows[e.file.file_name]} & {
                r[0] for r in rows[other.file.file_name]
            }
            if same and keys:
                assert {e.file.file_name, other.file.file_name} <= kept


@given(key_table(), st.sampled_from(WHERES))
def test_append_tables_read_the_same_with_and_without_pruning(table, where) -> None:
    entries, rows = table
    entries = [
        replace(e, bucket=0, total_buckets=-1, file=replace(e.file, level=0)) for e in entries
    ]
    bound = bind(parse_where(where), APPEND.fields)
    pruner = Pruner(APPEND, APPEND.options, bound, schema_of=lambda _: APPEND)
    kept = [e for e in entries if pruner.keep_entry(e)]
    plan = plan_batch(APPEND, APPEND.options, kept, pruner, snapshot_id=7, bounds=bounds)

    def read(files) -> list[tuple[int, int, int | None]]:
        return meets(where, [(decode_row([INT], p)[0], k, v) for p, f in files for k, _, _, v in rows[f.file_name]])  # fmt: skip

    assert all(s.raw_convertible for s in plan.splits)
    assert read([(s.partition, f) for s in plan.splits for f in s.files]) == read(
        [(e.partition, e.file) for e in entries]
    )
