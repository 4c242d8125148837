"""Tags that a table makes by itself, and users' tags beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

import table_core as tc
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

DAY_MS = 24 * 3_600_000
START_MS = 1_800_000_000_000


def table(**options: str) -> tuple[tc.Table, SetClock]:
    clock = SetClock(START_MS)
    catalog = replace(new_catalog(), clock=clock)
    named = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    made = {"tag.automatic-creation": "process-time", **named}
    return catalog.create_table("d.t", pa.schema([("k", pa.int64())]), options=made), clock


def commit(table: tc.Table) -> None:
    write_rows(table, pa.table({"k": [1]}))


@pytest.mark.parametrize(
    ("options", "users"),
    [
        (
            {
                "tag__creation_period": "hourly",
                "tag__period_formatter": "without_dashes_and_spaces",
            },
            ["20240131", "20251231"],
        ),
        ({"tag__creation_period_duration": "20 min"}, ["2024013105"]),
        ({"tag__period_formatter": "without_dashes"}, ["20240230", "20241301"]),
        ({"tag__automatic_creation": "batch"}, ["batch-write-2024-02-30"]),
    ],
)
def test_tags_of_users_are_not_counted_and_not_deleted(
    options: dict[str, str], users: list[str]
) -> None:
    made, clock = table(tag__num_retained_max="1", **options)
    commit(made)
    for name in users:
        made.tags.create(name, snapshot=1)
    for _ in range(4):
        clock.at_ms += DAY_MS
        commit(made)
    assert set(users) < set(made.tags.list())
    assert len(made.tags.list()) == len(users) + 1


VERBS: dict[str, Callable[[tc.Table], object]] = {
    "create": lambda t: t.tags.create("2020-01-02", snapshot=1),
    "replace": lambda t: t.tags.replace("2019-01-01", snapshot=1),
    "rename": lambda t: t.tags.rename("mine", "2020-01-02"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_second_automatic_name_on_a_snapshot_is_refused(verb: str) -> None:
    made, clock = table()
    commit(made)
    (first,) = made.tags.list()
    clock.at_ms += DAY_MS // 1_000
    commit(made)
    made.tags.create("2019-01-01", snapshot=2)
    made.tags.create("mine", snapshot=1)
    with pytest.raises(tc.errors.AlreadyExistsError, match=f"automatic tag '{first}' already"):
        VERBS[verb](made)
    assert made.tags.list() == ["2019-01-01", first, "mine"]
    assert made.tags.get("2019-01-01").snapshot.id == 2


def test_names_that_are_not_automatic_may_share_a_snapshot() -> None:
    made, _ = table()
    commit(made)
    (first,) = made.tags.list()
    made.tags.create("mine")
    made.tags.create("20240131")
    made.tags.rename(first, "2020-01-02")
    made.tags.replace("2020-01-02", snapshot=1)
    plain, _ = table(tag__automatic_creation="none")
    commit(plain)
    plain.tags.create("2020-01-02")
    plain.tags.create("2020-01-03")


def test_a_snapshot_that_a_user_has_tagged_with_an_automatic_name_makes_no_other() -> None:
    made, clock = table()
    commit(made)
    clock.at_ms += 2 * DAY_MS
    late = replace(made.access, after_commit=None)
    commit(tc.Table(late))  # its upkeep did not run
    made.tags.create("2020-01-02", snapshot=2)
    commit(made)
    owners = [made.tags.get(name).snapshot.id for name in made.tags.list()]
    assert sorted(owners) == [1, 2, 3]
