"""A write that spills comes to what one that does not comes to, in less memory."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.spill import Spill
from tests.tables import new_catalog

SCHEMA = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("n", pa.int64()),
        ("text", pa.string()),
    ]
)
SPILLING = {"write-buffer-size": "2 b"}
ENGINES = {
    "deduplicate": {},
    "first-row": {},
    "partial-update": {},
    "aggregation": {
        "fields.n.aggregate-function": "sum",
        "fields.text.aggregate-function": "listagg",
    },
}


def parts(seed: int, *, retracts: bool = False, count: int = 12) -> list[pa.Table]:
    draw = random.Random(seed)
    found = []
    for number in range(count):
        rows = [
            {
                "dt": f"d{draw.randint(0, 1)}",
                "k": draw.randint(0, 12),
                "n": draw.choice([None, number, draw.randint(0, 99)]),
                "text": draw.choice([None, f"t{number}"]),
                "_ROW_KIND": draw.choice(["+I", "+U", "-D", "-U"]) if retracts else "+I",
            }
            for _ in range(draw.randint(0, 9))
        ]
        kinds = pa.field("_ROW_KIND", pa.string())
        found.append(pa.Table.from_pylist(rows, schema=pa.schema([*SCHEMA, kinds])))
    return found


def written(folder: Path, tables: list[pa.Table], **options: str) -> tc.Table:
    catalog = new_catalog(f"memory://{folder}")
    key = () if options.pop("append", "") else ("dt", "k")
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=key, partition_by=("dt",), options={"bucket": "2", **options}
    )
    with table.write() as writer:
        for rows in tables:
            writer.write(rows)
        writer.commit()
    return table


def rows_of(table: tc.Table) -> list[dict[str, object]]:
    return sorted(table.read().to_arrow().to_pylist(), key=lambda r: (r["dt"], r["k"]))


def level_0(table: tc.Table) -> int:
    return sum(snapshot.delta_record_count for snapshot in table.snapshots()[:1])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "more", [{}, {"bucket": "-1"}, {"sequence.field": "n"}, {"sort-spill-threshold": "2"}]
)
@pytest.mark.parametrize("engine", ENGINES)
def test_spilled_runs_merge_to_what_one_buffer_merges_to(
    tmp_path: Path, engine: str, more: dict[str, str], seed: int
) -> None:
    if engine == "first-row" and "sequence.field" in more:
        pytest.skip("first-row has no sequence field")
    options = {"merge-engine": engine, "write-only": "true", **ENGINES[engine], **more}
    if "sequence.field" in more:
        options.pop("fields.n.aggregate-function", None)
    rows = parts(seed, retracts=engine == "deduplicate")
    spilled = written(tmp_path / "a", rows, **options, **SPILLING)
    whole = written(tmp_path / "b", rows, **options)
    assert rows_of(spilled) == rows_of(whole)
    assert level_0(spilled) == level_0(whole)


@pytest.mark.parametrize("size", ["1 b", "500 b", "1 mb"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_local_merge_changes_no_row(tmp_path: Path, engine: str, size: str) -> None:
    options = {"merge-engine": engine, **ENGINES[engine]}
    rows = parts(6, retracts=engine == "deduplicate")
    local = {"local-merge-buffer-size": size, **SPILLING}
    whole = written(tmp_path / "b", rows, **options)
    assert rows_of(written(tmp_path / "a", rows, **options, **local)) == rows_of(whole)


def test_a_local_merge_comes_before_the_write_buffer(tmp_path: Path) -> None:
    """A buffer that holds nothing makes a file of all that it is handed at once."""
    options = {"write-buffer-spillable": "false", "write-only": "true", **SPILLING}
    table = written(tmp_path, parts(4), **options, **{"local-merge-buffer-size": "1 mb"})
    files = [len(split.files) for split in table.read().splits()]
    assert set(files) == {1}


def test_retractions_are_merged_with_all_versions_of_their_key(tmp_path: Path) -> None:
    """A part alone would take ``-D 5, -D 7`` for a new row of -12, a last value for NULL."""
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "last_non_null_value"}
    rows = parts(5, retracts=True)
    options["fields.text.ignore-retract"] = "true"
    spilled = written(tmp_path / "a", rows, **options, **SPILLING)
    assert rows_of(spilled) == rows_of(written(tmp_path / "b", rows, **options))


def test_rows_without_key_keep_their_order(tmp_path: Path) -> None:
    options = {"append": "yes", "bucket-key": "k"}
    rows = parts(1)
    spilled = written(tmp_path / "a", rows, **options, **SPILLING)
    whole = written(tmp_path / "b", rows, **options)
    assert spilled.read().to_arrow().equals(whole.read().to_arrow())
    files = [
        (s.partition, s.bucket, [f.row_count for f in s.files]) for s in spilled.read().splits()
    ]
    assert all(len(counts) == 1 for *_, counts in files), "one file a bucket"
    assert {f.min_sequence_number for s in spilled.read().splits() for f in s.files} == {0}


def test_postponed_rows_keep_every_version(tmp_path: Path) -> None:
    rows = parts(2)
    table = written(tmp_path, rows, **{"bucket": "-2", **SPILLING})
    table.compact()
    assert rows_of(table) == rows_of(written(tmp_path / "b", rows))


def test_changelog_of_producer_input_has_every_row(tmp_path: Path) -> None:
    rows = parts(3, retracts=True)
    local = {"local-merge-buffer-size": "1 mb"}
    table = written(tmp_path, rows, **{"changelog-producer": "input", **local, **SPILLING})
    changes = table.changes(after=0).to_arrow()
    assert changes.num_rows == sum(part.num_rows for part in rows)


def test_a_buffer_that_may_not_spill_becomes_files(tmp_path: Path) -> None:
    options = {"write-buffer-spillable": "false", "write-only": "true", **SPILLING}
    table = written(tmp_path, parts(4), **options)
    assert sum(len(split.files) for split in table.read().splits()) > 4
    assert rows_of(table) == rows_of(written(tmp_path / "b", parts(4)))


def test_a_full_disk_budget_turns_runs_into_files(tmp_path: Path) -> None:
    options = {"write-buffer-spill.max-disk-size": "4 kb", "write-only": "true", **SPILLING}
    table = written(tmp_path, parts(4), **options)
    assert sum(len(split.files) for split in table.read().splits()) > 4
    assert rows_of(table) == rows_of(written(tmp_path / "b", parts(4)))


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_a_spill_gives_back_what_it_took_and_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = pa.table({"a": pa.array(range(100_000)), "b": pa.array(["x" * 50] * 100_000)})
    spill = Spill(compression=compression)
    first, second = spill.put(rows), spill.put(rows.slice(7, 1))
    assert pa.Table.from_batches(first.batches()).equals(rows.combine_chunks())
    assert pa.Table.from_batches(second.batches()).num_rows == 1
    assert max(batch.nbytes for batch in first.batches()) < 1 << 19
    assert list(os.scandir(tmp_path)) == []
    spill.close()


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(tc.errors.OptionError, match="spill-compression"):
        Spill(compression="rar")
