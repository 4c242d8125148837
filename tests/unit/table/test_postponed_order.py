"""Rows that wait for their bucket (``bucket=-2``) count in the order of commits."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CommitConflictError
from table_core.ports import Clock
from table_core.table.api.table import Table
from table_core.table.commit_io.prepared import WriteResult
from tests.tables import new_catalog

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), ("v", pa.int64()), ("w", pa.int64())]
)
NUMBERS = itertools.count()
HOUR_MS = 3_600_000
ENGINES = ("deduplicate", "partial-update", "first-row")


@dataclass(frozen=True)
class Wrong:
    """A clock that goes ahead of another, or behind it."""

    clock: Clock
    ahead_ms: int

    def now_ms(self) -> int:
        return self.clock.now_ms() + self.ahead_ms

    def local_offset_ms(self, at_ms: int) -> int:
        return self.clock.local_offset_ms(at_ms)

    def sleep_ms(self, duration_ms: int) -> None:
        self.clock.sleep_ms(duration_ms)


def table_of(**options: str) -> tc.Table:
    catalog = new_catalog(f"memory://postponed-order-{next(NUMBERS)}")
    given = {name.replace("_", "-"): value for name, value in options.items()}
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",), options={"bucket": "-2", **given}
    )


def ahead(table: tc.Table, ms: int) -> tc.Table:
    return Table(replace(table.access, clock=Wrong(table.access.clock, ms)))


def prepared(table: tc.Table, *rows: tuple[int, int, int | None]) -> WriteResult:
    with table.write() as writer:
        columns = [pa.array(c, pa.int64()) for c in zip(*rows, strict=True)]
        writer.write(pa.table(columns, schema=SCHEMA))
        return writer.prepare()


def put(table: tc.Table, *rows: tuple[int, int, int | None]) -> None:
    table.commit([prepared(table, *rows)])


def read(table: tc.Table) -> dict[int, tuple[Any, Any]]:
    rows = table.read().to_arrow().to_pylist()
    assert len({row["k"] for row in rows}) == len(rows)
    return {row["k"]: (row["v"], row["w"]) for row in rows}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_the_later_commit_win_whatever_the_clocks_say(engine: str, seed: int) -> None:
    draw, table = random.Random(seed), table_of(merge_engine=engine)
    waiting: list[tuple[WriteResult, int]] = []
    landed: list[int] = []
    for step in range(12):
        if waiting and draw.random() < 0.5:
            result, value = waiting.pop(draw.randrange(len(waiting)))
            table.commit([result])
            landed.append(value)
        elif draw.random() < 0.2:
            table.compact(strategy="full")
        else:
            own = ahead(table, draw.randrange(-HOUR_MS, HOUR_MS))
            waiting.append((prepared(own, (1, step, step)), step))
    table.compact(strategy="full")
    wanted = landed[:1] if engine == "first-row" else landed[-1:]
    assert read(table) == ({1: (wanted[0], wanted[0])} if wanted else {})


def test_a_clock_that_goes_back_within_a_writer_changes_nothing() -> None:
    table = table_of(write_buffer_size="1 b", write_buffer_spillable="false")
    clock = Wrong(table.access.clock, 0)
    own = Table(replace(table.access, clock=clock))
    with own.write() as writer:
        for value in range(4):
            object.__setattr__(clock, "ahead_ms", -HOUR_MS * value)
            writer.write(pa.table([[1], [value], [value]], schema=SCHEMA))
        writer.commit()
    table.compact(strategy="full")
    assert read(table) == {1: (3, 3)}


STATEMENTS: dict[str, tuple[Callable[[tc.Table], Any], dict[int, tuple[Any, Any]]]] = {
    "update": (lambda t: t.update({"v": "v + 1"}, "k = 1"), {1: (8, 7), 2: (1, 1)}),
    "delete": (lambda t: t.delete("v = 7"), {2: (1, 1)}),
    "merge": (
        lambda t: t.merge_into(
            pa.table({"k": [1, 3], "v": [5, 5], "w": [5, 5]}, schema=SCHEMA),
            ["k"],
            [tc.MatchedUpsert(values={"v": "target.v + 1"}), tc.NotMatchedInsert()],
        ),
        {1: (8, 7), 2: (1, 1), 3: (5, 5)},
    ),
}


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_sees_rows_that_wait(statement: str, compacted: bool) -> None:
    do, wanted = STATEMENTS[statement]
    table = table_of()
    put(table, (2, 1, 1), (1, 1, 1))
    if compacted:
        table.compact(strategy="full")
    put(table, (1, 7, 7))
    do(table)
    table.compact(strategy="full")
    assert read(table) == wanted


def test_a_statement_is_done_again_when_rows_came_that_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from table_core.table.dml import overwrite as overwriting

    table = table_of()
    put(table, (1, 1, 1), (5, 5, 5))
    other, plain = tc.open_table(table.uri), overwriting.commit_results
    late = [True]

    def between(*args: Any, **kwargs: Any) -> Any:
        if args[-1] is not None and late:
            late.clear()
            put(other, (9, 9, 9), (1, 50, 50), (7, 7, 7))
        return plain(*args, **kwargs)

    monkeypatch.setattr(overwriting, "commit_results", between)
    table.update({"v": "v + 1"}, "k = 1")
    table.compact(strategy="full")
    assert read(table)[1] == (51, 50)


def test_rows_that_are_given_their_bucket_by_two_have_it_once() -> None:
    table = table_of(merge_engine="aggregation", **{"fields.v.aggregate-function": "sum"})
    put(table, (1, 1, 1))
    put(table, (1, 10, 1))
    from table_core.table.commit_io.committer import commit_parts, compact_part
    from table_core.table.compact.compact import Selection, _compact_buckets, choose

    parts = [
        compact_part(
            _compact_buckets(
                table.access,
                choose(Selection.of(table.access, strategy="full"), table.access.head()),
                None,
            )
        )
        for _ in range(2)
    ]
    commit_parts(table.access, tc.CommitAs(), compact=parts[0])
    with pytest.raises(CommitConflictError):
        commit_parts(table.access, tc.CommitAs(), compact=parts[1])
    assert read(table) == {1: (11, 1)}
