"""Goal: tasks on Spark get even shares, in order, and no more of them start than the bytes need.

Method: random weights against the rules, and the cases that were uneven before.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.spark.datasource import PaimonSource
from table_core.spark.session.tasks import groups_of
from tests.tables import write_rows

MB = 1 << 20
OPEN = 4 * MB


def sizes(weights: list[int], slots: int) -> list[list[int]]:
    return groups_of(weights, lambda weight: weight, slots)


@pytest.mark.parametrize(
    ("weights", "slots", "groups"),
    [
        ([], 2, []),
        ([1], 2, [[1]]),
        ([1] * 7, 2, [[1] * 7]),
        ([6 * MB] * 4, 2, [[6 * MB] * 2] * 2),
        ([30 * MB] * 4, 2, [[30 * MB]] * 4),
        ([30 * MB] * 3, 2, [[30 * MB]] * 3),
        ([900 * MB] * 16, 2, [[900 * MB] * 2] * 8),
        ([500 * MB, 1, 1, 1], 2, [[500 * MB], [1, 1, 1]]),
    ],
)
def test_shares(weights: list[int], slots: int, groups: list[list[int]]) -> None:
    assert sizes(weights, slots) == groups


@given(st.lists(st.integers(0, 400 * MB), max_size=60), st.integers(1, 9))
def test_groups_are_even_in_order_and_few(weights: list[int], slots: int) -> None:
    found = sizes(weights, slots)
    assert [weight for group in found for weight in group] == weights
    assert all(found)
    full = [weight + OPEN for weight in weights]
    total = sum(full)
    few = max(1, -(-total // (32 * MB)))
    assert len(found) <= min(4 * slots, max(slots, few + slots))
    rounds = -(-min(few, 4 * slots) // slots) * slots if few > slots else few
    for group in found:
        share = sum(weight + OPEN for weight in group)
        assert share <= total / rounds + max(full) + 1


@pytest.mark.parametrize(("asked", "count"), [(None, 2), ("1", 1), ("3", 3), ("1000000000", 8)])
@pytest.mark.parametrize("keys", [(), ("id",)])
def test_a_source_makes_as_many_tasks_as_are_asked_for(
    catalog: tc.Catalog, keys: tuple[str, ...], asked: str | None, count: int
) -> None:
    """Of eight buckets: a stream keeps each of them together, and a batch may cut no file of theirs."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    options = {"bucket": "8", "bucket-key": "id", "changelog-producer": "input"}
    if not keys:
        del options["changelog-producer"]
    table = catalog.create_table("d.t", schema, primary_key=keys, options=options)
    write_rows(table, pa.table({"id": range(800)}, schema=schema))
    chosen = {"path": table.uri} | ({} if asked is None else {"scan.parallelism": asked})
    source = PaimonSource(chosen)
    batch = source.reader(source.schema()).partitions()
    stream: Any = source.streamReader(source.schema())
    stream_tasks = stream.partitions(stream.initialOffset(), stream.latestOffset())
    assert (len(batch), len(stream_tasks)) == (count, count)
    for tasks in (batch, stream_tasks):
        splits = [split for task in tasks for split in task.value]
        assert sorted(split.bucket for split in splits) == list(range(8))
