"""Partial update: what Paimon does, example by example (groups g1 -> a, g2 -> b; c is free)."""

from __future__ import annotations

from typing import Any

import pytest

from table_core.errors import OptionError
from table_core.merge.engines.engine import engine_for
from tests.merge_rows import kv, plain, schema_of, with_options

PLAIN = with_options(
    schema_of({"k": "INT NOT NULL", "a": "INT", "b": "STRING"}), {"merge-engine": "partial-update"}
)
GROUPED = with_options(
    schema_of(dict.fromkeys(("k", "a", "g1", "b", "g2", "c"), "INT")),
    {
        "merge-engine": "partial-update",
        "fields.g1.sequence-group": "a",
        "fields.g2.sequence-group": "b",
    },
)


def merged(schema: Any, *rows: tuple[Any, ...], **options: str) -> list[tuple[Any, ...]]:
    extra = {name.replace("__", "."): text for name, text in options.items()}
    schema = with_options(schema, extra)
    return plain(engine_for(schema).merge(kv(schema, rows)))


def test_a_deletes_columns_survive_into_the_row_inserted_again() -> None:
    rows = [("+I", 1, 1, "x"), ("-D", 1, 5, "del"), ("+I", 1, None, "y")]
    remove = {"partial-update__remove-record-on-delete": "true"}
    assert merged(PLAIN, *rows, **remove) == [("+I", 1, 5, "y")]
    assert merged(PLAIN, *rows[:2], **remove) == [("-D", 1, 5, "del")]


def test_a_single_delete_is_no_error() -> None:
    assert merged(PLAIN, ("-D", 1, 5, "x")) == [("-D", 1, 5, "x")]


FIRST = ("+I", 1, 10, 1, 20, 1, 5)


@pytest.mark.parametrize(
    ("rows", "result"),
    [
        (
            [FIRST, ("+I", 1, 11, 2, 21, 0, None), ("+I", 1, 12, 2, 22, None, 7)],
            ("+I", 1, 12, 2, 20, 1, 7),
        ),
        ([FIRST, ("+I", 1, None, 2, None, None, None)], ("+I", 1, None, 2, 20, 1, 5)),
        ([FIRST, ("-D", 1, 9, 2, None, None, 9)], ("+I", 1, None, 2, 20, 1, 5)),
        ([FIRST, ("-D", 1, 9, 0, None, None, 9)], FIRST),
        (
            [("-D", 1, 1, 1, 1, 1, 9), ("-U", 1, 1, 2, 1, 2, 9)],
            ("-D", 1, None, 2, None, 2, 9),
        ),
        (
            [("-D", 1, 1, 1, 1, 1, 9), ("+I", 1, 2, 2, 2, 2, None)],
            ("+I", 1, 2, 2, 2, 2, 9),
        ),
    ],
)
def test_sequence_groups(rows: list[tuple[Any, ...]], result: tuple[Any, ...]) -> None:
    assert merged(GROUPED, *rows) == [result]


def test_a_delete_that_wins_its_group_can_remove_the_record() -> None:
    remove = {"partial-update__remove-record-on-sequence-group": "g1"}
    winning, losing = ("-D", 1, 9, 2, None, None, 9), ("-D", 1, 9, 0, None, None, 9)
    assert merged(GROUPED, FIRST, winning, **remove) == [winning]
    assert merged(GROUPED, FIRST, losing, **remove) == [FIRST]


def test_sequence_fields_order_whole_rows_and_older_rows_still_fill_nulls() -> None:
    schema = with_options(PLAIN, {"sequence.field": "a"})
    rows = kv(schema, [("+I", 1, 2, None), ("+I", 1, 1, "old")])
    from table_core.merge.sort import runs_of

    engine = engine_for(schema)
    assert plain(engine.merge_runs(rows, runs_of(rows, engine.order))) == [("+I", 1, 2, "old")]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fields.g1.sequence-group": "gone"}, "gone"),
        ({"fields.g1.sequence-group": "k"}, "primary key"),
        ({"fields.g2.sequence-group": "a"}, "already"),
        ({"fields.c.aggregate-function": "sum"}, "in no sequence group"),
        ({"fields.default-aggregate-function": "sum"}, "in no sequence group"),
        ({"partial-update.remove-record-on-delete": "true"}, "contradict"),
        (
            {"partial-update.remove-record-on-sequence-group": "g1", "ignore-delete": "true"},
            "contradict",
        ),
        ({"partial-update.remove-record-on-sequence-group": "a"}, "no field of a sequence group"),
        ({"fields.a.aggregate-function": "median"}, "median"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        engine_for(with_options(GROUPED, options))
    both = {"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}
    with pytest.raises(OptionError, match="contradict"):
        engine_for(with_options(PLAIN, both))


def test_an_older_add_after_a_retract_fills_what_the_retract_cleared() -> None:
    schema = with_options(GROUPED, {"fields.a.aggregate-function": "last_non_null_value"})
    first, back, older = (1, 10, 1, *[None] * 3), (1, 10, 3, *[None] * 3), (1, 11, 2, *[None] * 3)
    rows = [("+I", *first), ("-U", *back), ("+I", *older)]
    assert merged(schema, *rows) == [("+I", 1, 11, 3, None, None, None)]
