"""``sync_database``: many tables, options, shards, restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.apply import target
from table_core.cdc.source import lines
from table_core.cdc.source.files import reader as files
from table_core.errors import ArgumentError, DataError
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import record


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_tables_are_chosen_named_and_merged(lake: Lake) -> None:
    lake.put(
        "1.jsonl",
        *(record(f"s{n}.a", "c", {"id": n}) for n in (1, 2)),
        record("s1.b", "c", {"id": 3}),
        record("s1.c", "c", {"id": 4}),
        record("s1.tmp_x", "c", {"id": 5}),
    )
    lake.sync(
        including="a|b|tmp_.*",
        excluding="tmp_.*",
        table_prefix="p_",
        table_suffix="_s",
        table_mapping={"s1.b": "named"},
    )
    assert lake.catalog.tables("lake") == ["named", "p_a_s"]
    assert [row["id"] for row in lake.rows("p_a_s")] == [1, 2]
    lake.sync(merge_shards=False, including="a")
    assert {"s1_a", "s2_a"} <= set(lake.catalog.tables("lake"))


def test_tables_that_are_left_out_by_the_name_of_their_database_are_not_left_out_in_silence(
    lake: Lake,
) -> None:
    lake.put("1.jsonl", record("paimon_sync_x.orders", "c", {"id": 1}))
    with pytest.raises(ArgumentError, match=r"leaves out paimon_sync_x\.orders only because"):
        lake.sync(excluding="flink|paimon.+")
    assert lake.sync(excluding=r"flink|paimon.+\..*").rows_written == 0
    assert lake.sync(excluding="flink|paimon[^.]+").rows_written == 1


def test_a_table_that_appears_later_and_one_that_was_dropped_here_are_read_whole(
    lake: Lake,
) -> None:
    lake.put("1.jsonl", record("s.a", "c", {"id": 1}))
    lake.sync()
    lake.put("2.jsonl", record("s.b", "c", {"id": 2}), record("s.a", "c", {"id": 3}))
    lake.sync()
    assert [row["id"] for row in lake.rows("b")] == [2]
    lake.catalog.drop_table("lake.a")
    lake.sync()
    assert [row["id"] for row in lake.rows("a")] == [1, 3]
    assert len(lake.catalog.table("lake.b").snapshots()) == 1, "b is not written again"


def test_keys_partitions_computed_and_metadata_columns(lake: Lake) -> None:
    row = {"id": 1, "at": "2024-05-06 07:08:09", "name": " Ann ", "n": 17}
    lake.put("1.jsonl", record("s.a", "c", row), record("s.b", "c", {"id": 1}))
    functions = [
        "dt=date_format(at, yyyy-MM-dd)", "y=year(at)", "mo=month(at)", "d=day(at)", "h=hour(at)",
        "mi=minute(at)", "se=second(at)", "sub=substring(name, 1, 3)", "tr=truncate(n, 5)",
        "ca=cast(7, INT)", "up=upper(name)", "lo=lower(name)", "tm=trim(name)", "now=now()",
    ]  # fmt: skip
    lake.sync(
        primary_key={"a": ["id", "dt"]},
        partition_by=["dt"],
        computed_columns={"a": functions},
        metadata_columns=("database_name", "table_name", "op_ts"),
    )
    found = lake.rows("a")[0]
    assert found.pop("now") is not None
    assert found.pop("op_ts").timestamp() == 1_700_000_000
    assert found == row | {
        "dt": "2024-05-06", "y": 2024, "mo": 5, "d": 6, "h": 7, "mi": 8, "se": 9, "sub": "Ann"[:2],
        "tr": 15, "ca": 7, "up": " ANN ", "lo": " ann ", "tm": "Ann", "database_name": "s",
        "table_name": "a",
    }  # fmt: skip
    table = lake.catalog.table("lake.a")
    assert (table.primary_key, table.partition_by) == (("id", "dt"), ("dt",))
    assert lake.catalog.table("lake.b").partition_by == ()
    with pytest.raises(ArgumentError, match="no function 'soundex'"):
        lake.sync(computed_columns=["x=soundex(a)"])


def test_bad_events_go_to_the_side_table_with_place_and_reason(lake: Lake) -> None:
    lake.put("1.jsonl", record("s.a", "c", {"id": 1, "n": 5}))
    lake.sync()
    lake.put(
        "2.jsonl",
        record("s.a", "c", {"id": 2, "n": 6}),
        "no json",
        record("s.a", "c", {"id": 3, "n": "x" * 200}),
        record("s.a", "c", {"id": 4, "n": 7}),
    )
    with pytest.raises(ValueError, match="line 2"):
        lake.sync()
    result = lake.sync(dead_letter="lake.bad")
    assert [row["id"] for row in lake.rows("a")] == [1, 2, 4]
    first, second = sorted(lake.rows("bad"), key=lambda row: row["place"])
    assert first["place"].endswith("2.jsonl, line 2")
    assert first["event"] == "no json"
    assert (second["column"], second["source_table"]) == ("n", "s.a")
    assert len(second["value"]) <= 80
    assert result.details["dead_letters"] == 2
    assert lake.sync(dead_letter="lake.bad").rows_written == 0


def test_of_merged_shards_only_the_one_that_was_emptied_loses_its_rows(lake: Lake) -> None:
    lake.put(
        "1.jsonl",
        *(record(f"s{n}.a", "c", {"id": 10 * n + m}) for n in (1, 2) for m in (1, 2)),
        *(record(f"s{n}.log", "c", {"v": "x"}, key=None) for n in (1, 1, 2)),
    )
    lake.sync()
    lake.put("2.jsonl", record("s1.a", "t", None), record("s1.log", "t", None, key=None))
    lake.sync()
    assert [row["id"] for row in lake.rows("a")] == [21, 22]
    assert lake.rows("log") == [{"v": "x"}]


def test_tables_without_a_key_are_bags(lake: Lake) -> None:
    lake.put("1.jsonl", *(record("s.log", "c", {"v": v}, key=None) for v in "aab"))
    lake.sync()
    lake.put(
        "2.jsonl",
        record("s.log", "d", {"v": "a"}, key=None),
        record("s.log", "c", {"v": "c"}, key=None),
        record("s.log", "d", {"v": "c"}, key=None),
    )
    lake.sync()
    assert sorted(row["v"] for row in lake.rows("log")) == ["a", "b"]
    lake.put("3.jsonl", record("s.log", "d", {"v": "never there"}, key=None))
    with pytest.raises(DataError, match="a row that the source deleted is not there"):
        lake.sync()


def test_rows_without_a_key_are_found_by_the_columns_that_events_still_have(lake: Lake) -> None:
    lake.put(
        "1.jsonl", *(record("s.log", "c", {"f": v / 2, "gone": "x"}, key=None) for v in (1, 2))
    )
    lake.sync()
    lake.put("2.jsonl", record("s.log", "d", {"f": 0.5}, key=None))
    lake.sync()
    assert lake.rows("log") == [{"f": 1.0, "gone": "x"}]


def test_an_update_without_its_old_row_needs_a_key(lake: Lake) -> None:
    lake.put(
        "1.jsonl", record("s.a", "c", {"id": 1}, key=None), record("s.a", "u", {"id": 1}, key=None)
    )
    with pytest.raises(ValueError, match="give primary_key"):
        lake.sync()
    lake.sync(primary_key=["id"])
    assert lake.rows("a") == [{"id": 1}]


def test_a_key_that_differs_from_the_source_is_refused_or_left_out(lake: Lake) -> None:
    lake.catalog.create_database("lake")
    import pyarrow as pa

    schema = pa.schema([pa.field("other", pa.int64(), nullable=False), ("id", pa.int64())])
    lake.catalog.create_table("lake.a", schema, primary_key=("other",), options={"bucket": "1"})
    lake.put("1.jsonl", record("s.a", "c", {"id": 1, "other": 2}), record("s.b", "c", {"id": 1}))
    with pytest.raises(ArgumentError, match="ignore_incompatible"):
        lake.sync()
    assert lake.sync(ignore_incompatible=True).details["skipped"] == ["lake.a"]
    assert lake.rows("b") == [{"id": 1}]


def test_divided_reads_each_table_alone(lake: Lake) -> None:
    lake.put("1.jsonl", record("s.a", "c", {"id": 1}), record("s.b", "c", {"id": 2}))
    assert lake.sync(mode="divided").rows_written == 2
    assert lake.sync(mode="divided").rows_written == 0


@pytest.mark.parametrize("user", [None, "run"])
@pytest.mark.parametrize("dies_at", range(6))
def test_a_run_that_dies_at_any_commit_loses_and_repeats_nothing(
    lake: Lake, dies_at: int, user: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "WINDOW_BYTES", 300)
    monkeypatch.setattr(lines, "WINDOW_LINES", 1)
    monkeypatch.setattr(files, "_BLOCK_BYTES", 300)
    parts: list[Any] = []
    for n in range(4):
        parts.append(record("s1.a", "c", {"id": n, **({"new": n} if n > 1 else {})}))
        parts.append(record("s2.a", "c", {"id": 10 + n}))
        parts.append(record("s.log", "c", {"v": n}, key=None))
    lake.put("1.jsonl", *parts)
    real, count = target.SyncTarget.flush, iter(range(100))

    def dying(self: Any, **how: bool) -> None:
        had = self.state.pending.writer is not None
        if had and next(count) == dies_at:
            raise KeyboardInterrupt
        real(self, **how)

    monkeypatch.setattr(target.SyncTarget, "flush", dying)
    commit = tc.CommitAs(user=user, identifier=3) if user else None
    try:
        lake.sync(commit=commit)
    except KeyboardInterrupt:
        lake.sync(commit=commit)
    assert [row["id"] for row in lake.rows("a")] == [0, 1, 2, 3, 10, 11, 12, 13]
    assert sorted(row["v"] for row in lake.rows("log")) == [0, 1, 2, 3]
    assert lake.sync().rows_written == 0


def test_the_raw_binlog_gives_the_final_state(tmp_path: Path) -> None:
    from tests.golden import streams

    folder = streams.FOLDER / "mariadb"
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.FilesSource(f"file://{folder}/binlog.*", format="mysql-binlog")
    tc.sync_database(catalog, "shop", source, including=r"shop_\d\..*", merge_shards=False)
    last = len(streams.phases("mariadb")) - 1
    told, columns = streams.state("mariadb", last), streams.columns("mariadb", last)
    untold = frozenset({"sales_channel", "opens_at"})  # renamed: a new column
    for table, expected in told.items():
        if not expected:
            continue
        rows = catalog.table(f"shop.{table.replace('.', '_')}").read().to_arrow().to_pylist()
        for row in rows:  # a list here, text in the recording
            if isinstance(row.get("interests"), list):
                row["interests"] = ",".join(row["interests"])
        types = {c["name"]: c["type"] for c in columns[table]["columns"]}
        assert streams.differences(rows, expected, types, maybe_null=untold) == [], table


def test_a_value_that_does_not_fit_names_column_and_line(lake: Lake) -> None:
    lake.put("1.jsonl", record("s.a", "c", {"id": 1}), record("s.a", "c", {"id": None}))
    with pytest.raises(DataError, match=r"line 2: column 'id' of the primary key is null"):
        lake.sync()


def test_what_a_router_adds_to_keys_is_no_column(lake: Lake) -> None:
    """``ByLogicalTableRouter`` leaves the rows and their source as they were."""
    events = [
        record("s.a", "c", {"id": 1}),
        record("s.a", "d", {"id": 1}),
        record("s.a", "c", {"id": 2}),
    ]
    events[1]["value"]["before"] = None
    for one in events:
        one |= {"topic": "all", "partition": 0}
        one["key"] = {
            "id": (one["value"]["after"] or {"id": 1})["id"],
            "__dbz__physicalTableIdentifier": "s.a",
        }
    lake.put("1.jsonl", *events)
    lake.sync()
    assert lake.rows("a") == [{"id": 2}]
    assert lake.catalog.table("lake.a").primary_key == ("id",)
