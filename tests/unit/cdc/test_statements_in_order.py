"""Truncates, drops and rows take effect in the order of the source, however it is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_core.errors import EventError
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import emptied, record

IDS = [{"name": "id", "position": 1, "typeName": "BIGINT", "optional": False}]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def schema_change(table: str, kind: str, *, snapshot: str = "false") -> dict[str, Any]:
    database, _, name = table.partition(".")
    described = {"columns": IDS, "primaryKeyColumnNames": ["id"]}
    change = {
        "type": kind,
        "id": f'"{database}"."{name}"',
        "table": None if kind == "DROP" else described,
    }
    source = {"db": database, "table": name, "snapshot": snapshot}
    value = {"source": source, "databaseName": database, "ddl": "…", "tableChanges": [change]}
    return {"topic": "s", "partition": 0, "key": {"databaseName": database}, "value": value}


def created(table: str, id: int, **more: Any) -> dict[str, Any]:
    return record(table, "c", {"id": id, **more})


def put(lake: Lake, events: list[Any], size: int, **more: Any) -> None:
    """One run for each ``size`` events."""
    for n in range(0, len(events), size):
        lake.put(f"{n:03}.jsonl", *events[n : n + size])
        lake.sync(**more)


def ids(lake: Lake, table: str) -> list[int] | None:
    if table not in lake.catalog.tables("lake"):
        return None
    return sorted(row["id"] for row in lake.rows(table))


@pytest.mark.parametrize("size", [1, 2, 9])
def test_an_ignored_truncate_takes_no_row_out(lake: Lake, size: int) -> None:
    put(
        lake,
        [created("s.a", 1), created("s.a", 2), emptied("s.a"), created("s.a", 3)],
        size,
        on_truncate="ignore",
    )
    assert ids(lake, "a") == [1, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("rest", [{}, {"x": 2}])
@pytest.mark.parametrize("key", ["id", None])
def test_rows_behind_a_truncate_are_there_also_with_another_column(
    lake: Lake, size: int, rest: dict[str, int], key: str | None
) -> None:
    """What was emptied may never have been committed: then there is nothing to take out."""
    rows = [{"id": 1}, {"id": 4, **rest}, {"id": 5, **rest, **{f"{name}_": 1 for name in rest}}]
    events = [record("s.a", "c", row, key=key) for row in rows]
    put(lake, [events[0], emptied("s.a"), *events[1:]], size)
    assert ids(lake, "a") == [4, 5]
    assert lake.sync().details["events"] == 0, "nothing is read again"


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_what_is_emptied_at_last_is_not_read_again(lake: Lake, size: int) -> None:
    put(lake, [created("s.a", 1), emptied("s.a")], size)
    assert ids(lake, "a") == []
    assert lake.sync().details["events"] == 0
    lake.put("zzz.jsonl", created("s.a", 2))
    assert lake.sync().details["events"] == 1
    assert ids(lake, "a") == [2]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_rows_behind_drop_and_create_are_there(lake: Lake, size: int) -> None:
    events = [
        created("s.a", 1),
        schema_change("s.a", "DROP"),
        schema_change("s.a", "CREATE"),
        created("s.a", 3),
    ]
    put(lake, events, size, on_drop="apply")
    assert ids(lake, "a") == [3]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_table_that_is_dropped_last_is_gone_and_stays_gone(lake: Lake, size: int) -> None:
    events = [created("s.b", 1), created("s.a", 1), schema_change("s.a", "DROP")]
    put(lake, events, size, on_drop="apply")
    lake.put("zzz.jsonl", created("s.b", 2))
    result = lake.sync(on_drop="apply")
    assert result.details["events"] == 1, "nothing is read again"
    assert (ids(lake, "a"), ids(lake, "b")) == (None, [1, 2])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("statement", ["drop", "truncate"])
@pytest.mark.parametrize("columns", [(), ("database_name", "table_name")])
def test_of_merged_shards_only_the_one_that_is_meant_loses_its_rows(
    lake: Lake, size: int, statement: str, columns: tuple[str, ...]
) -> None:
    gone = schema_change("s1.a", "DROP") if statement == "drop" else emptied("s1.a")
    events = [
        created("s1.a", 11),
        created("s2.a", 21),
        created("s1.a", 12),
        gone,
        created("s2.a", 22),
        created("s1.a", 13),
    ]
    put(lake, events, size, on_drop="apply", metadata_columns=columns)
    assert ids(lake, "a") == [13, 21, 22]


@pytest.mark.parametrize("size", [1, 2, 9])
def test_the_last_shard_that_is_dropped_takes_the_table_with_it(lake: Lake, size: int) -> None:
    drops = [schema_change(f"s{n}.a", "DROP") for n in (1, 2)]
    events = [created("s1.a", 1), created("s2.a", 2), created("s1.b", 1), *drops]
    put(lake, events, size, on_drop="apply")
    assert ids(lake, "a") is None


@pytest.mark.parametrize("size", [1, 9])
def test_a_row_between_two_truncates_is_gone_and_those_of_other_tables_stay(
    lake: Lake, size: int
) -> None:
    events = [
        created("s.a", 1),
        created("s.b", 1),
        emptied("s.a"),
        created("s.a", 2),
        emptied("s.a"),
        created("s.a", 3),
    ]
    put(lake, events, size)
    assert (ids(lake, "a"), ids(lake, "b")) == ([3], [1])


@pytest.mark.parametrize(("statement", "option"), [("DROP", "on_drop"), ("t", "on_truncate")])
def test_a_statement_that_is_not_to_happen_stops_the_sync(
    lake: Lake, statement: str, option: str
) -> None:
    lake.put("1.jsonl", created("s.a", 1))
    lake.sync()
    gone = schema_change("s.a", "DROP") if statement == "DROP" else emptied("s.a")
    lake.put("2.jsonl", created("s.a", 2), gone)
    with pytest.raises(EventError, match=option):
        lake.sync(**{option: "fail"})
    assert ids(lake, "a") == [1]
